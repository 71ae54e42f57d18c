"""The engine for many machines: Ray Data maps the parts still to do over model actors; this process keeps what they answer.

The dataset is the numbers of the parts. An actor fetches a part by its number from the driver's machine, scores it, and sends back
the bytes to keep. So nodes need no common disk, one process alone writes to the run's folder, which it holds under the folder's
lock, and nothing is scored into the result twice: a part that two workers answered has one name. Ray Data does the
scheduling, the back-pressure and the starting again of what dies.
"""

import logging
import os
import pickle
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.engine.contract import Scorer, identity_of, recipe, require_same, score_part, uses_gpu
from fairwitness.engine.options import ClusterOptions
from fairwitness.engine.spool import Spool, fill, unpack
from fairwitness.errors import FairWitnessError, InputError, MissingExtraError, RunError
from fairwitness.parts import Parts, encode

# Ray keeps some state for every task of a dataset; beyond this many parts, several go into one task.
MOST_TASKS = 20_000
# A scorer is sent as its settings. One that is larger has its weights in it, and would be sent to every worker.
MOST_BYTES = 8_000_000


def map_parts(
    scorer: Scorer[Any],
    work: Iterable[Sequence[Any]],
    parts: Parts,
    *,
    options: ClusterOptions,
    advance: Callable[[int], None] = lambda _done: None,
) -> Iterator[pl.DataFrame]:
    """Answer what is not on disk yet on the cluster, then yield all parts in the order of the work."""
    with tempfile.TemporaryDirectory(prefix="fairwitness-") as folder:
        spool = fill(Spool(Path(folder) / "spool"), scorer, work, parts, advance=advance)
        if len(spool):
            with connected(options):
                for key, data, rows in _answers(scorer, spool, options):
                    parts.keep(key, data)
                    advance(rows)
    for key in spool.keys:
        frame = parts.read(key)
        if frame is None:
            raise RunError(f"A part in {parts.folder} was lost after it was written. Run the same command again: it is done again.")
        yield frame


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Any]:
    """Ray, joined or started; one that was running before is left running."""
    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if options.ray_address:
            ray.init(address=options.ray_address, **quiet)
        else:
            ray.init(address="local", include_dashboard=False, **quiet)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        words = " ".join(str(error).split())[:200]
        raise InputError(
            f"No Ray cluster answers at --ray_address {options.ray_address or 'local'} ({words}). "
            "Start one with `ray start --head`, or leave --ray_address out."
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


# Settings of the driver that a worker needs to find the same models and caches. Secrets are not among them.
_SENT = re.compile(r"FAIRWITNESS_|HF_(?!TOKEN)|TRANSFORMERS_|TOKENIZERS_")


@dataclass(frozen=True)
class Home:
    """Where the driver stands: its folder, so that relative paths mean the same, and its settings."""

    folder: str
    settings: dict[str, str]

    @classmethod
    def here(cls) -> "Home":
        return cls(os.getcwd(), {name: value for name, value in os.environ.items() if _SENT.match(name)})

    def move_in(self) -> None:
        """Stand where the driver stands, as far as this machine has the place."""
        os.environ.update(self.settings)
        if os.path.isdir(self.folder):
            os.chdir(self.folder)


class PartScorer:
    """A model on a worker. It is made from the scorer's settings, and checks that it is the scorer the run was started with."""

    def __init__(self, shelf: Any, pickled: bytes, identity: str, together: int, home: "Home") -> None:
        self._shelf, self._pickled, self._identity, self._together, self._home = shelf, pickled, identity, together, home
        self._scorer: Scorer[Any] | None = None

    def __call__(self, numbers: Any) -> Iterator[dict[str, Any]]:
        """The answers of some tasks, each of which is `together` parts."""
        import numpy as np
        import ray

        scorer = self._ready()
        for number in numbers["id"].tolist():
            for data in ray.get(self._shelf.read.remote(number * self._together, self._together)):
                key, items = unpack(data)
                answer = encode(score_part(scorer, items))
                yield {"key": np.array([key]), "answer": np.array([answer], dtype=object), "rows": np.array([len(items)])}

    def _ready(self) -> Scorer[Any]:
        if self._scorer is None:
            self._home.move_in()
            scorer: Scorer[Any] = pickle.loads(self._pickled)
            require_same(scorer, self._identity, socket.gethostname())
            self._scorer = scorer
        return self._scorer


class _Shelf:
    """Hands out parts, from the machine where the spool lies."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def read(self, first: int, count: int) -> list[bytes]:
        return [self._spool.read(number) for number in range(first, min(first + count, len(self._spool)))]


def _answers(scorer: Scorer[Any], spool: Spool, options: ClusterOptions) -> Iterator[tuple[str, bytes, int]]:
    import ray
    import ray.data

    together = -(-len(spool) // MOST_TASKS)
    tasks = -(-len(spool) // together)
    slots, needs = _slots(scorer, options)
    shelf = ray.remote(_Shelf).options(**_on_this_machine()).remote(Spool(spool.path, ends=spool.ends))
    numbers = ray.data.range(tasks, override_num_blocks=tasks)
    answers = numbers.map_batches(
        PartScorer,
        fn_constructor_args=(shelf, _pickled(scorer), identity_of(scorer), together, Home.here()),
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=slots, initial_size=min(slots, tasks)),
        batch_size=None,
        **needs,
    )
    quiet()
    try:
        for batch in answers.iter_batches(batch_size=None, batch_format="pyarrow"):
            columns = (batch[name].to_pylist() for name in ("key", "answer", "rows"))
            yield from zip(*columns, strict=True)
    except ray.exceptions.RayError as error:
        raise explained(error) from error


def _slots(scorer: Scorer[Any], options: ClusterOptions) -> tuple[int, dict[str, float]]:
    """How many models the cluster has room for, and what each takes: a GPU where it uses one, else some CPUs."""
    import ray

    there = ray.cluster_resources()
    gpus = int(there.get("GPU", 0)) if uses_gpu(scorer) else 0
    if gpus:
        return gpus, {"num_gpus": 1}
    slots = int(there.get("CPU", 0)) // options.ray_cpus
    if slots < 1:
        raise InputError(
            f"The Ray cluster has {there.get('CPU', 0):g} CPUs, and each model was to take {options.ray_cpus} (--ray_cpus)."
        )
    return slots, {"num_cpus": options.ray_cpus}


def _pickled(scorer: Scorer[Any]) -> bytes:
    from ray import cloudpickle

    data: bytes = cloudpickle.dumps(recipe(scorer))
    assert len(data) <= MOST_BYTES, f"{type(scorer).__name__} pickles to {len(data):,} bytes: it must pickle as its settings"
    return data


def _on_this_machine() -> dict[str, Any]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return {"scheduling_strategy": here, "num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}


def explained(error: Exception) -> Exception:
    """Our own error where a worker raised one; else what Ray says, in one line."""
    seen: BaseException | None = error
    while seen is not None:
        cause = getattr(seen, "cause", None) or seen.__cause__
        if isinstance(cause, FairWitnessError):
            return type(cause)(*cause.args) if not isinstance(cause, MissingExtraError) else RunError(str(cause))
        seen = cause
    return RunError(
        f"The Ray cluster gave up: {' '.join(str(error).split())[-300:]} Run the same command again to go on from here."
    )


def _import_ray() -> Any:
    # Nobody is told that this runs.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("ray[data]", "ray", "--engine ray") from error
    return ray


def quiet() -> None:
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
