"""What it costs to read Jigsaw's all_data.csv: two million made-up rows in Kaggle's layout, through the command line."""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import HEAD, figure
from fairwitness.datasets.jigsaw_shape import IDENTITIES

ROWS = int(os.environ.get("FAIRWITNESS_BENCH_ROWS", "2000000"))
BEFORE = "id,comment_text,split,created_date,publication_id,parent_id,article_id,rating,funny,wow,sad,likes,disagree"
LABELS = "toxicity,severe_toxicity,obscene,sexual_explicit,identity_attack,insult,threat"
WORDS = ("the", "council", "vote", "a", "road", '""quoted""', "really,", "people", "think", "tax", "school", "line")
COMMANDS = {
    "all rows": (),
    "`--sample 50000`": ("--sample", "50000"),
    "`--stream --take 1000`": ("--stream", "--take", "1000"),
}


def make(path: Path) -> None:
    """Write the file: comments of 5 to 100 words, some over several lines; a fifth annotated for identities."""
    chance = random.Random(1)
    pool = []
    for _ in range(5000):
        text = " ".join(chance.choices(WORDS, k=chance.randint(5, 100)))
        pool.append(f'"{text}\n\nsecond line"' if chance.random() < 0.1 else f'"{text}"')
    asked, not_asked = ",".join(["0.0"] * len(IDENTITIES)), "," * (len(IDENTITIES) - 1)
    with path.open("w", encoding="utf-8") as out:
        out.write(f"{BEFORE},{LABELS},{','.join(IDENTITIES)},identity_annotator_count,toxicity_annotator_count\n")
        for row in range(ROWS):
            split = "train" if chance.random() < 0.9 else "test"
            identities = asked if chance.random() < 0.22 else not_asked
            facts = f"{split},2017-03-06 15:21:53.675241+00,21,,317120,approved,0,0,0,2,0"
            out.write(
                f"{row},{pool[chance.randrange(5000)]},{facts},{chance.random():.6f},0.0,0.0,0.0,0.0,0.1,0.0,{identities},4,10\n"
            )


def measure(words: tuple[str, ...], source: Path, folder: Path) -> tuple[float, float]:
    """Seconds and peak memory in MB of one call, in a process of its own."""
    command = ["-m", "fairwitness", "data", "download", "--dataset", "jigsaw", "--source", str(source), "--out"]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command, str(folder / "out.parquet"), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return time.perf_counter() - begun, used.ru_maxrss / 1024


def main() -> None:
    """Print one line per command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "all_data.csv"
        make(source)
        size = f"{ROWS:,} rows, {source.stat().st_size / 1e6:,.0f} MB of CSV"
        print(f"`data download --dataset jigsaw --source all_data.csv`: {size}.\n")
        print(HEAD)
        for what, words in COMMANDS.items():
            found = [measure(words, source, folder) for _ in range(3)]
            print(figure(f"{what}, time", [taken for taken, _ in found], "s"))
            print(figure(f"{what}, memory", [megabytes for _, megabytes in found], "MB", below=1500), flush=True)


if __name__ == "__main__":
    main()
