"""Putting bytes on disk so that a crash at any instant leaves either the old file or the new one.

Also the two questions every reader asks first: is it there, and what are its bytes. What the bytes mean is tables.py's.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairwitness.errors import InputError, RunError, suggestion

# The ending of a file that is not finished; before it stand the number and the mark of the process that writes it.
_UNFINISHED = ".fairwitness-tmp"
# The number of a process may be given out again, and in a container it always is.
_MARK = secrets.token_hex(4)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block ends well, it takes the name `path` atomically.

    Written, flushed to disk, renamed: in that order. When the block fails, nothing of it stays.
    """
    path = Path(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.{os.getpid()}-{_MARK}.", suffix=_UNFINISHED)
        os.close(handle)
    temporary = Path(name)
    try:
        with disk_errors(path):
            yield temporary
            temporary.chmod(0o666 & ~_umask())
            _flush(temporary)
            temporary.replace(path)
            _flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what processes that were killed left unfinished in a folder and the folders in it. What is being written stays."""
    for path in [*folder.glob(f".*{_UNFINISHED}"), *folder.glob(f"*/.*{_UNFINISHED}")]:
        number, _, mark = path.name.removesuffix(_UNFINISHED).split(".")[-2].partition("-")
        if not number.isdigit() or not (mark == _MARK if int(number) == os.getpid() else _alive(int(number))):
            path.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, atomically."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a folder into a sentence a user can act on."""
    try:
        yield
    except OSError as error:
        # Libraries written in Rust put the number into the words alone.
        said = re.search(r"\(os error (\d+)\)", str(error))
        number = error.errno if error.errno is not None else int(said.group(1)) if said else None
        if number is None:  # a library's own error that merely inherits from OSError
            raise
        raise RunError(_explain(OSError(number, os.strerror(number)), Path(path))) from error


def database_fault(error: Exception, path: Path) -> RunError | None:
    """What an error of SQLite says about the disk, in the words of `disk_errors`; None where it says nothing about it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # SQLite calls a full disk FULL or, where its index of the journal finds no room, an input/output error.
    if code == 13 or (code == 10 and shutil.disk_usage(Path(path).parent).free < 2**20):
        return RunError(_explain(OSError(errno.ENOSPC, "full"), path))
    if code in (8, 14):
        return RunError(_explain(OSError(errno.EACCES, str(error)), path))
    return None


def named_by(path: Path) -> list[Path]:
    """The files that a pattern such as `parts/*.parquet` names, in the order of their names; a plain path names itself."""
    path = Path(path)
    return sorted(path.parent.glob(path.name)) if "*" in path.name and not path.exists() else [path]


def require_file(path: Path) -> Path:
    """`path` itself when it is a file with something in it; otherwise an error that says what it is instead.

    A pattern with a star in it must name at least one file, and nothing but such files.
    """
    path = Path(path)
    found = named_by(path)
    if found != [path]:
        if not found:
            raise InputError(f"No file is called {path}.")
        for each in found:
            require_file(each)
        return path
    if path.is_dir():
        raise InputError(f"{path} is a folder; a file was expected. Name one of the files in it.")
    if not path.exists():
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"{path} does not exist.{suggestion(path.name, near)}")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    return path


def decoded(data: bytes) -> str:
    """The text of a file's bytes: UTF-8 with or without a byte-order mark, or UTF-16 with one. Others: UnicodeDecodeError.

    >>> decoded("né".encode("utf-8-sig")) == decoded("né".encode("utf-16")) == "né"
    True
    """
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")


def json_value(data: bytes) -> Any:
    """What a JSON file's bytes hold, in the encodings of `decoded`. Half a character (a lone surrogate) is a ValueError, too.

    >>> json_value(b"\\xef\\xbb\\xbf[1, null]")
    [1, None]
    """
    found = json.loads(decoded(data))
    # Half a character is valid JSON, and no text: no table can hold it.
    json.dumps(found, ensure_ascii=False).encode("utf-8")
    return found


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, as hexadecimal; of the files a pattern names, a hash of their hashes."""
    found = named_by(path)
    if found != [Path(path)]:
        return content_hash(*(file_hash(each) for each in found))
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_hash(*parts: str | bytes) -> str:
    """A short hash of several strings, in which ("ab", "c") and ("a", "bc") differ.

    >>> content_hash("ab", "c") == content_hash("a", "bc")
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def cache_folder() -> Path:
    """Where models and answers are kept between runs: FAIRWITNESS_CACHE, else `fairwitness` in XDG_CACHE_HOME or ~/.cache."""
    if named := os.environ.get("FAIRWITNESS_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairwitness"


def _explain(error: OSError, path: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"No space left for {path}. Free some and run the same command again: it goes on where it stopped."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{path} cannot be written: {error.strerror}. Choose another --out or change its permissions."
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
        return f"{path} cannot be written: a file stands where a folder is needed, or the other way round."
    return f"{path} cannot be written: {error.strerror or error}."


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def can_be_named(name: str) -> bool:
    r"""Whether a file can have this name, which somebody may have made up.

    >>> [can_be_named(name) for name in ("a/b.csv", "a\0b", "\ud800", "a" * 300)]
    [True, False, False, False]
    """
    try:
        spelt = name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return b"\0" not in spelt and len(spelt) < 3000 and all(len(part) <= 255 for part in spelt.split(b"/"))
