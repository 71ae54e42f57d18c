"""A function over many pieces on a cluster, for what needs no model: counting the parts of a table and the like.

The pieces are small descriptions (a range of rows); the data is read where it is counted, so its path must mean the same file on
every node. Answers come back as they are ready, in any order: what they are added up into must not care.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from fairwitness.engine.options import ClusterOptions
from fairwitness.engine.ray_cluster import Home, connected, explained, quiet

Piece = TypeVar("Piece")
Answer = TypeVar("Answer")


def on_cluster(task: Callable[[Piece], Answer], pieces: Sequence[Piece], *, options: ClusterOptions) -> Iterator[Answer]:
    """Yield `task(piece)` for every piece, computed by the cluster's CPUs."""
    with connected(options) as ray:
        quiet()
        from ray import cloudpickle

        numbers = ray.data.range(len(pieces), override_num_blocks=len(pieces))
        sent = cloudpickle.dumps((Home.here(), task, list(pieces)))
        answers = numbers.map_batches(_answer, fn_args=(sent,), batch_size=None)
        try:
            for batch in answers.iter_batches(batch_size=None, batch_format="pyarrow"):
                for data in batch["answer"].to_pylist():
                    answer: Answer = pickle.loads(data)
                    yield answer
        except ray.exceptions.RayError as error:
            raise explained(error) from error


def _answer(numbers: dict[str, Any], sent: bytes) -> dict[str, Any]:
    import numpy as np

    home, task, pieces = pickle.loads(sent)
    home.move_in()
    return {"answer": np.array([pickle.dumps(task(pieces[number])) for number in numbers["id"].tolist()], dtype=object)}
