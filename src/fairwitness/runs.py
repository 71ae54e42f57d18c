"""A run's folder: what was asked, the parts answered so far, and the sealed result.

    some/dir/run.json            one entry per audit in the folder: question, versions, counts, seconds, status
    some/dir/zs_preds.parquet    a sealed output; it exists whole or not at all
    some/dir/.parts/zs_preds/    parts answered so far, each named by its content; gone once the output is sealed

A part's name is the hash of what it answers (scorer identity and texts) and the checksum of its bytes (parts.py). So a run that
was killed goes on from its parts whatever worker, engine or order made them. This file knows nothing of models or metrics.

A folder that mirrors one elsewhere (places.py) keeps its parts there, and sends its outputs and then its run.json when it seals.
"""

import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fairwitness.errors import FairWitnessError, InputError, RunError
from fairwitness.files import can_be_named, content_hash, disk_errors, file_hash, sweep, write_text
from fairwitness.parts import Parts
from fairwitness.places import mirror_of
from fairwitness.progress import say
from fairwitness.version import __version__

MANIFEST = "run.json"
PACKAGES = ("numpy", "polars", "pyarrow", "scipy", "torch", "transformers", "torch-geometric", "scikit-learn")
_SECRET = re.compile(r"key|token|secret|password|authorization", re.IGNORECASE)


@dataclass
class Run:
    """One audit's place in a run folder, held under the folder's lock while it is worked on."""

    folder: Path
    name: str
    entry: dict[str, Any]
    parts: Parts
    started: float = field(default_factory=time.monotonic)

    @property
    def sealed(self) -> bool:
        """Whether this very question was answered before and its outputs are still there, unchanged."""
        return self.entry["status"] == "done" and all(
            (self.folder / name).is_file() and file_hash(self.folder / name) == digest
            for name, digest in self.entry["outputs"].items()
        )

    def seal(self, outputs: list[Path], counts: Mapping[str, int], **facts: Any) -> None:
        """Record that the outputs are whole. `facts` are further things seen, such as a threshold that was fitted."""
        if mirror := mirror_of(self.folder):
            for path in outputs:
                mirror.send(path)
        self.entry.update(
            status="done",
            outputs={os.path.relpath(path, self.folder): file_hash(path) for path in outputs},
            counts=dict(counts),
            seconds=round(self.entry.get("seconds", 0.0) + time.monotonic() - self.started, 3),
            finished=_now(),
            damaged_parts_redone=self.parts.damaged,
            **facts,
        )
        _update_manifest(self.folder, self.name, self.entry)
        self.parts.clear()
        if reused := self.parts.reused:
            say(f"{reused:,} {'row' if reused == 1 else 'rows'} had been answered by an earlier call and were not asked again.")
        if damaged := self.parts.damaged:
            say(f"{damaged:,} damaged {'part was' if damaged == 1 else 'parts were'} noticed by checksum and done again.")


@contextmanager
def open_run(
    out: Path,
    kind: str,
    question: Mapping[str, Any],
    *,
    restart: bool = False,
    data: Mapping[str, str] | None = None,
    inputs: Mapping[str, Path | str | None] | None = None,
) -> Iterator[Run]:
    """Hold the folder of `out` for one audit.

    The same question resumes. Another question beside old results is an error that names the difference, unless `restart`.
    `question` holds everything the result depends on, as JSON values; never a secret. `data` are the hashes of what is read, and
    `inputs` where it lies now: a file that was moved is still the same question.

    A call that is refused (one of our errors) before anything was answered leaves the record as it was; later, the audit is
    recorded as failed, with the reason. One that was killed or interrupted stays "running". All of them may be asked again.
    """
    folder, name = Path(out).parent, Path(out).stem
    question = _recordable(question)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        with disk_errors(folder):
            sweep(folder)
        if mirror := mirror_of(folder):
            mirror.bring_run(folder)
        earlier = _sound(read_manifest(folder).get(name), out, restart=restart)
        parts = _parts_of(folder, name, question)
        entry = _gone_on_with(out, earlier, question, restart=restart)
        if entry is None:
            parts.clear()
        entry = (entry or _begun(question)) | _asked_now(kind, data, inputs)
        run = Run(folder, name, entry, parts)
        if run.sealed:
            parts.clear()  # a kill between sealing and clearing left them
        else:
            entry["status"] = "running"
            entry.pop("reason", None)
            _update_manifest(folder, name, entry)
        try:
            yield run
        except FairWitnessError as error:
            if entry["status"] == "running":
                _stopped(run, earlier, str(error))
            raise
        finally:
            if entry["status"] == "running":
                entry["seconds"] = round(entry.get("seconds", 0.0) + time.monotonic() - run.started, 3)
                _update_manifest(folder, name, entry)


