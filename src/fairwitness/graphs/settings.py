"""What can be set about a user model and its training, with the published defaults: the one place where they stand.

Plain data without torch, so that the audit's own options can take their defaults from here.
"""

import math
from dataclasses import dataclass, field

from fairwitness.errors import InputError, suggestion

MODELS = ("catgcn", "rhgn", "logistic", "mlp")
FEATURES = ("fields", "attributes")
REFINERS = ("agc", "cosimi", "gat", "none")
POOLINGS = ("mean", "sum", "max")
STYLES = ("sum", "none")
INTERACTIONS = ("nfm", "none")
SELECTIONS = ("val_loss", "val_accuracy", "last")


@dataclass(frozen=True, kw_only=True)
class CatGCNSettings:
    """The shape of a CatGCN, with the published defaults."""

    field_dim: int = 64
    graph_refining: str = "agc"
    aggr_pooling: str = "mean"
    bi_interaction: str = "nfm"
    aggr_style: str = "sum"
    graph_layer: str = "sgc"
    balance_ratio: float = 0.5
    dropout: float = 0.5
    diag_probe: float = 1.0
    nfm_units: str = "64"
    grn_units: str = "64"
    gnn_units: str = "64"
    gat_units: str = "64"
    gnn_hops: int = 1
    multi_heads: str = "8,1"
    alpha: float = 0.5
    theta: float = 0.5

    def check(self) -> None:
        """An InputError for the first setting that cannot be."""
        _one_of("--graph-refining", self.graph_refining, REFINERS)
        _one_of("--aggr-pooling", self.aggr_pooling, POOLINGS)
        _one_of("--bi-interaction", self.bi_interaction, INTERACTIONS)
        _one_of("--aggr-style", self.aggr_style, STYLES)
        both = self.graph_refining != "none" and self.bi_interaction != "none"
        if both and self.aggr_style == "none":
            raise InputError(
                "--aggr-style none keeps one interaction, but both are asked for. Use sum, or switch one off with none."
            )
        if not 0 <= self.dropout < 1:
            raise InputError(f"--dropout is {self.dropout}; it lies in [0, 1).")
        if not 0 <= self.balance_ratio <= 1:
            raise InputError(f"--balance-ratio is {self.balance_ratio}; it lies in [0, 1].")
        if self.diag_probe < 0 or self.gnn_hops < 0 or self.field_dim < 1:
            raise InputError("--diag-probe and --gnn-hops are not negative, and --field-dim is at least 1.")


@dataclass(frozen=True, kw_only=True)
class RHGNSettings:
    """The shape of an RHGN, with the published defaults."""

    n_hid: int = 32
    n_inp: int = 200
    n_layers: int = 2
    n_heads: int = 4
    dropout: float = 0.2
    use_norm: bool = True
    own_attributes: bool = False
    """Whether both copies of the users see their attributes (NBA, Pokec); as published only the neighbours' copy does."""

    def check(self) -> None:
        """An InputError for the first setting that cannot be."""
        if self.n_heads < 1 or self.n_hid < 1 or self.n_hid % self.n_heads:
            raise InputError(f"--n-hid is {self.n_hid}; it must be a multiple of the {self.n_heads} heads.")
        if self.n_layers < 1:
            raise InputError("--n-layers is at least 1.")
        if not 0 <= self.dropout < 1:
            raise InputError(f"--dropout is {self.dropout}; it lies in [0, 1).")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to train; the defaults are CatGCN's published ones."""

    epochs: int = 9999
    patience: int = 10
    """Epochs without a better validation before stopping; 0 never stops early."""
    select: str = "val_loss"
    """Which epoch's weights are kept: the lowest validation loss, the highest validation accuracy, or the last."""
    optimiser: str = "adam"
    learning_rate: float = 0.1
    weight_decay: float = 1e-5
    one_cycle: bool = False
    clip: float = 0.0
    """Longest gradient; 0 leaves gradients alone."""
    checkpoint_s: float = 30.0
    """Seconds between checkpoints."""

    def check(self) -> None:
        """An InputError for the first setting that cannot be."""
        if self.select not in SELECTIONS:
            raise InputError(f"--select is '{self.select}'; it is one of: {', '.join(SELECTIONS)}.")
        if self.epochs < 1 or self.patience < 0:
            raise InputError("--epochs is at least 1 and --patience is not negative.")
        if not (self.learning_rate > 0 and math.isfinite(self.learning_rate)):
            raise InputError(f"The learning rate is {self.learning_rate}; it must be positive.")
        if self.weight_decay < 0 or self.clip < 0:
            raise InputError("--weight-decay and --clip are not negative.")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything a training depends on besides the graph; the defaults are CatGCN's published ones."""

    model: str
    seed: int
    split: str = "catgcn"
    train_ratio: float = 0.8
    catgcn: CatGCNSettings = field(default_factory=CatGCNSettings)
    rhgn: RHGNSettings = field(default_factory=RHGNSettings)
    training: TrainSettings = field(default_factory=TrainSettings)
    weight_balanced: bool = True
    reweight: float = 0.0
    clustering_method: str = "none"
    cluster_number: int = 100
    batch_size: int = 512
    fanout: int = 0
    features: str = "fields"
    hidden: int = 64
    gpu: int = 0


def _one_of(flag: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"{flag} is '{value}'; it is one of: {', '.join(known)}.{suggestion(value, known)}")
