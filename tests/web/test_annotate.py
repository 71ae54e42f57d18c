"""The annotation page over HTTP: who may do what, escaping, CSRF, both languages, the lead's pages."""

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.authoring.test_annotation_store import SCHEMA, sentences

from fairwitness.authoring.annotation_store import AnnotationStore
from fairwitness.web.annotate import SESSION, application

SCRIPT = "<script>alert('x')</script> & \"quotes\""


@pytest.fixture
def store(tmp_path: Path) -> AnnotationStore:
    rows = sentences(3)
    rows[0]["sentence"] = SCRIPT
    store = AnnotationStore(tmp_path / "a.sqlite")
    store.create(SCHEMA, SCHEMA.second, rows, per_item=2)
    return store


def visitor(store: AnnotationStore, name: str, *, lead: bool = False) -> TestClient:
    client = TestClient(application(store), base_url="http://localhost", headers={"accept-language": "en"})
    token = store.add_annotator(name, lead=lead)
    assert client.post("/enter", data={"token": token}).status_code == 200
    return client


def hidden(page: str, name: str) -> str:
    return re.search(f'name="{name}" value="([^"]*)"', page)[1]


def answer(client: TestClient, **fields: object):
    page = client.get("/").text
    return client.post("/answer", data={"csrf": hidden(page, "csrf"), "item": hidden(page, "item"), **fields})


def test_without_a_token_nothing_is_shown(store: AnnotationStore) -> None:
    client = TestClient(application(store), base_url="http://localhost")
    for path in ("/", "/agreement", "/adjudicate", "/export"):
        page = client.get(path)
        assert page.url.path == "/enter"
        assert "Sentence" not in page.text
    assert client.post("/enter", data={"token": "wrong"}).status_code == 401
    assert client.post("/enter", data={"token": "ü" * 10}).status_code == 401
    assert client.post("/answer", data={"item": "x"}, follow_redirects=False).headers["location"] == "/enter"


def test_a_script_is_shown_as_text(store: AnnotationStore) -> None:
    page = visitor(store, "<b>ann</b>").get("/")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &#34;quotes&#34;" in page.text
    assert "<b>ann</b>" not in page.text
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe-inline" not in policy


def test_the_first_text_comes_after_the_warning(store: AnnotationStore) -> None:
    page = visitor(store, "ann").get("/").text
    assert page.count("Content warning") == 1
    assert page.index("Content warning") < page.index("<article>")


def test_session_cookie_is_out_of_reach(store: AnnotationStore) -> None:
    token = store.add_annotator("ann")
    client = TestClient(application(store), base_url="http://localhost")
    entered = client.get(f"/enter?token={token}", follow_redirects=False)
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert token not in cookie


def test_answers_are_saved_and_checked(store: AnnotationStore) -> None:
    client = visitor(store, "ann")
    assert "Choose a label" in answer(client).text
    assert "Choose at least one kind" in answer(client, label="unsafe").text
    assert answer(client, label="nonsense").status_code == 400
    assert store.votes() == {}
    done = answer(client, label="unsafe", sub_unsafe=["other", "stereotype_explicit", "made up"])
    assert "done 1" in done.text
    [[vote]] = store.votes().values()
    assert (vote.annotator, vote.label, vote.sub_labels) == ("ann", "unsafe", ("stereotype_explicit", "other"))


def test_posts_need_the_word_of_the_form(store: AnnotationStore) -> None:
    ann, bob = visitor(store, "ann"), visitor(store, "bob")
    page = ann.get("/").text
    data = {"item": hidden(page, "item"), "label": "safe"}
    for csrf in ("", "wrong", "ü", hidden(bob.get("/").text, "csrf")):
        assert ann.post("/answer", data={**data, "csrf": csrf}).status_code == 403
    own = {**data, "csrf": hidden(page, "csrf")}
    assert ann.post("/answer", data=own, headers={"origin": "https://evil.example"}).status_code == 403
    assert store.votes() == {}
    assert ann.post("/answer", data=own, headers={"origin": "http://localhost"}).status_code == 200
    assert len(store.votes()) == 1


def test_other_host_names_are_refused(store: AnnotationStore) -> None:
    client = TestClient(application(store), base_url="http://rebound.example")
    assert client.get("/enter").status_code == 421


