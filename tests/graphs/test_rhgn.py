"""RHGN: published outputs from published weights; a batch with all neighbours gives what the whole graph gives."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from fairwitness.errors import InputError
from fairwitness.graphs.rhgn import RHGN, RHGNLayer
from fairwitness.graphs.sampling import batch_blocks, full_block, incoming
from fairwitness.graphs.settings import RHGNSettings
from fairwitness.graphs.user_graph import AttributeTable, Relations

SHARED = os.environ.get("FAIRWITNESS_SHARED")
needs_shared = pytest.mark.skipif(not SHARED, reason="needs FAIRWITNESS_SHARED")


def reference() -> dict:
    return json.loads((Path(SHARED or "") / "reference" / "rhgn_forward.json").read_text())


def relations_of(edges: dict, counts: dict, target: str, attributed: str, attributes: tuple = ()) -> Relations:
    return Relations(counts, {tuple(k.split("|")): np.array(v) for k, v in edges.items()}, target, attributed, attributes)


@pytest.mark.shared
@needs_shared
@pytest.mark.parametrize("case", [0, 1])
def test_layer_gives_published_outputs(case: int) -> None:
    one = reference()["layer"][case]
    layer = RHGNLayer(
        one["in_dim"], list(one["node_dict"]), list(one["edge_dict"]), n_heads=one["n_heads"], use_norm=one["use_norm"]
    )
    layer.load_state_dict({name: torch.tensor(value) for name, value in one["weights"].items()})
    block = full_block(relations_of(one["edges"], one["n_nodes"], "user", "item"))
    out = layer.eval()({kind: torch.tensor(value) for kind, value in one["h_in"].items()}, block)
    for kind, value in one["h_out"].items():
        torch.testing.assert_close(out[kind], torch.tensor(value), atol=1e-5, rtol=0)


@pytest.mark.shared
@needs_shared
def test_model_gives_published_logits() -> None:
    one = reference()["model"]
    tables = [np.array(value, dtype=np.float32) for value in one["attr_tables"].values()]
    attributes = tuple(
        AttributeTable(name, np.array(codes), table) for (name, codes), table in zip(one["attr_codes"].items(), tables, strict=True)
    )
    graph = relations_of(one["edges"], {"user1": 4, "user2": 4}, "user1", "user2", attributes)
    model = RHGN(RHGNSettings(n_inp=one["n_inp"], n_hid=one["n_hid"], n_heads=one["n_heads"]), graph, one["n_out"])
    model.load_published({name: torch.tensor(value) for name, value in one["weights"].items()})
    for kind, value in one["inp"].items():
        model.get_buffer(f"inp_{kind}").copy_(torch.tensor(value))
    block = full_block(graph)
    torch.testing.assert_close(model.eval()([block, block]), torch.tensor(one["logits_user1"]), atol=1e-5, rtol=0)


def shop(n_users: int = 40, n_items: int = 25, n_clicks: int = 150) -> Relations:
    """Users and items with clicks and a few purchases."""
    generator = np.random.default_rng(1)
    pairs = {
        name: np.unique(np.stack([generator.integers(0, n_users, n), generator.integers(0, n_items, n)]), axis=1)
        for name, n in (("click", n_clicks), ("purchase", 30))
    }
    edges = {}
    for name, p in pairs.items():
        edges |= {("user", name, "item"): p, ("item", f"{name}_by", "user"): p[::-1]}
    attributes = tuple(
        AttributeTable(name, generator.integers(0, 4, n_items), generator.standard_normal((4, 8)).astype(np.float32))
        for name in ("cid1", "cid2")
    )
    return Relations({"user": n_users, "item": n_items}, edges, "user", "item", attributes)


def test_batches_with_all_neighbours_equal_the_whole_graph() -> None:
    graph = shop()
    torch.manual_seed(0)
    model = RHGN(RHGNSettings(n_inp=8, n_hid=8, n_heads=2), graph, 3).eval()
    whole = full_block(graph)
    every = model([whole, whole])
    seeds = np.array([7, 3, 39, 0])
    blocks = batch_blocks(incoming(graph), graph.counts, {"user": seeds}, [None, None], np.random.default_rng(0))
    torch.testing.assert_close(model(blocks), every[seeds])


def test_fanout_limits_neighbours_and_follows_the_seed() -> None:
    graph = shop()
    csr = incoming(graph)
    relation = ("item", "click_by", "user")

    def sampled(seed: int) -> list:
        return batch_blocks(csr, graph.counts, {"user": np.arange(40)}, [2, 2], np.random.default_rng(seed))

    block = sampled(0)[-1]
    assert torch.bincount(block.edges[relation][1]).max() <= 2
    real = {tuple(pair) for pair in graph.edges[relation].T.tolist()}
    nodes = block.nodes["item"]
    assert nodes is not None
    assert {(int(nodes[s]), int(t)) for s, t in zip(*block.edges[relation], strict=True)} <= real
    same, other = sampled(0)[-1], sampled(1)[-1]
    assert torch.equal(block.edges[relation][0], same.edges[relation][0])
    assert not torch.equal(nodes[block.edges[relation][0]], other.nodes["item"][other.edges[relation][0]])


def test_a_node_without_edges_keeps_its_own_features() -> None:
    graph = shop()
    layer = RHGNLayer(4, ["user", "item"], [r[1] for r in graph.edges], n_heads=2, use_norm=False).eval()
    h = {"user": torch.randn(41, 4), "item": torch.randn(25, 4)}
    graph = Relations({"user": 41, "item": 25}, graph.edges, "user", "item", ())
    out = layer(h, full_block(graph))["user"][40]
    alpha = torch.sigmoid(layer.skip[0])
    torch.testing.assert_close(out, alpha * layer.a_linears[0].bias + (1 - alpha) * h["user"][40])


def test_a_batch_of_users_without_edges_and_a_relation_without_any() -> None:
    graph = shop()
    edges = graph.edges | {("user", "return", "item"): np.empty((2, 0), int)}
    lonely = Relations({"user": 43, "item": 25}, edges, "user", "item", graph.attributes)
    model = RHGN(RHGNSettings(n_inp=8, n_hid=8, n_heads=2), lonely, 3).eval()
    whole = full_block(lonely)
    blocks = batch_blocks(incoming(lonely), lonely.counts, {"user": np.array([41, 42])}, [None, None], np.random.default_rng(0))
    torch.testing.assert_close(model(blocks), model([whole, whole])[[41, 42]])


def test_all_attributes_matter() -> None:
    """The published model of users and items reads one attribute three times; here each is read."""
    graph = shop()
    model = RHGN(RHGNSettings(n_inp=8, n_hid=8, n_heads=2), graph, 3).eval()
    block = full_block(graph)
    before = model([block, block])
    model.get_buffer("cid2_feature").add_(1.0)
    assert not torch.allclose(before, model([block, block]))


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match="--n-hid"):
        RHGN(RHGNSettings(n_hid=30), shop(), 2)
