"""The fast pass is the plain pass: every architecture, batch size, order and packing."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.models import plain_pass, tree_attention
from fairwitness.models.causal_lm import CausalLM, Item

from .tiny_models import SHAPES, UNPACKED, VOCABULARY, tiny_lm


def random_items(seed: int, rows: int = 14, head: int = 12) -> list[Item]:
    dice = random.Random(seed)

    def tokens(n: int) -> list[int]:
        return [dice.randrange(VOCABULARY) for _ in range(n)]

    front = tokens(head)
    return [
        (front + tokens(dice.randrange(1, 30)), [tokens(dice.randrange(1, 5)) for _ in range(dice.randrange(1, 4))])
        for _ in range(rows)
    ]


def reference(lm: CausalLM, items: list[Item]) -> list[list[float]]:
    with torch.no_grad():
        return [
            [plain_pass.continuation_logprobs(lm.model, [(prefix, tokens)], "cpu").item() for tokens in continuations]
            for prefix, continuations in items
        ]


@pytest.mark.parametrize("kind", SHAPES)
def test_every_architecture_equals_one_row_at_a_time(kind: str) -> None:
    lm = tiny_lm(kind)
    items = random_items(1)
    scored = lm.score(items)
    assert lm.packs == (kind not in UNPACKED)
    for answer, expected in zip(scored, reference(lm, items), strict=True):
        np.testing.assert_allclose(answer.logprob_sum, expected, atol=1e-4)
    assert [answer.n_tokens for answer in scored] == [tuple(len(tokens) for tokens in item[1]) for item in items]


@pytest.fixture(scope="module")
def llama() -> CausalLM:
    return tiny_lm("llama")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), budget=st.integers(1, 400), head=st.integers(0, 20))
def test_batch_size_order_and_packing_change_nothing(llama: CausalLM, seed: int, budget: int, head: int) -> None:
    items = random_items(seed, rows=8, head=head)
    llama.token_budget = 10**6
    together = llama.score(items)
    llama.token_budget = budget
    order = random.Random(seed).sample(range(8), 8)
    apart = llama.score([items[k] for k in order])
    for place, row in enumerate(order):
        np.testing.assert_allclose(apart[place].logprob_sum, together[row].logprob_sum, atol=1e-4)


def test_one_item_alone_and_continuations_of_one_token(llama: CausalLM) -> None:
    items: list[Item] = [([1, 2, 3], [[4], [5]])]
    np.testing.assert_allclose(llama.score(items)[0].logprob_sum, reference(llama, items)[0], atol=1e-5)
    assert llama.score([]) == []


def test_probabilities_of_all_next_tokens_sum_to_one(llama: CausalLM) -> None:
    answer = llama.score([([1, 2, 3], [[token] for token in range(VOCABULARY)])])[0]
    assert np.exp(answer.logprob_sum).sum() == pytest.approx(1, abs=1e-5)


def test_rows_that_cannot_be_scored_say_why_and_harm_no_other(llama: CausalLM) -> None:
    good: Item = ([1, 2, 3], [[4]])
    scored = llama.score([([], [[1]]), good, ([1], [[]]), ([1] * 200, [[2]]), ([1], [])])
    assert scored[1] == llama.score([good])[0]
    assert "start token" in str(scored[0].error)
    assert "no tokens" in str(scored[2].error)
    assert scored[3].error == "200 tokens, but the model's context is 128"
    assert scored[4].error


def test_the_last_token_of_the_context_is_usable(llama: CausalLM) -> None:
    items: list[Item] = [([3] * 126, [[4, 5], [6, 7]])]
    np.testing.assert_allclose(llama.score(items)[0].logprob_sum, reference(llama, items)[0], atol=1e-4)


@pytest.mark.parametrize("fits", [1, 60])
def test_out_of_memory_halves_the_batch_and_loses_nothing(monkeypatch: pytest.MonkeyPatch, fits: int) -> None:
    lm = tiny_lm("llama", token_budget=4000)
    items = random_items(3)
    expected = lm.score(items)
    run = tree_attention.run

    def small_memory(model: Any, batch: tree_attention.TreeBatch, embeddings: Any = None) -> Any:
        if batch.rows > 1 and len(batch.tokens) > fits:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return run(model, batch, embeddings)

    monkeypatch.setattr(tree_attention, "run", small_memory)
    for answer, before in zip(lm.score(items), expected, strict=True):
        np.testing.assert_allclose(answer.logprob_sum, before.logprob_sum, atol=1e-4)
    assert lm.batches_halved > 0
    assert lm.token_budget < 4000


def test_a_row_too_big_for_the_memory_is_a_failed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = tiny_lm("llama", token_budget=4000)
    items: list[Item] = [([1] * 50, [[2]]), ([1, 5], [[2]])]
    run = tree_attention.run

    def small_memory(model: Any, batch: tree_attention.TreeBatch, embeddings: Any = None) -> Any:
        if len(batch.tokens) > 40:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
        return run(model, batch, embeddings)

    assert lm.packs
    monkeypatch.setattr(tree_attention, "run", small_memory)
    scored = lm.score(items)
    assert scored[0].error == "out of memory on this row alone"
    assert scored[1].error is None


def test_another_error_is_not_taken_for_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = tiny_lm("llama")
    assert lm.packs

    def broken(*_: Any) -> Any:
        raise RuntimeError("shape mismatch")

    monkeypatch.setattr(tree_attention, "run", broken)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        lm.score([([1], [[2]])])


def test_rows_beyond_a_batch_dependent_rotary_limit_go_alone() -> None:
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0, "original_max_position_embeddings": 16}
    lm = tiny_lm("llama", rope_parameters=rope)
    items = random_items(5, rows=6)
    fresh = tiny_lm("llama", rope_parameters=rope)
    for answer, expected in zip(lm.score(items), reference(fresh, items), strict=True):
        np.testing.assert_allclose(answer.logprob_sum, expected, atol=1e-4)


def test_the_attention_of_the_model_is_given_back(llama: CausalLM) -> None:
    before = llama.model.config._attn_implementation
    llama.score(random_items(2, rows=3))
    assert llama.model.config._attn_implementation == before != tree_attention.NAME
