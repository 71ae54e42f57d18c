"""Several devices of one machine, without a scheduler: a process for each, and every part belongs to one of them by its content.

Which device a part belongs to is decided by hashing its key with the device's name (the highest hash wins), so the same part goes
to the same device in every run, and when a device fails only its own parts move, spread over the others. This process reads
the work and keeps the answers; at most a few parts a device are under way.
"""

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import polars as pl

from fairwitness.engine import local
from fairwitness.engine.contract import Scorer, identity_of, part_key, recipe
from fairwitness.errors import InputError, RunError
from fairwitness.files import content_hash
from fairwitness.parts import Parts
from fairwitness.progress import say

# Parts under way for each device: enough that none waits for another's answer, few enough to be held in memory.
AHEAD = 4
# A part that brought down this many devices is taken to be the reason.
MOST_FAILURES = 3


def map_parts(
    scorer: Scorer[Any],
    work: Iterable[Sequence[Any]],
    parts: Parts,
    *,
    names: Sequence[str],
    advance: Callable[[int], None] = lambda _done: None,
) -> Iterator[pl.DataFrame]:
    """Yield the scores of each part in order, scored by whichever device the part belongs to."""
    places = resolve(names)
    if len(places) < 2 and "auto" in names:
        yield from local.map_parts(scorer, work, parts, advance=advance)
        return
    crew = Crew(places, scorer)
    order: deque[tuple[str, int]] = deque()
    try:
        for items in work:
            key = part_key(scorer, items)
            order.append((key, len(items)))
            if key not in crew.under_way and not parts.holds(key):
                crew.assign(key, list(items))
            while len(crew.under_way) >= AHEAD * len(places):
                crew.receive(parts)
            yield from _ready(order, crew, parts, advance)
        while order:
            if order[0][0] in crew.under_way:
                crew.receive(parts)
            yield from _ready(order, crew, parts, advance)
    finally:
        crew.close()


def resolve(names: Sequence[str]) -> list[str]:
    """The devices that are meant: `auto` is every GPU, `cpu:3` is three processes on the CPU.

    >>> resolve(["cpu:2"])
    ['cpu:0', 'cpu:1']
    """
    from fairwitness.models.visible import count_gpus

    found: list[str] = []
    for name in names:
        kind, _, number = name.partition(":")
        if name == "auto":
            found += [f"cuda:{index}" for index in range(count_gpus())]
        elif kind == "cpu" and number.isdigit() and int(number) > 0:
            found += [f"cpu:{index}" for index in range(int(number))]
        elif kind == "cuda" and number.isdigit():
            if int(number) >= count_gpus():
                raise InputError(f"--devices {name}: this machine has {count_gpus()} GPUs that torch can use.")
            found.append(name)
        else:
            raise InputError(f"Unknown device '{name}' in --devices. Expected auto, cuda:0,cuda:1,… or cpu:2.")
    if len(set(found)) < len(found):
        raise InputError(f"--devices names a device twice: {', '.join(found)}.")
    return found


@dataclass
class _Device:
    """A worker process and what it still has to answer, oldest first."""

    name: str
    process: subprocess.Popen[bytes]
    line: Connection
    todo: deque[str] = field(default_factory=deque)


class Crew:
    """The devices that are left. `under_way` are the parts handed out and not answered yet."""

    def __init__(self, names: Sequence[str], scorer: Scorer[Any]) -> None:
        self.under_way: dict[str, list[Any]] = {}
        self._names, self._scorer = list(names), scorer
        self._devices: dict[str, _Device] | None = None
        self._failures: dict[str, int] = {}
        self._last_words = ""

    def assign(self, key: str, items: list[Any]) -> None:
        """Hand a part to the device it belongs to. The devices are started with the first part."""
        if self._devices is None:
            pickled = (pickle.dumps(recipe(self._scorer)), identity_of(self._scorer))
            self._devices = {name: _start(name, len(self._names), pickled) for name in self._names}
        self.under_way[key] = items
        self._send(key)

    def receive(self, parts: Parts) -> None:
        """Wait until a device says something; keep its answer, or do without it."""
        assert self._devices is not None
        lines = {device.line: device for device in self._devices.values()}
        for line in wait(list(lines)):
            device = lines[line]  # type: ignore[index]
            if device.name in self._devices:
                self._hear(device, parts)

    def close(self) -> None:
        """End every process; what they had not answered is answered by the next run."""
        for device in (self._devices or {}).values():
            _end(device)
        self._devices = None

    def _hear(self, device: _Device, parts: Parts) -> None:
        try:
            kind, key, said = device.line.recv()
        except (EOFError, OSError):
            device.process.wait()
            self._lose(device, f"its process ended with {device.process.returncode}")
            return
        if kind == "answer":
            parts.keep(key, said)
            device.todo.remove(key)
            del self.under_way[key]
        elif kind == "device":
            self._lose(device, said)
        elif kind == "ours":
            raise said
        else:
            raise AssertionError(f"A scorer failed on {device.name}:\n{said}")

    def _lose(self, device: _Device, words: str) -> None:
        assert self._devices is not None
        del self._devices[device.name]
        _end(device)
        self._last_words = f"{device.name}: {words[:200]}"
        if device.todo:
            first = device.todo[0]
            self._failures[first] = self._failures.get(first, 0) + 1
            if self._failures[first] >= MOST_FAILURES:
                raise RunError(f"One part brought down {MOST_FAILURES} devices, the last being {self._last_words}.")
        if self._devices:
            say(f"{self._last_words}. It is left out; its {len(device.todo)} parts go to {', '.join(self._devices)}.")
        for key in device.todo:
            self._send(key)

    def _send(self, key: str) -> None:
        if not self._devices:
            raise RunError(f"No device is left. The last was {self._last_words}. Run the same command again to go on from here.")
        device = self._devices[max(self._devices, key=lambda name: content_hash(key, name))]
        device.todo.append(key)
        try:
            device.line.send((key, self.under_way[key]))
        except OSError:
            self._lose(device, "its process has gone")


def _start(name: str, of: int, settings: tuple[bytes, str]) -> _Device:
    """A process that sees this device alone."""
    kind, _, number = name.partition(":")
    environment = {**os.environ, "FAIRWITNESS_DEVICE": name, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if kind == "cuda":
        shown = [word for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word]
        environment["CUDA_VISIBLE_DEVICES"] = shown[int(number)] if shown else number
    else:
        environment["CUDA_VISIBLE_DEVICES"] = ""
        environment["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // of))
    ours, theirs = Pipe()
    words = [sys.executable, "-m", "fairwitness.engine.device_worker", str(theirs.fileno())]
    # Whatever a library prints there must not end up in this command's output.
    process = subprocess.Popen(words, env=environment, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL)
    theirs.close()
    device = _Device(name, process, ours)
    ours.send(settings)
    return device


def _end(device: _Device) -> None:
    device.line.close()
    device.process.kill()
    device.process.wait()


def _ready(order: deque[tuple[str, int]], crew: Crew, parts: Parts, advance: Callable[[int], None]) -> Iterator[pl.DataFrame]:
    while order and order[0][0] not in crew.under_way:
        key, rows = order.popleft()
        frame = parts.read(key)
        if frame is None:
            raise RunError(f"A part in {parts.folder} was lost after it was written. Run the same command again: it is done again.")
        advance(rows)
        yield frame
