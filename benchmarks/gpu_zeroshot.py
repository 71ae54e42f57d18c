"""Zero-shot scoring and Integrated Gradients on one GPU, with a random model of Llama-3.2-1B's shape in bfloat16.

Needs torch, transformers, numpy and pyarrow only:  PYTHONPATH=src python benchmarks/gpu_zeroshot.py
Prints a Markdown table; with OUT set, also writes gpu_zeroshot.json there. FAIRWITNESS_BENCH_TINY=1 runs the same code on a CPU
with a toy model, to see that it runs. Captum is not on such a machine: its side is a plain implementation of what
LayerIntegratedGradients does (one row and one label at a time, Gauss-Legendre nodes in chunks of internal_batch_size, the
gradient of the layer's output), with frozen weights and logits at the label only, which is faster than captum out of the box.
"""

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
import torch

from fairwitness.explain.integrated_gradients import Prompt, Settings, attribute, baseline_vector
from fairwitness.models import plain_pass
from fairwitness.models.causal_lm import CausalLM, Item
from fairwitness.models.fused_gates import fuse_gates
from fairwitness.models.fused_norms import fuse_norms
from fairwitness.models.fused_rotary import fuse_rotary

TINY = bool(os.environ.get("FAIRWITNESS_BENCH_TINY"))
DEVICE = torch.device("cpu" if TINY or not torch.cuda.is_available() else "cuda")
STARTED = time.monotonic()
SECONDS = 420
VOCABULARY = 997 if TINY else 128_256
INSTRUCTION, TAIL, LABELS = 34, 3, [[11], [12, 13, 11]]

rows_out: list[tuple[str, str, str]] = []
facts: dict[str, Any] = {}


def left() -> float:
    return SECONDS - (time.monotonic() - STARTED)


def note(what: str, value: str, remark: str = "") -> None:
    rows_out.append((what, value, remark))
    print(f"  {what}: {value} {remark}", flush=True)


def model(layers: int = 16, hidden: int = 2048, inner: int = 8192, heads: int = 32, groups: int = 8) -> CausalLM:
    from transformers import AutoModelForCausalLM, LlamaConfig

    if TINY:
        layers, hidden, inner, heads, groups = 2, 64, 128, 4, 2
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=hidden // heads,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    dtype = torch.float32 if TINY else torch.bfloat16
    with torch.device(DEVICE):
        made = AutoModelForCausalLM.from_config(config, dtype=dtype)
    made = made.to(DEVICE).eval().requires_grad_(False)
    facts["norms_fused"] = fuse_norms(made)
    if DEVICE.type == "cuda":  # as loading.py does it
        facts["gates_fused"], facts["rotary_fused"] = fuse_gates(made), fuse_rotary(made)
    return CausalLM(made, None, "llama-3.2-1b-shape", DEVICE, "float32" if TINY else "bfloat16")


def items(n: int, seed: int = 0) -> list[Item]:
    dice = np.random.default_rng(seed)
    head = np.random.default_rng(99).integers(20, VOCABULARY, INSTRUCTION).tolist()
    tail = np.random.default_rng(98).integers(20, VOCABULARY, TAIL).tolist()
    lengths = dice.integers(30, 201, n)
    return [(head + dice.integers(20, VOCABULARY, length).tolist() + tail, LABELS) for length in lengths]


def sync() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    sync()
    start = time.perf_counter()
    result = work()
    sync()
    return time.perf_counter() - start, result


def matmul_rate() -> float:
    """The card's bfloat16 matrix-product rate in FLOP/s, best of several large shapes."""
    best = 0.0
    shapes = [(256, 256, 256)] if TINY else [(8192, 8192, 8192), (16384, 8192, 8192), (32768, 2048, 8192), (32768, 8192, 2048)]
    for m, k, n in shapes:
        a = torch.randn(m, k, device=DEVICE).to(torch.float32 if TINY else torch.bfloat16)
        b = torch.randn(k, n, device=DEVICE).to(a.dtype)
        for _ in range(5):
            a @ b
        seconds, _ = timed(lambda a=a, b=b: [a @ b for _ in range(30)])
        rate = 30 * 2 * m * k * n / seconds
        facts[f"matmul_{m}x{k}x{n}_tflops"] = rate / 1e12
        best = max(best, rate)
    note("matrix products, best of several shapes", f"{best / 1e12:.0f} TFLOP/s")
    return best


