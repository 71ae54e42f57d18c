"""CatGCN and RHGN per epoch on two CPU threads, against a straightforward reference of the same maths.

The graph is Pokec where FAIRWITNESS_SHARED names it, else a made-up one of its size. References:
CatGCN: the adjacency as a dense matrix, the fields' clique as a matrix per user, every user computed on its own.
RHGN: whole graph; keys, values and scores per edge; a Python loop over target nodes for the softmax and the sum.
Both references are checked to give the same outputs. Prints a Markdown table.
"""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1])]

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.figures import HEAD, figure
from fairwitness.graphs.catgcn import CatGCN
from fairwitness.graphs.columns import Codes
from fairwitness.graphs.learners import Neighbourhoods, WholeGraph
from fairwitness.graphs.published import Layout, load_published
from fairwitness.graphs.rhgn import ATTRIBUTE_SCALE, RHGN
from fairwitness.graphs.settings import CatGCNSettings, RHGNSettings
from fairwitness.graphs.user_graph import AttributeTable, Relations, UserGraph
from fairwitness.graphs.vectors import value_vectors

CPU = torch.device("cpu")
SHARE = float(os.environ.get("BENCH_SHARE", "1"))  # a hundredth, to try the benchmark itself
N_USERS, N_EDGES, N_FIELDS = int(13_504 * SHARE), int(17_229 * SHARE), 70


def pokec() -> UserGraph:
    """The real graph where it is at hand, else a random one of its size."""
    if (shared := os.environ.get("FAIRWITNESS_SHARED")) and SHARE == 1:
        return load_published(Layout(dataset="pokec", folder=Path(shared) / "data" / "user_graphs" / "pokec"))
    generator = np.random.default_rng(0)
    pairs = np.sort(generator.integers(0, N_USERS, (2, N_EDGES * 2)), axis=0)
    pairs = np.unique(pairs[:, pairs[0] < pairs[1]], axis=1)[:, :N_EDGES]
    fields = np.repeat(generator.integers(0, N_FIELDS, (N_USERS, 1)), 10, axis=1)
    sizes = {"completion": 51, "language": 2, "hobby": 2}
    tables = tuple(
        AttributeTable(name, generator.integers(0, n, N_USERS), value_vectors([str(i) for i in range(n)]))
        for name, n in sizes.items()
    )
    edges = {("user1", "connect", "user2"): pairs, ("user2", "receive", "user1"): pairs[::-1]}
    relations = Relations({"user1": N_USERS, "user2": N_USERS}, edges, "user1", "user2", tables)
    columns = {"work_field": Codes((0, 1, 2, 3, 4), generator.integers(0, 5, N_USERS))}
    return UserGraph("pokec", np.arange(N_USERS), columns, pairs, fields, relations)


