"""Authoring: how much of a service's capacity drafting uses under faults, how fast answers are saved and the filter learns."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.request import urlopen

from benchmarks.figures import HEAD, figure

DELAY_S, WORKERS, FAULTS = 1.0, 32, 0.2
DRAFTS = int(os.environ.get("BENCH_DRAFTS", "2000"))


def drafting(folder: Path) -> list[str]:
    """2,000 drafts, 32 at once, every fifth answer a fault; against what 32 places of that delay can give."""
    from tests.authoring.conftest import context_demos, write

    from fairwitness.authoring.contexts import ContextsConfig, generate_contexts

    server = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.generation", "--delay_s", str(DELAY_S), "--fault_rate", str(FAULTS)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    try:
        base = server.stdout.readline().strip() if server.stdout else ""
        config = ContextsConfig(
            api_url=f"{base}/v1/completions", model="m", language="en", demo_fpath=write(folder / "demos.json", context_demos()),
            demographic_list=write(folder / "groups.json", {"age": [f"group {n}" for n in range(40)]}),
            num_generations=DRAFTS // 40,
            concurrency=WORKERS, near_duplicate=2.0, output_dir=folder / "out", cache=folder / "answers.sqlite",
        )  # fmt: skip
        start = time.monotonic()
        made = generate_contexts(config)
        seconds = time.monotonic() - start
        seen = json.load(urlopen(base))
    finally:
        server.kill()
        server.wait()
    ideal = seen["received"] * DELAY_S / WORKERS
    remark = f"{WORKERS} places of {DELAY_S:g} s; {seen['received']:,} requests; {ideal:.1f} s of {seconds:.1f} s"
    what = f"{DRAFTS:,} drafts, {WORKERS} at once, {FAULTS:.0%} faults: "
    return [
        figure(f"{what}drafts kept", [len(made.rows)], "drafts", at_least=DRAFTS),
        figure(f"{what}answers paid for twice", [seen["twice"]], "answers", below=1),
        figure(f"{what}share of what the server allows", [100 * ideal / seconds], "%", at_least=90, remark=remark),
    ]


def saving(folder: Path) -> list[str]:
    """Eight annotators save at once; every answer is flushed to the disk before it is confirmed."""
    from fairwitness.authoring.annotation_store import AnnotationStore
    from fairwitness.authoring.schema import load_schema
    from fairwitness.authoring.votes import Vote

    schema = load_schema("kosbi")
    store = AnnotationStore(folder / "a.sqlite")
    store.create(schema, schema.second, [{"context": f"c{n}", "sentence": f"s{n}"} for n in range(100)], per_item=8)
    for number in range(8):
        store.add_annotator(f"p{number}")

    def work(name: str) -> None:
        while (item := store.next_item(name)) is not None:
            store.save(item.id, Vote(annotator=name, label="safe"))

    threads = [threading.Thread(target=work, args=(f"p{number}",)) for number in range(8)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = 800 / (time.monotonic() - start)
    kept = sum(map(len, store.votes().values()))
    return [
        figure("answers fetched and saved, 8 annotators at once", [rate], "a second"),
        figure("answers kept of 800", [kept], "answers", at_least=800),
    ]


def learning() -> list[str]:
    """The built-in classifier on 3,400 made-up rows, five epochs."""
    from fairwitness.models.ngram_classifier import NgramSettings, train_ngram_classifier

    items = [(f"상황 {n} 입니다", f"{n}번째 문장은 {'고맙습니다' if n % 2 else '저리 가라'} " * 3) for n in range(3400)]
    start = time.monotonic()
    for _ in train_ngram_classifier(items, [n % 2 for n in range(3400)], 5, NgramSettings(), {}):
        pass
    return [figure("built-in classifier, 3,400 rows, 5 epochs", [time.monotonic() - start], "s")]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        rows = drafting(Path(name)) + saving(Path(name)) + learning()
    print(HEAD + "\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
