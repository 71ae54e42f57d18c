"""Models on this machine: what is built in, what is in the cache, and fetching more from the Hugging Face hub or a folder.

Loading a model into memory is loading.py's; this file only brings folders of weights to the disk.
"""

from dataclasses import dataclass
from pathlib import Path

from fairwitness import registry
from fairwitness.errors import ModelError
from fairwitness.files import cache_folder, disk_errors
from fairwitness.models.made_once import is_whole, sealed

# Weights in a format that cannot run code, the tokenizer, and the configuration. Never pickles.
SAFE_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "*.txt", "*.model", "*.gguf"]


@dataclass(frozen=True)
class CachedModel:
    """One row of `fairwitness models list`."""

    name: str
    kind: str
    megabytes: float | None
    folder: str


def cached() -> list[CachedModel]:
    """The built-in models, then what the hub's cache and our own hold."""
    return [_built_in(name) for name in registry.names("models")] + _quantized() + _from_hub()


def pull(name: str, *, quantize: bool = False, revision: str | None = None) -> Path:
    """Bring a model to this machine and return its folder: a built-in name, a hub id, or a folder that is here already.

    With `quantize`, a 4-bit copy is stored as well (needs CUDA and bitsandbytes) and its folder is returned.
    """
    if name in registry.names("models"):
        folder = Path(registry.load("models", name)())
    elif Path(name).is_dir():
        folder = Path(name)
        _require_weights(folder)
    elif Path(name).exists():
        raise ModelError(f"{name} is a file. Name the folder that holds it, or give a GGUF file to --model directly.")
    else:
        folder = _from_hub_now(name, revision)
    if not quantize:
        return folder
    from fairwitness.models.four_bit import stored

    return stored(name, folder)


def _from_hub_now(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        with disk_errors(cache_folder()):
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=SAFE_FILES))
    except GatedRepoError as error:
        raise ModelError(
            f"{name} is gated: accept its terms on its page at the hub, then log in with 'hf auth login' or set HF_TOKEN."
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        near = ", ".join(registry.names("models"))
        raise ModelError(
            f"There is no model '{name}' at the hub, and no folder of that name here. Built in: {near}. "
            f"A private model needs HF_TOKEN."
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise ModelError(
            f"{name} is not in the cache and the hub cannot be reached (or HF_HUB_OFFLINE is set). "
            f"Name a local folder, or use the built-in model: smollm2."
        ) from error
    except (HfHubHTTPError, ConnectionError) as error:
        raise ModelError(f"The hub did not give {name}: {str(error).splitlines()[0]}") from error
    _require_weights(folder)
    return folder


def _require_weights(folder: Path) -> None:
    if not (folder / "config.json").is_file() and not list(folder.glob("*.gguf")):
        raise ModelError(f"{folder} has no config.json, so it is not a model in the Hugging Face layout.")
    if not list(folder.glob("*.safetensors")) and not list(folder.glob("*.gguf")):
        raise ModelError(f"{folder} has no weights in a safe format (*.safetensors or *.gguf). Pickled weights are not loaded.")


def _built_in(name: str) -> CachedModel:
    from fairwitness.models import smollm2

    there = name == "smollm2" and smollm2.is_pulled()
    return CachedModel(name, "built in", _megabytes(smollm2.folder()) if there else None, str(smollm2.folder()) if there else "")


def _quantized() -> list[CachedModel]:
    """The 4-bit copies: their seal names the model they are of."""
    folders = sorted(folder for folder in (cache_folder() / "models").glob("*") if is_whole(folder))
    return [CachedModel(sealed(f)["model"], "4-bit copy", _megabytes(f), str(f)) for f in folders if "model" in sealed(f)]


def _from_hub() -> list[CachedModel]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = sorted(scan_cache_dir().repos, key=lambda repo: repo.repo_id)
    except CacheNotFound:
        return []
    return [
        CachedModel(repo.repo_id, "hub cache", repo.size_on_disk / 1e6, str(repo.repo_path))
        for repo in repos
        if repo.repo_type == "model"
    ]


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
