"""From a name to a model in memory: built-in names, the hub, local folders, GGUF files; and plain words where that fails."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fairwitness.errors import ModelError, suggestion
from fairwitness.files import content_hash
from fairwitness.models import four_bit
from fairwitness.models.devices import choose_device, choose_dtype
from fairwitness.models.fused_gates import fuse_gates
from fairwitness.models.fused_norms import fuse_norms
from fairwitness.models.fused_rotary import fuse_rotary
from fairwitness.models.memory import enough_memory
from fairwitness.models.number_format import compute_in
from fairwitness.models.quiet import quiet
from fairwitness.models.safe_weights import VARIABLE, pickles_allowed, safe
from fairwitness.registry import names

_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.index.json")
_UNREADABLE = (OSError, ValueError, LookupError, RuntimeError, ImportError, EOFError, OverflowError)
_CAUSAL = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


@dataclass(frozen=True)
class LoadedParts:
    """A model in evaluation mode, without gradients for its weights, and what it was loaded as."""

    model: Any
    tokenizer: Any
    device: torch.device
    dtype: str
    quantized: bool


def load_parts(name: str, *, device: str = "auto", dtype: str = "auto", quantize: bool = False) -> LoadedParts:
    """Load a causal model and its tokenizer. Every way this can fail is a ModelError that says what to do."""
    place = choose_device(device)
    number = choose_dtype(dtype, place)
    source, extra = locate(name)
    packed = four_bit.is_packed(_causal_config(name, source, extra))
    quantize = quantize or packed
    arguments: dict[str, Any] = {**safe(extra), "dtype": getattr(torch, number), "output_loading_info": True}
    if quantize and extra:
        raise ModelError(f"{name} is a GGUF file, whose weights have their own number format. Leave out --quantize.")
    if quantize:
        arguments |= four_bit.arguments(place, number, packed=packed)
    from transformers import AutoModelForCausalLM

    with explained(name), quiet(), enough_memory(f"'{name}'", place):
        model, info = AutoModelForCausalLM.from_pretrained(source, **arguments)
        model = model if quantize else model.to(place)
    tokenizer = load_tokenizer(name)
    _require_head(name, info)
    if packed:
        compute_in(model, number)  # stored weights come in the format they were stored in
    model.eval().requires_grad_(False)
    fuse_norms(model)
    fuse_gates(model)
    fuse_rotary(model)
    return LoadedParts(model, tokenizer, place, number, quantize)


def load_tokenizer(name: str) -> Any:
    """The tokenizer alone, for what needs no weights."""
    from transformers import AutoTokenizer

    source, extra = locate(name)
    with explained(name), quiet():
        tokenizer = AutoTokenizer.from_pretrained(source, **extra)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def locate(name: str) -> tuple[str, dict[str, Any]]:
    """What transformers is to be given for a name: (folder or hub name, further arguments)."""
    if name in names("models"):
        from fairwitness.registry import load

        return str(load("models", name)()), {}
    path = Path(name)
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ModelError(f"The GGUF file {name} does not exist.")
        return str(path.parent), {"gguf_file": path.name}
    if path.is_file():
        raise ModelError(f"{name} is a file. Give a folder with config.json and weights, a hub name, or a file that ends in .gguf.")
    if path.is_dir():
        _require_weights(path)
    elif path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ModelError(f"The model folder {name} does not exist. Give a folder with config.json and weights, or a hub name.")
    return name, {}


def is_packed(name: str) -> bool:
    """Whether the weights behind a name lie there in 4 bits already."""
    from transformers import AutoConfig

    source, extra = locate(name)
    with explained(name):
        return not extra and four_bit.is_packed(AutoConfig.from_pretrained(source))


def fingerprint(name: str) -> str:
    """A short hash of the weights behind a name, without reading all of them: samples of the files, or the hub's commit."""
    source, extra = locate(name)
    folder = Path(source)
    if not folder.is_dir():
        from transformers import AutoConfig

        with explained(name):
            return str(getattr(AutoConfig.from_pretrained(source), "_commit_hash", None) or "unknown")
    wanted = [extra["gguf_file"]] if extra else ["config.json", "tokenizer.json", *_WEIGHTS]
    files = sorted({path for pattern in wanted for path in folder.glob(pattern)})
    parts: list[str | bytes] = []
    for path in files:
        parts += [path.name, *_samples(path)]
    return content_hash(*parts)


