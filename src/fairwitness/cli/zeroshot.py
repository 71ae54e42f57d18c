"""`fairwitness zeroshot`: classify a file of texts with a causal language model, and say why."""

from typing import Annotated

from cyclopts import Parameter

from fairwitness.audits.zero_shot import ZeroShotConfig


def zeroshot(config: Annotated[ZeroShotConfig, Parameter(name="*")], *, json: bool = False) -> int:
    """Score every text by how much likelier the model finds the positive label than the negative one.

    Parameters
    ----------
    json
        Print the facts of the run as JSON.
    """
    from fairwitness import tables
    from fairwitness.audits.zero_shot import zero_shot
    from fairwitness.cli.failures import reasons

    result = zero_shot(config)
    counts = result.facts["counts"]
    if json:
        import json as writer

        print(writer.dumps({**result.facts, "files": [str(path) for path in result.files]}, ensure_ascii=False, default=str))
    else:
        rate = tables.read(config.out, ["pred"])["pred"].mean()
        print(f"{counts['scored']} of {counts['asked']} rows scored, {counts['failed']} failed → {config.out}")
        for reason in reasons(config.out):
            print(reason)
        print(f"predicted positive: {'undefined' if rate is None else format(float(str(rate)), '.1%')}")
        if told := result.facts.get("explained"):
            print(f"explained: {told['rows']} rows, of which {told['converged']} converged")
        for path in result.files[1:]:
            if path.suffix != ".png":
                print(f"  {path}")
    # Nothing scored is not an answer.
    return 0 if counts["scored"] else 3
