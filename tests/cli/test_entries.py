"""Every command that writes tables or charts leaves an entry in run.json that names them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Done
from tests.faults.small_audits import stereoset_files, suite

from fairwitness.files import file_hash
from fairwitness.runs import read_manifest


def check(folder: Path, kinds: set[str]) -> None:
    """The entries, each with its outputs as they are; and no table or chart that nobody claims."""
    entries = read_manifest(folder)
    assert {entry["kind"] for entry in entries.values()} == kinds
    claimed = {name: digest for entry in entries.values() for name, digest in entry["outputs"].items()}
    for name, digest in claimed.items():
        assert file_hash(folder / name) == digest
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".csv", ".parquet", ".png", ".npy")}
    there -= {name for name in there if (folder / name).parent != folder and (folder / name).parent.joinpath("run.json").exists()}
    assert there <= set(claimed)
    assert all(entry["status"] == "done" and entry["command"] and entry["versions"] for entry in entries.values())


def test_data_download(tmp_path: Path, fairwitness: Callable[..., Done]) -> None:
    out = tmp_path / "d" / "examples.parquet"
    assert fairwitness("data", "download", "--dataset", "examples", "--out", out).code == 0
    check(out.parent, {"data download"})
    entry = read_manifest(out.parent)["examples.download"]
    assert entry["question"]["dataset"] == "examples"
    assert entry["counts"]["asked"] >= 400
    assert fairwitness("data", "download", "--dataset", "examples", "--out", out, "--sample", 5).code == 0
    assert read_manifest(out.parent)["examples.download"]["counts"]["asked"] == 5


def test_stereoset_score_and_analyze(tmp_path: Path) -> None:
    stereoset_files(tmp_path / "run", Path())
    check(tmp_path / "run", {"stereoset score", "stereoset analyze"})


def test_a_suite_and_a_comparison(tmp_path: Path) -> None:
    suite(tmp_path / "run", Path())
    check(tmp_path / "run" / "a", {"fairness"})
    check(tmp_path / "run", {"compare"})


def test_a_graph_that_is_made_up(tmp_path: Path, fairwitness: Callable[..., Done]) -> None:
    pytest.importorskip("torch_geometric")
    out = tmp_path / "shop"
    assert fairwitness("usermodel", "generate", "--dataset", "alibaba", "--scale", 0.005, "--out", out).code == 0
    check(out, {"usermodel generate"})
