"""A pytest plugin: the fixture `assert_gap` holds a finished run to a limit, by the policy of `fairwitness gate`.

def test_no_gap(assert_gap):
    assert_gap("runs/nightly", "statistical_parity_difference", most=0.1)
"""

from collections.abc import Callable
from pathlib import Path

import pytest


def check_gap(
    run: Path | str, metric: str, *, most: float, target: float = 0.0, attribute: str = "*", min_n: int = 10, unsure: str = "fail"
) -> None:
    """Fail unless every matching measurement keeps `|value − target| ≤ most` with its whole interval.

    `unsure` says what not enough evidence means: "fail" (the default), "skip" or "pass".
    """
    from fairwitness.audits.gate import judge_run
    from fairwitness.metrics.policy import Rule, Verdict

    rule = Rule(metric=metric, most=most, target=target, attribute=attribute, min_n=min_n)
    verdict, result = judge_run(Path(run), [rule])
    lines = [_line(row) for row in result.table.iter_rows(named=True) if row["verdict"] != "pass"]
    message = f"{rule.words()}: " + "; ".join(lines)
    if verdict is Verdict.UNSURE and unsure == "skip":
        pytest.skip(f"not enough evidence. {message}")
    if verdict is Verdict.FAIL or (verdict is Verdict.UNSURE and unsure == "fail"):
        pytest.fail(message, pytrace=False)


@pytest.fixture
def assert_gap() -> Callable[..., None]:
    """`assert_gap(run, metric, most=…)`: see check_gap."""
    return check_gap


def _line(row: dict[str, object]) -> str:
    where = "/".join(str(row[name]) for name in ("attribute", "group", "class") if row.get(name))
    value = f" is {row['value']} [{row['low']}, {row['high']}], n = {row['n']}" if row.get("value") is not None else ""
    return f"{where}{value}: {row['why']}"
