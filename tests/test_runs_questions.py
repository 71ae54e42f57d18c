"""A call that failed before it answered anything does not stand in the way of the corrected one."""

from pathlib import Path

import pytest

from fairwitness.errors import InputError, RunError
from fairwitness.runs import open_run


def test_a_call_that_answered_nothing_can_be_corrected(tmp_path: Path) -> None:
    out = tmp_path / "R.csv"
    with pytest.raises(InputError), open_run(out, "fairness", {"column": "mael"}):
        raise InputError("no such column")
    with open_run(out, "fairness", {"column": "male"}) as run:
        out.write_text("x\n")
        run.seal([out], {"asked": 1, "scored": 1, "failed": 0})
    with pytest.raises(RunError, match="another question"), open_run(out, "fairness", {"column": "female"}):
        pass
