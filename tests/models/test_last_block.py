"""The last feed-forward block works where logits are read; that scores are those of whole rows is test_causal_lm.py's."""

import pytest
import torch

from fairwitness.models.last_block import _last_block, last_block_only_at

from .test_causal_lm import random_items
from .tiny_models import tiny_lm


@pytest.mark.parametrize("kind", ["llama", "gemma3_text", "qwen3", "mistral", "phi", "gpt2"])
def test_it_sees_the_scored_tokens_only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = tiny_lm(kind)
    block = _last_block(lm.model)
    seen, plain = [], block.forward
    monkeypatch.setattr(block, "forward", lambda states: (seen.append(states.shape[1]), plain(states))[1])
    items = random_items(4, rows=5)
    lm.score(items)
    assert seen[-1] < sum(len(prompt) for prompt, _ in items) / 2


def test_afterwards_all_is_as_it_was() -> None:
    model = tiny_lm("llama").model
    tokens = torch.arange(6)[None]
    with torch.no_grad():
        before = model(tokens).logits
        with last_block_only_at(model, torch.tensor([2, 5])):
            within = model(tokens).logits
        torch.testing.assert_close(within[:, [2, 5]], before[:, [2, 5]])
        assert not torch.allclose(within, before)
        torch.testing.assert_close(model(tokens).logits, before)
