"""How CatGCN lets a user's category fields meet before they are pooled: all with all (`agc`), by likeness, or by attention.

A user's fields are a clique of S nodes; X is [users, S, d]. Each refiner returns the refined fields, same shape but perhaps
another width. `bi_interaction` is the local, pairwise part.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ProbedConvolution(nn.Module):
    """`agc`: ÂXW + b with Â = (1·1ᵀ + ρI)/(S + ρ), the clique's adjacency with the probe coefficient ρ.

    Â is the same for every user, so ÂXW = (Σ_s x_s W + ρ·x_s W)/(S + ρ) is computed without forming it.
    """

    def __init__(self, width: int, probe: float) -> None:
        super().__init__()
        self.probe = probe
        self.weight = nn.Parameter(torch.empty(width, width))
        self.bias = nn.Parameter(torch.zeros(width))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, vocabulary: Tensor, fields: Tensor) -> Tensor:
        """Refined fields from the vocabulary's embeddings [V, d] and the users' field codes [users, S]."""
        # W meets the V embeddings once, not every field of every user.
        turned = F.embedding(fields, vocabulary @ self.weight)
        size = fields.shape[1]
        return (turned.sum(dim=1, keepdim=True) + self.probe * turned) / (size + self.probe) + self.bias


class FieldAttention(nn.Module):
    """`gat`: graph attention among a user's fields, several layers of several heads, the last one's heads averaged."""

    def __init__(self, units: list[int], heads: list[int], dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        widths = [units[0]] + [unit * head for unit, head in zip(units[1:], heads, strict=False)]
        self.transforms = nn.ParameterList()
        self.sources = nn.ParameterList()
        self.targets = nn.ParameterList()
        for width, unit, head in zip(widths, units[1:], heads, strict=False):
            self.transforms.append(nn.Parameter(nn.init.xavier_uniform_(torch.empty(head, width, unit))))
            self.sources.append(nn.Parameter(nn.init.xavier_uniform_(torch.empty(head, unit, 1))))
            self.targets.append(nn.Parameter(nn.init.xavier_uniform_(torch.empty(head, unit, 1))))

    def forward(self, x: Tensor) -> Tensor:
        """Refined fields [users, S, units[-1]]."""
        for layer, (transform, source, target) in enumerate(zip(self.transforms, self.sources, self.targets, strict=True)):
            turned = torch.einsum("usd,hdk->uhsk", x, transform)
            scores = F.leaky_relu(torch.tanh(turned) @ source + (torch.tanh(turned) @ target).transpose(2, 3), 0.2)
            mixed = torch.softmax(scores, dim=-1) @ turned
            if layer + 1 == len(self.transforms):
                return mixed.mean(dim=1)
            x = F.dropout(F.elu(mixed.transpose(1, 2).flatten(2)), self.dropout, self.training)
        return x


def cosine_refined(x: Tensor) -> Tensor:
    """`cosimi`: each field becomes the sum of all of the user's fields, weighted by cosine likeness."""
    unit = F.normalize(x, dim=-1)
    return (unit @ unit.transpose(1, 2)) @ x


def bi_interaction(x: Tensor) -> Tensor:
    """Neural factorisation machine's pooling: ½[(Σ_s x_s)² − Σ_s x_s²] = Σ_{s<t} x_s ⊙ x_t, elementwise.

    >>> bi_interaction(torch.tensor([[[1.0], [2.0], [3.0]]]))
    tensor([[11.]])
    """
    return 0.5 * (x.sum(dim=1).square() - x.square().sum(dim=1))
