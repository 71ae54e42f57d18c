"""The Hub's path against a small server that speaks its file API: pinned revision, cache, hashes, streaming, faults."""

import io
from pathlib import Path

import polars as pl
import pytest

from fairwitness.datasets import hub
from fairwitness.datasets.card import HubFiles
from fairwitness.datasets.raw import parquet_batches
from fairwitness.errors import ServiceError

COMMIT = "c" * 40


def parquet(rows: int, start: int = 0) -> bytes:
    buffer = io.BytesIO()
    frame = pl.DataFrame({"text": [f"comment {start + row}" for row in range(rows)], "toxicity": [0.25] * rows})
    frame.write_parquet(buffer)
    return buffer.getvalue()


CIVIL = HubFiles(repo="own/set", revision=COMMIT, patterns=("data/{split}-*.parquet",))


def texts(copy) -> list[str]:
    return [text for file in copy.files for frame in parquet_batches(file) for text in frame["text"]]


def test_the_wanted_split_at_the_pinned_revision(hub_server) -> None:
    hub_server.files = {
        "data/train-00000-of-00002.parquet": parquet(3),
        "data/train-00001-of-00002.parquet": parquet(2, 3),
        "data/test-00000-of-00001.parquet": parquet(1, 9),
        "README.md": b"x",
        "set.py": b"raise SystemExit('a loading script')",
    }
    copy = hub.fetch(CIVIL, "")
    assert [file.name for file in copy.files] == ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"]
    assert texts(copy) == [f"comment {row}" for row in range(5)]
    fetched = [path for method, path, _ in hub_server.asked if method == "GET" and "/resolve/" in path]
    assert all(f"/resolve/{COMMIT}/data/train" in path for path in fetched)
    assert len(hub.fetch(CIVIL, "all").files) == 3
    assert texts(hub.fetch(CIVIL, "test")) == ["comment 9"]


def test_a_second_call_downloads_nothing_and_offline_works(hub_server, monkeypatch: pytest.MonkeyPatch) -> None:
    hub_server.files = {"data/train-00000.parquet": parquet(3)}
    hub.fetch(CIVIL, "")
    hub_server.asked.clear()
    assert len(texts(hub.fetch(CIVIL, ""))) == 3
    assert not [path for method, path, _ in hub_server.asked if method == "GET" and "/resolve/" in path]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub_server.asked.clear()
    assert len(texts(hub.fetch(CIVIL, ""))) == 3
    assert hub_server.asked == []
    with pytest.raises(ServiceError, match="HF_HUB_OFFLINE"):
        hub.fetch(CIVIL, "validation")
    with pytest.raises(ServiceError, match="cannot be streamed while HF_HUB_OFFLINE"):
        hub.stream(CIVIL, "")


def test_without_a_network_the_cache_answers_at_once(hub_server, monkeypatch: pytest.MonkeyPatch) -> None:
    hub_server.files = {"data/train-00000.parquet": parquet(3)}
    hub.fetch(CIVIL, "")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert len(texts(hub.fetch(CIVIL, ""))) == 3
    with pytest.raises(ServiceError, match=r"127.0.0.1:9 does not answer"):
        hub.fetch(HubFiles(repo="own/other", revision=COMMIT, patterns=("data/*",)), "")


def test_a_damaged_copy_is_fetched_again(hub_server) -> None:
    hub_server.files = {"data/train-00000.parquet": parquet(3)}
    path = Path(hub.fetch(CIVIL, "").files[0].shown)
    stored = path.resolve()
    stored.write_bytes(stored.read_bytes()[:-7] + b"damaged")
    assert len(texts(hub.fetch(CIVIL, ""))) == 3


def test_a_file_with_another_hash_than_published_is_refused(hub_server) -> None:
    hub_server.files = {"data/train-00000.parquet": parquet(3)}
    pinned = HubFiles(repo="own/set", revision=COMMIT, patterns=("data/*",), hashes={"data/train-00000.parquet": "0" * 64})
    with pytest.raises(ServiceError, match="is not the file that was published"):
        hub.fetch(pinned, "")


def test_the_converted_branch(hub_server) -> None:
    hub_server.files = {"default/train/0000.parquet": parquet(4)}
    remote = HubFiles(repo="own/set", revision="refs/convert/parquet", patterns=("default/{split}/*.parquet",))
    assert len(texts(hub.fetch(remote, ""))) == 4
    assert len(texts(hub.stream(remote, ""))) == 4


def test_a_stream_fetches_no_more_than_it_reads(hub_server) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 2**62, 1_000_000)
    pq.write_table(pa.table({"text": noise.astype(str)}), buffer, row_group_size=20_000, compression="none")
    hub_server.files = {"data/train-00000.parquet": buffer.getvalue()}
    copy = hub.stream(CIVIL, "")
    first = next(iter(parquet_batches(copy.files[0], rows=10)))
    assert first["text"].to_list() == noise[:10].astype(str).tolist()
    spans = [wanted for method, path, wanted in hub_server.asked if method == "GET" and "/resolve/" in path]
    assert all(spans), "every read is a range"
    sizes = [int(end) - int(start) + 1 for start, end in (span.removeprefix("bytes=").split("-") for span in spans)]
    assert sum(sizes) < len(buffer.getvalue()) / 2


def test_the_token_is_sent_and_the_terms_are_named(hub_server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub_server.files = {"data/train-00000.parquet": parquet(1)}
    hub.fetch(CIVIL, "")
    assert "Bearer hf_secret" in hub_server.tokens
    with pytest.raises(ServiceError, match="terms must be accepted") as caught:
        hub.fetch(HubFiles(repo="gated/set", revision="main", patterns=("data/*",)), "")
    assert "hf_secret" not in str(caught.value)


def test_a_repository_that_is_gone(hub_server) -> None:
    with pytest.raises(ServiceError, match=r"hf://datasets/gone/set@main is not at .*any more"):
        hub.fetch(HubFiles(repo="gone/set", revision="main", patterns=("data/*",)), "")
    hub_server.files = {"README.md": b"x"}
    with pytest.raises(ServiceError, match="has no file data/train"):
        hub.fetch(CIVIL, "")
