"""The studies on real data whose tables stand in docs/: run them again, on a GPU if there is one.

    python scripts/study.py DATA OUT [wordings] [explaining] [stereoset] [usermodels]       # DATA: a folder like ../shared/data

Each part writes Markdown and its run folders under OUT; only numbers are printed, no texts. FAIRWITNESS_STUDY_ROWS (a number) takes
that many rows of everything, to try it out.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

DATA, OUT = Path(sys.argv[1]), Path(sys.argv[2])
FEW = int(os.environ.get("FAIRWITNESS_STUDY_ROWS", "0"))
IDENTITIES = ["african", "islam", "women", "jewish", "homosexual", "refugee", "arab", "caucasian", "asian", "hispanic"]
SEEDS = ["3"] if FEW else ["3", "7", "11", "23", "42"]


def command(*words: Any) -> None:
    """One of our own commands, in its own process; a failure is shown and the study goes on."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "fairwitness", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    print(f"{time.monotonic() - begun:.1f} s, exit {done.returncode}: fairwitness {' '.join(map(str, words))[:150]}", flush=True)
    if done.returncode:
        print(done.stderr[-1500:], flush=True)


def some(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.head(FEW) if FEW else frame


def hatexplain() -> pl.DataFrame:
    """Posts with their majority label, identity columns, and the words that most of those who gave reasons marked."""
    wide = pl.read_csv(DATA / "toxicity/hatexplain/hatexplain_wide.csv", infer_schema_length=None).drop_nulls("target")
    with gzip.open(DATA / "toxicity/hatexplain/dataset.json.gz") as stream:
        posts = json.load(stream)
    rows = []
    for post in posts.values():
        reasons = [marks for marks in post["rationales"] if len(marks) == len(post["post_tokens"])]
        votes = [sum(column) / len(reasons) for column in zip(*reasons, strict=True)]
        marks = [int(vote >= 0.5) for vote in votes] or [0] * len(post["post_tokens"])
        words = [word for word in post["post_tokens"] if word.strip()]
        if len(words) == len(marks):
            rows.append({"post_id": post["post_id"], "text": " ".join(words), "marks": marks})
    return wide.join(pl.DataFrame(rows), on="post_id").sort(pl.col("post_id").hash(0))


def wordings() -> None:
    """AUC and positive rate of the built-in model under each task, on four sets of real texts."""
    from sklearn.metrics import roc_auc_score

    from fairwitness.scorers.zero_shot import ZeroShot

    posts = hatexplain()
    cases = pl.read_csv(DATA / "toxicity/hatecheck/test_suite_cases.csv", infer_schema_length=None)
    made = pl.read_csv(DATA / "toxicity/toxigen/toxigen_annotated_train.csv", infer_schema_length=None)
    sets = {
        "HateXplain": (posts["text"], posts["target"]),
        "HateCheck": (cases["test_case"], (cases["label_gold"] == "hateful").cast(int)),
        "ToxiGen": (made["text"], made["toxic_official"].cast(int)),
    }
    lines = [
        "| task, setting | " + " | ".join(f"{name}: AUC, called positive" for name in sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]
    settings: list[tuple[str, dict[str, Any]]] = [
        *((f"`{task}`", {"task": task}) for task in ("toxicity", "hate", "offense", "toxicity-examples")),
        ("`hate`, `--chat`", {"task": "hate", "chat": True}),
        ("`hate`, `--normalize tokens`", {"task": "hate", "normalize": "tokens"}),
        ("`hate`, `--calibrate content-free`", {"task": "hate", "content_free": True}),
        ("`hate`, `--label_prefix ' '`", {"task": "hate", "label_prefix": " "}),
    ]
    for name, options in settings:
        scorer = ZeroShot(dtype="float32", **options)
        cells = []
        for texts, labels in sets.values():
            keep = pl.DataFrame({"text": texts, "label": labels})
            keep = some(keep.sample(fraction=1, shuffle=True, seed=0))
            scores = pl.Series(scorer.score(keep["text"].to_list())["score"])
            cells.append(f"{roc_auc_score(keep['label'], scores):.3f}, {(scores > 0).mean():.0%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    sizes = {name: len(texts) for name, (texts, _) in sets.items()}
    (OUT / "wordings.md").write_text(f"{sizes}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def explaining() -> None:
    """Convergence of Integrated Gradients, shares on identity words, and agreement with people's reasons, on HateXplain."""
    table = OUT / "hatexplain_marks.parquet"
    hatexplain().filter(pl.col("split") == "test").write_parquet(table)
    rows = FEW or 600
    for task in ("hate", "toxicity-examples"):
        out = OUT / f"explained_{task}"
        shared = ["zeroshot", "--in", table, "--text_col", "text", "--label_col", "target", "--id_cols", *IDENTITIES]
        shared += [
            "--task",
            task,
            "--dtype",
            "float32",
            "--explain",
            "--rationale_col",
            "marks",
            "--max_rows",
            rows,
            "--ig_rows",
            rows,
        ]
        command(*shared, "--calibrate", "prior", "--base_rate", 0.59, "--out", out / "zs.parquet")
        if not (out / "zs.ig.parquet").exists():
            continue
        found = pl.read_parquet(out / "zs.ig.parquet")
        steps = found["steps"].quantile(0.95)
        print(
            f"{task}: {found.height} rows, converged {found['converged'].mean():.1%}, gap median {found['gap'].median():.2%}, "
            f"evaluations median {found['steps'].median():.0f}, 95 % {steps:.0f}",
            flush=True,
        )
        for name in ("zs.ig_identity.csv", "zs.ig_rationale.csv"):
            print((out / name).read_text(encoding="utf-8"), flush=True)


def stereoset() -> None:
    """The whole dev set and CrowS-Pairs under every protocol of a causal model."""
    dev, some_items = DATA / "stereoset/dev.json", (["--max_samples", FEW] if FEW else [])
    base = ["--model", "smollm2", "--data", dev, "--subset", "both", *some_items]
    command("stereoset", "sensitivity", *base, "--out", OUT / "sensitivity/smollm2.csv")
    command("stereoset", "eval", *base, "--dtype", "float32", "--output", OUT / "stereoset/smollm2.csv")
    plot = OUT / "stereoset/smollm2.png"
    command("stereoset", "analyze", "--csv", OUT / "stereoset/smollm2.csv", "--output_plot", plot, "--top_n", 1)
    pairs = DATA / "bias_benchmarks/crows_pairs/crows_pairs_anonymized.csv"
    for protocol in ("sum", "mean"):
        out = OUT / f"crows_{protocol}/smollm2.csv"
        command("crows", "--data", pairs, "--dtype", "float32", "--protocol", protocol, "--max_rows", FEW, "--out", out)


CATGCN = {
    "nba": "--learning-rate 0.1 --weight-decay 1e-4 --dropout 0.9 --diag-probe 39 --gnn-units 64 --balance-ratio 0.7",
    "pokec": "--learning-rate 1e-3 --weight-decay 1e-5 --dropout 0.7 --diag-probe 1 --gnn-units none --balance-ratio 0.1",
}
CATGCN_BOTH = (
    "--graph-refining agc --aggr-pooling mean --grn-units 64 --bi-interaction nfm --nfm-units none --graph-layer pna --gnn-hops 1"
)
RHGN = {"nba": "--max-lr 0.1 --n-hid 32 --clip 1 --n-epoch 100", "pokec": "--max-lr 1e-3 --n-hid 64 --clip 2 --n-epoch 100"}
LABELS = {"nba": ("bin_salary", "salary"), "pokec": ("bin_work_field", "work_field")}
ATTRIBUTES = {"nba": "age bin_age country", "pokec": "age bin_age gender region"}


def usermodels() -> None:
    """CatGCN and RHGN with the published example commands' flags, and two baselines, on NBA and Pokec."""
    for dataset, labels in LABELS.items():
        flags = {
            "catgcn": f"{CATGCN[dataset]} {CATGCN_BOTH} --aggr-style sum",
            "rhgn": RHGN[dataset],
            "logistic": "--learning-rate 0.05" if dataset == "pokec" else "",
            "mlp": "",
        }
        for label in labels:
            for model, words in flags.items():
                out = OUT / f"{dataset}_{label}_{model}"
                words += " --epochs 3" if FEW else ""
                shared = [
                    "--data-dir",
                    DATA / "user_graphs" / dataset,
                    "--label",
                    label,
                    "--sens-attr",
                    *ATTRIBUTES[dataset].split(),
                ]
                command(
                    "usermodel",
                    "train",
                    "--model",
                    model,
                    "--dataset",
                    dataset,
                    *shared,
                    "--seeds",
                    *SEEDS,
                    *words.split(),
                    "--out",
                    out,
                )
                if (out / "seeds.csv").exists():
                    shutil.copy(out / "seeds.csv", OUT / f"seeds_{dataset}_{label}_{model}.csv")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    parts = {"wordings": wordings, "explaining": explaining, "stereoset": stereoset, "usermodels": usermodels}
    for part in sys.argv[3:] or parts:
        parts[part]()
