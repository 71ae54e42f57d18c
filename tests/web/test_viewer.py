"""The viewer: what it lists, finds and refuses. The browser's side is in test_viewer_browser.py."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from tests.report.made_runs import fairness_run, predictions, zero_shot_run

import fairwitness as fw
from fairwitness import runs, tables
from fairwitness.errors import InputError
from fairwitness.files import file_hash
from fairwitness.web.guard import choose_token, quoted
from fairwitness.web.viewer import application

TEXTS = ["fine <script>alert(1)</script>", "a second text about women", "مرحبا بالعالم", "long" * 2000, None]


def ask(
    app: Any, path: str, *, method: str = "GET", host: str = "localhost", headers: dict[str, str] | None = None
) -> tuple[int, str, dict]:
    """One request straight into the application, without a socket."""
    target, _, query = path.partition("?")
    sent: list[dict[str, Any]] = []
    given = [(b"host", host.encode()), *((k.encode(), v.encode()) for k, v in (headers or {}).items())]
    scope = {"type": "http", "method": method, "path": target, "raw_path": target.encode(), "query_string": query.encode()}
    scope |= {
        "headers": given,
        "server": (host, 80),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
        "client": ("127.0.0.1", 1),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return sent[0]["status"], body, {k.decode(): v.decode() for k, v in sent[0]["headers"]}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "one"
    source, out = folder / "in.parquet", folder / "scores.parquet"
    tables.write(pl.DataFrame({"comment": TEXTS}), source)
    scores = {"idx": range(5), "pred": [1, 0, 0, 1, None], "score": [1.0, -1, -2, 3, None], "error": [None] * 4 + ["no text"]}
    frame = pl.DataFrame({**scores, "target": [0.0, 0.0, 1.0, 1.0, 1.0], "female": [0.0, 1.0, 0.2, None, 0.0]})
    data, inputs = {"in": file_hash(source)}, {"in": source}
    with runs.open_run(out, "zeroshot", {"text_col": "comment", "label_col": "target"}, data=data, inputs=inputs) as run:
        tables.write(frame, out)
        run.seal([out], {"asked": 5, "scored": 4, "failed": 1})
    with pytest.raises(KeyboardInterrupt), runs.open_run(tmp_path / "runs" / "two" / "s.parquet", "zeroshot", {}):
        raise KeyboardInterrupt
    (tmp_path / "runs" / "three").mkdir()
    (tmp_path / "runs" / "three" / "run.json").write_text("{ half")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "run.json").write_text('{"audits": {}}')
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "secret")
    return tmp_path / "runs"


def test_lists_runs_finished_or_not(shelf: Path) -> None:
    status, page, headers = ask(application(shelf), "/")
    assert status == 200
    assert "not finished" in page
    assert "unreadable" in page
    assert "default-src 'none'" in headers["content-security-policy"]
    assert ">link<" not in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("&text=WOMEN", [1]),
        ("&text=" + quote("مرحبا"), [2]),
        ("&group=female", [1]),
        ("&outcome=false+positive", [0]),
        ("&outcome=false+negative", [2]),
        ("&error=failed", [4]),
        ("&error=scored&start=1&count=2", [1, 2]),
        ("&text=[unclosed(", []),
        ("&start=junk&count=-3", [0]),
    ],
)
def test_rows_are_searched_and_filtered(shelf: Path, query: str, expected: list[int]) -> None:
    status, body, _ = ask(application(shelf), f"/api/rows?run=one&audit=scores{query}")
    assert status == 200
    assert [row["idx"] for row in json.loads(body)["rows"]] == expected


def test_texts_are_escaped(shelf: Path) -> None:
    status, page, _ = ask(application(shelf), "/row?run=one&audit=scores&idx=0")
    assert status == 200
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page


@pytest.mark.parametrize("run", ["../secret", "/etc", "link", "one/../../secret", "%2e%2e/secret", "no-such"])
def test_paths_cannot_escape(shelf: Path, run: str) -> None:
    for page in ("/run?run=", "/rows?audit=x&run=", "/api/rows?audit=x&run=", "/row?audit=x&run=", "/pair?a=one&b="):
        assert ask(application(shelf), page + run)[0] == 404


def test_only_reading(shelf: Path) -> None:
    assert ask(application(shelf), "/", method="POST")[0] == 405
    assert ask(application(shelf), "/", method="DELETE")[0] == 405


def test_another_sites_name_is_not_answered(shelf: Path) -> None:
    assert ask(application(shelf), "/", host="evil.example")[0] == 421


def test_token_elsewhere(shelf: Path) -> None:
    app = application(shelf, token="open-sesame", host="0.0.0.0")
    assert ask(app, "/", host="box")[0] == 401
    assert ask(app, "/?token=wrong", host="box")[0] == 401
    assert ask(app, "/?token=%C3%A9", host="box")[0] == 401
    status, _, headers = ask(app, "/?token=open-sesame", host="box")
    assert status == 200
    assert "HttpOnly" in headers["set-cookie"]
    assert ask(app, "/", host="box", headers={"cookie": "fairwitness_token=open-sesame"})[0] == 200
    with pytest.raises(InputError, match="--token"):
        choose_token("0.0.0.0", None)
    assert choose_token("127.0.0.1", None) is None


def test_the_report_of_a_run(shelf: Path) -> None:
    status, page, _ = ask(application(shelf), "/run?run=one")
    assert status == 200
    assert "4 of them could be scored" in page


def rows_of(root: Path, query: str) -> list[dict[str, Any]]:
    return json.loads(ask(application(root), f"/api/rows?{query}")[1])["rows"]


def test_a_file_that_is_no_longer_the_same_is_not_shown(shelf: Path) -> None:
    assert rows_of(shelf, "run=one&audit=scores")[1]["text"] == TEXTS[1]
    tables.write(pl.DataFrame({"comment": ["other"] * 5}), shelf / "one" / "in.parquet")
    assert "text" not in rows_of(shelf, "run=one&audit=scores")[0]


def test_a_foreign_run_json_cannot_have_another_file_shown(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "private.csv").write_text("comment\nsecret words\n")
    path = shelf / "one" / "run.json"
    manifest = json.loads(path.read_text())
    manifest["audits"]["scores"]["inputs"] = {"in": str(tmp_path / "private.csv"), "preds": str(tmp_path / "private.csv")}
    path.write_text(json.dumps(manifest))
    assert "secret" not in json.dumps(rows_of(shelf, "run=one&audit=scores"))
    manifest["audits"]["scores"]["kind"] = "fairness"
    path.write_text(json.dumps(manifest))
    assert ask(application(shelf), "/api/rows?run=one&audit=scores")[0] == 404


def test_a_folder_that_was_moved_keeps_its_texts(shelf: Path) -> None:
    (shelf / "one").rename(shelf / "renamed")
    assert rows_of(shelf, "run=renamed&audit=scores")[1]["text"] == TEXTS[1]


def test_rows_of_a_fairness_audit_are_its_predictions(tmp_path: Path) -> None:
    fairness_run(tmp_path / "runs" / "f", predictions(60))
    query = "run=f&audit=fairness&count=500"
    every = rows_of(tmp_path / "runs", query)
    assert len(every) == 60
    assert {row["outcome"] for row in every} <= {"true positive", "false positive", "true negative", "false negative"}
    chosen = rows_of(tmp_path / "runs", f"{query}&group=age%3D2&outcome=false+positive")
    assert chosen
    assert all(row["age"] == 2 and row["pred"] == 1 and row["target"] == 0 for row in chosen)
    assert rows_of(tmp_path / "runs", f"{query}&group=nobody") == []
    assert rows_of(tmp_path / "runs", f"{query}&group=nobody%3D1") == []


def test_a_fairness_audit_shows_the_texts_of_the_scores_it_read(tmp_path: Path) -> None:
    folder = zero_shot_run(tmp_path / "runs" / "z")
    preds, out = folder / "zs.parquet", folder / "fairness.csv"
    fw.audit_fairness(fw.FairnessConfig(preds=preds, label_col="target", id_cols=("female",), out=out, charts=False))
    rows = rows_of(tmp_path / "runs", "run=z&audit=fairness&text=women")
    assert [row["text"] for row in rows] == ["the women of the town"]


@pytest.mark.parametrize("token", ["a+b/c==", "a&b", "a;b", "pässword"])
def test_any_token_opens_the_printed_address_and_is_remembered(shelf: Path, token: str) -> None:
    app = application(shelf, token=token, host="0.0.0.0")
    status, _, headers = ask(app, f"/?token={quoted(token)}", host="box")
    assert status == 200
    assert ask(app, "/", host="box", headers={"cookie": headers["set-cookie"].partition(";")[0]})[0] == 200
    assert ask(app, "/", host="box", headers={"authorization": f"Bearer {token}"})[0] == 200
    for wrong in ("wrong", "w%C3%A4rong"):
        assert ask(app, f"/?token={wrong}", host="box")[0] == 401


@pytest.mark.parametrize("page", ["start=--5&count=²", "start=" + "9" * 26])
def test_a_page_that_is_none_is_the_first(shelf: Path, page: str) -> None:
    assert ask(application(shelf), f"/api/rows?run=one&audit=scores&{page}")[0] == 200


@pytest.mark.parametrize("run", ["a" * 300, "a/" * 3000])
def test_a_name_that_no_folder_can_have(shelf: Path, run: str) -> None:
    assert ask(application(shelf), f"/run?run={run}")[0] == 404


def test_a_port_that_cannot_be_had(tmp_path: Path, fairwitness: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for port in (99999, taken.getsockname()[1]):
            done = fairwitness("serve", tmp_path, "--port", port)
            assert done.code == 2
            assert "--port" in done.err
            assert "Open http" not in done.err


def test_attributions_are_found_beside_the_scores(tmp_path: Path) -> None:
    zero_shot_run(tmp_path / "runs" / "z")
    page = ask(application(tmp_path / "runs"), "/row?run=z&audit=zs&idx=0")[1]
    assert 'id="why"' in page
    assert "<script>document" not in page
    assert "This row was not explained" in ask(application(tmp_path / "runs"), "/row?run=z&audit=zs&idx=1")[1]


@pytest.mark.parametrize("query", ["idx=junk", "idx=--1", "idx=²", "idx=" + "9" * 26, "idx=-1", "idx=999", "audit=none&idx=0"])
def test_rows_that_are_not_there(shelf: Path, query: str) -> None:
    audit = "" if "audit" in query else "&audit=scores"
    assert ask(application(shelf), f"/row?run=one{audit}&{query}")[0] == 404


def test_two_runs_compared(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    fairness_run(root / "a", predictions(100))
    fairness_run(root / "b", predictions(100, shift=0.0))
    status, page, _ = ask(application(root), "/compare?a=a&b=b")
    assert status == 200
    assert "What changed" in page
    assert ask(application(root), "/compare?a=a&b=../secret")[0] == 404
