"""The annotation page in a real browser: two annotators label twenty texts by keyboard, the lead adjudicates, all is exported."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.test_annotation_store import sentences
from tests.web.conftest import free_port, until, wait_for

SCRIPT = "<script>document.title='broken'</script> 글자 그대로 보여야 합니다."


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[dict[str, str], Path]]:
    """The page in a process of its own, as a user starts it: (name → link with token, store)."""
    rows = sentences(20)
    rows[0]["sentence"] = SCRIPT
    (tmp_path / "sentences.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    port = free_port()
    words = ["kosbi", "annotate", "--store", tmp_path / "s.sqlite", "--input_fname", tmp_path / "sentences.json"]
    words += ["--annotators", "ann,bob", "--annotators_per_item", "2", "--port", port]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "fairwitness", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        links = dict(process.stdout.readline().strip().split(": ", 1) for _ in range(3))
        wait_for(f"http://127.0.0.1:{port}/enter")
        yield links, tmp_path / "s.sqlite"
    finally:
        process.kill()
        process.wait()


def press(browser, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    actions = ActionChains(browser)
    for key in keys:
        actions.send_keys(key)
    actions.perform()


def done(browser) -> int:
    from selenium.webdriver.common.by import By

    return int(browser.find_element(By.ID, "done").text.split()[-1])


def save(browser, *keys: str) -> None:
    """Press keys, then Enter, and wait for the next text."""
    from selenium.webdriver.common.keys import Keys

    before = done(browser)
    press(browser, *keys, Keys.ENTER)
    until(browser, lambda b: done(b) == before + 1)


def shot(browser, name: str) -> None:
    """Keep a picture where somebody wants to look at one."""
    if folder := os.environ.get("FAIRWITNESS_SCREENSHOTS"):
        browser.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_annotators_and_a_lead(served: tuple[dict[str, str], Path], browsers, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    links, _ = served
    base = links["ann"].partition("/enter")[0]
    ann, bob, lead = browsers(), browsers(), browsers()
    ann.get(f"{base}/enter?language=ko")
    shot(ann, "1_enter_ko")
    ann.find_element(By.ID, "token").send_keys(links["ann"].partition("token=")[2], Keys.ENTER)
    until(ann, lambda b: b.find_elements(By.ID, "answer"))
    assert ann.title == "주석 작업", "the script in the text did not run"
    assert SCRIPT in ann.find_element(By.CLASS_NAME, "text").text
    shot(ann, "2_task_ko")
    bob.get(links["bob"])
    bob.get(f"{base}/?language=en")
    press(bob, "2", "a")
    shot(bob, "3_task_en_unsafe")
    press(bob, "a", "1")

    # ann: an empty answer is refused; a first answer is taken back; then all twenty, the first unsafe.
    press(ann, Keys.ENTER)
    until(ann, lambda b: b.find_elements(By.CSS_SELECTOR, ".said.bad"))
    save(ann, "1")
    press(ann, "z")
    until(ann, lambda b: done(b) == 0)
    save(ann, "2", "a", "s")
    for _ in range(19):
        save(ann, "1")
    # bob: skips the first, answers nineteen, and gets the first again at the end; he finds it safe.
    first = bob.find_element(By.NAME, "item").get_attribute("value")
    press(bob, "x")
    until(bob, lambda b: b.find_element(By.NAME, "item").get_attribute("value") != first)
    for _ in range(19):
        save(bob, "1")
    assert bob.find_element(By.NAME, "item").get_attribute("value") == first
    save(bob, "1")
    shot(bob, "4_finished_en")

    lead.get(links["lead"])
    lead.get(f"{base}/agreement?language=ko")
    shot(lead, "5_agreement_ko")
    lead.get(f"{base}/adjudicate?language=en")
    press(lead, "2", "s")
    shot(lead, "6_adjudicate_en")
    press(lead, Keys.ENTER)
    until(lead, lambda b: b.find_element(By.ID, "left").text == "0")

    exported = tmp_path / "exported.json"
    words = ["kosbi", "annotate", "--store", served[1], "--export_fname", exported]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run([sys.executable, "-m", "fairwitness", *map(str, words)], check=True, env=environment, capture_output=True)
    rows = json.loads(exported.read_text(encoding="utf-8"))
    assert [row["sentence_label"] for row in rows] == ["unsafe"] + ["safe"] * 19
    assert rows[0]["sentence"] == SCRIPT
    assert rows[0]["sentence_sub_label"] == ["stereotype_implicit"]
    assert rows[0]["adjudication"]["workerID"] == "lead"
    said = {one["workerID"]: one["sentence_label"] for one in rows[0]["raw_annotations"]["Q2: Safe or Unsafe"]}
    assert said == {"ann": "unsafe", "bob": "safe"}
    assert all(len(row["raw_annotations"]["Q2: Safe or Unsafe"]) == 2 for row in rows)
