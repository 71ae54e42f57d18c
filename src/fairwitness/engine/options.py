"""Where an audit's batches run, as options that every scoring audit has in the same words.

An audit's config inherits from `EngineOptions`, hands itself to `engine.choose.map_parts(…, options=config)`, and leaves the
`ENGINE_FIELDS` out of its question: where a row is scored changes nothing beyond rounding. An audit without a model, which only
counts, inherits from `ClusterOptions`.
"""

from dataclasses import dataclass, fields
from typing import Literal

from fairwitness.errors import InputError
from fairwitness.options import Options


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(Options):
    """Whether a Ray cluster does the work, and which."""

    engine: Literal["local", "ray"] = "local"
    """local: this machine. ray: a Ray cluster (extra `ray`)."""
    ray_address: str = ""
    """host:port of a Ray cluster that this machine is part of, or auto; empty starts one here."""
    ray_cpus: int = 1
    """CPUs that each model on the cluster takes where it has no GPU."""


@dataclass(frozen=True, kw_only=True)
class EngineOptions(ClusterOptions):
    """Where a scorer's batches run, and where its answers wait."""

    devices: tuple[str, ...] = ()
    """Several devices of this machine at once: auto (all GPUs), cuda:0,cuda:1, or cpu:2 for two processes."""
    parts_at: str = ""
    """Keep the answered parts here instead of in the run's folder: any URL of pyarrow or fsspec, such as s3://bucket/audit."""


LOCAL = EngineOptions()
ENGINE_FIELDS = frozenset(field.name for field in fields(EngineOptions))


def runs_here(options: EngineOptions) -> bool:
    """Whether the model is loaded by this very process."""
    return options.engine == "local" and not options.devices


def check_engine(options: ClusterOptions) -> None:
    """Refuse options that contradict each other or name no address."""
    if options.engine not in ("local", "ray"):
        raise InputError(f"Unknown --engine '{options.engine}'. Expected local or ray.")
    if options.engine == "local" and options.ray_address:
        raise InputError(f"--ray_address {options.ray_address} is used with --engine ray only. Add --engine ray.")
    if options.engine == "ray" and isinstance(options, EngineOptions) and options.devices:
        raise InputError("--devices is for one machine; with --engine ray the cluster's own GPUs are used. Leave one of them out.")
    if options.ray_cpus < 1:
        raise InputError(f"--ray_cpus is {options.ray_cpus}; it must be at least 1.")
    if options.ray_address.startswith("ray://"):
        raise InputError(
            f"--ray_address {options.ray_address}: the audit must run on a machine of the cluster. "
            "Start it there (ray start --address=HOST:6379 joins one) and give --ray_address auto."
        )
