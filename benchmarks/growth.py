"""How cost grows: with rows and groups (counting), with parts (resuming), with tokens (scoring), with steps (attributions).

Prints a Markdown table and draws docs/images/growth.png: a straight line of slope 1 on these axes is linear growth. The model is a
random one of a few layers: what is shown is the shape of the growth, not the speed (zeroshot.py and explaining.py have that).
Points are medians of three, with bars from the lowest to the highest. BENCH_SHARE=0.01 tries it with small sizes.
"""

import os
import statistics
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.figures import seconds
from fairwitness.audits.fairness import group_fairness
from fairwitness.parts import Parts, encode
from fairwitness.report.style import BLUE, GREY, new_figure, save_figure

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "growth.png"
# Sizes, and the seconds of several runs at each.
Curve = tuple[list[int], list[list[float]]]
SHARE = float(os.environ.get("BENCH_SHARE", "1"))


def table(rows: int, flags: int) -> pl.DataFrame:
    chance = np.random.default_rng(rows + flags)
    columns = {name: chance.integers(0, 2, rows, dtype=np.int8) for name in ("pred", "label", *(f"i{k}" for k in range(flags)))}
    return pl.DataFrame(columns)


def by_rows() -> Curve:
    sizes = [int(n * SHARE) for n in (100_000, 300_000, 1_000_000, 3_000_000)]
    names = [f"i{k}" for k in range(8)]
    made = {size: table(size, 8) for size in sizes}
    return sizes, [seconds(lambda size=size: group_fairness(made[size], label="label", pred="pred", flags=names)) for size in sizes]


def by_groups() -> Curve:
    counts = [3, 6, 12, 24, 48]
    whole = table(int(500_000 * SHARE), 48)
    return counts, [
        seconds(lambda n=n: group_fairness(whole, label="label", pred="pred", flags=[f"i{k}" for k in range(n)])) for n in counts
    ]


def by_group_values() -> Curve:
    """One column with ever more groups in it."""
    counts, rows = [20, 200, 2_000], int(1_000_000 * SHARE)
    chance = np.random.default_rng(3)
    made = {n: table(rows, 0).with_columns(town=chance.integers(0, n, rows)) for n in counts}
    return counts, [seconds(lambda n=n: group_fairness(made[n], label="label", pred="pred", groups=["town"])) for n in counts]


def by_parts(folder: Path) -> Curve:
    data = encode(pl.DataFrame({"score": [0.5, 1.5]}))
    taken, counts = [], [int(n * min(1, SHARE * 10)) for n in (1_000, 3_000, 10_000, 30_000)]
    for count in counts:
        place = folder / str(count)
        Parts(place).keep(f"{0:032x}", data)
        ending = next(place.iterdir()).name.partition("-")[2]
        for number in range(1, count):
            (place / f"{number:032x}-{ending}").write_bytes(data)

        def check(place: Path = place, count: int = count) -> None:
            parts = Parts(place)
            assert all(parts.holds(f"{number:032x}") for number in range(count))

        taken.append(seconds(check))
    return counts, taken


def small_model() -> object:
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    from fairwitness.models.causal_lm import CausalLM

    torch.set_num_threads(1)  # on a busy machine two threads wait for each other
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2000,
        hidden_size=256,
        intermediate_size=768,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )
    made = AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    return CausalLM(made, None, "small", torch.device("cpu"), "float32")


def by_tokens() -> Curve:
    lm = small_model()
    lengths = [64, 128, 256, 512]
    dice = np.random.default_rng(1)
    rows = {n: [(dice.integers(3, 2000, n).tolist(), [[5], [6, 7]]) for _ in range(4)] for n in lengths}
    lm.score(rows[64])  # type: ignore[attr-defined]
    return lengths, [[each / 4 for each in seconds(lambda n=n: lm.score(rows[n]))] for n in lengths]  # type: ignore[attr-defined]


def by_steps() -> Curve:
    from fairwitness.explain.integrated_gradients import Prompt, Settings, attribute

    lm = small_model()
    tokens = np.random.default_rng(2).integers(3, 2000, 96).tolist()
    prompt = Prompt(tokens, 30, 90)
    counts = [8, 16, 32, 64]
    return counts, [
        seconds(lambda n=n: attribute(lm, [prompt], [[5], [6, 7]], Settings(rule="midpoint", steps=n)))  # type: ignore[arg-type]
        for n in counts
    ]


def draw(curves: dict[str, Curve]) -> None:
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    chart, axes = new_figure(12.0, 6.2, nrows=2, ncols=3)
    for each, (name, (sizes, taken)) in zip(axes.flat, curves.items(), strict=True):
        middle = [statistics.median(times) for times in taken]
        ends = [[m - min(times) for m, times in zip(middle, taken, strict=True)]]
        ends += [[max(times) - m for m, times in zip(middle, taken, strict=True)]]
        each.errorbar(sizes, middle, yerr=ends, marker="o", color=BLUE, capsize=3)
        each.plot(sizes, [middle[-1] * size / sizes[-1] for size in sizes], color=GREY, linestyle=":", linewidth=1)
        each.set(xscale="log", yscale="log", xlabel=name, ylabel="seconds")
        each.set_xticks(sizes, [f"{size:,}" if size < 1_000_000 else f"{size / 1e6:g} M" for size in sizes])
        each.minorticks_off()
        each.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        each.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    chart.suptitle("Measured (blue, lowest to highest of three) against growth in proportion (dotted)", fontsize=11)
    save_figure(chart, IMAGE)


def main() -> None:
    """Measure, print, draw."""
    with tempfile.TemporaryDirectory() as folder:
        curves = {
            "rows counted": by_rows(),
            "identities counted": by_groups(),
            "groups in one column": by_group_values(),
            "parts checked": by_parts(Path(folder)),
            "tokens a row": by_tokens(),
            "steps a row": by_steps(),
        }
    print("| what grows | sizes | seconds, medians of three | slope at the end (1 = linear) |\n|---|---|---|---|")
    for name, (sizes, taken) in curves.items():
        middle = [statistics.median(times) for times in taken]
        slope = np.log(middle[-1] / middle[-2]) / np.log(sizes[-1] / sizes[-2])
        print(f"| {name} | {', '.join(f'{n:,}' for n in sizes)} | {', '.join(f'{s:.3g}' for s in middle)} | {slope:.2f} |")
    draw(curves)
    print(f"\n![How cost grows](images/{IMAGE.name})")


if __name__ == "__main__":
    main()
