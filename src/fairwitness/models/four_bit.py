"""Weights of 4 bits through bitsandbytes: how transformers is asked for them, and a copy of a model stored that way.

The numbers are NF4 (levels at the quantiles of a normal distribution) in blocks of 64 with a scale each. Only the linear layers
are packed; embeddings, norms and the vocabulary head keep the number format that was asked for, and so does all computing.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from fairwitness.errors import MissingExtraError, ModelError
from fairwitness.files import cache_folder
from fairwitness.models.made_once import made_once
from fairwitness.models.quiet import quiet

KIND = "nf4"


def is_packed(config: Any) -> bool:
    """Whether a model's configuration says that its weights lie there packed by bitsandbytes."""
    settings = getattr(config, "quantization_config", None) or {}
    method = settings.get("quant_method") if isinstance(settings, dict) else getattr(settings, "quant_method", None)
    return str(getattr(method, "value", method)) == "bitsandbytes"


def arguments(place: torch.device, number: str, *, packed: bool = False) -> dict[str, Any]:
    """What `from_pretrained` is to be given; refused where that cannot be. `packed`: the weights lie there in 4 bits already."""
    what = "A model packed by bitsandbytes" if packed else "--quantize"
    if place.type != "cuda":
        hint = "Give the model it was made from" if packed else "Leave it out"
        raise ModelError(f"{what} needs an NVIDIA GPU (CUDA), and this is {place}. {hint}, or use a GGUF file or a smaller model.")
    if find_spec("bitsandbytes") is None:
        raise MissingExtraError("bitsandbytes", "quantize", what)
    # Such weights are packed where they will be used: they cannot be moved there afterwards.
    return {"device_map": {"": place}} | ({} if packed else {"quantization_config": _settings(number)})


def _settings(number: str) -> Any:
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=KIND, bnb_4bit_compute_dtype=getattr(torch, number))


def stored(name: str, source: Path) -> Path:
    """The folder of a 4-bit copy of the model in `source`, made now if need be. Other weights of the same name get their own."""
    from fairwitness.models.devices import choose_device, choose_dtype
    from fairwitness.models.loading import explained, fingerprint

    place = choose_device("auto")
    number = choose_dtype("auto", place)
    asked = arguments(place, number)

    def make(_scratch: Path, target: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        with explained(name), quiet():
            model = AutoModelForCausalLM.from_pretrained(source, use_safetensors=True, dtype=getattr(torch, number), **asked)
            model.save_pretrained(target)
            AutoTokenizer.from_pretrained(source).save_pretrained(target)

    label = source.resolve().name if Path(name).is_dir() else name.replace("/", "--")
    folder = cache_folder() / "models" / f"{label}-{fingerprint(str(source))[:12]}-{KIND}"
    return made_once(folder, make, {"model": name})
