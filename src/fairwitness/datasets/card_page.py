"""A dataset's card as a page of Markdown: for `fairwitness data card` and for docs/datasets.md, which are one text."""

from collections.abc import Iterable

from fairwitness.datasets.card import Card, HubFiles, Manual, Remote, WebFiles


def page(card: Card) -> str:
    """One card as Markdown."""
    facts = [
        ("Licence", card.licence),
        ("Content warning", card.warning or "none"),
        ("Citation", card.citation),
        ("Revision", card.revision or "not pinned"),
        ("How to get it", "; then ".join(_how(card, remote) for remote in card.remotes)),
        ("Raw copies that `--source` reads", "; ".join(card.layouts)),
        ("Counted on", card.counted_on),
        *(("Dead", f"{address}: {why}") for address, why in card.dead.items()),
    ]
    lines = [f"## {card.name}: {card.title}", ""]
    lines += [f"- **{name}.** {_sentence(text)}" for name, text in facts]
    if card.notes:
        lines += ["", card.notes]
    lines += ["", *_table(("what", "count"), [(what, f"{n:,}") for what, n in card.counts.items()])]
    lines += ["", *_table(("column", "what it holds"), [(f"`{name}`", what) for name, what in card.columns.items()])]
    return "\n".join(lines) + "\n"


def _how(card: Card, remote: Remote) -> str:
    command = f"`fairwitness data download --dataset {card.name} --out {card.name}.parquet`"
    match remote:
        case Manual():
            return f"by hand from {remote.address}. {remote.how}"
        case HubFiles() | WebFiles():
            return f"{command} from {remote.address}"
    return f"{command}, from inside the package"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "`")) else f"{text}."


def _table(header: tuple[str, str], rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"| {header[0]} | {header[1]} |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]
