"""A folder of the cache that takes long to make: made by one process, and either whole or made again.

It is made under another name, sealed with the size of every file, and renamed at the end. So a call that was cut off, a file that
was cut short and a second process that wants the same at the same time do no harm.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairwitness.files import disk_errors

SEAL = "fairwitness.json"


def is_whole(folder: Path) -> bool:
    """Whether every file the folder was sealed with is there, at its full size."""
    try:
        sizes = sealed(folder)["sizes"]
        return bool(sizes) and all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False


def sealed(folder: Path) -> dict[str, Any]:
    """What the seal says: the sizes, and what the maker wanted to be known."""
    found: dict[str, Any] = json.loads((folder / SEAL).read_text(encoding="utf-8"))
    return found


def made_once(folder: Path, make: Callable[[Path, Path], None], about: dict[str, Any]) -> Path:
    """`folder`, made now if need be by `make(scratch, target)`, which fills `target` and may use the folder `scratch`."""
    # A call that was cut off after the renaming left its scratch beside a whole folder.
    if is_whole(folder) and not (_leftovers(folder) and os.access(folder.parent, os.W_OK)):
        return folder
    from filelock import FileLock

    with disk_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            for leftover in _leftovers(folder):
                shutil.rmtree(leftover, ignore_errors=True)
            if not is_whole(folder):
                _make(folder, make, about)
    return folder


def _leftovers(folder: Path) -> list[Path]:
    return list(folder.parent.glob(f"{folder.name}.making-*"))


def _make(folder: Path, make: Callable[[Path, Path], None], about: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.making-") as name:
        scratch = Path(name)
        ready = scratch / "ready"
        make(scratch, ready)
        sizes = {path.name: path.stat().st_size for path in ready.iterdir()}
        (ready / SEAL).write_text(json.dumps({**about, "sizes": sizes}, indent=2), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        ready.replace(folder)