def needed(lm: CausalLM, work: list[Item]) -> float:
    """Operations that must be done once: linear layers for every token after the head, attention, vocabulary where scored.

    The last layer's feed-forward block is counted where a label is scored alone: elsewhere nobody reads it.
    """
    config = lm.model.config
    linear = sum(
        p.numel() for name, p in lm.model.named_parameters() if p.ndim == 2 and "embed" not in name and "lm_head" not in name
    )
    extra = sum(len(label) - 1 for label in LABELS)
    body = [len(prefix) - INSTRUCTION for prefix, _ in work]
    tokens = sum(body) + extra * len(body) + INSTRUCTION
    unread = 3 * config.hidden_size * config.intermediate_size * (tokens - (1 + extra) * len(body))
    width = config.num_attention_heads * config.head_dim
    attention = (
        sum(4 * width * (b * (INSTRUCTION + (b + 1) / 2) + extra * (INSTRUCTION + b)) for b in body) * config.num_hidden_layers
    )
    return 2 * (linear * tokens - unread) + attention + 2 * config.hidden_size * VOCABULARY * (1 + extra) * len(body)


def scoring(lm: CausalLM, rate: float) -> None:
    n = 60 if TINY else 16_384
    work = items(n)
    mean = np.mean([len(prefix) for prefix, _ in work])
    lm.score(work[:64])
    best = (0.0, 0)
    for budget in [512] if TINY else [16_384, 32_768, 65_536, 131_072]:
        lm.token_budget = budget
        lm.score(work[: n // 8])
        if DEVICE.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        seconds, scored = timed(lambda: lm.score(work))
        assert all(answer.error is None for answer in scored)
        speed, share = n / seconds, needed(lm, work) / seconds / rate
        peak = torch.cuda.max_memory_allocated() / 2**30 if DEVICE.type == "cuda" else float("nan")
        facts[f"score_{budget}"] = {"rows_per_s": speed, "share_of_matmul": share, "peak_gib": peak}
        note(
            f"scoring, {budget:,} tokens a pass",
            f"{speed:,.0f} rows/s",
            f"{share:.0%} of the matrix-product rate, peak {peak:.1f} GiB",
        )
        best = max(best, (speed, budget))
    lm.token_budget = best[1]
    note("prompt length", f"{mean:.0f} tokens", f"of which {INSTRUCTION} are the shared instruction; two labels of 1 and 3 tokens")
    few = work[:20] if TINY else work[:256]
    with torch.inference_mode():
        pairs = [(prefix, label) for prefix, labels in few for label in labels]
        chunks = [pairs[k : k + 64] for k in range(0, len(pairs), 64)]
        plain_pass.continuation_logprobs(lm.model, chunks[0], DEVICE)
        seconds, _ = timed(lambda: [plain_pass.continuation_logprobs(lm.model, chunk, DEVICE) for chunk in chunks])
        note("padded batches, a pass per label, full logits", f"{len(few) / seconds:,.0f} rows/s")
        seconds, slow = timed(lambda: [plain_pass.continuation_logprobs(lm.model, [pair], DEVICE) for pair in pairs[:40]])
        note("one row and label at a time", f"{20 / seconds:,.1f} rows/s")
    fast = np.array([value for answer in lm.score(few[:20]) for value in answer.logprob_sum])
    difference = float(np.abs(fast - torch.cat(slow).cpu().numpy()).max())
    note("largest difference of a log-probability from one row at a time", f"{difference:.3f}", f"values around {fast.mean():.0f}")


def resident() -> float:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(lm: CausalLM, n: int, part: int) -> Iterator[int]:
    """Score generated rows part by part into Parquet, as the audit does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path("/tmp/fairwitness_gpu_stream.parquet")
    with pq.ParquetWriter(path, pa.schema([("lp_pos", pa.float64()), ("lp_neg", pa.float64())])) as writer:
        for start in range(0, n, part):
            scored = lm.score(items(min(part, n - start), seed=start))
            columns = {name: [answer.logprob_sum[k] for answer in scored] for k, name in enumerate(("lp_pos", "lp_neg"))}
            writer.write_table(pa.table(columns))
            yield start + len(scored)
    path.unlink()


def flatness(lm: CausalLM, title: str, n: int, seconds: float, part: int) -> None:
    start, seen, done = time.monotonic(), [], 0
    for so_far in stream(lm, n, part):
        done = so_far
        seen.append(resident())
        if time.monotonic() - start > seconds or left() < 15:
            break
    warm = seen[len(seen) // 4]
    facts[f"host_{title}"] = {
        "rows": done,
        "first_mib": seen[0],
        "warm_mib": warm,
        "last_mib": seen[-1],
        "seconds": time.monotonic() - start,
    }
    speed = done / (time.monotonic() - start)
    note(
        f"host memory, {title}",
        f"{warm:,.0f} → {seen[-1]:,.0f} MiB",
        f"between a quarter of the way and the end of {done:,} rows, {speed:,.0f} rows/s",
    )


def captum_like(
    lm: CausalLM, prompt: list[int], batch: int, steps: int = 32, labels: Sequence[Sequence[int]] = LABELS
) -> np.ndarray:
    """What captum's LayerIntegratedGradients on the embedding layer does for one row: label by label, chunk by chunk."""
    table = lm.model.get_input_embeddings()
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    alphas = torch.tensor((nodes + 1) / 2, device=DEVICE, dtype=torch.float32)
    weights = torch.tensor(weights / 2, device=DEVICE, dtype=torch.float32)
    origin = baseline_vector(lm, "zero")
    total = torch.zeros(len(prompt), device=DEVICE)
    for label, sign in zip(labels, (1, -1), strict=True):
        ids = torch.tensor([*prompt, *label[:-1]], device=DEVICE)
        target = torch.tensor(label, device=DEVICE)
        ends = table(ids)
        starts = ends.clone()
        starts[: len(prompt)] = origin.to(ends.dtype)
        for chunk in range(0, steps, batch):
            share = alphas[chunk : chunk + batch, None, None].to(ends.dtype)
            points = (starts + share * (ends - starts)).requires_grad_(True)
            logits = lm.model(inputs_embeds=points, use_cache=False, logits_to_keep=len(label)).logits.float()
            value = logits.log_softmax(-1).gather(2, target.expand(len(points), -1)[..., None]).sum()
            (gradient,) = torch.autograd.grad(value, points)
            slopes = (gradient.float() * (ends - starts).float()).sum(-1)
            total += sign * (weights[chunk : chunk + batch, None] * slopes)[:, : len(prompt)].sum(0)
    return total.cpu().numpy()


def explaining(lm: CausalLM) -> None:
    rows = [Prompt(list(prefix), INSTRUCTION, len(prefix) - TAIL) for prefix, _ in items(3 if TINY else 24, seed=5)]
    few = rows[:2] if TINY else rows[:6]
    best = (0.0, 0)
    for batch in (8, 16, 32):
        captum_like(lm, few[0].tokens, batch)
        seconds, reference = timed(lambda batch=batch: [captum_like(lm, prompt.tokens, batch) for prompt in few])
        speed = len(few) / seconds
        note(f"IG as captum does it, internal_batch_size {batch}", f"{speed:.2f} rows/s")
        best = max(best, (speed, batch))
    for path, what in (("prompt", "the whole prompt moves, as with captum"), ("text", "the text moves, instruction computed once")):
        settings = Settings(baseline="zero", rule="gauss", path=path, steps=32)
        attribute(lm, rows[:4], LABELS, settings)
        if DEVICE.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        seconds, found = timed(lambda settings=settings: attribute(lm, rows, LABELS, settings))
        speed = len(rows) / seconds
        peak = torch.cuda.max_memory_allocated() / 2**30 if DEVICE.type == "cuda" else float("nan")
        facts[f"ig_{path}"] = {"rows_per_s": speed, "ratio": speed / best[0], "peak_gib": peak}
        note(
            f"IG, ours, 32 steps: {what}",
            f"{speed:.1f} rows/s",
            f"{speed / best[0]:.1f} × captum's way at its best, peak {peak:.1f} GiB",
        )
        if path == "prompt":
            ours = np.concatenate([answer.raw for answer in found[: len(few)]])
            theirs = np.concatenate(reference)
            agreement = float(np.corrcoef(ours, theirs)[0, 1])
            note(
                "IG, correlation with captum's way",
                f"{agreement:.4f}",
                "rounding of the number format; float32 equality is in the tests",
            )


def section(name: str, work: Callable[[], None]) -> None:
    if left() < 20:
        note(name, "not run", "no time left")
        return
    try:
        work()
    except Exception as error:  # noqa: BLE001 - one part that fails must not cost the others' figures
        traceback.print_exc()
        note(name, "failed", f"{type(error).__name__}: {str(error)[:120]}")


def main() -> None:
    card = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU (a dry run)"
    note("device", card, f"torch {torch.__version__}")
    rate = matmul_rate()
    lm = model()
    facts["packs"] = lm.packs
    section("scoring", lambda: scoring(lm, rate))
    section("explaining", lambda: explaining(lm))
    section(
        "host memory",
        lambda: flatness(lm, "Llama-3.2-1B shape", 2_000 if TINY else 200_000, 5 if TINY else 70, 500 if TINY else 8192),
    )
    small = model(layers=2, hidden=256, inner=512, heads=4, groups=2)
    million = 5_000 if TINY else 1_000_000
    section(
        "host memory",
        lambda: flatness(small, "a small model, up to 1,000,000 rows", million, 10 if TINY else max(30.0, left() - 30), 16_384),
    )
    print("\n| what | figure | remark |\n|---|---|---|")
    for what, value, remark in rows_out:
        print(f"| {what} | {value} | {remark} |")
    if out := os.environ.get("OUT"):
        data = {"table": rows_out, "facts": facts, "seconds": time.monotonic() - STARTED}
        (Path(out) / "gpu_zeroshot.json").write_text(json.dumps(data, indent=2, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
