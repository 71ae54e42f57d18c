"""The command that gets a dataset: sampling, streaming, the first remote that answers, cards, and the doctor."""

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairwitness import registry
from fairwitness.datasets import doctor
from fairwitness.datasets.card import HubFiles, Manual, WebFile, WebFiles
from fairwitness.datasets.card_page import page
from fairwitness.datasets.download import find

COMMIT = "c" * 40
Command = Callable[..., Any]


def register(monkeypatch: pytest.MonkeyPatch, *remotes: Any) -> None:
    """A dataset `small` in the shape of civil, with these remotes."""
    import types

    civil = find("civil")
    dataset = replace(civil, card=replace(civil.card, name="small", remotes=remotes))
    module = types.ModuleType("small_dataset")
    module.DATASET = dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "small_dataset", module)
    monkeypatch.setitem(registry.BUILT_IN["datasets"], "small", "small_dataset:DATASET")


def parquet(rows: int) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(
        {"text": [f"comment {row}" for row in range(rows)], "toxicity": [row / rows for row in range(rows)]}
    ).write_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "all_data.csv"
    pl.DataFrame({"id": range(1000), "comment_text": [f"c{row}" for row in range(1000)], "target": [0.5] * 1000}).write_csv(path)
    return path


def test_sampling_is_seeded(source: Path, tmp_path: Path, fairwitness: Command) -> None:
    def draw(name: str, *words: str) -> list[str]:
        out = tmp_path / name
        done = fairwitness("data", "download", "--dataset", "jigsaw", "--source", source, "--out", out, "--sample", "50", *words)
        assert done.out == f"Wrote 50 rows -> {out}\n"
        return pl.read_parquet(out)["id"].to_list()

    first = draw("a.parquet")
    assert draw("b.parquet") == first
    assert draw("c.parquet", "--seed", "42") == first
    assert draw("d.parquet", "--seed", "7") != first
    assert len(set(first)) == 50


def test_stream_and_take(source: Path, tmp_path: Path, fairwitness: Command) -> None:
    words = ("data", "download", "--dataset", "jigsaw", "--source", source, "--out", tmp_path / "t.csv", "--stream", "--take", "7")
    assert fairwitness(*words).out == f"Wrote 7 rows -> {tmp_path / 't.csv'}\n"
    assert pl.read_csv(tmp_path / "t.csv")["id"].to_list() == list(range(7))
    assert fairwitness(*words, "--sample", "3").out.startswith("Wrote 3 rows")


@pytest.mark.parametrize("option", [("--sample", "4"), ("--stream", "--take", "4")])
def test_items_are_not_torn_apart(option: tuple[str, ...], tmp_path: Path, fairwitness: Command) -> None:
    from fairwitness.datasets.crows_items import read_pairs
    from fairwitness.datasets.stereoset_items import read_items

    pairs = "".join(f"{n},More {n}.,Less {n}.,stereo,age,[],[],[]\n" for n in range(20))
    header = ",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators\n"
    (tmp_path / "crows_pairs_anonymized.csv").write_text(header + pairs)
    labels = ("stereotype", "anti-stereotype", "unrelated")
    items = [
        {
            "id": f"i{n}",
            "target": "chef",
            "bias_type": "profession",
            "context": "A context.",
            "sentences": [{"id": f"{n}{label}", "sentence": f"It is {label}.", "gold_label": label} for label in labels],
        }
        for n in range(20)
    ]
    (tmp_path / "dev.json").write_text(json.dumps({"version": "1", "data": {"intersentence": items, "intrasentence": []}}))
    for dataset, file, rows in (("stereoset", "dev.json", 12), ("crows_pairs", "crows_pairs_anonymized.csv", 8)):
        words = ("data", "download", "--dataset", dataset, "--source", tmp_path / file, "--out", tmp_path / f"{dataset}.csv")
        assert fairwitness(*words, *option).out.startswith(f"Wrote {rows} rows")
    assert read_items(tmp_path / "stereoset.csv").height == 12
    assert read_pairs(tmp_path / "crows_pairs.csv").height == 4


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl", "json"])
def test_every_ending(ending: str, source: Path, tmp_path: Path, fairwitness: Command) -> None:
    from fairwitness import tables

    out = tmp_path / "folder" / f"t.{ending}"
    assert fairwitness("data", "download", "--dataset", "jigsaw", "--source", source, "--out", out).code == 0
    assert tables.read(out).height == 1000


