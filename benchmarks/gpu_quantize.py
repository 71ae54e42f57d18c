"""Weights of 4 bits on one GPU: are the answers those of the same weights unpacked, how far from full precision, what is saved.

Needs the extras hf and quantize:  FAIRWITNESS_SHARED=… python -m benchmarks.gpu_quantize
Prints a Markdown table; with OUT set, also writes gpu_quantize.json there.
"""

import gc
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.explaining import prompts_of
from benchmarks.gpu_zeroshot import INSTRUCTION, LABELS, TAIL, captum_like, items, model, timed
from benchmarks.zeroshot import comments
from fairwitness.explain.integrated_gradients import Prompt, Settings, attribute
from fairwitness.models import four_bit, plain_pass, smollm2
from fairwitness.models.causal_lm import CausalLM, load
from fairwitness.models.devices import choose_device
from fairwitness.models.quiet import quiet
from fairwitness.scorers.zero_shot import ZeroShot

STARTED, SECONDS = time.monotonic(), 420
rows_out: list[tuple[str, str, str]] = []


def note(what: str, value: str, remark: str = "") -> None:
    rows_out.append((what, value, remark))
    print(f"  {what}: {value} {remark}", flush=True)


def in_use() -> float:
    """MiB of the card that tensors take now."""
    gc.collect()
    return torch.cuda.memory_allocated() / 2**20 if torch.cuda.is_available() else float("nan")


