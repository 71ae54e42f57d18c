"""Files of Hugging Face dataset repositories at a pinned revision. Never a loading script: only Parquet and CSV files.

HF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_OFFLINE are honoured. Files lie in the Hub's own cache, which resumes downloads.
"""

import os
import re
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any

from fairwitness.datasets.card import HubFiles
from fairwitness.datasets.raw import RawCopy, RawFile
from fairwitness.errors import ServiceError
from fairwitness.files import file_hash

STREAM_BLOCK_BYTES = 4 << 20
"""What one request of a stream reads ahead; the client's own choice would be most of a file."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


def endpoint() -> str:
    """The Hub's address, HF_ENDPOINT where that is set."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def offline() -> bool:
    """Whether the user forbade asking the Hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def patterns(remote: HubFiles, split: str) -> list[str]:
    """The remote's patterns for one split: train where none is named, every one for `all`.

    >>> patterns(HubFiles(repo="a/b", revision="main", patterns=("data/{split}-*.parquet",)), "")
    ['data/train-*.parquet']
    """
    wanted = {"": "train", "all": "*"}.get(split, split)
    return [pattern.replace("{split}", wanted) for pattern in remote.patterns]


def fetch(remote: HubFiles, split: str) -> RawCopy:
    """The wanted files in the Hub's cache, fetched now where they are not there yet, each checked against its hash."""
    from huggingface_hub import snapshot_download

    wanted = patterns(remote, split)
    # The Hub's client tries again for half a minute before it looks into its cache; a person without a network need not wait.
    cached_only = offline() or not _reachable()

    def snapshot() -> Path:
        where = snapshot_download(
            remote.repo,
            repo_type="dataset",
            revision=remote.revision,
            allow_patterns=wanted,
            endpoint=endpoint(),
            local_files_only=cached_only,
        )
        return Path(str(where))

    folder = _asking(remote, snapshot)
    paths = sorted(path for path in folder.rglob("*") if _fits(path.relative_to(folder).as_posix(), wanted))
    if not paths:
        raise ServiceError(
            f"{remote.address} has no file {' or '.join(wanted)}{' in the cache (HF_HUB_OFFLINE)' if offline() else ''}."
        )
    for path in paths:
        _verify(remote, path, path.relative_to(folder).as_posix())
    files = [_local(path, path.relative_to(folder).as_posix()) for path in paths]
    return RawCopy(tuple(files), remote.address)


def stream(remote: HubFiles, split: str) -> RawCopy:
    """The wanted files, read over the network piece by piece: no more is fetched than is asked for."""
    from huggingface_hub import HfFileSystem

    if offline():
        raise ServiceError(f"{remote.address} cannot be streamed while HF_HUB_OFFLINE is set.")
    system = HfFileSystem(endpoint=endpoint(), block_size=STREAM_BLOCK_BYTES, skip_instance_cache=True)
    root = f"datasets/{remote.repo}@{remote.revision.replace('/', '%2F')}"

    def names() -> list[str]:
        found = [str(path) for pattern in patterns(remote, split) for path in system.glob(f"{root}/{pattern}")]
        return sorted(dict.fromkeys(found))

    paths = _asking(remote, names)
    if not paths:
        raise ServiceError(f"{remote.address} has no file {' or '.join(patterns(remote, split))}.")

    def opener(path: str) -> Callable[[], IO[bytes]]:
        return lambda: _asking(remote, lambda: system.open(path, "rb"))

    start = len("datasets/") + len(remote.repo)
    return RawCopy(tuple(RawFile(path[start:].partition("/")[2], f"hf://{path}", opener(path)) for path in paths), remote.address)


def _reachable(timeout_s: float = 10.0) -> bool:
    """Whether anything answers at the Hub's address."""
    import httpx2

    try:
        httpx2.head(endpoint(), timeout=timeout_s)
    except httpx2.HTTPError:
        return False
    return True


def _local(path: Path, name: str) -> RawFile:
    return RawFile(name, str(path), lambda: path.open("rb"))


def _fits(name: str, wanted: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in wanted)


def _asking(remote: HubFiles, ask: Callable[[], Any]) -> Any:
    """Ask the Hub, and say in one line why it did not give."""
    import httpx2
    from huggingface_hub import errors

    try:
        return ask()
    except errors.GatedRepoError as error:
        why = f"its terms must be accepted at {endpoint()}/datasets/{remote.repo}, then set HF_TOKEN"
        raise ServiceError(f"{remote.address} is gated: {why}.") from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, FileNotFoundError) as error:
        if isinstance(error, errors.LocalEntryNotFoundError):
            why = "HF_HUB_OFFLINE is set and it is not in the cache" if offline() else f"{endpoint()} does not answer"
            raise ServiceError(f"{remote.address} cannot be fetched: {why}.") from error
        raise ServiceError(f"{remote.address} is not at {endpoint()} (any more), or not public.") from error
    except (errors.HfHubHTTPError, errors.OfflineModeIsEnabled, httpx2.HTTPError, OSError) as error:
        words = str(error).strip().split("\n")[0] or type(error).__name__
        raise ServiceError(f"{remote.address} cannot be fetched: {words[:160]}.") from error


def _verify(remote: HubFiles, path: Path, name: str) -> None:
    """Check a file against the published hash, or the one that names it in the Hub's cache. A damaged one is fetched again."""
    stored = path.resolve()
    expected = remote.hashes.get(name) or (stored.name if _SHA256.fullmatch(stored.name) else "")
    if not expected or file_hash(stored) == expected:
        return
    from huggingface_hub import hf_hub_download

    if not offline():
        stored.unlink()
        _asking(
            remote,
            lambda: hf_hub_download(
                remote.repo, name, repo_type="dataset", revision=remote.revision, endpoint=endpoint(), force_download=True
            ),
        )
        if file_hash(path) == expected:
            return
    raise ServiceError(f"{remote.address}/{name} is not the file that was published: its SHA-256 is not {expected}.")