def test_from_the_hub_downloaded_and_streamed(
    hub_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fairwitness: Command
) -> None:
    register(monkeypatch, HubFiles(repo="own/set", revision=COMMIT, patterns=("data/{split}-*.parquet",)))
    hub_server.files = {"data/train-00000.parquet": parquet(20), "data/test-00000.parquet": parquet(5)}
    for words, rows in (((), 20), (("--split", "test"), 5), (("--split", "all"), 25), (("--stream", "--take", "3"), 3)):
        done = fairwitness("data", "download", "--dataset", "small", "--out", tmp_path / "t.parquet", *words)
        assert done.out == f"Wrote {rows} rows -> {tmp_path / 't.parquet'}\n", done.err
    assert pl.read_parquet(tmp_path / "t.parquet")["id"].to_list() == ["train-0", "train-1", "train-2"]


def test_the_next_remote_is_tried(
    web_server: Any, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fairwitness: Command
) -> None:
    data = parquet(9)
    good = WebFile(url=f"{web_server.url}/t.parquet", name="t.parquet", sha256=hashlib.sha256(data).hexdigest())
    gone = WebFile(url=f"{web_server.url}/gone.parquet", name="gone.parquet")
    web_server.files["/t.parquet"] = data
    register(monkeypatch, WebFiles((gone,)), WebFiles((good,)))
    assert fairwitness("data", "download", "--dataset", "small", "--out", tmp_path / "t.csv").out.startswith("Wrote 9 rows")
    register(monkeypatch, WebFiles((gone,)))
    done = fairwitness("data", "download", "--dataset", "small", "--out", tmp_path / "u.csv")
    assert done.code == 2
    assert "gone.parquet answers HTTP 404. A copy you have can be given with --source" in done.err
    assert not (tmp_path / "u.csv").exists()


def test_the_doctor_tells_the_states_apart(
    web_server: Any, hub_server: Any, monkeypatch: pytest.MonkeyPatch, fairwitness: Command
) -> None:
    web_server.files["/here.csv"] = b"x"
    register(
        monkeypatch,
        WebFiles((WebFile(url=f"{web_server.url}/here.csv", name="a"),)),
        WebFiles((WebFile(url=f"{web_server.url}/gone.csv", name="b"),)),
        WebFiles((WebFile(url="http://127.0.0.1:9/x", name="c"),)),
        HubFiles(repo="own/set", revision="refs/convert/parquet", patterns=("x",)),
        HubFiles(repo="gone/set", revision="main", patterns=("x",)),
        Manual(address="https://example.org", how="Ask for it"),
    )
    states = [finding.state for finding in doctor.examine(("small", "examples"))]
    assert states == ["answers", "dead", "unreachable", "answers", "dead", "needs manual download", "built in"]
    done = fairwitness("data", "doctor", "small", "--json")
    assert (done.code, len(json.loads(done.out))) == (0, 6)
    table = fairwitness("data", "doctor", "small")
    assert (table.code, "needs manual download" in table.out) == (0, True)
    assert all(wanted in ("", "bytes=0-0") for wanted in web_server.ranges()), "one byte is asked for"


def test_the_doctor_never_fails_offline(monkeypatch: pytest.MonkeyPatch, fairwitness: Command) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = fairwitness("data", "doctor", "civil", "examples", "jigsaw", "--json")
    assert done.code == 0
    assert [finding["state"] for finding in json.loads(done.out)] == ["not asked", "built in", "needs manual download", "dead"]


@pytest.mark.parametrize("name", registry.names("datasets"))
def test_every_card_is_complete(name: str, fairwitness: Command) -> None:
    card = find(name).card
    assert card.licence
    assert card.citation
    assert card.counts
    assert card.columns
    assert card.remotes
    assert card.layouts
    assert json.loads(fairwitness("data", "card", name, "--json").out)["name"] == name
    assert fairwitness("data", "card", name).out.strip() == page(card).strip()
    for remote in card.remotes:
        if isinstance(remote, HubFiles):
            assert len(remote.revision) == 40 or remote.revision == "refs/convert/parquet", "a pinned revision"


def test_the_page_of_datasets_is_the_cards() -> None:
    text = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for name in registry.names("datasets"):
        assert page(find(name).card) in text, f"docs/datasets.md is old: python scripts/make_dataset_docs.py ({name})"
