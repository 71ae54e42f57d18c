"""Two baselines without a graph, on the same category fields: does the graph help, and at what cost in gaps?

A user's fields are a bag of one-hot codes. `logistic` is a linear map of the bag's mean; `mlp` has one hidden layer.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Logistic(nn.Module):
    """Logits b + mean_s w[field_s]: multinomial logistic regression on the bag of categories."""

    def __init__(self, field_count: int, n_classes: int) -> None:
        super().__init__()
        self.weight = nn.Embedding(field_count, n_classes)
        self.bias = nn.Parameter(torch.zeros(n_classes))
        nn.init.zeros_(self.weight.weight)

    def forward(self, fields: Tensor) -> Tensor:
        """Logits [n, C] from codes [n, S]."""
        out: Tensor = self.weight(fields).mean(dim=1) + self.bias
        return out


class Perceptron(nn.Module):
    """One hidden layer over the bag: logits W₂·dropout(relu(b₁ + mean_s e[field_s])) + b₂."""

    def __init__(self, field_count: int, n_classes: int, *, hidden: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(field_count, hidden)
        self.mixing = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, n_classes)
        self.dropout = dropout

    def forward(self, fields: Tensor) -> Tensor:
        """Logits [n, C] from codes [n, S]."""
        hidden = F.relu(self.mixing(self.embedding(fields).mean(dim=1)))
        out: Tensor = self.out(F.dropout(hidden, self.dropout, self.training))
        return out