def note(
    out: Path,
    kind: str,
    question: Mapping[str, Any],
    outputs: list[Path],
    *,
    counts: Mapping[str, int] | None = None,
    data: Mapping[str, str] | None = None,
    inputs: Mapping[str, Path | str | None] | None = None,
    **facts: Any,
) -> None:
    """Record what a command that is done in one go has written. Such a command may always be repeated: the last one is recorded.

    The entry is called after the output and the command's last word, so that it never takes the place of an audit's.
    """
    folder, name = Path(out).parent, f"{Path(out).stem}.{kind.split()[-1]}"
    asked = _recordable(question)
    with _locked(folder, wait_s=30):
        with disk_errors(folder):
            sweep(folder)
        entry = _begun(asked) | _asked_now(kind, data, inputs)
        Run(folder, name, entry, _parts_of(folder, name, asked)).seal(outputs, counts or {}, **facts)


def _recordable(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question as run.json will hold it, so that it can be compared with one that was read there. Secrets are refused."""
    plain: dict[str, Any] = json.loads(json.dumps(question, sort_keys=True, default=str))
    _refuse_secrets(plain)
    return plain


def _begun(question: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a question that was not asked before."""
    return {"question": question, "status": "running", "outputs": {}, "started": _now()}


def _asked_now(kind: str, data: Mapping[str, str] | None, inputs: Mapping[str, Path | str | None] | None) -> dict[str, Any]:
    """What is recorded of every call, the first and those that go on."""
    facts = {"kind": kind, "versions": versions(), "command": _command()}
    return facts | {"data": dict(data or {}), "inputs": _places(inputs)}


def _places(inputs: Mapping[str, Path | str | None] | None) -> dict[str, str]:
    return {name: str(Path(path).resolve()) for name, path in (inputs or {}).items() if path is not None}


def _stopped(run: Run, earlier: dict[str, Any] | None, reason: str) -> None:
    """What a call that we ourselves stopped leaves in the record."""
    if run.parts.empty:
        run.entry["status"] = "refused"
        # An earlier call that was cut off and has nothing to go on from is not worth remembering either.
        _update_manifest(run.folder, run.name, earlier if earlier and earlier["status"] == "done" else None)
    else:
        seconds = round(run.entry.get("seconds", 0.0) + time.monotonic() - run.started, 3)
        run.entry.update(status="failed", reason=reason, seconds=seconds)
        _update_manifest(run.folder, run.name, run.entry)


def _sound(entry: dict[str, Any] | None, out: Path, *, restart: bool) -> dict[str, Any] | None:
    """An earlier record that can be gone on with. One that somebody edited so that it says nothing is refused, or started over."""
    if entry is None:
        return None
    kinds = {"question": dict, "outputs": dict, "status": str, "seconds": int | float}
    wrong = [name for name, kind in kinds.items() if not isinstance(entry.get(name, 0.0 if name == "seconds" else None), kind)]
    if not wrong and all(map(can_be_named, entry["outputs"])):
        return entry
    if restart:
        return None
    what = wrong[0] if wrong else "outputs"
    raise RunError(f"{out.parent / MANIFEST} says nothing usable of '{out.stem}' (its {what}). Start over with --restart.")


def _gone_on_with(
    out: Path, earlier: dict[str, Any] | None, question: Mapping[str, Any], *, restart: bool
) -> dict[str, Any] | None:
    """The earlier record where it is of the same question; None where this one begins. Another's results are not written over."""
    if earlier is None or (earlier["question"] == question and not restart):
        return earlier
    before = _parts_of(Path(out).parent, Path(out).stem, earlier["question"])
    if not restart and (earlier["status"] == "done" or not before.empty):
        raise RunError(_difference(out, earlier["question"], question))
    # A call that stopped before it answered anything (a misspelt column, say) must not stand in the corrected one's way.
    before.clear()
    return None


def _parts_of(folder: Path, name: str, question: Mapping[str, Any]) -> Parts:
    parts = Parts(folder / ".parts" / name, label=f"{name}-{content_hash(json.dumps(question, sort_keys=True))[:12]}")
    if mirror := mirror_of(folder):
        parts.keep_at(mirror.place, inside=(folder.relative_to(mirror.folder) / ".parts").as_posix() + "/")
    return parts


def read_manifest(folder: Path) -> dict[str, Any]:
    """The audits recorded in a run folder: name → entry. Empty where nothing was recorded yet."""
    path = Path(folder) / MANIFEST
    if not path.exists():
        return {}
    try:
        audits = json.loads(path.read_text(encoding="utf-8"))["audits"]
        return {str(name): dict(entry) for name, entry in audits.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a run.json of Fair Witness ({error}). Remove it or choose another folder.") from error


def versions() -> dict[str, str]:
    """The versions a result depends on, without importing any of the packages."""
    found = {"fairwitness": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@contextmanager
def _locked(folder: Path, *, wait_s: float = 0) -> Iterator[None]:
    lock = FileLock(folder / ".lock", timeout=wait_s)
    try:
        with disk_errors(folder):
            lock.acquire()
    except Timeout:
        raise RunError(f"Another process is working in {folder}. Wait for it to end, or choose another folder for --out.") from None
    try:
        yield
    finally:
        lock.release()


def _update_manifest(folder: Path, name: str, entry: dict[str, Any] | None) -> None:
    """Record an audit's entry, or with None that there is none. A record of nothing is no file."""
    path, mirror = folder / MANIFEST, mirror_of(folder)
    if mirror:
        mirror.bring(os.path.relpath(path, mirror.folder))  # others may have worked in that folder meanwhile
    audits = {known: value for known, value in (read_manifest(folder) | {name: entry}).items() if value is not None}
    if not audits:
        with disk_errors(folder):
            path.unlink(missing_ok=True)
        if mirror:
            mirror.place.remove(os.path.relpath(path, mirror.folder))
        return
    write_text(path, json.dumps({"format": 1, "audits": audits}, indent=2, ensure_ascii=False) + "\n")
    if mirror:
        mirror.send(path)


def _difference(out: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    before, after = _flat(old), _flat(new)
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    words = "; ".join(f"{key} was {_short(before.get(key))}, now {_short(after.get(key))}" for key in sorted(changed)[:4])
    more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
    return f"{out} holds the answer to another question: {words}{more}. Choose another --out, or start over with --restart."


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {prefix: value}
    return {k: v for key, inner in value.items() for k, v in _flat(inner, f"{prefix}.{key}" if prefix else str(key)).items()}


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _refuse_secrets(question: Mapping[str, Any]) -> None:
    for key, value in _flat(question).items():
        assert not (_SECRET.search(key.rsplit(".", 1)[-1]) and isinstance(value, str)), f"'{key}' must not be written to run.json"


def _command() -> list[str]:
    """The command line, with what follows a secret's flag struck out."""
    shown: list[str] = []
    hide = False
    name = Path(sys.argv[0]).name if sys.argv else ""
    # `python -m fairwitness` is the same command.
    for word in ["fairwitness" if name == "__main__.py" else name, *sys.argv[1:]] if sys.argv else []:
        flag, equals, _ = word.partition("=")
        secret = word.startswith("--") and bool(_SECRET.search(flag))
        shown.append("***" if hide else f"{flag}=***" if secret and equals else word)
        hide = secret and not equals
    return shown


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
