"""Which examples a prompt shows: some of the same category, some of the same group, the rest from the whole pool.

Every choice comes from a random generator that the caller seeds per request, so a prompt depends on what is asked and not on what
was asked before it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from fairwitness.authoring.records import GroupSet, Row, look_up
from fairwitness.authoring.schema import Schema
from fairwitness.errors import InputError

# How many, and the rows of the pool that they are drawn from.
Wish = tuple[int, Sequence[Row]]


@dataclass(frozen=True)
class Chosen:
    """The demonstrations of one prompt, in the order they are shown, and how many of each wish the pool could not fill."""

    rows: tuple[Row, ...]
    missing: tuple[int, ...]


def require_pool(pool: Sequence[Row], total: int, where: str, *, flag: str = "--num_total_demos") -> None:
    """Raise when the pool has too few different demonstrations to show `total`."""
    different = len(distinct(pool))
    if different == 0:
        raise InputError(f"{where}: the demonstration pool is empty. Give some examples, or ask for none with {flag} 0.")
    if different < total:
        raise InputError(f"{where} has {different} different demonstrations, fewer than the {total} asked. Try {flag} {different}.")


def distinct(pool: Sequence[Row]) -> list[Row]:
    """The pool with each row once. `choose` tells rows apart by which object they are, which needs this done before."""
    return list({_content(row): row for row in reversed(pool)}.values())[::-1]


def choose(pool: Sequence[Row], wishes: Sequence[Wish], total: int, random: Random) -> Chosen:
    """Draw `total` different demonstrations: as many as each wish asks and the pool has, then any others; shuffled.

    >>> pool = [{"group": "a", "context": str(n)} for n in range(3)] + [{"group": "b", "context": str(n)} for n in range(9)]
    >>> chosen = choose(pool, [(5, pool[:3])], 6, Random(1))
    >>> sum(row["group"] == "a" for row in chosen.rows) >= 3, len(chosen.rows), chosen.missing
    (True, 6, (2,))
    """
    rows: list[Row] = []
    missing = []
    for number, fitting in wishes:
        missing.append(number - _draw(rows, fitting, min(number, total - len(rows)), random))
    _draw(rows, pool, total - len(rows), random)
    if len(rows) < total:
        raise InputError(f"The demonstration pool has {len(rows)} different examples, fewer than the {total} asked.")
    random.shuffle(rows)
    return Chosen(tuple(rows), tuple(missing))


def for_first(schema: Schema, pool: Sequence[Row], group: GroupSet, *, in_category: int, in_group: int) -> list[Wish]:
    """What a first text (a context) wants to see: examples of its category, and of its very group."""
    return [
        (in_category, [row for row in pool if look_up(row, schema.category) == group.category]),
        (in_group, [row for row in pool if look_up(row, schema.group) in group.synonyms]),
    ]


def for_second(schema: Schema, pool: Sequence[Row], given: Mapping[str, Any], *, in_label: int) -> list[Wish]:
    """What a second text (a sentence) wants to see: examples after a first text of the same label and sub-label (null is null)."""
    wanted = [_plain(given.get(name)) for name in schema.second.match]
    return [(in_label, [row for row in pool if [_plain(look_up(row, name)) for name in schema.second.match] == wanted])]


def of_class(schema: Schema, pool: Sequence[Row], label: str) -> list[Row]:
    """The demonstrations of a second text that carry this label, in whatever spelling."""
    return [row for row in pool if schema.second.label_of(row.get(schema.second.label)) == label]


def _draw(rows: list[Row], pool: Sequence[Row], number: int, random: Random) -> int:
    """Append up to `number` rows of the pool that are not there yet; how many it became."""
    seen = {id(row) for row in rows}
    added = 0
    for row in random.sample(list(pool), len(pool)):
        if added >= number:
            break
        if id(row) not in seen:
            seen.add(id(row))
            rows.append(row)
            added += 1
    return added


def _content(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True)


def _plain(value: Any) -> Any:
    """Null and the word "none" are the same: no sub-label."""
    return None if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none", "null")) else value
