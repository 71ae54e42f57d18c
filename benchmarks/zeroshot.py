"""Zero-shot scoring and Integrated Gradients on this CPU with the built-in model, each beside its peer in the same run.

The floor: the operations that must be done once (every token behind the shared instruction through every linear layer, attention,
the last feed-forward block and the vocabulary where a label token is scored) over the matrix-product rate measured in this run for
the model's own shapes.
With FAIRWITNESS_SHARED set the comments are real (HateXplain), else made up. BENCH_ROWS (200) says how many. The slow peers see a
seventh of them, spread evenly over all lengths.
"""

import csv
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.figures import HEAD, figure, ratio
from fairwitness.explain.integrated_gradients import Prompt, Settings, attribute
from fairwitness.models import plain_pass
from fairwitness.models.devices import multiplies_bfloat16
from fairwitness.models.prompting import text_spans
from fairwitness.models.quiet import quiet
from fairwitness.scorers.zero_shot import ZeroShot

ROWS = int(os.environ.get("BENCH_ROWS", "200"))
TURNS = 3 if ROWS >= 100 else 1
BLOCK = 4  # lm-eval's batch of 8: four rows of about one length, two labels each


def comments(n: int) -> list[str]:
    """Real comments where there are some; else sentences of like length."""
    dice = random.Random(0)
    if shared := os.environ.get("FAIRWITNESS_SHARED"):
        with (Path(shared) / "data/toxicity/hatexplain/hatexplain_wide.csv").open(encoding="utf-8", newline="") as stream:
            return dice.sample([row["comment_text"] for row in csv.DictReader(stream) if row["comment_text"].strip()], n)
    words = ["the", "bus", "people", "said", "that", "old", "never", "friend", "river", "kind", "loud", "market", "because", "and"]
    return [" ".join(dice.choices(words, k=dice.randrange(8, 50))) for _ in range(n)]


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Seconds of the fastest of a few runs, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def spread(lengths: list[int]) -> list[int]:
    """A seventh of the rows for the slow peers: runs of four neighbours in length, at even distances from short to long.

    Their mean length is that of all rows, and a batch of theirs is padded no more than it would be among all.

    >>> spread([5, 1, 4, 2, 3, 9, 8, 7])
    [4, 2, 0, 7]
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    blocks = max(1, round(len(order) / 7 / BLOCK))
    starts = [round((block + 0.5) / blocks * len(order) - BLOCK / 2) for block in range(blocks)]
    return [row for start in starts for row in order[start : start + BLOCK]]


def matmul_rate(scorer: ZeroShot, rows: int = 1024) -> float:
    """FLOP/s of one layer's matrix products, all shapes together, at a batch of our size; best of five."""
    layer = scorer.lm.model.model.layers[0]
    weights = [p for p in layer.parameters() if p.ndim == 2]
    inputs = {size: torch.randn(rows, size).to(weights[0].dtype) for size in {w.shape[1] for w in weights}}
    operations = sum(2 * rows * w.numel() for w in weights)
    with torch.inference_mode():
        seconds, _ = timed(lambda: [torch.nn.functional.linear(inputs[w.shape[1]], w) for w in weights for _ in range(4)], 5)
    return 4 * operations / seconds


def operations(scorer: ZeroShot, prompts: list[list[int]], head: int) -> float:
    """What must be computed once for these prompts behind a shared head of `head` tokens."""
    config = scorer.lm.model.config
    linear = sum(p.numel() for layer in scorer.lm.model.model.layers for p in layer.parameters() if p.ndim == 2)
    extra = sum(len(label) - 1 for label in scorer.labels)
    body = [len(prompt) - head for prompt in prompts]
    attention = (
        sum(4 * config.hidden_size * (b * (head + (b + 1) / 2) + extra * (head + b)) for b in body) * config.num_hidden_layers
    )
    vocabulary = 2 * config.hidden_size * config.vocab_size * (1 + extra) * len(body)
    tokens = sum(body) + extra * len(body) + head
    unread = 3 * config.hidden_size * config.intermediate_size * (tokens - (1 + extra) * len(body))
    return 2 * (linear * tokens - unread) + attention + vocabulary


def ours(texts: list[str], dtype: str) -> tuple[dict[str, Any], np.ndarray, ZeroShot]:
    """Rows per second from texts to scores, and the share of the floor, of three runs."""
    from fairwitness.models.packing import shared_head

    scorer = ZeroShot(dtype=dtype, device="cpu")
    scorer.score(texts[:8])
    taken, columns = [], {}
    for _ in range(3):
        one, columns = timed(lambda: scorer.score(texts))
        taken.append(one)
    prompts = [row.tokens for row in scorer.prompted(texts)]
    rate = max(matmul_rate(scorer), matmul_rate(scorer, 512))
    floor = operations(scorer, prompts, shared_head(prompts)) / rate
    figures: dict[str, Any] = {"rows_per_s": [len(texts) / one for one in taken], "share": [100 * floor / one for one in taken]}
    figures |= {"gflops": rate / 1e9, "tokens": float(np.mean([len(prompt) for prompt in prompts]))}
    return figures, np.asarray(columns["score"]), scorer


