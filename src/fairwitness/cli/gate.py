"""`fairwitness gate`: hold a run to limits and answer with an exit code."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fairwitness.audits.gate import GateConfig


def gate(run: Path, /, config: Annotated[GateConfig | None, Parameter(name="*")] = None, *, json: bool = False) -> int:
    """Hold a run to limits: exit 0 passed, 1 failed, 3 not enough evidence.

    A limit passes when the whole interval keeps it and fails when the whole interval breaks it.

    Parameters
    ----------
    run
        A run folder, the one that holds run.json.
    json
        Print JSON.
    """
    from fairwitness.audits.gate import gate as judge
    from fairwitness.report.content import defined

    verdict, result = judge(run, config or GateConfig())
    if json:
        print(result.to_json())
        return verdict.value
    for row in result.table.iter_rows(named=True):
        where = "/".join(str(row[name]) for name in ("attribute", "group", "class") if row.get(name))
        value = f"{row['value']:.3f}" if defined(row.get("value")) else "undefined" if row.get("metric") else ""
        known = defined(row.get("low")) and defined(row.get("high"))
        interval = f" [{row['low']:.3f}, {row['high']:.3f}]" if known else ""
        print(f"{row['verdict']:7} {row['rule']:50} {where:32} {value}{interval}  {row['why']}")
    print({0: "passed", 1: "FAILED", 3: "NOT ENOUGH EVIDENCE"}[verdict.value])
    return verdict.value
