"""A process that has everything imported and runs audits in forked children, so that fifty lives cost seconds and not minutes.

`python -m tests.faults.zygote` reads a JSON object a line, {"audit", "folder", "model", "kill_at", "kill_after_s"}, and answers it
with how the child ended. With `kill_at` n the child kills itself with SIGKILL just before its n-th touch of a file in its folder:
opening, renaming, making, removing. So every stage of an audit is a stage at which it can die, and the same n dies at the same
place. With `kill_after_s` it is killed then, whatever it is doing: also in the middle of a write that Python does not see. With
`clock_jumps` the clock on the wall leaps by up to a day in both directions whenever it is asked.
Nothing of polars or torch may run before the fork: their threads would not be there after it.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.backends.backend_agg
import matplotlib.figure  # noqa: F401
import pandas  # noqa: F401 - PyArrow asks for it when it turns columns into arrays
import polars  # noqa: F401
import profanity_check  # noqa: F401
import pyarrow.compute
import pyarrow.parquet  # noqa: F401
import scipy.stats  # noqa: F401
import torch
import transformers.models.llama.modeling_llama
import transformers.models.llama.tokenization_llama  # noqa: F401
from tests.authoring import conftest as _demonstrations  # noqa: F401
from tests.faults.small_audits import AUDITS
from tests.graphs import toy as _toy  # noqa: F401

import fairwitness.audits.counterfactual
import fairwitness.audits.crows
import fairwitness.audits.fairness
import fairwitness.audits.lifeboat
import fairwitness.audits.stereoset
import fairwitness.audits.stereoset_analyze
import fairwitness.audits.stereoset_sensitivity
import fairwitness.audits.user_model
import fairwitness.audits.zero_shot
import fairwitness.audits.zero_shot_explained
import fairwitness.authoring.loop
import fairwitness.cli.app
import fairwitness.report.sections  # noqa: F401
from fairwitness.errors import FairWitnessError

TOUCHES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "shutil.rmtree", "os.scandir"}


@dataclass
class Reaper:
    """Counts touches of files in a folder, and dies at the chosen one."""

    folder: str
    kill_at: int | None
    touched: int = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in TOUCHES or not str(arguments[0]).startswith(self.folder):
            return
        self.touched += 1
        if self.touched == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def live(asked: dict[str, Any], answer: int) -> None:
    """One life of an audit, in the child. It never returns."""
    folder = Path(asked["folder"])
    reaper = Reaper(str(folder), asked.get("kill_at"))
    sys.addaudithook(reaper)
    said: dict[str, Any] = {}
    begun = time.monotonic()
    if seconds := asked.get("kill_after_s"):
        signal.setitimer(signal.ITIMER_REAL, seconds)  # nobody handles SIGALRM, so it ends the process as SIGKILL does
    if asked.get("clock_jumps"):
        chance, real = random.Random(5), time.time
        time.time = lambda: real() + chance.uniform(-86_400, 86_400)
    try:
        AUDITS[asked["audit"]](folder, Path(asked["model"]))
    except FairWitnessError as error:
        said["error"] = str(error)
    except BaseException as error:  # noqa: BLE001 - told to whoever asked
        said["bug"] = repr(error)
    signal.setitimer(signal.ITIMER_REAL, 0)
    said |= {"touched": reaper.touched, "seconds": time.monotonic() - begun}
    os.write(answer, json.dumps(said).encode())
    os._exit(0)


def main() -> None:
    """Serve until the input ends."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        asked = json.loads(line)
        ends = [os.pipe() for _ in range(asked.get("copies", 1))]
        children = []
        for _, write in ends:
            child = os.fork()
            if child == 0:
                live(asked, write)
            children.append(child)
            os.close(write)
        answers = []
        for child, (read, _) in zip(children, ends, strict=True):
            with os.fdopen(read) as stream:
                text = stream.read()
            _, status = os.waitpid(child, 0)
            answers.append({"killed": os.WIFSIGNALED(status), **(json.loads(text) if text else {})})
        print(json.dumps({"folder": asked["folder"], "answers": answers}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