def one_at_a_time(scorer: ZeroShot, texts: list[str]) -> tuple[float, np.ndarray]:
    """The plain method: a pass per row and label, all logits."""
    prompts = [row.tokens for row in scorer.prompted(texts)]

    def work() -> list[float]:
        with torch.inference_mode():
            pairs = [
                [plain_pass.continuation_logprobs(scorer.lm.model, [(p, label)], "cpu") for label in scorer.labels] for p in prompts
            ]
        return [float(positive - negative) for positive, negative in pairs]

    seconds, scores = timed(work)
    return len(texts) / seconds, np.array(scores)


def lm_eval(scorer: ZeroShot, texts: list[str], dtype: str) -> float | None:
    """Rows per second of lm-eval's HFLM.loglikelihood on the same prompts and labels, batch size 8; None without lm-eval."""
    try:
        from lm_eval.api.instance import Instance
        from lm_eval.models.huggingface import HFLM
    except ImportError:
        return None
    harness = HFLM(pretrained=scorer.lm.model, tokenizer=scorer.lm.tokenizer, batch_size=8, device="cpu", dtype=dtype)
    frame, task = scorer.frames[0], scorer.question
    asked = [(frame.front + text + frame.back, label) for text in texts for label in (task.positive, task.negative)]
    requests = [Instance("loglikelihood", {}, pair, k) for k, pair in enumerate(asked)]
    harness.loglikelihood(requests[:8], disable_tqdm=True)
    seconds, _ = timed(lambda: harness.loglikelihood(requests, disable_tqdm=True))
    return len(texts) / seconds


def captum_attributes(scorer: ZeroShot, steps: int, path: str) -> Callable[[Prompt], np.ndarray] | None:
    """Captum's LayerIntegratedGradients of a prompt, a label at a time, internal_batch_size 8; None without captum.

    On the model as transformers loads it, with frozen weights: ours has been given quicker norms, gates and positions. What shall
    not move (the label, and with the path `text` the instruction) has its own tokens as baseline, so the path is ours.
    """
    try:
        from captum.attr import LayerIntegratedGradients
    except ImportError:
        return None
    from transformers import AutoModelForCausalLM

    from fairwitness.models import smollm2

    with quiet():
        model = AutoModelForCausalLM.from_pretrained(smollm2.folder(), dtype=torch.float32).eval().requires_grad_(False)
    blank = scorer.lm.tokenizer.pad_token_id

    def attribute_label(prompt: Prompt, label: list[int]) -> np.ndarray:
        def value(ids: torch.Tensor) -> torch.Tensor:
            logits = model(input_ids=ids, use_cache=False).logits[:, -len(label) - 1 : -1].log_softmax(-1)
            return logits.gather(2, torch.tensor(label).expand(len(ids), -1)[..., None]).sum((1, 2))

        first, last = moving(prompt, path)
        ids = torch.tensor([[*prompt.tokens, *label]])
        start = ids.clone()
        start[:, first:last] = blank
        explainer = LayerIntegratedGradients(value, model.get_input_embeddings())
        found = explainer.attribute(ids, baselines=start, n_steps=steps, method="gausslegendre", internal_batch_size=8)
        return found.sum(-1)[0, first:last].numpy()

    def attribute_margin(prompt: Prompt) -> np.ndarray:
        with plain_positions(model):
            positive, negative = (attribute_label(prompt, label) for label in scorer.labels)
        return positive - negative

    return attribute_margin


@contextmanager
def plain_positions(model: Any) -> Iterator[None]:
    """Rotary positions as transformers has them: ours stand in its file, for all models of the architecture."""
    file: Any = sys.modules[type(model).__module__]
    ours = file.apply_rotary_pos_emb
    file.apply_rotary_pos_emb = ours.fairwitness_plain
    try:
        yield
    finally:
        file.apply_rotary_pos_emb = ours


def moving(prompt: Prompt, path: str) -> tuple[int, int]:
    """The first of the tokens that move along a path, and the one behind the last."""
    return (prompt.first, prompt.last) if path == "text" else (0, len(prompt.tokens))