def dense_catgcn(model: CatGCN, fields: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    """CatGCN as its formula stands."""
    settings = model.settings
    x = model.field_embedding(fields)
    size = fields.shape[1]
    clique = (torch.ones(size, size) + settings.diag_probe * torch.eye(size)) / (size + settings.diag_probe)
    h = torch.bmm(clique.expand(len(x), size, size), x) @ model.grn.weight + model.grn.bias
    h = F.dropout(torch.relu(h), settings.dropout, model.training).mean(dim=1)
    for index, linear in enumerate(model.grn_layer_stack):
        h = linear(h)
        if index + 1 < len(model.grn_layer_stack):
            h = F.dropout(torch.relu(h), settings.dropout, model.training)
    local = 0.5 * (x.sum(dim=1) ** 2 - (x**2).sum(dim=1))
    for linear in model.nfm_layer_stack:
        local = linear(local)
    z = settings.balance_ratio * h + (1 - settings.balance_ratio) * local
    return torch.log_softmax(dense @ z, dim=1)


def looped_rhgn(model: RHGN, relations: Relations) -> torch.Tensor:
    """RHGN with every map per edge and a loop over target nodes."""
    h = {kind: F.gelu(model.adapt_ws[i](_inputs(model, kind))) for i, kind in enumerate(model.types)}
    for layer in model.gcs:
        h = {kind: _looped_type(layer, h, relations, kind) for kind in model.types}
    out: torch.Tensor = model.out(h[model.target])
    return out


def _inputs(model: RHGN, kind: str) -> torch.Tensor:
    inputs = model.get_buffer(f"inp_{kind}")
    if kind not in model.attributed:
        return inputs
    vectors = torch.stack([model.get_buffer(f"{n}_feature")[model.get_buffer(f"codes_{n}")] for n in model.attribute_names], dim=1)
    weights = torch.softmax((model.key(vectors) * model.query(inputs)[:, None]).sum(dim=-1) / ATTRIBUTE_SCALE, dim=1)
    mixed = (weights[..., None] * model.value(vectors)).mean(dim=1)
    alpha = torch.sigmoid(model.skip)
    return alpha * mixed + (1 - alpha) * inputs


def _looped_type(layer: Any, h: dict[str, torch.Tensor], relations: Relations, kind: str) -> torch.Tensor:
    index = layer.types[kind]
    parts = [_looped_relation(layer, h, relation, edges) for relation, edges in relations.edges.items() if relation[2] == kind]
    alpha = torch.sigmoid(layer.skip[index])
    mixed = alpha * layer.drop(layer.a_linears[index](torch.stack(parts).mean(dim=0))) + (1 - alpha) * h[kind]
    return layer.norms[index](mixed)


def _looped_relation(layer: Any, h: dict[str, torch.Tensor], relation: Any, edges: Any) -> torch.Tensor:
    source, name, target = relation
    e, heads, depth = layer.relations[name], layer.heads, layer.depth
    from_, to = (torch.from_numpy(np.ascontiguousarray(side)) for side in edges)
    key = layer.k_linears[layer.types[source]](h[source]).view(-1, heads, depth)[from_]
    value = layer.v_linears[layer.types[source]](h[source]).view(-1, heads, depth)[from_]
    query = layer.q_linears[layer.types[target]](h[target]).view(-1, heads, depth)[to]
    key = torch.einsum("ehd,hdf->ehf", key, layer.relation_att[e])
    value = torch.einsum("ehd,hdf->ehf", value, layer.relation_msg[e])
    scores = (query * key).sum(dim=-1) * layer.relation_pri[e] / math.sqrt(depth)
    order = torch.argsort(to, stable=True)
    cuts = torch.bincount(to, minlength=len(h[target])).tolist()
    rows = []
    for part_scores, part_values in zip(scores[order].split(cuts), value[order].split(cuts), strict=True):
        if len(part_scores):
            rows.append((torch.softmax(part_scores, dim=0)[..., None] * part_values).sum(dim=0).flatten())
        else:
            rows.append(torch.zeros(heads * depth))
    return torch.stack(rows)


def seconds_per_epoch(
    module: torch.nn.Module, forward: Callable[[], torch.Tensor], labels: torch.Tensor, times: int
) -> list[float]:
    """Seconds of one training step on all users and one pass for validation."""
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
    found = []
    for _ in range(times + 1):
        started = time.perf_counter()
        module.train()
        loss = F.cross_entropy(forward(), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        module.eval()
        with torch.no_grad():
            forward()
        found.append(time.perf_counter() - started)
    return found[1:] or found


def main() -> None:
    """Measure both models and print the table."""
    torch.set_num_threads(2)
    torch.manual_seed(0)
    graph = pokec()
    labels = torch.from_numpy(graph.columns["work_field"].codes)
    print(f"Pokec: {graph.n_users:,} users, {graph.edges.shape[1]:,} edges; two CPU threads; a step and a validation pass\n")
    print(HEAD)
    settings = CatGCNSettings(graph_layer="pna", nfm_units="none", gnn_units="none", dropout=0.7, balance_ratio=0.1)
    catgcn = CatGCN(settings, int(graph.fields.max()) + 1, 5)
    ours = WholeGraph(catgcn, graph.fields, graph.edges, CPU)
    fields, dense = torch.from_numpy(graph.fields), ours.graph.matrix.to_dense()
    _print("CatGCN (pna, the seed's flags)", catgcn, lambda: dense_catgcn(catgcn, fields, dense), ours.everyone, labels, 5)
    rhgn = RHGN(RHGNSettings(n_hid=64), graph.relations, 5)
    whole = Neighbourhoods(rhgn, graph.relations, batch_size=0, fanouts=[None, None], seed=0, device=CPU)
    _print("RHGN (whole graph, width 64)", rhgn, lambda: looped_rhgn(rhgn, graph.relations), whole.everyone, labels, 3)
    print("\nAlibaba's size on two CPU threads (`python benchmarks/gpu_graphs.py --cpu`):\n", flush=True)
    # In a process of its own, so that its peak memory is its own.
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("gpu_graphs.py")), "--cpu", "--epochs", "3", "--scale", str(SHARE)],
        check=True,
    )


def _print(
    name: str, module: torch.nn.Module, theirs: Callable[[], torch.Tensor], ours: Any, labels: torch.Tensor, times: int
) -> None:
    module.eval()
    with torch.no_grad():
        gap = float((F.log_softmax(theirs(), dim=1) - F.log_softmax(ours(), dim=1)).abs().max())
    assert gap < 1e-4, f"{name}: the reference differs by {gap}"
    slow = seconds_per_epoch(module, theirs, labels, times)
    fast = seconds_per_epoch(module, ours, labels, 10)
    print(figure(f"{name}, the reference, per epoch", slow, "s"))
    print(figure(f"{name}, ours, per epoch", fast, "s"))
    middle = float(np.median(fast))
    print(figure(f"{name}, times as fast as the reference", [one / middle for one in slow], "×", at_least=2), flush=True)


if __name__ == "__main__":
    main()
