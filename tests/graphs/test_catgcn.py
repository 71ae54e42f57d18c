"""CatGCN: the published outputs from the published weights, and the same result however the work is arranged."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from fairwitness.errors import InputError
from fairwitness.graphs.adjacency import normalised
from fairwitness.graphs.catgcn import CatGCN, _dropped_mean, distinct_rows
from fairwitness.graphs.settings import CatGCNSettings

SHARED = os.environ.get("FAIRWITNESS_SHARED")
EDGES = np.array([[0, 1, 2, 0, 3], [1, 2, 3, 4, 4]])


@pytest.mark.shared
@pytest.mark.skipif(not SHARED, reason="needs FAIRWITNESS_SHARED")
@pytest.mark.parametrize("case", range(4))
def test_published_weights_give_published_outputs(case: int) -> None:
    reference = json.loads((Path(SHARED or "") / "reference" / "catgcn_forward.json").read_text())
    one = reference["cases"][case]
    model = CatGCN(CatGCNSettings(**one["args"]), reference["field_count"], reference["n_classes"])
    model.load_state_dict({name: torch.tensor(value) for name, value in one["weights"].items()})
    model.eval()
    edges = np.sort(np.array(reference["undirected_edges"]).T, axis=0)
    out = model(torch.tensor(reference["field_index"]), normalised(edges, reference["n_users"]))
    torch.testing.assert_close(out, torch.tensor(one["log_probs"]), atol=1e-5, rtol=0)


def naive_agc(model: CatGCN, fields: torch.Tensor) -> torch.Tensor:
    """The global part written down as the formula stands, with the clique's matrix formed."""
    x = model.field_embedding(fields)
    size, probe = fields.shape[1], model.settings.diag_probe
    clique = (torch.ones(size, size) + probe * torch.eye(size)) / (size + probe)
    h = torch.relu(clique @ x @ model.grn.weight + model.grn.bias).mean(dim=1)
    for index, linear in enumerate(model.grn_layer_stack):
        h = linear(h)
        if index + 1 < len(model.grn_layer_stack):
            h = torch.relu(h)
    return h


def test_global_part_is_the_formula() -> None:
    torch.manual_seed(0)
    model = CatGCN(CatGCNSettings(bi_interaction="none", aggr_style="none", graph_layer="none", diag_probe=7.0), 9, 3).eval()
    fields = torch.randint(0, 9, (5, 4))
    torch.testing.assert_close(model.user_features(fields), naive_agc(model, fields))


@pytest.mark.parametrize("refining", ["agc", "cosimi", "gat", "none"])
@pytest.mark.parametrize("pooling", ["mean", "sum", "max"])
def test_distinct_rows_change_nothing(refining: str, pooling: str) -> None:
    torch.manual_seed(0)
    model = CatGCN(CatGCNSettings(graph_refining=refining, aggr_pooling=pooling, graph_layer="pna", field_dim=8), 4, 3).eval()
    fields = torch.randint(0, 4, (30, 2))
    unique, rows = distinct_rows(fields)
    assert rows is not None
    graph = normalised(EDGES, 30)
    torch.testing.assert_close(model(unique, graph, rows), model(fields, graph))


def test_dropout_of_copies_has_the_distribution_of_dropout_then_mean() -> None:
    torch.manual_seed(0)
    found = _dropped_mean(torch.ones(20_000, 8), 10, 0.7)
    expected = torch.nn.functional.dropout(torch.ones(20_000, 8, 10), 0.7).mean(dim=-1)
    assert found.mean().item() == pytest.approx(1, abs=0.01)
    assert found.var().item() == pytest.approx(expected.var().item(), rel=0.05)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"graph_layer": "gnc"}, "pna, none, sgc, gcn"),
        ({"graph_refining": "agcc"}, "agc"),
        ({"aggr_style": "none"}, "both"),
        ({"dropout": 1.0}, "--dropout"),
        ({"grn_units": "64,x"}, "--grn-units"),
        ({"graph_refining": "none", "bi_interaction": "none", "graph_layer": "pna"}, "no weights"),
        ({"graph_layer": "gcnii", "gnn_units": "none"}, "--gnn-units 64"),
    ],
)
def test_impossible_settings_are_named(settings: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        CatGCN(CatGCNSettings(**settings), 4, 2)  # type: ignore[arg-type]
