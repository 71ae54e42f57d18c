"""Attributions against captum, against finite differences, and against themselves under every packing."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from fairwitness.errors import InputError
from fairwitness.explain.explainer import Explainer
from fairwitness.explain.integrated_gradients import Prompt, Settings, attribute, baseline_vector
from fairwitness.models import plain_pass, tree_attention
from fairwitness.models.causal_lm import CausalLM
from fairwitness.models.prompting import Frame, Prompted, prompts

from ..models.tiny_folders import byte_tokenizer, tiny_folder
from ..models.tiny_models import tiny_lm

LABELS = [[7], [9, 3, 5]]
PROMPTS = [
    Prompt([1, 20, 21, 22, 23, 24, 25, 26, 40, 41, 42, 50, 51], 8, 11),
    Prompt([1, 20, 21, 22, 23, 24, 25, 26, 44, 50, 51], 8, 9),
    Prompt([1, 20, 21, 22, 23, 24, 25, 26, 60, 61, 62, 63, 64, 50, 51], 8, 13),
]


@pytest.fixture(scope="module")
def lm() -> CausalLM:
    return tiny_lm("llama", tokenizer=byte_tokenizer(), vocab_size=259)


def margin(lm: CausalLM, tokens: list[int]) -> float:
    with torch.no_grad():
        positive, negative = (plain_pass.continuation_logprobs(lm.model, [(tokens, label)], "cpu").item() for label in LABELS)
    return positive - negative


@pytest.mark.parametrize("path", ["text", "prompt"])
def test_equal_to_captum_with_its_quadrature_and_baseline(lm: CausalLM, path: str) -> None:
    captum = pytest.importorskip("captum.attr")
    table = lm.model.get_input_embeddings()

    ours = attribute(lm, PROMPTS, LABELS, Settings(baseline="pad", rule="gauss", path=path, steps=20))
    for prompt, answer in zip(PROMPTS, ours, strict=True):
        first, last = (prompt.first, prompt.last) if path == "text" else (0, len(prompt.tokens))
        ids, total = torch.tensor([prompt.tokens]), 0
        for label, sign in zip(LABELS, (1, -1), strict=True):
            # Captum moves every embedding the layer gives; what is to stay (the label, the instruction) is its own baseline.
            def whole(x: torch.Tensor, label: list[int] = label) -> torch.Tensor:
                logits = lm.model(input_ids=x).logits.log_softmax(-1)[:, -len(label) - 1 : -1]
                return logits.gather(2, torch.tensor(label).expand(len(x), -1)[..., None]).sum((1, 2))

            explain = captum.LayerIntegratedGradients(whole, table)
            inputs = torch.cat([ids, torch.tensor([label])], dim=1)
            baselines = inputs.clone()
            baselines[:, first:last] = 0
            found = explain.attribute(inputs, baselines=baselines, n_steps=20, method="gausslegendre")
            total = total + sign * found.sum(-1)[0, first:last].numpy()
        scale = np.abs(total).max()
        np.testing.assert_allclose(answer.raw, total, atol=1e-3 * scale, rtol=1e-3)


@pytest.mark.parametrize("baseline", ["eos", "mean", "pad", "blank"])
@pytest.mark.parametrize("path", ["text", "prompt"])
def test_the_default_rule_is_complete(lm: CausalLM, baseline: str, path: str) -> None:
    found = attribute(lm, PROMPTS, LABELS, Settings(baseline=baseline, path=path, tolerance=0.02))
    for prompt, answer in zip(PROMPTS, found, strict=True):
        # Where the margin hardly moves, two per cent of it drown in rounding; such a row must say so.
        assert answer.converged or abs(answer.explained - answer.start) < 0.01
        assert answer.gap <= answer.interval_error
        assert answer.converged == (answer.interval_error <= 0.02)
        assert answer.explained == pytest.approx(margin(lm, prompt.tokens), abs=1e-4)
        assert answer.raw.sum() == pytest.approx(answer.explained - answer.start, rel=0.02)
        assert len(answer.raw) == (len(prompt.tokens) if path == "prompt" else prompt.last - prompt.first)


def test_a_row_alone_gives_what_it_gives_in_company(lm: CausalLM) -> None:
    settings = Settings(rule="midpoint", steps=6)
    together = attribute(lm, PROMPTS, LABELS, settings)
    for prompt, answer in zip(PROMPTS, together, strict=True):
        np.testing.assert_allclose(attribute(lm, [prompt], LABELS, settings)[0].raw, answer.raw, atol=1e-4)


@pytest.mark.parametrize("kind", ["gpt2", "gemma3_text", "qwen3", "phi3", "gemma2"])
def test_other_architectures_are_complete_too(kind: str) -> None:
    other = tiny_lm(kind, tokenizer=byte_tokenizer(), vocab_size=259)
    answer = attribute(other, PROMPTS[:1], LABELS, Settings(baseline="pad", max_steps=512))[0]
    assert answer.explained == pytest.approx(margin(other, PROMPTS[0].tokens), abs=1e-4)
    assert answer.gap < 0.05


def test_the_start_of_the_path_is_the_baseline_token(lm: CausalLM) -> None:
    prompt = PROMPTS[0]
    blanked = [*prompt.tokens[:8], 0, 0, 0, *prompt.tokens[11:]]
    assert attribute(lm, [prompt], LABELS, Settings(baseline="pad"))[0].start == pytest.approx(margin(lm, blanked), abs=1e-4)
    assert float(baseline_vector(lm, "zero").abs().sum()) == 0


def test_the_published_rule_shows_how_far_it_is_off(lm: CausalLM) -> None:
    answer = attribute(lm, PROMPTS[:1], LABELS, Settings(baseline="zero", rule="published", path="prompt", steps=32))[0]
    assert answer.steps == 32
    assert answer.gap == pytest.approx(abs(answer.raw.sum() / (answer.explained - answer.start) - 1), rel=1e-6)


def test_memory_running_out_makes_smaller_passes(lm: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(rule="midpoint", steps=8)
    expected = attribute(lm, PROMPTS, LABELS, settings)
    run = tree_attention.run

    def small_memory(model: Any, batch: tree_attention.TreeBatch, embeddings: Any = None) -> Any:
        if batch.rows > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run(model, batch, embeddings)

    monkeypatch.setattr(tree_attention, "run", small_memory)
    for answer, before in zip(attribute(lm, PROMPTS, LABELS, settings), expected, strict=True):
        np.testing.assert_allclose(answer.raw, before.raw, atol=1e-4)


def test_one_row_too_big_fails_alone(lm: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tree_attention.run

    def small_memory(model: Any, batch: tree_attention.TreeBatch, embeddings: Any = None) -> Any:
        if batch.width > 60:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run(model, batch, embeddings)

    frame = Frame("Rate this: ", " Label:")

    class Scorer:
        identity: ClassVar[dict[str, Any]] = {}
        labels, frames = LABELS, [frame]

        def prompted(self, texts: Any, wording: int = 0) -> list[Prompted]:
            return prompts(self.lm, frame, texts, room=120)

    Scorer.lm = lm  # type: ignore[attr-defined]
    assert lm.packs
    monkeypatch.setattr(tree_attention, "run", small_memory)
    columns = Explainer(Scorer(), Settings(rule="midpoint", steps=2)).score(["fine", "long " * 14])  # type: ignore[arg-type]
    assert columns["error"][0] is None
    assert "does not fit" in columns["error"][1]


def test_scores_in_bfloat16_are_explained_in_float32(tmp_path: Path) -> None:
    from fairwitness.models.causal_lm import load

    frame = Frame("Rate this: ", " Label:")

    class Scorer:
        identity: ClassVar[dict[str, Any]] = {}
        labels, frames = LABELS, [frame]
        lm = load(str(tiny_folder(tmp_path / "model", initializer_range=0.5)), device="cpu", dtype="bfloat16")

        def prompted(self, texts: Any, wording: int = 0) -> list[Prompted]:
            return prompts(self.lm, frame, texts, room=120)

    texts = ["a quiet afternoon", "nobody came to the party"]
    usual, same = (Explainer(Scorer(), Settings(), dtype=dtype).score(texts) for dtype in ("float32", "same"))  # type: ignore[arg-type]
    assert max(usual["interval_error"]) < 0.05 < min(same["interval_error"])
    assert usual["converged"] == [True, True]
    assert same["converged"] == [False, False]
    assert Scorer.lm.dtype == "bfloat16"


@pytest.mark.parametrize("changes", [{"baseline": "noise"}, {"rule": "best"}, {"path": "all"}, {"steps": 0}, {"tolerance": 0.0}])
def test_settings_that_make_no_sense(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Settings(**changes)


def test_an_architecture_without_the_fast_pass_is_refused() -> None:
    with pytest.raises(InputError, match="not available for the architecture"):
        attribute(tiny_lm("bloom"), PROMPTS, LABELS, Settings())
