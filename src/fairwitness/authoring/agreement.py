"""How far the annotators of a store agree: α and pairwise κ of each question, per category and per annotator."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairwitness.authoring.annotation_store import Item
from fairwitness.authoring.records import look_up
from fairwitness.authoring.schema import Schema
from fairwitness.authoring.votes import Vote
from fairwitness.metrics.agreement import krippendorff_alpha, majority, pairwise_kappa

Answers = dict[str, dict[str, Hashable]]


@dataclass(frozen=True)
class Agreement:
    """Three tables: α per question and category; κ per pair; per annotator, how often they are with the majority of the others."""

    alpha: pl.DataFrame
    kappa: pl.DataFrame
    annotators: pl.DataFrame


def measure_agreement(schema: Schema, items: Sequence[Item], votes: Mapping[str, Sequence[Vote]]) -> Agreement:
    """All of it, from the votes that stand. What one annotator alone answered has no agreement: NaN, with its n."""
    alpha: list[dict[str, Any]] = []
    kappa: list[dict[str, Any]] = []
    category = {item.id: str(look_up(item.row, schema.category) or "") for item in items}
    for question in ("label", "includes"):
        answers = _answers(votes, question)
        if not answers:
            continue
        alpha.append({"question": question, "category": "", **_alpha(answers)})
        for name in sorted(set(category.values())):
            within = {
                who: {item: value for item, value in said.items() if category.get(item) == name} for who, said in answers.items()
            }
            alpha.append({"question": question, "category": name, **_alpha(within)})
        kappa += [{"question": question, **row} for row in pairwise_kappa(answers)]
    labels = _answers(votes, "label")
    people = [_with_others(who, labels, votes) for who in labels]
    return Agreement(
        pl.DataFrame(alpha, schema={"question": pl.String, "category": pl.String, "value": pl.Float64, "n": pl.Int64}),
        pl.DataFrame(
            kappa, schema={"question": pl.String, "one": pl.String, "other": pl.String, "value": pl.Float64, "n": pl.Int64}
        ),
        pl.DataFrame(people, schema={"annotator": pl.String, "answers": pl.Int64, "value": pl.Float64, "n": pl.Int64}),
    )


def _answers(votes: Mapping[str, Sequence[Vote]], question: str) -> Answers:
    answers: Answers = {}
    for item, said in votes.items():
        for vote in said:
            value = getattr(vote, question)
            if value is not None:
                answers.setdefault(vote.annotator, {})[item] = value
    return dict(sorted(answers.items()))


def _alpha(answers: Answers) -> dict[str, Any]:
    """α, and on how many items with two answers or more it stands."""
    counts: dict[str, int] = {}
    for said in answers.values():
        for item in said:
            counts[item] = counts.get(item, 0) + 1
    return {"value": krippendorff_alpha(list(answers.values())), "n": sum(count > 1 for count in counts.values())}


def _with_others(who: str, labels: Answers, votes: Mapping[str, Sequence[Vote]]) -> dict[str, Any]:
    """The share of items on which an annotator said what the majority of the others said."""
    agreed = compared = 0
    for item, own in labels[who].items():
        others = majority([vote.label for vote in votes[item] if vote.annotator != who and vote.label is not None])
        if others is not None:
            compared += 1
            agreed += others == own
    return {"annotator": who, "answers": len(labels[who]), "value": agreed / compared if compared else math.nan, "n": compared}
