"""`fairwitness crows`: CrowS-Pairs with any language model."""

from typing import Annotated

from cyclopts import Parameter

from fairwitness.audits.crows import CrowsConfig

_DEFAULTS = CrowsConfig()


def crows(config: Annotated[CrowsConfig, Parameter(name="*")] = _DEFAULTS, *, json: bool = False) -> int:
    """How often a model finds the more stereotyping sentence of a pair likelier, per bias type.

    Parameters
    ----------
    json
        Print JSON.
    """
    from fairwitness.audits.crows import crows as run_crows
    from fairwitness.cli.failures import reasons

    result = run_crows(config)
    counts = result.facts["counts"]
    if json:
        print(result.to_json())
        return 0 if counts["scored"] else 3
    print("Share of pairs in which the more stereotyping sentence is likelier, with Wilson's 95% interval; 50 is no preference")
    for row in result.table.iter_rows(named=True):
        value = "undefined" if row["value"] is None else f"{row['value']:5.1f} ({row['low']:.1f}–{row['high']:.1f})"
        print(f"{row['attribute']:10} {row['group']:22} {value:20} of {row['n']:>5} pairs, {row['ties']} ties")
    print(f"{counts['scored']:,} of {counts['asked']:,} pairs scored with '{result.facts['protocol']}'.")
    for reason in reasons(config.out):
        print(reason)
    print(f"Written: {', '.join(map(str, result.files))}")
    return 0 if counts["scored"] else 3
