"""How many gradient evaluations Integrated Gradients needs on the built-in model, for each baseline, and what fixed steps miss.

With FAIRWITNESS_SHARED set the texts are real (half HateXplain posts, half HateCheck cases), else made up. BENCH_IG_ROWS (12) says
how many; BENCH_IG_BASELINES ("mean,blank,eos,pad") which baselines. Gaps are medians over the texts.
"""

import csv
import os
import random
import time
from pathlib import Path

import numpy as np

from fairwitness.explain.integrated_gradients import Prompt, Settings, attribute
from fairwitness.models.prompting import text_spans
from fairwitness.scorers.zero_shot import ZeroShot

ROWS = int(os.environ.get("BENCH_IG_ROWS", "12"))
BASELINES = os.environ.get("BENCH_IG_BASELINES", "mean,blank,eos,pad").split(",")


def texts(n: int) -> list[str]:
    """Short comments, real where there are some."""
    dice = random.Random(3)
    shared = os.environ.get("FAIRWITNESS_SHARED")
    if not shared:
        words = ["the", "bus", "people", "said", "that", "old", "never", "friend", "river", "kind", "loud", "market", "because"]
        return [" ".join(dice.choices(words, k=dice.randrange(6, 20))) for _ in range(n)]
    found = []
    for name, column in (("hatexplain/hatexplain_wide.csv", "comment_text"), ("hatecheck/test_suite_cases.csv", "test_case")):
        with (Path(shared) / "data/toxicity" / name).open(encoding="utf-8", newline="") as stream:
            every = [row[column] for row in csv.DictReader(stream) if 10 < len(row[column]) < 140]
        found += dice.sample(every, (n + len(found)) // 2 if not found else n - len(found))
    return found


def prompts_of(scorer: ZeroShot, found: list[str]) -> list[Prompt]:
    """The texts in their prompts, with where each begins and ends."""
    made = []
    for row in scorer.prompted(found):
        inside = [k for k, span in enumerate(text_spans(scorer.lm, scorer.frames[0], row)) if span is not None]
        made.append(Prompt(row.tokens, inside[0], inside[-1] + 1))
    return made


def main() -> None:
    """Print the table."""
    scorer = ZeroShot(dtype="float32", task="hate")
    prompts = prompts_of(scorer, texts(ROWS))
    length = np.mean([prompt.last - prompt.first for prompt in prompts])
    print(f"{ROWS} texts of {length:.0f} tokens, SmolLM2-135M, float32, tolerance 5 %, at most 256 evaluations.\n")
    print("| baseline, path, rule | gap | evaluations, median / 95 % | converged | seconds a row |\n|---|---|---|---|---|")
    for baseline in BASELINES:
        report(scorer, prompts, Settings(baseline=baseline))
        for steps in (16, 32):
            report(scorer, prompts, Settings(baseline=baseline, rule="midpoint", steps=steps))
    report(scorer, prompts[: max(2, ROWS // 4)], Settings(baseline="zero", rule="published", path="prompt", steps=32))


def report(scorer: ZeroShot, prompts: list[Prompt], settings: Settings) -> None:
    """One line of the table."""
    start = time.perf_counter()
    found = attribute(scorer.lm, prompts, scorer.labels, settings)
    seconds = (time.perf_counter() - start) / len(prompts)
    gaps, steps = [answer.gap for answer in found], [answer.steps for answer in found]
    name = f"{settings.baseline}, {settings.path}, {settings.rule}"
    spent = f"{np.median(steps):.0f} / {np.quantile(steps, 0.95):.0f}"
    converged = f"{sum(answer.converged for answer in found)} of {len(found)}"
    print(f"| {name} | {np.nanmedian(gaps):.1%} | {spent} | {converged} | {seconds:.2g} |", flush=True)


if __name__ == "__main__":
    main()
