"""The graph layers that may follow CatGCN's user features: each takes features [n, width] and the adjacency, returns class scores.

`pna` and `none` hold no parameters and keep the width; all others have their own weights and take any width.
"""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairwitness.errors import InputError, suggestion
from fairwitness.graphs.adjacency import Adjacency

# Names with the seed's variants: the plain name is the usual form.
GRAPH_LAYERS = (
    *("pna", "none", "sgc", "gcn", "gat", "gat_1", "gat_2", "appnp", "cat-appnp"),
    *("gcnii", "gcnii_F", "gcnii_T", "cross", "cross_1", "cross_2"),
)
WITHOUT_WEIGHTS = ("pna", "none", "cat-appnp")
ALIASES = {"gat": "gat_2", "gcnii": "gcnii_F", "cross": "cross_2"}
NEED_HIDDEN = ("gat_2", "gcnii_F", "gcnii_T", "cross_2")
APPNP_STEPS, APPNP_TELEPORT = 10, 0.1


class GraphLayer(nn.Module):
    """What a graph layer is: features and graph in, features out."""

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """Without anything of its own: the features as they are (`none`)."""
        return x


class PureNeighbourhood(GraphLayer):
    """`pna`: Â^K x, parameter-free."""

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.hops = hops

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """Â^K x."""
        for _ in range(self.hops):
            x = graph.propagate(x)
        return x


class SimpleConvolution(PureNeighbourhood):
    """`sgc`: Â^K x W + b. The narrower of the two sides is propagated: the product is the same."""

    def __init__(self, width: int, n_classes: int, hops: int) -> None:
        super().__init__(hops)
        self.linear = nn.Linear(width, n_classes)

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """Â^K (x W) + b."""
        return super().forward(x @ self.linear.weight.T, graph) + self.linear.bias


class Convolutions(GraphLayer):
    """`gcn`: layers Â x W + b with relu between."""

    def __init__(self, units: list[int], dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(units))

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """The stack."""
        for index, linear in enumerate(self.linears):
            assert isinstance(linear, nn.Linear)
            x = graph.propagate(x @ linear.weight.T) + linear.bias
            if index + 1 < len(self.linears):
                x = F.dropout(F.relu(x), self.dropout, self.training)
        return x


class GraphAttention(GraphLayer):
    """`gat_1`: one attention layer of one head. `gat_2`: eight heads (or --multi-heads), elu, then one head."""

    def __init__(self, units: list[int], heads: list[int], dropout: float) -> None:
        from torch_geometric.nn import GATConv

        super().__init__()
        self.dropout = dropout
        widths = [units[0]] + [unit * head for unit, head in zip(units[1:], heads, strict=False)]
        self.convolutions = nn.ModuleList(
            GATConv(width, unit, heads=head, add_self_loops=False)
            for width, unit, head in zip(widths, units[1:], heads, strict=False)
        )

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """The stack, over the graph's edges with their self loops."""
        edges = graph.edge_index().long()
        for index, convolution in enumerate(self.convolutions):
            x = convolution(x, edges)
            if index + 1 < len(self.convolutions):
                x = F.dropout(F.elu(x), self.dropout, self.training)
        return x


class PersonalisedPropagation(GraphLayer):
    """`appnp`: an MLP, then ten steps z ← 0.9·Â z + 0.1·h. `cat-appnp`: the steps alone."""

    def __init__(self, units: list[int], dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(units))

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """MLP and propagation with teleport."""
        for index, linear in enumerate(self.linears):
            x = linear(x)
            if index + 1 < len(self.linears):
                x = F.dropout(F.relu(x), self.dropout, self.training)
        start = x
        for _ in range(APPNP_STEPS):
            x = (1 - APPNP_TELEPORT) * graph.propagate(x) + APPNP_TELEPORT * start
        return x


