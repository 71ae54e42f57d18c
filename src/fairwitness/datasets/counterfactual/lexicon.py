"""A category of identities as data: its groups, the slots their words fill, and the words by which they are found.

The lists are TOML files beside this one; a user's own file of the same shape extends or replaces them. How a word is found in a
comment is finding.py's business, how a slot is filled grammar.py's.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from fairwitness.errors import InputError, listing, suggestion
from fairwitness.files import require_file

CATEGORIES = ("disability", "gender", "race", "religion", "sexual_orientation")
CONTROL = ""
GENDERS = ("male", "female")
_HERE = resources.files("fairwitness.datasets.counterfactual")


@dataclass(frozen=True)
class Lexicon:
    """One category. `groups` maps a group to what fills each slot; `found` maps a lower-case word to its slot and group."""

    category: str
    title: str
    slots: Mapping[str, str]
    groups: Mapping[str, Mapping[str, str]]
    found: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    companions: frozenset[str] = frozenset()
    adjective_of: Mapping[str, str] = field(default_factory=dict)
    noun_of: Mapping[str, str] = field(default_factory=dict)
    plural_of: Mapping[str, str] = field(default_factory=dict)
    alone_of: Mapping[str, str] = field(default_factory=dict)
    gendered: Mapping[str, str] = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    interjections: frozenset[str] = frozenset()
    slang: frozenset[str] = frozenset()
    not_before: frozenset[str] = frozenset()
    not_after: tuple[str, ...] = ()

    def slot(self, name: str) -> str | None:
        """The slot of this name or alias, or None."""
        return name if name in self.slots else self.aliases.get(name)


def lexicon(category: str, own: Sequence[Lexicon] = ()) -> Lexicon:
    """The lexicon of a category; `race*gender` is the crossing of two. `own` ones win. An unknown one is an InputError."""
    parts = [part.strip() for part in category.split("*")]
    if len(parts) > 1:
        return crossed([lexicon(part, own) for part in parts])
    for words in own:
        if words.category == parts[0]:
            return words
    name = parts[0].lower().replace(" ", "_").replace("-", "_")
    known = (*CATEGORIES, "target", *(words.category for words in own))
    if name not in known:
        raise InputError(f"Unknown category '{category}'. There are: {listing(known)}.{suggestion(name, known)}")
    return _built_in(name)


def read_lexicon(path: Path) -> Lexicon:
    """A user's own lexicon file, in the shape of the built-in ones."""
    try:
        data = tomllib.loads(require_file(Path(path)).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    return parse_lexicon(data, str(path))


def parse_lexicon(data: Mapping[str, Any], where: str) -> Lexicon:
    """Check a lexicon's data and build it. A word that stands for two groups, or a fill without a slot, is an error."""
    for key in ("category", "slots", "group"):
        if key not in data:
            raise InputError(f"{where}: '{key}' is missing. A lexicon has category, [slots] and at least two [[group]]s.")
    _check_shape(data, where)
    slots = {str(name): str(control) for name, control in data["slots"].items()}
    groups: dict[str, Mapping[str, str]] = {}
    found: dict[str, tuple[str, str]] = {}
    for group in data["group"]:
        _add_group(group, slots, groups, found, where)
    if len(groups) < 2:
        raise InputError(f"{where}: a lexicon needs at least two groups to compare; it has {len(groups)}.")
    doubt = data.get("ambiguous", {})
    return Lexicon(
        category=str(data["category"]),
        title=str(data.get("title", data["category"])),
        slots=slots,
        groups=groups,
        found=found,
        aliases=dict(data.get("aliases", {})),
        companions=frozenset(data.get("companions", {}).get("slots", ())),
        adjective_of=dict(data.get("adjective_of", {})),
        noun_of=dict(data.get("noun_of", {})),
        plural_of=dict(data.get("plural_of", {})),
        alone_of=dict(data.get("alone_of", {})),
        gendered=_gendered(data.get("gendered", {}), where),
        ambiguous=frozenset(word.lower() for word in doubt.get("words", ())),
        interjections=frozenset(word.lower() for word in doubt.get("interjections", ())),
        slang=frozenset(word.lower() for word in doubt.get("slang", ())),
        not_before=frozenset(doubt.get("not_before", ())),
        not_after=tuple(doubt.get("not_after", ())),
    )


def crossed(lexicons: Iterable[Lexicon]) -> Lexicon:
    """Every combination of one group from each: the identities of intersectional templates.

    >>> len(crossed([lexicon("race"), lexicon("gender")]).groups)
    24
    """
    lexicons = list(lexicons)
    combinations = product(*(each.groups.items() for each in lexicons))
    return Lexicon(
        category="*".join(each.category for each in lexicons),
        title=" × ".join(each.title for each in lexicons),
        slots={slot: control for each in lexicons for slot, control in each.slots.items()},
        groups={
            " × ".join(name for name, _ in pairs): {s: f for _, fills in pairs for s, f in fills.items()} for pairs in combinations
        },
        aliases={alias: slot for each in lexicons for alias, slot in each.aliases.items()},
        gendered={word: gender for each in lexicons for word, gender in each.gendered.items()},
    )


def read_text_of(name: str) -> str:
    """A text file that lies beside this one."""
    return _HERE.joinpath(name).read_text(encoding="utf-8")


@cache
def _built_in(name: str) -> Lexicon:
    return parse_lexicon(tomllib.loads(read_text_of(f"lexicons/{name}.toml")), f"lexicons/{name}.toml")


def _check_shape(data: Mapping[str, Any], where: str) -> None:
    """Tables of words, tables of lists of words, and a list of groups that are such tables themselves."""
    groups = data["group"]
    if not isinstance(groups, list) or not all(isinstance(group, Mapping) for group in groups):
        raise InputError(f"{where}: 'group' must be a list of tables, each beginning with [[group]].")
    for name in ("slots", "aliases", "adjective_of", "noun_of", "plural_of", "alone_of"):
        _check_table(data, name, where, _is_word, "words")
    for name in ("companions", "ambiguous", "gendered"):
        _check_table(data, name, where, _are_words, "lists of words")
    for group in groups:
        _check_table(group, "fill", f"{where}, a [[group]]", _is_word, "words")
        _check_table(group, "find", f"{where}, a [[group]]", _are_words, "lists of words")


def _check_table(data: Mapping[str, Any], name: str, where: str, fits: Callable[[Any], bool], expected: str) -> None:
    table = data.get(name, {})
    if not isinstance(table, Mapping) or not all(fits(value) for value in table.values()):
        raise InputError(f"{where}: '{name}' must be a table of {expected}.")


def _is_word(value: Any) -> bool:
    return isinstance(value, str)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _gendered(data: Mapping[str, Sequence[str]], where: str) -> dict[str, str]:
    """Word → the only gender it is said of."""
    if unknown := [name for name in data if name not in GENDERS]:
        raise InputError(
            f"{where}: [gendered] has '{unknown[0]}'; it takes {' and '.join(GENDERS)}.{suggestion(unknown[0], GENDERS)}"
        )
    return {str(word).lower(): gender for gender, words in data.items() for word in words}


def _add_group(
    group: Mapping[str, Any],
    slots: Mapping[str, str],
    groups: dict[str, Mapping[str, str]],
    found: dict[str, tuple[str, str]],
    where: str,
) -> None:
    name = str(group.get("name", ""))
    if not name or name in groups:
        raise InputError(f"{where}: the group '{name}' is there twice." if name else f"{where}: a [[group]] has no name.")
    fills = {str(slot): str(fill) for slot, fill in group.get("fill", {}).items()}
    if missing := [slot for slot in slots if slot not in fills]:
        raise InputError(f"{where}: the group '{name}' has no fill for {listing(missing)}.")
    groups[name] = fills
    for slot, words in group.get("find", {}).items():
        if slot not in slots:
            raise InputError(
                f"{where}: '{name}' finds words for the slot '{slot}', which is not in [slots].{suggestion(slot, slots)}"
            )
        for word in words:
            known = found.get(word.lower())
            if known is not None:
                raise InputError(f"{where}: the word '{word}' stands twice, for '{known[1]}' and for '{name}'. Keep one of them.")
            found[word.lower()] = (slot, name)