def unpacked(kind: str) -> CausalLM:
    """smollm2 packed by bitsandbytes and unpacked again by transformers: plain float32 layers that hold the rounded weights."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

    place = choose_device("auto")
    settings = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=kind, bnb_4bit_compute_dtype=torch.float32)
    asked: dict[str, Any] = {"dtype": torch.float32, "quantization_config": settings, "device_map": {"": place}}
    with quiet():
        packed = AutoModelForCausalLM.from_pretrained(smollm2.pull(), **asked)
        plain = packed.dequantize().to(torch.float32).eval().requires_grad_(False)
        tokenizer = AutoTokenizer.from_pretrained(smollm2.pull())
    return CausalLM(plain, tokenizer, f"{kind}, unpacked", place, "float32")


def one_at_a_time(lm: CausalLM, prompts: list[list[int]], labels: list[list[int]]) -> np.ndarray:
    with torch.inference_mode():
        parts = [[float(plain_pass.continuation_logprobs(lm.model, [(p, label)], lm.device)) for label in labels] for p in prompts]
    return np.array([positive - negative for positive, negative in parts])


def same_as_unpacked(texts: list[str]) -> None:
    """The fast pass over packed weights against a pass per row and label over the same weights unpacked."""
    scorer = ZeroShot(dtype="float32", quantize=True)
    reference = unpacked("nf4")
    ours = np.asarray(scorer.score(texts[:60])["score"], float)
    theirs = one_at_a_time(reference, [row.tokens for row in scorer.prompted(texts[:60])], scorer.labels)
    note(
        "scores against the same weights unpacked, one row at a time", f"{np.abs(ours - theirs).max():.1e} apart at most", "float32"
    )
    prompts = prompts_of(scorer, texts[:4])
    settings = Settings(baseline="zero", rule="gauss", path="prompt", steps=32)
    found = np.concatenate([answer.raw for answer in attribute(scorer.lm, prompts, scorer.labels, settings)])
    slow = np.concatenate([captum_like(reference, prompt.tokens, 8, labels=scorer.labels) for prompt in prompts])
    apart = np.abs(found - slow).max() / np.abs(slow).max()
    note("attributions against captum's way on those", f"{apart:.1e} of the largest apart at most", "float32, 32 steps")


def against_full(texts: list[str]) -> None:
    """Decisions, scores, memory and speed in bfloat16 and in both kinds of 4 bits, against float32."""
    exact = np.asarray(ZeroShot(dtype="float32").score(texts)["score"], float)
    measured(ZeroShot(), "bfloat16", texts, exact)
    for kind in ("fp4", "nf4"):
        four_bit.KIND = kind
        measured(ZeroShot(quantize=True), kind, texts, exact)


def measured(scorer: ZeroShot, what: str, texts: list[str], exact: np.ndarray) -> None:
    before = in_use()
    scorer.score(texts[:64])
    note(f"weights, {what}", f"{in_use() - before:.0f} MiB", "fast pass" if scorer.lm.packs else "plain pass")
    seconds, answer = timed(lambda: scorer.score(texts))
    note(f"scoring, {what}", f"{len(texts) / seconds:,.0f} rows/s", f"smollm2, {len(texts):,} comments")
    note(f"{what} against float32", *_apart(np.asarray(answer["score"], float), exact))
    explained(scorer, texts, what)


def _apart(scores: np.ndarray, exact: np.ndarray) -> tuple[str, str]:
    equal = float(np.mean((scores > 0) == (exact > 0)))
    return (
        f"{equal:.1%} of decisions equal",
        f"scores differ by {np.abs(scores - exact).mean():.2f} on average, correlation {np.corrcoef(scores, exact)[0, 1]:.3f}",
    )


def formats(lm: CausalLM) -> Iterator[str]:
    """Compute in the format of the scores, in float32, and in float32 with products of rounded factors (TF32), in turn."""
    usual = torch.get_float32_matmul_precision()
    for number, products in ((lm.dtype, "highest"), ("float32", "highest"), ("float32", "high")):
        torch.set_float32_matmul_precision(products)
        with lm.computing_in(number, ""):
            yield number + (" with TF32 products" if products == "high" else "")
    torch.set_float32_matmul_precision(usual)


def explained(scorer: ZeroShot, texts: list[str], what: str) -> None:
    """How many texts converge in each format."""
    prompts = prompts_of(scorer, texts[:100])
    for name in formats(scorer.lm):
        attribute(scorer.lm, prompts[:8], scorer.labels, Settings())
        seconds, found = timed(lambda: attribute(scorer.lm, prompts, scorer.labels, Settings()))
        good = np.mean([answer.converged for answer in found])
        steps = np.median([answer.steps for answer in found])
        gap = np.median([answer.gap for answer in found])
        remark = f"{steps:.0f} evaluations (median), gap {gap:.4f}, {len(found) / seconds:.1f} rows/s"
        note(f"Integrated Gradients, {what} weights, computed in {name}", f"{good:.0%} of {len(found)} comments converged", remark)


def stored_copy(texts: list[str]) -> None:
    folder = four_bit.stored("smollm2", smollm2.pull())
    megabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    now, kept = ZeroShot(quantize=True), ZeroShot(model=str(folder))
    one, two = (np.asarray(scorer.score(texts[:500])["score"], float) for scorer in (now, kept))
    remark = f"scores {np.abs(one - two).max():.1e} apart at most, known as packed: {kept.lm.quantized}"
    note("a stored copy against packing now", f"{megabytes:.0f} MB", remark)


def larger(title: str, **shape: int) -> None:
    """A random model of a known shape, in bfloat16 and in 4 bits: memory and speed."""
    folder = Path("/tmp/fairwitness_shape")
    made = model(**shape)
    made.model.generation_config.pad_token_id = 0
    made.model.save_pretrained(folder)
    del made
    _borrow_tokenizer(folder)
    work = items(4096, seed=3)
    for quantize in (False, True):
        before = in_use()
        lm = load(str(folder), quantize=quantize)
        weights = in_use() - before
        assert lm.quantized == quantize
        lm.score(work[:512])
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        seconds, scored = timed(lambda lm=lm: lm.score(work))
        assert all(answer.error is None for answer in scored), scored[0]
        peak = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else float("nan")
        name = "4 bits" if quantize else "bfloat16"
        note(f"{title}, {name}", f"{weights:,.0f} MiB of weights", f"{len(work) / seconds:,.0f} rows/s, peak {peak:.1f} GiB")
        gradients(lm, f"{title}, {name}")
        del lm


def gradients(lm: CausalLM, title: str) -> None:
    """What a fixed number of steps costs in each format."""
    rows = [Prompt(list(prefix), INSTRUCTION, len(prefix) - TAIL) for prefix, _ in items(24, seed=5)]
    settings = Settings(rule="gauss", steps=32)
    for name in formats(lm):
        attribute(lm, rows[:4], LABELS, settings)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        seconds, _ = timed(lambda: attribute(lm, rows, LABELS, settings))
        peak = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else float("nan")
        what = f"Integrated Gradients, 32 steps, {title}, computed in {name}"
        note(what, f"{len(rows) / seconds:.1f} rows/s", f"peak {peak:.1f} GiB")


def _borrow_tokenizer(folder: Path) -> None:
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(smollm2.pull()).save_pretrained(folder)


def main() -> None:
    import bitsandbytes

    texts = comments(2000)

    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    note("device", card, f"torch {torch.__version__}, bitsandbytes {bitsandbytes.__version__}")
    parts = [
        lambda: same_as_unpacked(texts),
        lambda: against_full(texts),
        lambda: stored_copy(texts),
        lambda: larger("Llama-3.2-1B's shape"),
        lambda: larger("Llama-3.1-8B's shape", layers=32, hidden=4096, inner=14336),
    ]
    for part in parts:
        if time.monotonic() - STARTED < SECONDS:
            part()
    print("\n| what | figure | remark |\n|---|---|---|")
    for what, value, remark in rows_out:
        print(f"| {what} | {value} | {remark} |")
    if out := os.environ.get("OUT"):
        (Path(out) / "gpu_quantize.json").write_text(json.dumps(rows_out, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
