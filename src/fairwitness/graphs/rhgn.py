"""RHGN: relation-aware attention over a graph with several node and edge types, and attention over items' attributes.

Names of parameters are those of the published checkpoints. Everything is plain torch over edge lists; a relation's linear
maps meet each node once, not each edge.
"""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairwitness.errors import InputError
from fairwitness.graphs.sampling import Block
from fairwitness.graphs.settings import RHGNSettings
from fairwitness.graphs.user_graph import Relation, Relations

# The published code divides by √200, the width of the published vectors, at every width.
ATTRIBUTE_SCALE = math.sqrt(200)


class RHGNLayer(nn.Module):
    """One layer. For a target node of type t, over the relations e that end in t:

    score = (q·(k A_e))·pri_e/√d_k, softmax over the incoming edges of e, m_e = Σ a·(v M_e), m = mean over e,
    out = LayerNorm( σ(skip_t)·dropout(A_t m) + (1−σ(skip_t))·h ). A relation without incoming edges at a node counts as m_e = 0.
    """

    def __init__(
        self,
        width: int,
        node_types: Sequence[str],
        relations: Sequence[str],
        *,
        n_heads: int,
        dropout: float = 0.2,
        use_norm: bool = True,
    ) -> None:
        super().__init__()
        self.types = {name: index for index, name in enumerate(node_types)}
        self.relations = {name: index for index, name in enumerate(relations)}
        self.heads, self.depth = n_heads, width // n_heads
        self.k_linears = nn.ModuleList(nn.Linear(width, width) for _ in node_types)
        self.q_linears = nn.ModuleList(nn.Linear(width, width) for _ in node_types)
        self.v_linears = nn.ModuleList(nn.Linear(width, width) for _ in node_types)
        self.a_linears = nn.ModuleList(nn.Linear(width, width) for _ in node_types)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in node_types) if use_norm else None
        self.relation_pri = nn.Parameter(torch.ones(len(relations), n_heads))
        self.relation_att = nn.Parameter(torch.empty(len(relations), n_heads, self.depth, self.depth))
        self.relation_msg = nn.Parameter(torch.empty(len(relations), n_heads, self.depth, self.depth))
        self.skip = nn.Parameter(torch.ones(len(node_types)))
        self.drop = nn.Dropout(dropout)
        nn.init.xavier_uniform_(self.relation_att)
        nn.init.xavier_uniform_(self.relation_msg)

    def forward(self, h: Mapping[str, Tensor], block: Block, wanted: Sequence[str] | None = None) -> dict[str, Tensor]:
        """New features of the block's targets, of all types or of the wanted ones."""
        out = {}
        for kind in wanted or self.types:
            n = block.n_targets[kind]
            messages = [self._message(h, block, relation, n) for relation in block.edges if relation[2] == kind]
            mean = torch.stack(messages).mean(dim=0) if messages else h[kind].new_zeros(n, self.heads * self.depth)
            index = self.types[kind]
            alpha = torch.sigmoid(self.skip[index])
            mixed = alpha * self.drop(self.a_linears[index](mean)) + (1 - alpha) * h[kind][:n]
            out[kind] = self.norms[index](mixed) if self.norms is not None else mixed
        return out

    def _message(self, h: Mapping[str, Tensor], block: Block, relation: Relation, n: int) -> Tensor:
        source_kind, name, target_kind = relation
        index = self.relations[name]
        source, target = block.edges[relation]
        query = self.q_linears[self.types[target_kind]](h[target_kind][:n]) * self._scale(index)
        key = self._related(self.k_linears[self.types[source_kind]], h[source_kind], self.relation_att[index])
        value = self._related(self.v_linears[self.types[source_kind]], h[source_kind], self.relation_msg[index])
        # Rows are gathered flat: index_select of matrices is several times faster than indexing, both ways.
        scores = (query.index_select(0, target) * key.index_select(0, source)).view(len(source), self.heads, self.depth).sum(dim=-1)
        return attend(scores, value.index_select(0, source), target, n)

    def _scale(self, index: int) -> Tensor:
        """pri_e/√d_k of each head, over the head's columns: scaling the few queries scales all scores."""
        return (self.relation_pri[index] / math.sqrt(self.depth)).repeat_interleave(self.depth)

    def _related(self, linear: nn.Module, h: Tensor, matrix: Tensor) -> Tensor:
        """The linear map followed by the relation's map of each head."""
        return torch.einsum("nhd,hde->nhe", linear(h).view(len(h), self.heads, self.depth), matrix).flatten(1)


def attend(scores: Tensor, values: Tensor, target: Tensor, n: int) -> Tensor:
    """Σ over each target's edges of softmax(scores)·values, per head: [n, heads · depth]. Zero where there is no edge."""
    heads = scores.shape[1]
    # Said in full: a shape with -1 cannot be guessed where a relation has no edge, or a batch no target of the type.
    depth = values.shape[1] // heads
    spread = target[:, None].expand_as(scores)
    highest = scores.new_zeros(n, heads).scatter_reduce(0, spread, scores.detach(), "amax", include_self=False)
    weights = torch.exp(scores - highest.index_select(0, target))
    total = scores.new_zeros(n, heads).index_add(0, target, weights)
    weighted = (weights.unsqueeze(-1) * values.view(len(values), heads, depth)).flatten(1)
    summed = values.new_zeros(n, values.shape[1]).index_add(0, target, weighted).view(n, heads, depth)
    return (summed / torch.where(total > 0, total, torch.ones_like(total)).unsqueeze(-1)).flatten(1)


