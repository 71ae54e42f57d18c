"""Fair Witness: audits language models, toxicity scorers and graph user models for social bias, and says how surely.

The public names are loaded when first used, so that `import fairwitness` stays instant and needs none of the extras.
"""

from importlib import import_module
from typing import Any

from fairwitness.version import __version__

# public name → where it lives
_PUBLIC = {
    "CounterfactualConfig": "fairwitness.audits.counterfactual",
    "FairWitnessError": "fairwitness.errors",
    "counterfactual": "fairwitness.audits.counterfactual",
    "load_dataset": "fairwitness.datasets.download",
    "UserModelConfig": "fairwitness.audits.user_model",
    "user_model": "fairwitness.audits.user_model",
    "CrowsConfig": "fairwitness.audits.crows",
    "crows": "fairwitness.audits.crows",
    "StereosetConfig": "fairwitness.audits.stereoset",
    "stereoset": "fairwitness.audits.stereoset",
    "ZeroShotConfig": "fairwitness.audits.zero_shot",
    "zero_shot": "fairwitness.audits.zero_shot",
    "load_dataset": "fairwitness.datasets.download",
    "counterfactual": "fairwitness.audits.counterfactual",
    "UserModelConfig": "fairwitness.audits.user_model",
    "user_model": "fairwitness.audits.user_model",
    "group_fairness": "fairwitness.audits.fairness",
}

__all__ = ["__version__", *sorted(_PUBLIC)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'fairwitness' has no attribute '{name}'")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