def test_annotators_see_only_their_own(store: AnnotationStore) -> None:
    ann, bob = visitor(store, "ann"), visitor(store, "bob")
    answer(ann, label="unsafe", sub_unsafe="other")
    page = bob.get("/").text
    assert "ann" not in re.sub(r"[Aa]nnotat\w*", "", page)
    assert "done 0" in page
    for path in ("/agreement", "/adjudicate", "/export"):
        assert bob.get(path).status_code == 403
    csrf = hidden(page, "csrf")
    assert bob.post("/rule", data={"csrf": csrf, "item": hidden(page, "item"), "label": "safe"}).status_code == 403
    bob.post("/undo", data={"csrf": csrf})
    assert len(store.votes()) == 1
    forged = {**answer_form(bob), "label": "safe", "annotator": "ann"}
    bob.post("/answer", data=forged)
    assert {vote.annotator: vote.label for votes in store.votes().values() for vote in votes} == {"ann": "unsafe", "bob": "safe"}


def answer_form(client: TestClient) -> dict:
    page = client.get("/").text
    return {"csrf": hidden(page, "csrf"), "item": hidden(page, "item")}


def test_skip_undo_leave_and_the_end(store: AnnotationStore) -> None:
    client = visitor(store, "ann")
    first = answer_form(client)
    client.post("/skip", data=first)
    assert answer_form(client)["item"] != first["item"]
    assert "skipped 1" in client.get("/").text
    for _ in range(3):
        answer(client, label="safe")
    page = client.get("/").text
    assert "nothing left for you" in page
    assert "taken back" in client.post("/undo", data={"csrf": hidden(page, "csrf")}).text
    session = client.cookies[SESSION]
    assert client.post("/leave", data={"csrf": hidden(page, "csrf")}).url.path == "/enter"
    client.cookies.set(SESSION, session)
    assert client.get("/").url.path == "/enter", "a session that was left cannot be taken up again"


def test_languages(store: AnnotationStore) -> None:
    client = visitor(store, "ann")
    assert "Is this text safe?" in client.get("/").text
    assert "이 글은 안전합니까?" in client.get("/?language=ko").text
    assert "이 글은 안전합니까?" in client.get("/").text, "the choice is remembered"


def test_agreement_adjudication_and_export(store: AnnotationStore) -> None:
    ann, bob, lead = visitor(store, "ann"), visitor(store, "bob"), visitor(store, "lead", lead=True)
    answer(ann, label="safe")
    answer(bob, label="unsafe", sub_unsafe="other")
    answer(ann, label="safe")
    answer(bob, label="safe")
    page = lead.get("/agreement").text
    assert "α" in page
    assert "ann" in page
    conflict = lead.get("/adjudicate").text
    assert "&lt;script&gt;" in conflict
    data = {
        "csrf": hidden(conflict, "csrf"),
        "item": hidden(conflict, "item"),
        "label": "unsafe",
        "sub_unsafe": "stereotype_implicit",
    }
    assert "nothing to adjudicate" in lead.post("/rule", data=data).text
    rows = json.loads(lead.get("/export?format=kosbi").text)
    assert rows[0]["sentence_label"] == "unsafe"
    assert rows[0]["sentence_sub_label"] == ["stereotype_implicit"]
    assert [one["sentence_label"] for one in rows[0]["raw_annotations"]["Q2: Safe or Unsafe"]] == ["safe", "unsafe"]
    assert rows[1]["sentence_label"] == "safe"
    assert rows[1]["sentence_sub_label"] is None
    assert "sentence_label" not in rows[2]
    assert lead.get("/export?format=labelstudio").json()[0]["annotations"][0]["completed_by"] == "ann"
    assert lead.get("/export?format=csv").text.startswith("id,annotator,adjudicated")
    assert lead.get("/export?format=exe").status_code == 400


def test_contexts_ask_for_the_group_first(tmp_path: Path) -> None:
    store = AnnotationStore(tmp_path / "c.sqlite")
    rows = [{"demographic_category": "age", "demographic_group": "pupils", "context": f"c{n}"} for n in range(2)]
    store.create(SCHEMA, SCHEMA.first, rows, per_item=1)
    client = visitor(store, "ann")
    assert "Say first whether the group is in it" in answer(client, label="safe").text
    assert answer(client, includes="0").status_code == 200
    assert answer(client, includes="1", label="unsafe", sub_unsafe="stereotype").status_code == 200
    votes = [vote for votes in store.votes().values() for vote in votes]
    assert sorted((vote.includes, vote.label, vote.sub_labels) for vote in votes) == [
        (False, None, ()),
        (True, "unsafe", ("stereotype",)),
    ]
