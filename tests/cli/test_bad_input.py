"""Everything a user can get wrong, as a table: one line on stderr, exit code 2, and not a file touched."""

import gzip
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from fairwitness.cli.verbs import VERBS

HEADER = b"id,comment_text,target,male\n"
ROWS = b"1,fine words,0.1,0\n2,rude words,0.9,1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of every bad file, and what stands there already."""
    monkeypatch.chdir(tmp_path)
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"comment_text": ["words"] * 500, "target": [0.5] * 500, "idx": range(500), "pred": [1] * 500}).write_parquet(
        whole
    )
    contents = {
        "good.csv": HEADER + ROWS,
        "empty.csv": b"",
        "blank.csv": b"\n\n",
        "header_only.csv": HEADER,
        "wrong_column.csv": b"id,comment_txt,target\n1,a,0\n",
        "latin1.csv": HEADER + b"1,caf\xe9,0,0\n",
        "twice.csv": b"id,comment_text,target,target\n1,a,0,0\n",
        "ragged.csv": HEADER + b"1,a,0,0,7\n",
        "open_quote.csv": HEADER + b'1,"a,0,0\n2,b,0,0\n',
        "half.parquet": whole.read_bytes()[: whole.stat().st_size // 2],
        "cut.csv.gz": gzip.compress(HEADER + ROWS * 1000)[:-20],
        "not_a.zip": b"PK but no",
        "words.csv": b"id,comment_text,target\n1,a,very\n",
        "not.json": b"{",
        "other.json": b'{"data": 3}',
        "old.parquet": b"stands here already",
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "a_folder").mkdir()
    (tmp_path / "no_rights").mkdir()
    return tmp_path


@dataclass(frozen=True)
class Case:
    words: str
    """The command, in one string."""
    message: str
    """What its one line must say."""


GET = "data download --dataset"
JIGSAW = f"{GET} jigsaw --out old.parquet --source"
ZERO_SHOT = "zeroshot --text_col comment_text --task toxicity --out r/p.parquet --in"
DOWNLOADS = {
    "missing file": Case(f"{JIGSAW} god.csv", "god.csv does not exist. Did you mean 'good.csv'?"),
    "missing folder": Case(f"{JIGSAW} nowhere/all_data.csv", "does not exist"),
    "empty file": Case(f"{JIGSAW} empty.csv", "empty.csv is empty"),
    "blank lines only": Case(f"{JIGSAW} blank.csv", "blank.csv cannot be read"),
    "header only": Case(f"{JIGSAW} header_only.csv", "gave no rows"),
    "empty folder": Case(f"{JIGSAW} a_folder", "a_folder is an empty folder"),
    "wrong column": Case(f"{JIGSAW} wrong_column.csv", "Column 'comment_text' is not in wrong_column.csv"),
    "near column": Case(f"{JIGSAW} wrong_column.csv", "Did you mean 'comment_txt'?"),
    "not UTF-8": Case(f"{JIGSAW} latin1.csv", "latin1.csv is not UTF-8. Convert it first: iconv"),
    "duplicate columns": Case(f"{JIGSAW} twice.csv", "more than one column named 'target'"),
    "more cells than columns": Case(f"{JIGSAW} ragged.csv", "ragged.csv cannot be read"),
    "a quote never closed": Case(f"{JIGSAW} open_quote.csv", "open_quote.csv"),
    "Parquet cut in half": Case(f"{JIGSAW} half.parquet", "half.parquet cannot be read; it may be damaged or cut short"),
    "gzip cut short": Case(f"{JIGSAW} cut.csv.gz", "cut.csv.gz cannot be read; it may be damaged or cut short"),
    "not a zip": Case(f"{JIGSAW} not_a.zip", "not_a.zip cannot be read"),
    "a word for a number": Case(f"{JIGSAW} words.csv", "a word where a share between 0 and 1 belongs"),
    "broken JSON": Case(f"{GET} stereoset --out old.parquet --source not.json", "not.json cannot be read"),
    "other JSON": Case(f"{GET} stereoset --out old.parquet --source other.json", "is not StereoSet's dev.json"),
    "not HateXplain": Case(f"{GET} hatexplain --out old.parquet --source other.json", "is not HateXplain's dataset.json"),
    "not KoSBi": Case(f"{GET} kosbi --out old.parquet --source other.json", "is not a KoSBi file"),
    "a graph without users": Case(f"{GET} nba --out new_folder --source good.csv", "holds no table of users"),
    "unknown dataset": Case(f"{GET} jigsw --out old.parquet", "Unknown dataset 'jigsw'. Did you mean 'jigsaw'?"),
    "unknown card": Case("data card jigsw", "Unknown dataset 'jigsw'. Did you mean 'jigsaw'?"),
    "unknown split": Case(f"{JIGSAW} good.csv --split trian", "--split takes train, validation, test or all, not 'trian'"),
    "a split that is not told": Case(f"{JIGSAW} good.csv --split test", "good.csv does not say which split it is"),
    "a split that never was": Case(f"{GET} stereoset --out old.parquet --split train", "stereoset has no train split"),
    "a split of a graph": Case(f"{GET} nba --out g --split test --source good.csv", "nba has no test split: it has no splits"),
    "negative sample": Case(f"{JIGSAW} good.csv --sample -5", "--sample must be 1 or more, not -5"),
    "sample of nothing": Case(f"{JIGSAW} good.csv --sample 0", "--sample must be 1 or more, not 0"),
    "sample of words": Case(f"{JIGSAW} good.csv --sample many", "many"),
    "take without stream": Case(f"{JIGSAW} good.csv --take 5", "--take only goes with --stream"),
    "negative take": Case(f"{JIGSAW} good.csv --stream --take -1", "--take must be 1 or more, not -1"),
    "negative seed": Case(f"{JIGSAW} good.csv --seed -1", "--seed must be 0 or more"),
    "out is a folder": Case(f"{GET} jigsaw --out a_folder --source good.csv", "a_folder is a folder; a file was expected"),
    "out without an ending": Case(f"{GET} jigsaw --out table --source good.csv", "'' is not one of .parquet, .csv"),
    "out of an unknown kind": Case(f"{GET} jigsaw --out t.xlsx --source good.csv", "'.xlsx' is not one of"),
    "out is the source": Case(f"{GET} jigsaw --out good.csv --source good.csv", "--out and --source are the same"),
    "out behind a file": Case(f"{GET} jigsaw --out good.csv/t.csv --source good.csv", "good.csv/t.csv cannot be written"),
    "manual download": Case(f"{GET} jigsaw --out old.parquet", "needs a manual download"),
    "sample of a graph": Case(f"{GET} nba --out g --sample 5 --source good.csv", "nba is a graph"),
    "no --out": Case("data download --dataset jigsaw", "out"),
    "no --dataset": Case("data download --out x.csv", "dataset"),
    "unknown flag": Case(f"{JIGSAW} good.csv --smaple 5", "smaple"),
    "unknown kind of names": Case("list datasts", "datasts"),
    "unknown verb": Case("dowload", "dowload"),
}
FAIRNESS = "fairness --label_col target --id_cols male --out old.csv --preds"
OTHERS = {
    "fairness: missing file": Case(f"{FAIRNESS} whle.parquet", "whle.parquet does not exist. Did you mean 'whole.parquet'?"),
    "fairness: empty file": Case(f"{FAIRNESS} empty.csv", "empty.csv is empty"),
    "fairness: a folder": Case(f"{FAIRNESS} a_folder", "a_folder is a folder; a file was expected"),
    "fairness: not UTF-8": Case(f"{FAIRNESS} latin1.csv", "is not UTF-8"),
    "fairness: duplicate columns": Case(f"{FAIRNESS} twice.csv", "more than one column named 'target'"),
    "fairness: Parquet cut in half": Case(f"{FAIRNESS} half.parquet", "damaged or cut short"),
    "fairness: wrong column": Case("fairness --label_col targt --id_cols idx --out old.csv --preds whole.parquet", "target"),
    "zeroshot: missing file": Case(f"{ZERO_SHOT} god.csv", "god.csv does not exist"),
    "zeroshot: empty file": Case(f"{ZERO_SHOT} empty.csv", "is empty"),
    "zeroshot: a folder": Case(f"{ZERO_SHOT} a_folder", "is a folder"),
    "zeroshot: not UTF-8": Case(f"{ZERO_SHOT} latin1.csv", "is not UTF-8"),
    "zeroshot: duplicate columns": Case(f"{ZERO_SHOT} twice.csv", "more than one column"),
    "zeroshot: cut in half": Case(f"{ZERO_SHOT} half.parquet", "damaged or cut short"),
    "zeroshot: wrong column": Case(f"{ZERO_SHOT} good.csv".replace("comment_text", "comment_txt"), "--text_col comment_text"),
    "models: unknown": Case("models pull smolm2", "smolm2"),
}
CASES = DOWNLOADS | {name: case for name, case in OTHERS.items() if case.words.split()[0] in {verb.split()[0] for verb in VERBS}}


def state(folder: Path) -> dict[str, str]:
    """Every file and folder, with its bytes. A run's lock, and its note that a run was begun, are no results."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name not in (".lock", "run.json"):
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_bad_input(case: Case, folder: Path, fairwitness: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    before = state(folder)
    done = fairwitness(*case.words.split())
    assert done.code == 2, done.err
    assert done.err.startswith("fairwitness: ")
    assert case.message in done.err
    assert len(done.err.strip().split("\n")) == 1, "one line"
    after = state(folder)
    assert {path: digest for path, digest in after.items() if digest != "folder"} == {
        path: digest for path, digest in before.items() if digest != "folder"
    }


LONG = b"x" * 1_000_000
READ_RIGHT = {
    "BOM": (b"\xef\xbb\xbf" + HEADER + ROWS, ["fine words", "rude words"]),
    "CRLF": (HEADER.replace(b"\n", b"\r\n") + ROWS.replace(b"\n", b"\r\n"), ["fine words", "rude words"]),
    "quotes and newlines": (HEADER + b'1,"say ""hi"",\nthen go",0.1,0\n', ['say "hi",\nthen go']),
    "1 MB cells": (HEADER + b"1," + LONG + b',0.1,0\n2,"' + LONG + b'",0.1,\n', [LONG.decode()] * 2),
    "the word null": (HEADER + b"1,null,0.1,0\n2,NA,0.1,0\n", ["null", "NA"]),
    "no newline at the end": (HEADER + ROWS.rstrip(), ["fine words", "rude words"]),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("data", "texts"), READ_RIGHT.values(), ids=READ_RIGHT)
def test_odd_but_right(data: bytes, texts: list[str], packed: bool, tmp_path: Path, fairwitness: Callable[..., object]) -> None:
    source = tmp_path / ("all_data.csv.gz" if packed else "all_data.csv")
    source.write_bytes(gzip.compress(data) if packed else data)
    done = fairwitness("data", "download", "--dataset", "jigsaw", "--source", source, "--out", tmp_path / "out.parquet")
    assert (done.code, done.out) == (0, f"Wrote {len(texts)} rows -> {tmp_path / 'out.parquet'}\n")
    assert "Content warning" in done.err
    assert pl.read_parquet(tmp_path / "out.parquet")["comment_text"].to_list() == texts


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_rights(folder: Path, fairwitness: Callable[..., object]) -> None:
    (folder / "no_rights").chmod(0o500)
    done = fairwitness("data", "download", "--dataset", "jigsaw", "--source", "good.csv", "--out", "no_rights/t.csv")
    assert (done.code, "Choose another --out" in done.err) == (2, True)
