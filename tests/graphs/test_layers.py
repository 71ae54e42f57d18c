"""Every graph layer works on any width, and those that torch-geometric has too agree with it."""

import numpy as np
import pytest
import torch
from torch_geometric.nn import APPNP, GCN2Conv, GCNConv, SGConv

from fairwitness.graphs.adjacency import normalised
from fairwitness.graphs.catgcn import CatGCN
from fairwitness.graphs.layers import GRAPH_LAYERS, Convolutions, InitialResidual, PersonalisedPropagation, SimpleConvolution
from fairwitness.graphs.settings import CatGCNSettings

EDGES = np.array([[0, 1, 2, 0, 3], [1, 2, 3, 4, 4]])
BOTH = torch.from_numpy(np.concatenate([EDGES, EDGES[::-1]], axis=1))
GRAPH = normalised(EDGES, 6)


def test_an_edge_counts_once_however_it_is_named() -> None:
    loops = np.array([[2, 5], [2, 5]])
    named = np.concatenate([EDGES[::-1], EDGES, loops, EDGES[:, :2]], axis=1)
    torch.testing.assert_close(normalised(named, 6).matrix.to_dense(), GRAPH.matrix.to_dense())


@pytest.mark.parametrize("layer", GRAPH_LAYERS)
@pytest.mark.parametrize("raw", [False, True])
def test_every_layer_learns(layer: str, raw: bool) -> None:
    if raw and layer in ("pna", "none", "cat-appnp"):
        pytest.skip("these have no weights: refused, see test_catgcn")
    torch.manual_seed(0)
    off = {"graph_refining": "none", "bi_interaction": "none", "aggr_style": "none"} if raw else {}
    model = CatGCN(CatGCNSettings(graph_layer=layer, field_dim=8, gnn_units="6", gnn_hops=2, dropout=0.1, **off), 5, 3)
    fields = torch.randint(0, 5, (6, 4))
    out = model(fields, GRAPH)
    assert out.shape == (6, 3)
    torch.testing.assert_close(out.exp().sum(dim=1), torch.ones(6))
    out[:, 0].sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_gcn_agrees_with_geometric() -> None:
    x = torch.randn(6, 4)
    ours, theirs = Convolutions([4, 3], 0.0), GCNConv(4, 3)
    theirs.lin.weight.data, theirs.bias.data = ours.linears[0].weight.data, ours.linears[0].bias.data
    torch.testing.assert_close(ours(x, GRAPH), theirs(x, BOTH))


def test_sgc_agrees_with_geometric() -> None:
    x = torch.randn(6, 4)
    ours, theirs = SimpleConvolution(4, 3, 2), SGConv(4, 3, K=2)
    theirs.lin.weight.data, theirs.lin.bias.data = ours.linear.weight.data, ours.linear.bias.data
    torch.testing.assert_close(ours(x, GRAPH), theirs(x, BOTH))


def test_appnp_agrees_with_geometric() -> None:
    x = torch.randn(6, 4)
    torch.testing.assert_close(PersonalisedPropagation([], 0.0)(x, GRAPH), APPNP(K=10, alpha=0.1)(x, BOTH))


@pytest.mark.parametrize("shared", [True, False])
def test_gcnii_agrees_with_geometric(shared: bool) -> None:
    ours = InitialResidual([4, 5, 3], 1, 0.3, 0.7, 0.0, shared).eval()
    theirs = GCN2Conv(5, alpha=0.3, theta=0.7, layer=1, shared_weights=shared)
    theirs.weight1.data = ours.weights[0].data
    if not shared:
        theirs.weight2.data = ours.weights[1].data
    x = torch.randn(6, 4)
    entered = torch.relu(ours.enter(x))
    torch.testing.assert_close(ours(x, GRAPH), ours.leave(theirs(entered, entered, BOTH)))


def test_propagation_and_its_gradient_are_the_dense_product() -> None:
    x = torch.randn(6, 3, requires_grad=True)
    dense = GRAPH.matrix.to_dense()
    GRAPH.propagate(x).square().sum().backward()
    torch.testing.assert_close(x.grad, 2 * dense.T @ (dense @ x.detach()))
