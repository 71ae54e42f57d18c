"""The crew: who waits holds no thread, who has waited goes first, and nobody waits once there is a hurry."""

import threading
import time

from fairwitness.models.dispatch import Crew


def test_a_waiting_job_holds_no_thread_and_goes_before_fresh_ones() -> None:
    done: list[str] = []
    finished = threading.Event()
    tries = {"a": 0}

    def work(job: str) -> float | None:
        if job == "a" and tries["a"] == 0:
            tries["a"] += 1
            return 0.1
        if job == "slow":
            time.sleep(0.3)
        done.append(job)
        if len(done) == 4:
            finished.set()
        return None

    crew = Crew(work, 1)
    for job in ("a", "b", "slow", "last"):
        crew.add(job)
    assert finished.wait(10)
    assert crew.end() == []
    assert done == ["b", "slow", "a", "last"]


def test_hurry_holds_for_jobs_that_come_to_wait_later() -> None:
    tries: list[int] = []
    finished = threading.Event()

    def work(job: int) -> float | None:
        tries.append(job)
        if len(tries) == 1:
            crew.hurry()
            return 600.0
        finished.set()
        return None

    crew = Crew(work, 2)
    crew.add(1)
    assert finished.wait(10)
    assert crew.end() == []


def test_what_is_not_done_at_the_end_is_handed_back() -> None:
    started, go_on = threading.Event(), threading.Event()

    def work(job: str) -> float | None:
        if job == "later":
            return 600.0
        started.set()
        go_on.wait(10)
        return None

    crew = Crew(work, 1)
    for job in ("later", "now", "never"):
        crew.add(job)
    assert started.wait(10)
    threading.Timer(0.05, go_on.set).start()
    assert crew.end() == ["later", "never"]
    assert Crew(work, 3).end() == [], "a crew that never started"
