"""Parts kept in the run's folder or anywhere else: checked when read, forgotten when sealed, found again from another machine."""

from pathlib import Path

import polars as pl
import pytest
from tests.engine.toy_scorers import Lengths, asked, work

from fairwitness import runs, tables
from fairwitness.engine.choose import map_parts
from fairwitness.engine.options import EngineOptions
from fairwitness.errors import InputError, RunError
from fairwitness.parts import Parts
from fairwitness.places import open_place

FRAME = pl.DataFrame({"score": [1.0, None]})


def test_written_read_damaged(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "p")
    parts.write("a", FRAME)
    assert parts.holds("a")
    assert not parts.holds("b")
    assert Parts(tmp_path / "p").read("a").equals(FRAME)  # type: ignore[union-attr]
    next((tmp_path / "p").iterdir()).write_bytes(b"PAR1 and then nothing")
    again = Parts(tmp_path / "p")
    assert again.read("a") is None
    assert again.damaged == 1
    assert not list((tmp_path / "p").iterdir())


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_kept_elsewhere_and_resumed_from_another_folder(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/bucket" if kind == "file" else f"memory://bucket-{tmp_path.name}"
    options, log = EngineOptions(parts_at=url), tmp_path / "log"
    with runs.open_run(tmp_path / "one" / "s.parquet", "k", {"q": 1}) as run:
        list(map_parts(Lengths(log=log), work(30), run.parts, options=options))
    assert not (tmp_path / "one" / ".parts").exists()
    out = tmp_path / "two" / "s.parquet"
    with runs.open_run(out, "k", {"q": 1}) as run:
        tables.write(pl.concat(list(map_parts(Lengths(log=log), work(60), run.parts, options=options))), out)
        assert len(asked(log)) == 59, "what the other machine answered was not asked again"
        run.seal([out], {"asked": 60})
        assert not run.parts.holds(next(iter(["x"])))
    with runs.open_run(tmp_path / "three" / "s.parquet", "k", {"q": 1}) as run:
        list(map_parts(Lengths(log=log), work(30), run.parts, options=options))
    assert len(asked(log)) == 59 + 29, "a sealed run leaves no parts behind"


def test_another_question_keeps_its_own_parts_elsewhere(tmp_path: Path) -> None:
    options, log = EngineOptions(parts_at=f"file://{tmp_path}/bucket"), tmp_path / "log"
    for question in (1, 2):
        with runs.open_run(tmp_path / str(question) / "s.parquet", "k", {"q": question}) as run:
            list(map_parts(Lengths(log=log), work(5), run.parts, options=options))
    assert len(list((tmp_path / "bucket").iterdir())) == 2


def test_places_that_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a place that can be reached"):
        open_place("nosuchscheme://x/y")
    with pytest.raises(InputError, match="Set them in the environment"):
        open_place("s3://key:secret@bucket/x")
    (tmp_path / "file").write_text("x")
    parts = Parts(tmp_path / "p")
    parts.keep_at(open_place(f"file://{tmp_path}/file"))
    with pytest.raises(RunError, match="cannot be used"):
        parts.write("a", FRAME)
