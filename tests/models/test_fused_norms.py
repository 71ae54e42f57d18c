"""A norm is replaced only where the fused one gives its numbers; scores stay what they were."""

import numpy as np
import pytest

from fairwitness.models.fused_norms import fuse_norms

from .test_causal_lm import random_items
from .tiny_models import tiny_lm


@pytest.mark.parametrize(("kind", "expected"), [("llama", 9), ("gemma3_text", 25), ("qwen3", 17), ("gpt2", 0)])
def test_scores_stay(kind: str, expected: int) -> None:
    lm = tiny_lm(kind)
    items = random_items(4, rows=5)
    before = lm.score(items)
    assert fuse_norms(lm.model) == expected
    for old, new in zip(before, lm.score(items), strict=True):
        np.testing.assert_allclose(old.logprob_sum, new.logprob_sum, atol=1e-4)


def test_another_formula_is_left_alone() -> None:
    lm = tiny_lm("llama")
    norm = lm.model.model.norm
    norm.forward = lambda states: states * 2
    assert fuse_norms(lm.model) == 8
    assert norm.forward(3) == 6
