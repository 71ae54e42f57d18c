"""Scoring prefix and continuation together gives what a row by itself gives, with and without a head that all rows share."""

import random

import numpy as np
import pytest
import torch

from fairwitness.models import plain_pass

from .tiny_models import VOCABULARY, tiny_lm


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma3_text", "mamba"])
@pytest.mark.parametrize("head", [0, 12])
def test_whole_sequences_equal_one_row_at_a_time(kind: str, head: int) -> None:
    lm = tiny_lm(kind)
    dice = random.Random(3)
    front = [dice.randrange(VOCABULARY) for _ in range(head)]

    def tokens(most: int) -> list[int]:
        return [dice.randrange(VOCABULARY) for _ in range(dice.randrange(1, most))]

    items = [(front + tokens(9), [tokens(5) for _ in range(3)]) for _ in range(7)]
    for answer, (prefix, ends) in zip(lm.score(items, whole=True), items, strict=True):
        with torch.no_grad():
            alone = [plain_pass.continuation_logprobs(lm.model, [(prefix[:1], [*prefix[1:], *end])], "cpu").item() for end in ends]
        np.testing.assert_allclose(answer.logprob_sum, alone, atol=1e-4)
        assert answer.n_tokens == tuple(len(prefix) - 1 + len(end) for end in ends)
