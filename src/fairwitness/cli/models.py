"""`fairwitness models`: which models are here, and bringing one."""

import json as json_module
from dataclasses import asdict


def list_models(*, json: bool = False) -> None:
    """List the built-in models and those in the cache.

    Parameters
    ----------
    json
        Print JSON.
    """
    from fairwitness.models.store import cached

    rows = cached()
    if json:
        print(json_module.dumps([asdict(row) for row in rows]))
        return
    for row in rows:
        size = f"{row.megabytes:,.0f} MB" if row.megabytes is not None else f"not pulled yet: fairwitness models pull {row.name}"
        print(f"{row.name:40} {row.kind:12} {size}")


def pull(name: str, /, *, quantize: bool = False, revision: str | None = None) -> None:
    """Bring a model to this machine.

    Parameters
    ----------
    name
        smollm2, a hub id such as google/gemma-3-1b-it, or a folder.
    quantize
        Store a 4-bit copy too (needs CUDA and bitsandbytes).
    revision
        The hub revision to take.
    """
    from fairwitness.models.store import pull as pull_model

    print(pull_model(name, quantize=quantize, revision=revision))
