"""The one function that audits call to have parts scored, wherever that happens."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from fairwitness.engine import local
from fairwitness.engine.contract import Scorer, stays_here
from fairwitness.engine.options import LOCAL, EngineOptions, check_engine
from fairwitness.parts import Parts
from fairwitness.places import open_place


def map_parts(
    scorer: Scorer[Any],
    work: Iterable[Sequence[Any]],
    parts: Parts,
    *,
    options: EngineOptions = LOCAL,
    advance: Callable[[int], None] = lambda _done: None,
) -> Iterator[pl.DataFrame]:
    """Yield the scores of each part of `work`, in order: from the disk where it was answered before, else scored now and kept.

    A scorer that must stay here (it keeps to a service's quota, or holds a secret) is never sent to another process, so its
    quota holds whatever the size of the cluster: the waiting is for the service, and more machines would not shorten it.
    """
    check_engine(options)
    if options.parts_at:
        parts.keep_at(open_place(options.parts_at))
    if stays_here(scorer):
        return local.map_parts(scorer, work, parts, advance=advance)
    if options.engine == "ray":
        from fairwitness.engine import ray_cluster

        return ray_cluster.map_parts(scorer, work, parts, options=options, advance=advance)
    if options.devices:
        from fairwitness.engine import devices

        return devices.map_parts(scorer, work, parts, names=options.devices, advance=advance)
    return local.map_parts(scorer, work, parts, advance=advance)
