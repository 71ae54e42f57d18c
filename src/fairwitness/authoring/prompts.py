"""Prompts put together from a schema's own wording: an instruction, the demonstrations, and the block left open at the end."""

from collections.abc import Iterable, Mapping
from typing import Any

from fairwitness.authoring.records import look_up
from fairwitness.authoring.schema import Schema
from fairwitness.errors import InputError, listing

SEPARATOR = "\n###\n"


def first_prompt(schema: Schema, language: str, demonstrations: Iterable[Mapping[str, Any]], *, category: str, group: str) -> str:
    """Ask for a first text (a context) about `group`. The prompt ends in the text's label and a colon.

    >>> from fairwitness.authoring.schema import load_schema
    >>> print(first_prompt(load_schema("kosbi"), "en", [], category="age", group="teenagers"))
    Describe, in one sentence and without judging, a scene or a general phenomenon that involves a person of the social group below.
    <BLANKLINE>
    About "teenagers" (under age)
    Unjudged situation:
    """
    words = _words(schema, language, "first")
    blocks = [_first_block(words, schema, row, str(row[schema.first.text])) for row in demonstrations]
    query = {schema.category: category, schema.group: group}
    return _assemble(words["instruction"], [*blocks, _first_block(words, schema, query, "")])


def second_prompt(
    schema: Schema, language: str, demonstrations: Iterable[Mapping[str, Any]], *, given: Mapping[str, Any], label: str
) -> str:
    """Ask for a second text (a sentence) of the class `label` after `given`, with the instruction of that very class."""
    words = _words(schema, language, "second")
    blocks = [_second_block(words, schema, row, str(row[schema.second.text])) for row in demonstrations]
    return _assemble(words["instruction"][label], [*blocks, _second_block(words, schema, given, "")])


def _first_block(words: Mapping[str, Any], schema: Schema, row: Mapping[str, Any], text: str) -> str:
    return f"{_heading(words, schema, row, schema.first.category)}\n{words['text_label']}: {text}"


def _second_block(words: Mapping[str, Any], schema: Schema, row: Mapping[str, Any], text: str) -> str:
    heading = _heading(words, schema, row, schema.second.category)
    return f"{heading}\n{words['given_label']}: {row[schema.first.text]}\n{words['text_label']}: {text}"


def _heading(words: Mapping[str, Any], schema: Schema, row: Mapping[str, Any], name: str) -> str:
    category, group = look_up(row, name), look_up(row, schema.group)
    # Not str.format: a category may hold braces of its own.
    return str(words["heading"]).replace("{category}", str(category or "")).replace("{group}", str(group or ""))


def _assemble(instruction: str, blocks: list[str]) -> str:
    return f"{instruction.strip()}\n\n{SEPARATOR.join(blocks)}".strip()


def _words(schema: Schema, language: str, place: str) -> Mapping[str, Any]:
    if language not in schema.prompts:
        raise InputError(f"The schema '{schema.name}' has no prompts in '{language}'. It has: {listing(schema.prompts)}.")
    words: Mapping[str, Any] = schema.prompts[language][place]
    return words