def _samples(path: Path, *, pieces: int = 64, size: int = 4096) -> list[bytes]:
    """The length of a file and pieces of it at even distances, its beginning and its end included."""
    length = path.stat().st_size
    with path.open("rb") as stream:
        found = [length.to_bytes(8, "little")]
        for piece in range(pieces):
            stream.seek(max(0, (length - size) * piece // (pieces - 1)))
            found.append(stream.read(size))
    return found


def _require_weights(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        ggufs = sorted(folder.glob("*.gguf"))
        hint = f" It holds {ggufs[0].name}: give --model {ggufs[0]}." if ggufs else ""
        raise ModelError(f"{folder} has no config.json, so it is not a Hugging Face model folder.{hint}")
    if not any(any(folder.glob(pattern)) for pattern in _WEIGHTS):
        raise ModelError(
            f"{folder} has a config.json but no weights (*.safetensors or *.bin). Copy them there, or download the model again."
        )
    if not pickles_allowed() and not any(any(folder.glob(pattern)) for pattern in ("*.safetensors", "*.gguf")):
        raise ModelError(
            f"{folder} has its weights in a pickle (*.bin), which could run code, so it is not opened. Convert it to safetensors, "
            f"or, if you trust it, set {VARIABLE}=1."
        )


def _causal_config(name: str, source: str, extra: dict[str, Any]) -> Any:
    """The model's configuration. Encoders are refused: transformers would load them with a causal head of random numbers."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    with explained(name):
        config = AutoConfig.from_pretrained(source, **extra)
    architectures = [str(word) for word in getattr(config, "architectures", None) or []]
    causal = any(word.endswith(_CAUSAL) for word in architectures) or (not architectures and not _masked(config))
    if getattr(config, "is_encoder_decoder", False) or not causal or config.model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        what = architectures[0] if architectures else config.model_type
        hint = " `fairwitness stereoset eval` takes masked models." if _masked(config) else ""
        if what.endswith("ForSequenceClassification"):
            hint = f" `fairwitness counterfactual run --scorer hf:{name}` takes classifiers."
        raise ModelError(f"'{name}' is a {what}, not a causal language model, so it gives no probability of a next word.{hint}")
    return config


def _masked(config: Any) -> bool:
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False)


def _require_head(name: str, info: dict[str, Any]) -> None:
    missing = sorted(info.get("missing_keys") or [])
    if missing:
        raise ModelError(
            f"The weights of '{name}' lack {missing[0]} and {len(missing) - 1} more, which would be random numbers. "
            "It may be a classifier or a damaged download; give a complete causal language model."
        )


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what the hub and the readers of weights raise into one sentence."""
    from pickle import UnpicklingError
    from struct import error as StructError

    from safetensors import SafetensorError

    try:
        yield
    except ModelError:
        raise
    except (*_UNREADABLE, StructError, SafetensorError, UnpicklingError) as error:
        raise ModelError(_reason(name, error)) from error


def _damaged(folder: Path) -> str:
    """Which of a model's JSON files cannot be read, as far as they lie here."""
    for path in sorted(folder.glob("*.json")):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return f"The {path.name}"
    return "A JSON file"


def _reason(name: str, error: BaseException) -> str:
    words = " ".join(str(error).split())
    local = Path(name).exists()
    if isinstance(error, ImportError):
        return f"Model '{name}' needs a package that is missing: {words[:200]}"
    if isinstance(error, json.JSONDecodeError) or "not a valid JSON" in words:
        return f"{_damaged(Path(name))} of '{name}' is damaged ({words[:120]}). Download the model again."
    if local:
        return f"Model '{name}' cannot be loaded: {words[:240]}"
    near = suggestion(name, names("models"))
    return (
        f"Model '{name}' was not found: no built-in model, no folder here, and the hub has not given it ({words[:120]}…).{near} "
        "Check the name, give a local folder, or set HF_TOKEN for gated models.  (fairwitness list models)"
    )
