"""Fair Witness: audits language models, toxicity scorers and graph user models for social bias, and says how surely.

The public names are loaded when first used, so that `import fairwitness` stays instant and needs none of the extras.
"""

from importlib import import_module
from typing import Any

from fairwitness.version import __version__

# public name → where it lives
_PUBLIC = {
    "audit_fairness": "fairwitness.audits.fairness",
    "compare": "fairwitness.audits.compare",
    "CompareConfig": "fairwitness.audits.compare",
    "counterfactual": "fairwitness.audits.counterfactual",
    "CounterfactualConfig": "fairwitness.audits.counterfactual",
    "crows": "fairwitness.audits.crows",
    "CrowsConfig": "fairwitness.audits.crows",
    "FairnessConfig": "fairwitness.audits.fairness",
    "FairWitnessError": "fairwitness.errors",
    "gate": "fairwitness.audits.gate",
    "GateConfig": "fairwitness.audits.gate",
    "group_fairness": "fairwitness.audits.fairness",
    "load_dataset": "fairwitness.datasets.download",
    "stereoset": "fairwitness.audits.stereoset",
    "StereosetConfig": "fairwitness.audits.stereoset",
    "user_model": "fairwitness.audits.user_model",
    "UserModelConfig": "fairwitness.audits.user_model",
    "zero_shot": "fairwitness.audits.zero_shot",
    "ZeroShotConfig": "fairwitness.audits.zero_shot",
    "ContextsConfig": "fairwitness.authoring.contexts",
    "generate_contexts": "fairwitness.authoring.contexts",
    "generate_sentences": "fairwitness.authoring.sentences",
    "SentencesConfig": "fairwitness.authoring.sentences",
    "train_filter": "fairwitness.authoring.filter_training",
    "TrainFilterConfig": "fairwitness.authoring.filter_training",
    "estimated_max_variability": "fairwitness.authoring.variability",
    "krippendorff_alpha": "fairwitness.metrics.agreement",
}

__all__ = ["__version__", *sorted(_PUBLIC)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'fairwitness' has no attribute '{name}'")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
