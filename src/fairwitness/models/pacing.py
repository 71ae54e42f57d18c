"""Keeping to a quota: so many requests a minute, so many a second, and a pause for everybody when the service says stop.

A request's place in the minute is given back one minute after its *answer*, not after its start. The service counts a request
when it arrives, which lies between the two; so in no minute, wherever it begins, can more than the quota arrive there.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable


class Pacer:
    """Hands out starts. Shared by all threads of one client."""

    def __init__(self, *, per_minute: int | None = None, qps: float | None = None, minute_s: float = 60.0) -> None:
        self._per_minute, self._interval, self._minute = per_minute, 1.0 / qps if qps else 0.0, minute_s
        self._answered: deque[float] = deque()
        self._in_flight = 0
        self._next_start = 0.0
        self._held_until = 0.0
        self._refused_in_a_row = 0
        self._pauses = 0
        self._condition = threading.Condition()

    def seed(self, ages_s: Iterable[float]) -> None:
        """Count requests that another run sent this many seconds ago against this minute."""
        now = time.monotonic()
        with self._condition:
            self._answered.extend(sorted(now - age for age in ages_s))

    def acquire(self, stop: threading.Event) -> bool:
        """Wait for a start; False when `stop` was set meanwhile."""
        with self._condition:
            while not stop.is_set():
                wait = self._wait(time.monotonic())
                if wait <= 0:
                    self._in_flight += 1
                    self._next_start = max(time.monotonic(), self._next_start) + self._interval
                    return True
                # At most a short while, so that `stop` is noticed.
                self._condition.wait(min(wait, 0.25))
        return False

    def heard(self, *, refused: bool) -> None:
        """What the service said, at once: an answer that is kept first would come behind refusals that were later than it."""
        with self._condition:
            self._refused_in_a_row = self._refused_in_a_row + 1 if refused else 0
            self._pauses = self._pauses if refused else 0
            # One refusal may be a hiccup. Three in a row, from everybody together, mean that the quota is spent.
            if self._refused_in_a_row >= 3:
                self._refused_in_a_row = 0
                self._hold(self._pause())

    def release(self) -> None:
        """The request was answered and kept, or given up."""
        with self._condition:
            self._in_flight -= 1
            if self._per_minute is not None:
                self._answered.append(time.monotonic())
            self._condition.notify()

    def hold(self, seconds: float) -> None:
        """Nobody starts for this long."""
        with self._condition:
            self._hold(seconds)

    def until_next_minute(self) -> float:
        """Seconds until the next full minute of the clock, where services start to count anew."""
        return self._minute - time.time() % self._minute

    def _pause(self) -> float:
        """How long everybody waits: a quota by the minute starts anew at the next; of others nothing is known, so pauses grow."""
        self._pauses += 1
        return self.until_next_minute() if self._per_minute is not None else min(self._minute, 0.5 * 2.0 ** (self._pauses - 1))

    def _hold(self, seconds: float) -> None:
        self._held_until = max(self._held_until, time.monotonic() + seconds)

    def _wait(self, now: float) -> float:
        while self._answered and self._answered[0] <= now - self._minute:
            self._answered.popleft()
        wait = max(self._held_until, self._next_start) - now
        if self._per_minute is not None and self._in_flight + len(self._answered) >= self._per_minute:
            oldest = self._answered[0] + self._minute - now if self._answered else self._minute
            wait = max(wait, oldest)
        return wait


def seconds_for(calls: int, *, per_minute: int | None, qps: float | None) -> float | None:
    """How long so many calls take at this quota; None where no quota is set.

    >>> seconds_for(120, per_minute=60, qps=None)
    120.0
    """
    rates = [rate for rate in (per_minute / 60 if per_minute else None, qps) if rate]
    return calls / min(rates) if rates else None
