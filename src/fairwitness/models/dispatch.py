"""A fixed crew of threads that works through jobs. A job that has to wait is put back and holds no thread meanwhile.

Knows nothing of services: what a job is, and what doing it means, is the caller's business.
"""

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

Job = TypeVar("Job")


class Crew(Generic[Job]):
    """`work(job)` returns None when a job is done, or the seconds after which it is to be taken up again. It must not raise."""

    def __init__(self, work: Callable[[Job], float | None], threads: int) -> None:
        self._work = work
        self._fresh: deque[Job] = deque()
        self._later: list[tuple[float, int, Job]] = []
        self._numbers = count()
        self._ended = self._hurried = False
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._run, name=f"fairwitness-service-{n}", daemon=True) for n in range(threads)]
        self._started = False

    def add(self, job: Job) -> None:
        """Hand in a job. The threads start with the first one."""
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()
        with self._changed:
            self._fresh.append(job)
            self._changed.notify()

    def hurry(self) -> None:
        """Let no job wait any longer, from now on: each is taken up as soon as a thread is free."""
        with self._changed:
            self._hurried = True
            self._fresh.extend(job for _, _, job in sorted(self._later, key=lambda waiting: waiting[:2]))
            self._later.clear()
            self._changed.notify_all()

    def end(self) -> list[Job]:
        """Let every thread finish what it is doing, and return the jobs that are not done."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        return [*(job for _, _, job in self._later), *self._fresh]

    def _run(self) -> None:
        while (job := self._take()) is not None:
            wait = self._work(job)
            if wait is not None:
                with self._changed:
                    due = time.monotonic() + (0.0 if self._hurried else wait)
                    heapq.heappush(self._later, (due, next(self._numbers), job))
                    self._changed.notify()

    def _take(self) -> Job | None:
        """The next job: one that has waited long enough before a fresh one, because others may wait behind it. None at the end."""
        with self._changed:
            while not self._ended:
                wait = self._later[0][0] - time.monotonic() if self._later else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._later)[2]
                if self._fresh:
                    return self._fresh.popleft()
                self._changed.wait(wait)
        return None
