"""Rows of a dataset in the making, on and off the disk: a JSON list or JSON lines, checked as they come in.

Files here are at most some ten thousand hand-labelled rows, nested as the published files are, so a row is a dict. What is wrong
with a file is said with the number of the line or row, before any model is asked.
"""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.files import decoded, require_file, write_text

Row = dict[str, Any]


@dataclass(frozen=True)
class GroupSet:
    """One social group: its category and the words for it."""

    category: str
    synonyms: tuple[str, ...]

    @property
    def name(self) -> str:
        """All words for the group in one string, as the published files have it."""
        return ", ".join(self.synonyms)


def read_rows(path: Path | str, required: Sequence[str] = ()) -> list[Row]:
    """The rows of a JSON list or a JSON-lines file; text is brought to composed form (NFC), so that equal words are equal."""
    path = Path(path)
    text = read_text(path)
    escaped = "\\ud" in text.lower()
    rows = _json_lines(text, path) if path.suffix.lower() == ".jsonl" else _json_list(text, path)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: an object was expected, not {type(row).__name__}.")
        require_fields(row, required, f"{path}, row {number}")
        if escaped:
            _require_characters(row, f"{path}, row {number}")
    return rows


def _require_characters(row: Row, where: str) -> None:
    """Half of a character written as an escape passes JSON, and nothing after it."""
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where} holds half of a character ({error.object[error.start]!a}). Write the file again as UTF-8."
        ) from error


def require_fields(row: Mapping[str, Any], required: Iterable[str], where: str) -> None:
    """Raise for the first required field that is missing or holds no text."""
    for name in required:
        if name not in row:
            raise InputError(f"{where} has no '{name}'. It has: {listing(row)}.{suggestion(name, row)}")
        if not isinstance(row[name], str) or not row[name].strip():
            raise InputError(f"{where}: '{name}' is {json.dumps(row[name], ensure_ascii=False)}; a text was expected.")


def write_rows(path: Path | str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows atomically: JSON lines for `.jsonl`, otherwise an indented JSON list, readable as it is (no \\u escapes)."""
    path = Path(path)
    if path.suffix.lower() == ".jsonl":
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    else:
        write_text(path, json.dumps(list(rows), ensure_ascii=False, indent=4) + "\n")
    return path


def read_text(path: Path) -> str:
    """A file's text, composed (NFC). UTF-8 with or without a mark, or UTF-16 with one; anything else is refused with its line."""
    data = require_file(path).read_bytes()
    try:
        return unicodedata.normalize("NFC", decoded(data))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}, line {line} is not UTF-8. If the whole file is in a Korean encoding, convert it: "
            f"iconv -f CP949 -t UTF-8 {path.name} > utf8_{path.name}. If only some lines are, repair those."
        ) from error


def read_groups(path: Path | str) -> list[GroupSet]:
    """The social groups of a `{category: ["word, word, …", …]}` file. Stray commas and spaces go; an empty group is refused."""
    path = Path(path)
    table = _parse(read_text(path), path)
    if not isinstance(table, dict) or not table:
        raise InputError(f'{path}: an object {{"category": ["word, word", …]}} was expected.')
    groups = []
    for category, sets in table.items():
        if not isinstance(sets, list) or not sets:
            raise InputError(
                f"{path}: the category '{category}' needs a list of groups, not {json.dumps(sets, ensure_ascii=False)[:60]}."
            )
        groups += [GroupSet(_clean(category), _synonyms(entry, category, path)) for entry in sets]
    return groups


def look_up(row: Mapping[str, Any], name: str) -> Any:
    """A field of a row, or of its `generation_info` where the published files keep what they were generated from."""
    if name in row:
        return row[name]
    info = row.get("generation_info")
    return info.get(name) if isinstance(info, Mapping) else None


def _synonyms(entry: Any, category: str, path: Path) -> tuple[str, ...]:
    words = entry.split(",") if isinstance(entry, str) else entry
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{path}: a group of '{category}' is {json.dumps(entry, ensure_ascii=False)[:60]}; text was expected.")
    cleaned = tuple(dict.fromkeys(_clean(word) for word in words if _clean(word)))
    if not cleaned:
        raise InputError(f"{path}: a group of '{category}' has no word in it: {json.dumps(entry, ensure_ascii=False)}.")
    return cleaned


def _clean(word: str) -> str:
    return " ".join(word.split())


def _json_list(text: str, path: Path) -> list[Any]:
    rows = _parse(text, path)
    if not isinstance(rows, list):
        raise InputError(f"{path}: a JSON list of rows was expected, not {type(rows).__name__}.")
    return rows


def _json_lines(text: str, path: Path) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number} is not valid JSON ({error}). Repair or remove that line.") from error
    return rows


def _parse(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = " Its lines look like JSON lines: name it .jsonl." if text.lstrip().startswith("{") and "\n{" in text.strip() else ""
        raise InputError(f"{path} is not valid JSON ({error}).{hint}") from error
