"""Computing in another number format for a while: the answers are those of that format, and afterwards nothing has changed."""

import pytest
import torch

from fairwitness.errors import ModelError
from fairwitness.models import causal_lm
from fairwitness.models.causal_lm import CausalLM, load

from .tiny_folders import tiny_folder

ASKED = (["It was a bright cold day", "It was a dark night"], [[" in April", "."], [" at sea", "!"]])


@pytest.fixture(scope="module", params=["llama", "gemma3_text", "gpt2"])
def half(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CausalLM:
    return load(str(tiny_folder(tmp_path_factory.mktemp(request.param), request.param)), device="cpu", dtype="bfloat16")


def test_inside_it_is_the_same_weights_in_float32(half: CausalLM) -> None:
    from transformers import AutoModelForCausalLM

    before = half.logprobs(*ASKED)
    weights = [parameter.clone() for parameter in half.model.parameters()]
    plain = AutoModelForCausalLM.from_pretrained(half.name, dtype=torch.bfloat16).float().eval()
    expected = CausalLM(plain, half.tokenizer, "plain", half.device, "float32").logprobs(*ASKED)
    with half.computing_in("float32", ""):
        assert half.dtype == "float32"
        inside = half.logprobs(*ASKED)
    for ours, theirs in zip(inside, expected, strict=True):
        assert ours.logprob_sum == pytest.approx(theirs.logprob_sum, abs=1e-4)
    assert half.dtype == "bfloat16"
    assert all(torch.equal(now, then) for now, then in zip(half.model.parameters(), weights, strict=True))
    assert half.logprobs(*ASKED) == before != inside


def test_weights_that_are_kept_in_float32_stay_so(half: CausalLM) -> None:
    """Some architectures keep a router or a gate in float32 whatever the others are."""
    kept = next(iter(half.model.parameters()))
    kept.data = kept.data.float() + 1e-5
    before = kept.clone()
    with half.computing_in("float32", ""):
        pass
    assert kept.dtype == torch.float32
    assert torch.equal(kept, before)
    kept.data = kept.data.bfloat16()


def test_memory_that_runs_out_on_the_way_leaves_the_model_as_it_was(half: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    before = half.logprobs(*ASKED)

    def breaks(_model: object, _number: str) -> None:
        next(iter(half.model.parameters())).data = next(iter(half.model.parameters())).data.float()
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(causal_lm, "compute_in", breaks)
    with (
        pytest.raises(ModelError, match=r"in float32 does not fit on cpu\. Give it more"),
        half.computing_in("float32", "Give it more"),
    ):
        pass
    assert half.dtype == "bfloat16"
    assert half.logprobs(*ASKED) == before
