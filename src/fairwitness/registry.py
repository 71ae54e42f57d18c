"""What there is, by name: name → "module:object", loaded when first asked for.

A new scorer, dataset or model is one file and one line here. Other packages add theirs with entry points in the groups
`fairwitness.scorers`, `fairwitness.datasets` and `fairwitness.models`; ours win a clash of names.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from fairwitness.errors import InputError, suggestion

BUILT_IN: dict[str, dict[str, str]] = {
    "scorers": {
        "likelihood": "fairwitness.scorers.likelihood:Likelihood",
        "masked_likelihood": "fairwitness.scorers.masked_likelihood:MaskedLikelihood",
        "calibrated": "fairwitness.scorers.calibrated:Calibrated",
        "cassette": "fairwitness.scorers.cassette:Cassette",
        "hf": "fairwitness.scorers.hf_classifier:HFClassifier",
        "http": "fairwitness.scorers.http_json:HTTPScorer",
        "openai-moderation": "fairwitness.scorers.openai_moderation:OpenAIModeration",
        "perspective": "fairwitness.scorers.perspective:Perspective",
        "profanity": "fairwitness.scorers.profanity:Profanity",
        "zero_shot": "fairwitness.scorers.zero_shot:ZeroShot",
    },
    "datasets": {
        "alibaba": "fairwitness.datasets.alibaba:DATASET",
        "civil": "fairwitness.datasets.civil:DATASET",
        "civil_identities": "fairwitness.datasets.civil:IDENTITIES",
        "crows_pairs": "fairwitness.datasets.crows_pairs:DATASET",
        "examples": "fairwitness.datasets.examples:DATASET",
        "hatecheck": "fairwitness.datasets.hatecheck:DATASET",
        "hatexplain": "fairwitness.datasets.hatexplain:DATASET",
        "jd": "fairwitness.datasets.jd:DATASET",
        "jigsaw": "fairwitness.datasets.jigsaw:DATASET",
        "jigsaw_templates": "fairwitness.datasets.jigsaw_templates:DATASET",
        "kosbi": "fairwitness.datasets.kosbi:DATASET",
        "nba": "fairwitness.datasets.nba:DATASET",
        "pokec": "fairwitness.datasets.pokec:DATASET",
        "sbic": "fairwitness.datasets.sbic:DATASET",
        "stereoset": "fairwitness.datasets.stereoset:DATASET",
        "toxigen": "fairwitness.datasets.toxigen:DATASET",
        "wilds": "fairwitness.datasets.wilds:DATASET",
    },
    "models": {
        "smollm2": "fairwitness.models.smollm2:pull",
    },
}


def names(kind: str) -> list[str]:
    """All names of one kind ('scorers', 'datasets', 'models'), sorted."""
    return sorted({**_plugged_in(kind), **BUILT_IN[kind]})


def load(kind: str, name: str) -> Any:
    """The object behind a name, imported now. An unknown name is an InputError with the near one."""
    table = {**_plugged_in(kind), **BUILT_IN[kind]}
    if name not in table:
        raise InputError(f"Unknown {kind.rstrip('s')} '{name}'.{suggestion(name, table)}  (fairwitness list {kind})")
    module, _, attribute = table[name].partition(":")
    return getattr(import_module(module), attribute)


@cache
def _plugged_in(kind: str) -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=f"fairwitness.{kind}")}
