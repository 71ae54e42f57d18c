"""Where an audit's numbers came from and how to get them again, for a reader: the command, the question, hashes, versions."""

import shlex
from typing import Any

from fairwitness.report.recorded import Recorded


def provenance(recorded: Recorded) -> dict[str, Any]:
    """What to show, by name; the command first. What was left empty is left out."""
    entry = recorded.entry
    facts: dict[str, Any] = {"command": command(recorded)}
    facts |= {name: value for name, value in _flat(recorded.question).items() if value not in (None, "", [], {})}
    facts |= {f"file: {name}": path for name, path in recorded.inputs.items()}
    facts |= {f"data: {name}": digest for name, digest in _mapping(entry.get("data")).items()}
    facts["seconds"] = entry.get("seconds", "")
    facts["finished"] = entry.get("finished", "not yet")
    facts["versions"] = ", ".join(f"{name} {version}" for name, version in _mapping(entry.get("versions")).items())
    return {name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in facts.items()}


def command(recorded: Recorded) -> str:
    """The command line as a shell would read it again.

    >>> command(Recorded(None, "x", {"command": ["fairwitness", "zeroshot", "--in", "my file.csv"]}))
    "fairwitness zeroshot --in 'my file.csv'"
    """
    words = recorded.entry.get("command")
    return shlex.join(map(str, words)) if isinstance(words, list) else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        found |= _flat(inner, f"{name}.") if isinstance(inner, dict) else {name: inner}
    return found
