"""The gate on a finished run: exit codes, rules from a file, and the same answer in pytest."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.report.made_runs import fairness_run, predictions, undefined_run

from fairwitness import runs, tables
from fairwitness.pytest_plugin import check_gap


@pytest.fixture
def run(tmp_path: Path) -> Path:
    out = tmp_path / "run" / "fairness.csv"
    rows = [
        ("statistical_parity_difference", "female", 0.02, -0.03, 0.07),
        ("statistical_parity_difference", "muslim", 0.3, 0.2, 0.4),
        ("equal_opportunity_difference", "female", 0.02, -0.3, 0.4),
        ("accuracy_difference", "female", None, None, None),
    ]
    frame = pl.DataFrame(
        [
            {"metric": m, "attribute": a, "group": "1", "class": "", "value": v, "low": lo, "high": hi, "n": 90}
            for m, a, v, lo, hi in rows
        ]
    )
    with runs.open_run(out, "fairness", {}) as held:
        tables.write(frame, out)
        tables.write(frame, out.with_suffix(".measurements.parquet"))
        held.seal([out, out.with_suffix(".measurements.parquet")], {"asked": 100, "scored": 95, "failed": 5})
    return out.parent


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--max_spd", "0.5"], 0),
        (["--max-spd", "0.1"], 1),
        (["--max_eopp", "0.1"], 3),
        (["--max_accuracy_gap", "0.1"], 3),
        (["--max_spd", "0.5", "--min_coverage", "0.95"], 0),
        (["--max_spd", "0.5", "--min_coverage", "0.96"], 3),
        (["--max_spd", "0.5", "--min_n", "91"], 3),
        (["--max_spd", "0.1", "--min_coverage", "0.96"], 1),
        (["--min_icat", "70"], 2),
        (["--max_spd", "nan"], 2),
        (["--max_spd", "-1"], 2),
        (["--min_coverage", "99"], 2),
        (["--max_spd", "0.5", "--min_n", "-1"], 2),
        ([], 2),
    ],
)
def test_exit_codes(fairwitness: Callable, run: Path, words: list[str], code: int) -> None:
    assert fairwitness("gate", run, *words).code == code


@pytest.mark.parametrize(
    ("rules", "code", "words"),
    [
        ('[[rule]]\nmetric = "statistical_parity_difference"\nmost = 0.1\ntarget = 0\nattribute = "female"', 0, "passed"),
        ('[[rule]]\nmetric = "statistical_*"\nmost = 0.1', 1, "FAILED"),
        ('[[rule]]\nmetric = "statistical_parity_difference"\nmots = 0.1', 2, "Did you mean 'most'"),
        ('[[rule]]\nmetric = "statistical_parity_difference"', 2, "needs a metric and a limit"),
        ('[[rule]]\nmetric = "x"\nmost = "high"', 2, "is not a number"),
        ("rule = 3", 2, "no [[rule]] tables"),
        ('min_n = 91\n[[rule]]\nmetric = "statistical_parity_difference"\nmost = 0.5', 3, "only 90 rows"),
        ('min_coverage = 0.99\n[[rule]]\nmetric = "statistical_parity_difference"\nmost = 0.5', 3, "too many rows failed"),
        ('min_covrage = 0.99\n[[rule]]\nmetric = "x"\nmost = 0.5', 2, "Did you mean 'min_coverage'"),
        ('min_coverage = 9\n[[rule]]\nmetric = "x"\nmost = 0.5', 2, "not a share from 0 to 1"),
        ('[[rule]]\nmetric = "x"\nmost = nan', 2, "is not a number"),
        ("[[rule", 2, "not valid TOML"),
    ],
)
def test_rules_from_a_file(fairwitness: Callable, run: Path, tmp_path: Path, rules: str, code: int, words: str) -> None:
    (tmp_path / "gate.toml").write_text(rules)
    done = fairwitness("gate", run, "--rules", tmp_path / "gate.toml")
    assert done.code == code
    assert words in done.out + done.err


def test_the_options_hold_for_the_rules_of_a_file_too(fairwitness: Callable, run: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text('[[rule]]\nmetric = "statistical_parity_difference"\nmost = 0.5')
    assert fairwitness("gate", run, "--rules", tmp_path / "gate.toml").code == 0
    assert fairwitness("gate", run, "--rules", tmp_path / "gate.toml", "--min_n", "91").code == 3


def test_the_smaller_group_and_the_rows_that_failed_count(fairwitness: Callable, tmp_path: Path) -> None:
    frame = predictions(4000, shift=0.0).with_columns(female=(pl.col("idx") < 40).cast(pl.Int64))
    fairness_run(tmp_path / "few", frame, groups=())
    few = ("gate", tmp_path / "few", "--max_spd", "0.9")
    assert fairwitness(*few).code == 0
    done = fairwitness(*few, "--min_n", "41")
    assert done.code == 3
    assert "only 40 rows" in done.out
    fairness_run(tmp_path / "failed", frame.with_columns(pred=pl.when(pl.col("idx") % 20 == 0).then("pred")), groups=())
    done = fairwitness("gate", tmp_path / "failed", "--max_spd", "0.9")
    assert done.code == 3
    assert "too many rows failed" in done.out


def test_unfinished_is_not_a_pass(fairwitness: Callable, run: Path) -> None:
    with pytest.raises(KeyboardInterrupt), runs.open_run(run / "other.parquet", "zeroshot", {}):
        raise KeyboardInterrupt
    assert fairwitness("gate", run, "--max_spd", "0.5").code == 3


def test_damaged_is_not_a_pass(fairwitness: Callable, run: Path) -> None:
    other = run / "second.csv"
    frame = pl.read_parquet(run / "fairness.measurements.parquet").head(1)
    with runs.open_run(other, "fairness", {}) as held:
        held.seal([tables.write(frame, other.with_suffix(".measurements.parquet"))], {"asked": 1, "scored": 1, "failed": 0})
    assert fairwitness("gate", run, "--max_spd", "0.5").code == 0
    path = other.with_suffix(".measurements.parquet")
    path.write_bytes(path.read_bytes()[:50])
    done = fairwitness("gate", run, "--max_spd", "0.5")
    assert done.code == 3
    assert "was changed" in done.out
    with pytest.raises(pytest.fail.Exception, match="was changed"):
        check_gap(run, "statistical_parity_difference", most=0.5)


def test_nothing_measured_is_not_a_pass(fairwitness: Callable, tmp_path: Path) -> None:
    assert fairwitness("gate", undefined_run(tmp_path), "--max_spd", "0.5").code == 3


def test_the_same_policy_in_pytest(run: Path) -> None:
    check_gap(run, "statistical_parity_difference", most=0.5)
    with pytest.raises(pytest.fail.Exception, match="muslim"):
        check_gap(run, "statistical_parity_difference", most=0.1)
    with pytest.raises(pytest.fail.Exception, match="straddles"):
        check_gap(run, "equal_opportunity_difference", most=0.1)
    with pytest.raises(pytest.skip.Exception):
        check_gap(run, "equal_opportunity_difference", most=0.1, unsure="skip")
