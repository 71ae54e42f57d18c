"""Files that nobody should have written: seeds with bytes changed and cut, seeds with one value changed (displaced.py), and files
of the right shape with odd values.

Made by hypothesis; `judge` says whether a reader took one well.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from cyclopts import CycloptsError
from hypothesis import strategies as st
from tests.fuzz.displaced import displaced
from tests.fuzz.reader import Reader

from fairwitness.errors import FairWitnessError

SECONDS = 20

_NUMBERS = [b"NaN", b"null", b"-1", b"1e999", b"99999999999999999999", b"true", b"inf"]
_SIGNS = [b'"', b"[[", b"{", b"]", b",", b"=", b"\\ud800", b"PAR1", b"\r\n", b"\t", b"\n", b"\x00"]
_NOT_UTF8 = [b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80"]
_DEEP = [b"[" * 2000, b'{"a":' * 1000]
ODD = st.sampled_from([*_NUMBERS, *_SIGNS, *_NOT_UTF8, *_DEEP])

_numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, 1, -1, 0.5, 2**63, 2**64, 1e308]))


def values(words: tuple[str, ...]) -> st.SearchStrategy[object]:
    """Any JSON value, with the names the reader looks for among its keys and texts."""
    texts = st.one_of(st.text(max_size=20), st.sampled_from([*words, "", "0", "1", "nan", "None"]))
    leaves = st.one_of(st.none(), st.booleans(), _numbers, texts)
    return st.recursive(leaves, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)))


def mutated(seeds: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """A seed after a few accidents."""

    @st.composite
    def make(draw: st.DrawFn) -> bytes:
        data = bytearray(draw(st.sampled_from(seeds)))
        for _ in range(draw(st.integers(1, 6))):
            where = draw(st.integers(0, len(data)))
            until = min(len(data), where + draw(st.integers(0, 12)))
            data[where:until] = draw(st.one_of(ODD, st.binary(max_size=8), st.just(b""), st.just(bytes(data[:where][-20:]))))
        cut = draw(st.one_of(st.none(), st.integers(0, len(data))))
        return bytes(data if cut is None else data[:cut])

    return make()


def shaped(reader: Reader) -> st.SearchStrategy[bytes]:
    """Files of the right grammar with odd contents."""
    suffix = Path(reader.name).suffix
    any_value = values(reader.words)
    if suffix == ".toml":
        keys = st.sampled_from([*reader.words, "x"]) if reader.words else st.just("x")
        lines = st.lists(st.tuples(keys, any_value).map(_toml_line), max_size=6)
        return st.tuples(
            st.sampled_from(["", *(f"[{w}]\n" for w in reader.words), *(f"[[{w}]]\n" for w in reader.words)]), lines
        ).map(lambda made: (made[0] + "\n".join(made[1])).encode("utf-8", "replace"))
    if suffix == ".jsonl":
        return st.lists(any_value.map(json.dumps), max_size=5).map(lambda lines: "\n".join(lines).encode())
    if suffix in (".csv", ".tsv"):
        cells = st.one_of(st.text(max_size=8), st.sampled_from([*reader.words, "", "1", "0", "x"]))
        separator = "\t" if suffix == ".tsv" else ","
        return st.lists(st.lists(cells, max_size=8), max_size=6).map(
            lambda rows: "\n".join([separator.join(reader.words), *(separator.join(row) for row in rows)]).encode(
                "utf-8", "replace"
            )
        )
    if suffix == ".json":
        return any_value.map(lambda value: json.dumps(value).encode())
    return st.binary(max_size=200)


def _toml_line(pair: tuple[str, object]) -> str:
    return f"{pair[0]} = {json.dumps(pair[1])}".replace(": ", " = ")


def cases(reader: Reader) -> st.SearchStrategy[bytes]:
    """What a reader is tried with."""
    almost = displaced(reader, values(reader.words))
    return st.one_of(mutated(reader.seeds), shaped(reader), st.binary(max_size=60), *([] if almost is None else [almost] * 2))


class HangError(Exception):
    """A reader took more than SECONDS of processor time over a file of a few hundred bytes."""


@contextmanager
def _no_longer(seconds: int) -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise HangError(f"more than {seconds} s")

    # Processor time, not time on the wall: a busy machine is not a hang.
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judge(reader: Reader, data: bytes, folder: Path) -> str:
    """`taken` or `refused`. Whatever else a reader raises is raised here too: it would have been a traceback."""
    path = folder / reader.name
    path.write_bytes(data)
    try:
        with _no_longer(SECONDS):
            reader.read(path)
    except (FairWitnessError, CycloptsError) as error:
        return "refused" if str(error).strip() else _silent(error)
    return "taken"


def _silent(error: Exception) -> str:
    raise AssertionError(f"{type(error).__name__} without a word") from error