class InitialResidual(GraphLayer):
    """`gcnii`: h ← relu(β_l·s W_l + (1−β_l)·s) with s = (1−α)Âh + αh₀ and β_l = log(θ/l + 1).

    `gcnii_T` shares one W between the two parts of s; `gcnii_F` gives each its own.
    """

    def __init__(self, units: list[int], hops: int, alpha: float, theta: float, dropout: float, shared: bool) -> None:
        super().__init__()
        self.alpha, self.theta, self.dropout, self.shared = alpha, theta, dropout, shared
        width, hidden, n_classes = units[0], units[1], units[-1]
        self.enter, self.leave = nn.Linear(width, hidden), nn.Linear(hidden, n_classes)
        count = hops if shared else 2 * hops
        self.weights = nn.ParameterList(nn.Parameter(_glorot(hidden, hidden)) for _ in range(count))
        self.hops = hops

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """The stack between an entering and a leaving linear map."""
        x = start = F.dropout(F.relu(self.enter(x)), self.dropout, self.training)
        for layer in range(self.hops):
            beta = math.log(self.theta / (layer + 1) + 1)
            near, far = (1 - self.alpha) * graph.propagate(x), self.alpha * start
            if self.shared:
                x = _identity_map(near + far, self.weights[layer], beta)
            else:
                x = _identity_map(near, self.weights[2 * layer], beta) + _identity_map(far, self.weights[2 * layer + 1], beta)
            if layer + 1 < self.hops:
                x = F.dropout(F.relu(x), self.dropout, self.training)
        out: Tensor = self.leave(x)
        return out


class CrossFeatures(GraphLayer):
    """`cross`: x ← Â(a + b + a⊙b) with a = xW₁ and b = xW₂, once (`cross_1`) or twice with relu between (`cross_2`)."""

    def __init__(self, units: list[int], dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        pairs = list(itertools.pairwise(units))
        self.firsts = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairs)
        self.seconds = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairs)

    def forward(self, x: Tensor, graph: Adjacency) -> Tensor:
        """The stack."""
        for index, (first, second) in enumerate(zip(self.firsts, self.seconds, strict=True)):
            x = F.dropout(x, self.dropout, self.training)
            a, b = first(x), second(x)
            x = graph.propagate(a + b + a * b)
            if index + 1 < len(self.firsts):
                x = F.relu(x)
        return x


def check_graph_layer(name: str) -> str:
    """The full name of a layer; an unknown one is an InputError that lists them all."""
    if name not in GRAPH_LAYERS:
        raise InputError(
            f"--graph-layer '{name}' is not a graph layer. There are: {', '.join(GRAPH_LAYERS)}.{suggestion(name, GRAPH_LAYERS)}"
        )
    return ALIASES.get(name, name)


def build_layer(
    name: str,
    width: int,
    n_classes: int,
    *,
    units: list[int],
    heads: list[int],
    hops: int,
    alpha: float,
    theta: float,
    dropout: float,
) -> GraphLayer:
    """The layer of that name, from features of `width` to class scores. `units` are the hidden widths between."""
    kind = check_graph_layer(name)
    if kind in WITHOUT_WEIGHTS and width != n_classes:
        raise InputError(
            f"--graph-layer {name} has no weights of its own, so with --graph-refining none and --bi-interaction none nothing "
            "makes class scores. Choose sgc, gcn, gat, appnp, gcnii or cross, or refine the fields (agc, nfm)."
        )
    if kind in NEED_HIDDEN and not units:
        raise InputError(f"--graph-layer {name} needs a hidden width: --gnn-units 64.")
    stack = [width, *units, n_classes]
    if kind == "none":
        return GraphLayer()
    if kind == "pna":
        return PureNeighbourhood(hops)
    if kind == "sgc":
        return SimpleConvolution(width, n_classes, hops)
    if kind == "gcn":
        return Convolutions(stack, dropout)
    if kind.startswith("gat"):
        stack = [width, n_classes] if kind == "gat_1" else [width, units[0], n_classes]
        return GraphAttention(stack, [1] if kind == "gat_1" else [heads[0], 1], dropout)
    if kind == "appnp":
        return PersonalisedPropagation(stack, dropout)
    if kind == "cat-appnp":
        return PersonalisedPropagation([], dropout)
    if kind.startswith("gcnii"):
        return InitialResidual(stack, hops, alpha, theta, dropout, kind == "gcnii_T")
    return CrossFeatures([width, n_classes] if kind == "cross_1" else [width, units[0], n_classes], dropout)


def _glorot(rows: int, columns: int) -> Tensor:
    return nn.init.xavier_uniform_(torch.empty(rows, columns))


def _identity_map(s: Tensor, weight: Tensor, beta: float) -> Tensor:
    return beta * (s @ weight) + (1 - beta) * s
