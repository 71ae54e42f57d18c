"""One device at work: `python -m fairwitness.engine.device_worker FD`, started by devices.py and talking to it alone.

It sees one GPU, or none. It gets the scorer's settings first and then parts; each answer is the part's key and the bytes to keep.
"""

import os
import pickle
import queue
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

from fairwitness.engine.contract import require_same, score_part
from fairwitness.errors import FairWitnessError
from fairwitness.parts import encode

# What a broken device raises: torch's errors of CUDA are RuntimeErrors. Anything else is the fault of a part or ours.
OF_THE_DEVICE = (RuntimeError, OSError, MemoryError)


def serve(connection: Connection) -> None:
    """Answer parts until the other side hangs up."""
    pickled, identity = connection.recv()
    # Read ahead in a thread: were both sides to send something large at once, each would wait for the other for ever.
    waiting: queue.SimpleQueue[tuple[str, list[Any]] | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, waiting), daemon=True).start()
    scorer: Any = None
    while (part := waiting.get()) is not None:
        key, items = part
        try:
            if scorer is None:
                scorer = pickle.loads(pickled)
                require_same(scorer, identity, os.environ.get("FAIRWITNESS_DEVICE", "this device"))
            connection.send(("answer", key, encode(score_part(scorer, items))))
        except FairWitnessError as error:
            connection.send(("ours", key, error))
        except OF_THE_DEVICE as error:
            connection.send(("device", key, f"{type(error).__name__}: {error}"))
            return
        except Exception:  # noqa: BLE001 - it is raised again where the run is
            connection.send(("bug", key, traceback.format_exc()))


def _listen(connection: Connection, waiting: "queue.SimpleQueue[tuple[str, list[Any]] | None]") -> None:
    try:
        while True:
            waiting.put(connection.recv())
    except (EOFError, OSError):
        waiting.put(None)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
