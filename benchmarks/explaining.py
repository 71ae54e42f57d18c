"""How many gradient evaluations Integrated Gradients needs on the built-in model, for each baseline, and what fixed steps miss.

With FAIRWITNESS_SHARED set the texts are real (half HateXplain posts, half HateCheck cases), else made up. BENCH_IG_ROWS (12) says
how many; BENCH_IG_BASELINES ("mean,blank,eos,pad") which baselines.
"""

import csv
import os
import random
import time
from pathlib import Path

import numpy as np

from benchmarks.figures import HEAD, figure
from fairwitness.explain.integrated_gradients import Attribution, Prompt, Settings, attribute
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
    print(f"{ROWS} texts of {length:.0f} tokens, SmolLM2-135M, float32, tolerance 5 %, at most 256 evaluations a text.\n")
    print(HEAD)
    for baseline in BASELINES:
        settings = Settings(baseline=baseline)
        found, remark = explained(scorer, prompts, settings)
        steps = [answer.steps for answer in found]
        remark = f"95 % of texts within {np.quantile(steps, 0.95):.0f}; {remark}"
        print(figure(f"evaluations, from {baseline}, {settings.rule}", steps, "a text", remark=remark), flush=True)
        if settings == Settings():
            share = 100 * float(np.mean([answer.converged for answer in found]))
            print(figure(f"texts that converge within {settings.max_steps}, the default", [share], "%", at_least=95))
        for count in (16, 32):
            print(gaps(scorer, prompts, Settings(baseline=baseline, rule="midpoint", steps=count)), flush=True)
    published = Settings(baseline="zero", rule="published", path="prompt", steps=32)
    print(gaps(scorer, prompts[: max(2, ROWS // 4)], published))


def explained(scorer: ZeroShot, prompts: list[Prompt], settings: Settings) -> tuple[list[Attribution], str]:
    """The attributions, and in words how they went."""
    start = time.perf_counter()
    found = attribute(scorer.lm, prompts, scorer.labels, settings)
    seconds = (time.perf_counter() - start) / len(prompts)
    gap = np.nanmedian([answer.gap for answer in found])
    converged = sum(answer.converged for answer in found)
    return found, f"{converged} of {len(found)} converged, gap {gap:.1%}, {seconds:.2g} s a text"


def gaps(scorer: ZeroShot, prompts: list[Prompt], settings: Settings) -> str:
    """One line about a rule with fixed steps: how far its sums miss the whole."""
    found, remark = explained(scorer, prompts, settings)
    what = f"gap, from {settings.baseline}, {settings.rule}, {settings.steps} steps over the {settings.path}"
    return figure(what, [100 * answer.gap for answer in found if answer.gap == answer.gap], "%", remark=remark)


if __name__ == "__main__":
    main()
