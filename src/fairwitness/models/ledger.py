"""What a service was asked and what that cost, counted as it happens."""

import threading
from dataclasses import dataclass, field
from typing import NamedTuple


class Usage(NamedTuple):
    """What one answer says it used."""

    tokens: int = 0
    cost: float = 0.0


@dataclass
class Ledger:
    """Counts over one client's life. `calls` are requests sent, so `calls - retries` is how many different ones were asked."""

    calls: int = 0
    """Requests sent over the wire, retries included."""
    retries: int = 0
    """Of those, the ones sent because an earlier try failed."""
    answered: int = 0
    """Requests that came back with a usable answer."""
    cached: int = 0
    """Requests answered from the disk or from a twin in flight, at no cost."""
    failed: int = 0
    """Requests given up, each with its reason."""
    tokens: int = 0
    """Tokens that the service says it used."""
    cost: float = 0.0
    """Money that the service says (or its price list implies) was spent, in the service's currency."""
    tokens_before: int = 0
    """Tokens of the answers that came from the disk: used by earlier runs, killed ones too."""
    cost_before: float = 0.0
    """Money that those answers cost when they were paid for."""
    _paid: set[str] = field(default_factory=set, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add_cached(self, name: str = "", before: Usage | None = None) -> None:
        """Count an answer from the disk, with what it used when it was paid for; a twin in flight has used nothing.

        However often an answer is looked up, and whether it was paid for before or in this life, it is counted as paid once.
        """
        with self._lock:
            self.cached += 1
            tokens, cost = self._once(name, before)
            self.tokens_before += tokens
            self.cost_before += cost

    def add(self, *, calls: int = 0, retries: int = 0, failed: int = 0) -> None:
        """Count more of each."""
        with self._lock:
            self.calls += calls
            self.retries += retries
            self.failed += failed

    def add_answer(self, name: str, usage: Usage) -> None:
        """Count an answer that just came, and what it used."""
        with self._lock:
            self.answered += 1
            tokens, cost = self._once(name, usage)
            self.tokens += tokens
            self.cost += cost

    def _once(self, name: str, usage: Usage | None) -> Usage:
        if usage is None or not any(usage) or name in self._paid:
            return Usage()
        self._paid.add(name)
        return usage

    def as_dict(self) -> dict[str, int | float]:
        """The counts as plain values, for run.json."""
        names = ("calls", "retries", "answered", "cached", "failed", "tokens", "cost", "tokens_before", "cost_before")
        with self._lock:
            return {name: getattr(self, name) for name in names}

    def line(self) -> str:
        """The counts in one line for a person.

        >>> Ledger(calls=3, retries=1, answered=2, cached=5).line()
        '3 calls (1 retry), 2 answered, 5 from the cache, 0 failed'
        """
        tries = f"{self.retries} {'retry' if self.retries == 1 else 'retries'}"
        spent = f", {self.tokens:,} tokens" if self.tokens else ""
        cost = f", cost {self.cost:,.4f}" if self.cost else ""
        cost += f" (and {self.cost_before:,.4f} before)" if self.cost_before else ""
        counts = f"{self.answered:,} answered, {self.cached:,} from the cache, {self.failed:,} failed"
        return f"{self.calls:,} calls ({tries}), {counts}{spent}{cost}"
