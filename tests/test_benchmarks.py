"""The benchmarks' own arithmetic: lines with targets, sections that replace only themselves, the cost model."""

import doctest
import importlib

import numpy as np
import pytest
from benchmarks import __main__ as bench
from benchmarks import cost, figures


@pytest.mark.parametrize("module", [bench, figures])
def test_examples_in_the_benchmarks(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_a_figure_is_met_or_missed() -> None:
    assert f"| {figures.MET} |" in figures.figure("x", [600, 500, 700], "a second", at_least=500)
    assert f"| {figures.MISSED} |" in figures.figure("x", [6.0], "s", below=5)
    assert figures.figure("x", [1.0, 3.0], "s").split(" | ")[1:3] == ["2 s", "1–3"]
    assert "| 1,000 × | once |" in figures.ratio("x", [0.5], [5.0], at_least=10, scale=100)


def test_one_benchmark_replaces_its_own_section_only() -> None:
    page = f"# top\n{bench.BEGIN}\n{bench.END}\nend\n"
    one, two, three = (
        f"<!-- {name}: begin -->\n{figures.figure(what, [1.0], 's', below=2)}\n<!-- {name}: end -->\n"
        for name, what in (("a", "first"), ("b", "second"), ("a", "third"))
    )
    page = bench.merge(bench.merge(bench.merge(page, {"a": one}), {"b": two}), {"a": three})
    assert page.count("third") == page.count("second") == 2, "once in its section and once in the table on top"
    assert "first" not in page
    assert page.startswith("# top\n")
    assert page.endswith("\nend\n")
    assert bench.BEGIN in bench.PAGE.read_text(encoding="utf-8")


def test_the_cost_model_foretells_the_shape_it_was_not_made_from() -> None:
    rate, memory = cost.fitted(cost.MEASURED)
    assert cost.foretold(cost.SHAPES["3B"], rate, memory) == pytest.approx(cost.MEASURED[1], rel=0.1)
    assert cost.foretold(cost.SHAPES["8B"], rate, memory) == pytest.approx(cost.MEASURED[2])
    assert 200e12 < rate < 900e12
    assert 1e12 < memory < 4.8e12, "slower than the card's memory"


def test_the_peers_of_zero_shot_see_rows_of_the_mean_length() -> None:
    zeroshot = pytest.importorskip("benchmarks.zeroshot")
    lengths = np.random.default_rng(0).gamma(4, 12, 200).astype(int).tolist()
    rows = zeroshot.spread(lengths)
    assert len(rows) == len(set(rows)) == 28
    assert np.mean([lengths[row] for row in rows]) == pytest.approx(np.mean(lengths), rel=0.03)


def test_every_topic_has_a_main() -> None:
    for name in ("startup", "cost"):  # the others need packages or minutes to be imported
        assert callable(importlib.import_module(f"benchmarks.{name}").main)
    assert {"counting", "zeroshot", "stereoset", "counterfactual", "authoring", "graphs", "growth", "scale"} <= set(bench.topics())
    assert not set(bench.topics()) & set(bench.topics(gpu=True))
