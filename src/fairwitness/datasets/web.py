"""Fetching files over plain HTTPS: goes on where it stopped, tries again, checks the hash where one is known, and only then
gives the file its name. Two processes that want the same file wait for each other."""

import logging
from pathlib import Path

from fairwitness.datasets.card import WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, open_copy
from fairwitness.errors import ServiceError
from fairwitness.files import cache_folder, disk_errors, file_hash, write_text
from fairwitness.progress import progress
from fairwitness.version import __version__

ATTEMPTS = 5
HEADERS = {"User-Agent": f"fairwitness/{__version__}", "Accept-Encoding": "identity"}  # a packed body could not be resumed


class _TryAgainError(Exception):
    """A fault that may pass: the connection broke, or the server is busy."""


def fetch(remote: WebFiles, name: str, split: str) -> RawCopy:
    """The files of a remote in our cache, fetched now where they are not there yet."""
    wanted = [file for file in remote.files if split in ("", "all") or file.split in ("", split)]
    if not split and any(file.split == "train" for file in wanted):
        wanted = [file for file in wanted if file.split in ("", "train")]
    if not wanted:
        raise ServiceError(f"{remote.address} has no {split} split.")
    copies = [open_copy(fetch_file(file, cache_folder() / "datasets" / name / file.name)) for file in wanted]
    return RawCopy(tuple(file for copy in copies for file in copy.files), remote.address)


def fetch_file(file: WebFile, target: Path) -> Path:
    """One file under the name `target`: whole, and with the hash that was published."""
    from filelock import FileLock

    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_name(f".{target.name}.lock")):
        if target.exists() and (not file.size or target.stat().st_size == file.size):
            return target
        part = target.with_name(f".{target.name}.part")
        _fetch_part(file, part)
        _check(file, part)
        with disk_errors(target):
            part.replace(target)
        part.with_suffix(".etag").unlink(missing_ok=True)
    return target


def _fetch_part(file: WebFile, part: Path) -> None:
    import httpx2
    import stamina

    # stamina reports every new attempt; whether it mattered is for us to say, once, at the end.
    logging.getLogger("stamina").addHandler(logging.NullHandler())
    timeout = httpx2.Timeout(30.0, connect=10.0)
    try:
        with httpx2.Client(headers=HEADERS, follow_redirects=True, timeout=timeout) as client:
            for attempt in stamina.retry_context(on=_TryAgainError, attempts=ATTEMPTS, timeout=None, wait_initial=0.5):
                with attempt:
                    try:
                        _receive(client, file, part)
                    except httpx2.TransportError as error:
                        raise _TryAgainError(str(error) or type(error).__name__) from error
    except _TryAgainError as error:
        raise ServiceError(f"{file.url} did not answer ({error}). The next call goes on where this one stopped.") from error
    except (httpx2.InvalidURL, httpx2.TooManyRedirects) as error:
        raise ServiceError(f"{file.url} cannot be fetched: {error}.") from error


def _receive(client: "httpx2.Client", file: WebFile, part: Path) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Ask for what is missing, and append it. Without the validator of the first answer nothing could be appended safely."""
    note = part.with_suffix(".etag")
    have = part.stat().st_size if part.exists() and note.exists() else 0
    headers = {"Range": f"bytes={have}-", "If-Range": note.read_text(encoding="utf-8")} if have else {}
    with client.stream("GET", file.url, headers=headers) as response:
        if response.status_code == 416:
            if have == file.size:
                return
            part.unlink()
            raise _TryAgainError("the part on the disk does not fit")
        if response.status_code == 429 or response.status_code >= 500:
            raise _TryAgainError(f"HTTP {response.status_code}")
        if response.status_code >= 400:
            raise ServiceError(f"{file.url} answers HTTP {response.status_code}.")
        resumed = response.status_code == 206
        if not resumed:
            validator = response.headers.get("ETag", "")
            validator = response.headers.get("Last-Modified", "") if validator.startswith("W/") or not validator else validator
            note.unlink(missing_ok=True)
            if validator:
                write_text(note, validator)
        total = int(response.headers.get("Content-Length", 0)) or None
        with disk_errors(part), part.open("ab" if resumed else "wb") as out, progress(file.name, total, "B") as advance:
            # As it comes, not in full chunks: what came before the line broke is worth keeping.
            for chunk in response.iter_bytes():
                out.write(chunk)
                advance(len(chunk))


def _check(file: WebFile, part: Path) -> None:
    size = part.stat().st_size
    wrong = ""
    if file.size and size != file.size:
        wrong = f"{size} bytes came, {file.size} were expected"
    elif file.sha256 and file_hash(part) != file.sha256:
        wrong = f"its SHA-256 is not {file.sha256}"
    if wrong:
        part.unlink()
        raise ServiceError(f"{file.url} is not the file that was published: {wrong}. Nothing was kept.")