def explaining(scorer: ZeroShot, texts: list[str], steps: int = 32) -> Iterator[str]:
    """Integrated Gradients at equal steps, tokens, dtype and path, ours beside captum, in turn.

    From the pad token, whence the margin runs smoothly; from the end of text it bends so that rounding alone is seen.
    """
    prompts = []
    for row in scorer.prompted(texts):
        inside = [k for k, span in enumerate(text_spans(scorer.lm, scorer.frames[0], row)) if span is not None]
        prompts.append(Prompt(row.tokens, inside[0], inside[-1] + 1))
    tokens = np.mean([len(prompt.tokens) for prompt in prompts])
    moved = np.mean([prompt.last - prompt.first for prompt in prompts])
    remark = f"{len(prompts)} prompts of {tokens:.0f} tokens, {moved:.0f} of them the text"
    for path, what in (("text", "the text moves"), ("prompt", "the whole prompt moves")):
        settings = Settings(baseline="pad", rule="gauss", path=path, steps=steps)
        theirs = captum_attributes(scorer, steps, path)
        attribute(scorer.lm, prompts[:1], scorer.labels, settings)  # warm
        ours, captums, apart = [], [], []
        for prompt in prompts * TURNS:
            one, (found,) = timed(partial(attribute, scorer.lm, [prompt], scorer.labels, settings))
            ours.append(one)
            if theirs:
                other, said = timed(partial(theirs, prompt))
                captums.append(other)
                apart.append(float(np.abs(found.raw - said).max() / np.abs(said).max()))
        yield figure(f"IG, ours, {steps} steps, {what}", [1 / one for one in ours], "rows/s", remark=remark)
        if theirs:
            name = f"IG, captum LayerIntegratedGradients, {what}, internal batch 8, in turn with it"
            yield figure(name, [1 / one for one in captums], "rows/s")
            yield ratio(f"IG, ours against captum, {what}", ours, captums, at_least=2.5)
            yield figure(f"IG, ours and captum's apart, {what}: share of the largest attribution", apart, "", below=1e-3)


def against(name: str, figures: dict[str, Any], theirs: float | None, at_least: float | None, remark: str) -> list[str]:
    """A peer's line, and how many times as fast ours is."""
    if theirs is None:
        return [f"| {name} | not installed | | | | |"]
    times = [rate / theirs for rate in figures["rows_per_s"]]
    return [figure(name, [theirs], "rows/s", remark=remark), figure(f"ours against {name}", times, "×", at_least=at_least)]


def main() -> None:
    """Print the table."""
    texts = comments(ROWS)
    native = multiplies_bfloat16(torch.device("cpu"))
    print(f"{ROWS} comments, SmolLM2-135M, two labels, {torch.get_num_threads()} threads; bfloat16 native: {native}.\n")
    print(HEAD)
    single, scores, scorer = ours(texts, "float32")
    print(figure("ours, float32", single["rows_per_s"], "rows/s"))
    remark = f"matrix products {single['gflops']:.0f} GFLOP/s"
    print(figure("ours, float32, share of the floor", single["share"], "%", at_least=60, remark=remark), flush=True)
    lengths = [len(row.tokens) for row in scorer.prompted(texts)]
    chosen = spread(lengths)
    few = [texts[row] for row in chosen]
    mean = np.mean([lengths[row] for row in chosen])
    even = f"on {len(few)} of the rows, even over all lengths: {mean:.1f} tokens where all have {np.mean(lengths):.1f}"
    slow, plain = one_at_a_time(scorer, few)
    same = float(np.mean((plain > 0) == (scores[chosen] > 0)))
    apart = float(np.abs(plain - scores[chosen]).max())
    print("\n".join(against("one row and label at a time, float32", single, slow, None, even)), flush=True)
    harness = lm_eval(scorer, few, "float32")
    print("\n".join(against("lm-eval HFLM.loglikelihood, batch 8, float32", single, harness, 2.2, even)), flush=True)
    for line in explaining(scorer, [few[0], few[len(few) // 2], few[-1]]):
        print(line, flush=True)
    half, half_scores, half_scorer = ours(texts, "bfloat16")
    agree = float(np.mean((half_scores > 0) == (scores > 0)))
    remark = f"matrix products {half['gflops']:.0f} GFLOP/s; decisions equal to float32 {agree:.1%}"
    print(figure("ours, bfloat16", half["rows_per_s"], "rows/s"))
    print(figure("ours, bfloat16, share of its floor", half["share"], "%", at_least=50, remark=remark), flush=True)
    bfloat = lm_eval(half_scorer, few, "bfloat16")
    print("\n".join(against("lm-eval HFLM.loglikelihood, batch 8, bfloat16", half, bfloat, 3.0, even)))
    auto, kind = (half, "bfloat16") if native else (single, "float32")
    times = [rate / slow for rate in auto["rows_per_s"]]
    print(figure(f"ours with `--dtype auto` ({kind} here) against one row and label at a time", times, "×", at_least=6))
    print(figure("decisions equal to one row and label at a time", [100 * same], "%", at_least=99))
    print(f"\nPrompts have {single['tokens']:.0f} tokens on average, the shared instruction included.", end=" ")
    print(f"One row and label at a time gives scores within {apart:.0e}.")


if __name__ == "__main__":
    main()
