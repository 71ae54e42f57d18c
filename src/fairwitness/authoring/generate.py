"""Running many chains of drafts to the end, in a run folder: the part that contexts and sentences share."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairwitness.authoring.drafting import Ask, Draft, Drafts, Rules, draft_chain
from fairwitness.authoring.records import Row, read_rows, write_rows
from fairwitness.authoring.services import (
    GenerationConfig,
    TextGenerator,
    budget_line,
    check,
    check_budget,
    drafts_at_once,
    open_generator,
)
from fairwitness.files import file_hash
from fairwitness.models.generation import Prompt
from fairwitness.models.service import IN_DOUBT
from fairwitness.progress import progress, say
from fairwitness.runs import Run, open_run

# What decides how drafts are asked for but not what they are.
NOT_ASKED = (
    "api_key",
    "concurrency",
    "timeout_s",
    "attempts",
    "backoff_s",
    "ask",
    "price_read",
    "price_written",
    "max_cost",
    "cache",
    "restart",
)


@dataclass(frozen=True)
class Generated:
    """What a generation left behind: its rows, its files, how many drafts were asked, kept, rejected and failed, and the ledger."""

    rows: list[Row]
    file: Path
    rejected_file: Path
    counts: dict[str, int]
    ledger: dict[str, Any] = field(default_factory=dict)
    missing_demonstrations: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Chain:
    """One chain to run: how to ask, what its rejected drafts are filed under, how many drafts it makes."""

    ask: Ask
    about: dict[str, Any]
    number: int


def run_chains(
    config: GenerationConfig,
    out: Path,
    kind: str,
    chains: Sequence[Chain],
    rows_of: Callable[[list[Drafts]], list[Row]],
    inputs: dict[str, Path],
) -> Generated:
    """Run every chain and write `out` and `<out>.rejected.jsonl`. Sealed once nothing failed; else the same command goes on."""
    check(config)
    # One prompt now: what is wrong with the settings must show before a folder is claimed for them.
    chains[0].ask(0, 0)
    rejected_file = out.with_suffix(".rejected.jsonl")
    at_once = drafts_at_once(config, len(chains))
    data = {name: file_hash(path) for name, path in inputs.items()}
    question = {**_question(config), "drafts_at_once": at_once, "data": data}
    with open_run(out, kind, question, restart=config.restart, data=data, inputs=inputs) as run:
        if run.sealed:
            return Generated(read_rows(out), out, rejected_file, run.entry["counts"], run.entry.get("ledger", {}))
        with open_generator(config) as generator:
            say(_budget(config, generator, chains))
            drafts = _converse(config, generator, chains, at_once)
            say(f"Done: {generator.ledger.line()}.")
            ledger = generator.ledger.as_dict()
            identity = generator.identity
        rows = rows_of(drafts)
        write_rows(out, rows)
        rejected = [_rejected(chain, draft) for chain, done in zip(chains, drafts, strict=True) for draft in done.rejected]
        write_rows(rejected_file, rejected)
        counts = _counts(chains, drafts)
        in_doubt = sum(IN_DOUBT in draft.get("reason", "") for draft in rejected)
        if failed := counts["failed"] - in_doubt:
            say(f"{failed} drafts failed. Run the same command again: it asks for those only.")
        if in_doubt:
            say(
                f"{in_doubt} drafts were on their way when an earlier run was killed. To ask those once more, add --ask again "
                '(in the file of a loop: ask = "again" in [service]).'
            )
        _finish(run, [out, rejected_file], counts, ledger, identity)
    return Generated(rows, out, rejected_file, counts, ledger)


def _converse(config: GenerationConfig, generator: TextGenerator, chains: Sequence[Chain], at_once: int) -> list[Drafts]:
    def rules(chain: Chain) -> Rules:
        return Rules(
            number=chain.number,
            at_once=at_once,
            sampling=config.sampling,
            near_duplicate=config.near_duplicate,
            before=lambda: check_budget(config, generator.ledger),
        )

    drafts = [Drafts() for _ in chains]
    with progress("Drafting", sum(chain.number for chain in chains), unit="drafts") as advance:
        for index, done in generator.converse(draft_chain(generator, chain.ask, rules(chain)) for chain in chains):
            drafts[index] = done
            advance(chains[index].number)
    return drafts


def _finish(run: Run, outputs: list[Path], counts: dict[str, int], ledger: dict[str, Any], identity: dict[str, Any]) -> None:
    if counts["failed"]:
        run.entry.update(counts=counts, ledger=ledger, generator=identity)
        return
    run.seal(outputs, counts, ledger=ledger, generator=identity)


def _budget(config: GenerationConfig, generator: TextGenerator, chains: Sequence[Chain]) -> str:
    prompts: list[Prompt] = [chain.ask(place, 0)[0] for chain in chains for place in range(chain.number)]
    known = generator.known([generator.request(prompt) for prompt in prompts])
    return budget_line(config, prompts, known)


def _counts(chains: Sequence[Chain], drafts: Sequence[Drafts]) -> dict[str, int]:
    return {
        "asked": sum(chain.number for chain in chains),
        "scored": sum(len(done.accepted) for done in drafts),
        "failed": sum(done.failed for done in drafts),
        "rejected": sum(len(done.rejected) for done in drafts),
    }


def _rejected(chain: Chain, draft: Draft) -> Row:
    facts = asdict(draft)
    return {**chain.about, **facts.pop("about"), **{key: value for key, value in facts.items() if value is not None}}


def _question(config: GenerationConfig) -> dict[str, Any]:
    return {key: value for key, value in asdict(config).items() if key not in NOT_ASKED}