class RHGN(nn.Module):
    """Class scores (logits) for the target users of a block, or of the whole graph."""

    def __init__(self, settings: RHGNSettings, relations: Relations, n_classes: int, *, seed: int = 0) -> None:
        super().__init__()
        settings.check()
        self.settings, self.target = settings, relations.target
        self.types = list(relations.counts)
        self.attributed = self.types if settings.own_attributes and relations.target != "user" else [relations.attributed]
        width = settings.n_inp
        for name, count in relations.counts.items():
            self.register_buffer(f"inp_{name}", fixed_inputs(count, width, seed, name), persistent=False)
        self.attribute_names = [attribute.name for attribute in relations.attributes]
        for attribute in relations.attributes:
            if attribute.vectors.shape[1] != width:
                raise InputError(
                    f"--n-inp is {width}, but the vectors of '{attribute.name}' have {attribute.vectors.shape[1]} numbers."
                )
            self.register_buffer(f"codes_{attribute.name}", torch.from_numpy(attribute.codes).long(), persistent=False)
            self.register_buffer(f"{attribute.name}_feature", torch.from_numpy(attribute.vectors).float(), persistent=False)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.skip = nn.Parameter(torch.ones(1))
        self.adapt_ws = nn.ModuleList(nn.Linear(width, settings.n_hid) for _ in self.types)
        self.gcs = nn.ModuleList(
            RHGNLayer(
                settings.n_hid,
                self.types,
                [relation[1] for relation in relations.edges],
                n_heads=settings.n_heads,
                dropout=settings.dropout,
                use_norm=settings.use_norm,
            )
            for _ in range(settings.n_layers)
        )
        self.out = nn.Linear(settings.n_hid, n_classes)

    def forward(self, blocks: Sequence[Block]) -> Tensor:
        """Logits [targets, C] of the last block's target users; one block a layer, nearest the input first."""
        h = {kind: self._entered(index, kind, blocks[0].nodes[kind]) for index, kind in enumerate(self.types)}
        for index, (layer, block) in enumerate(zip(self.gcs, blocks, strict=True)):
            h = layer(h, block, [self.target] if index + 1 == len(self.gcs) else None)
        out: Tensor = self.out(h[self.target])
        return out

    def _entered(self, index: int, kind: str, ids: Tensor | None) -> Tensor:
        inputs = self.get_buffer(f"inp_{kind}")
        inputs = inputs if ids is None else inputs[ids]
        if kind in self.attributed and len(inputs):
            return F.gelu(self._with_attributes(self.adapt_ws[index], inputs, ids))
        return F.gelu(self.adapt_ws[index](inputs))

    def _with_attributes(self, adapt: nn.Module, inputs: Tensor, ids: Tensor | None) -> Tensor:
        """adapt(x') with x' = σ(skip)·mean_j(a_j v_j) + (1−σ(skip))·inp and a = softmax_j(k_j·q/√200).

        Nodes with the same attribute value share its key and value, so the wide maps meet the values, not the nodes:
        k·(W_q x + b) = (k W_q)·x + k·b, and the map that follows is taken to each part of the sum.
        """
        assert isinstance(adapt, nn.Linear)
        tables, codes = self._attribute_codes(ids)
        scores = torch.stack([self._scores(table, code, inputs) for table, code in zip(tables, codes, strict=True)], dim=1)
        weights = torch.softmax(scores / ATTRIBUTE_SCALE, dim=1) / len(tables)
        alpha = torch.sigmoid(self.skip)
        out = (1 - alpha) * (inputs @ adapt.weight.T) + adapt.bias
        for j, (table, code) in enumerate(zip(tables, codes, strict=True)):
            out = out + alpha * weights[:, j : j + 1] * (self.value(table) @ adapt.weight.T).index_select(0, code)
        return out

    def _scores(self, table: Tensor, codes: Tensor, inputs: Tensor) -> Tensor:
        keys = self.key(table)
        turned, offset = keys @ self.query.weight, keys @ self.query.bias
        scores: Tensor = (turned.index_select(0, codes) * inputs).sum(dim=1) + offset.index_select(0, codes)
        return scores

    def _attribute_codes(self, ids: Tensor | None) -> tuple[list[Tensor], list[Tensor]]:
        """Each attribute's vectors and the nodes' codes among them: all vectors, or only those of a batch where they are fewer."""
        tables, codes = [], []
        for name in self.attribute_names:
            table, code = self.get_buffer(f"{name}_feature"), self.get_buffer(f"codes_{name}")
            code = code if ids is None else code[ids]
            if len(code) < len(table):
                kept, code = torch.unique(code, return_inverse=True)
                table = table[kept]
            tables.append(table)
            codes.append(code)
        return tables, codes

    def load_published(self, weights: Mapping[str, Tensor]) -> None:
        """Load a published state: parameters by name, `*_feature.weight` tables in the attributes' order; the rest is unused."""
        tables = [value for name, value in weights.items() if name.endswith("_feature.weight")]
        for name, table in zip(self.attribute_names, tables, strict=bool(tables)):
            self.get_buffer(f"{name}_feature").copy_(table)
        own = set(self.state_dict())
        missing = own - set(weights)
        if missing:
            raise InputError(f"The weights lack {sorted(missing)[0]} ({len(missing)} parameters in all).")
        self.load_state_dict({name: weights[name] for name in own})


def fixed_inputs(count: int, width: int, seed: int, name: str) -> Tensor:
    """The fixed random input of a node type: Xavier-uniform, the same for the same seed on every device."""
    generator = torch.Generator().manual_seed((seed * 1_000_003 + sum(name.encode())) % 2**63)
    bound = math.sqrt(6.0 / (count + width))
    return (torch.rand(count, width, generator=generator) * 2 - 1) * bound
