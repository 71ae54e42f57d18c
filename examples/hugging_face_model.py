"""Audit any causal language model of Hugging Face, or a folder of your own: zero-shot toxicity, then the gaps between groups.

python examples/hugging_face_model.py [MODEL] [ROWS]       the built-in smollm2 and 200 rows, when nothing is named
"""

import sys
from pathlib import Path

import fairwitness as fw

model, rows = (sys.argv[1:] + ["smollm2", "200"][len(sys.argv) - 1 :])[:2]
folder = Path("runs") / "hugging_face_model"
folder.mkdir(parents=True, exist_ok=True)

# The built-in examples are mild; with a dataset of your own, name its file and its columns instead.
comments = fw.load_dataset("examples").sample(int(rows), seed=1)
comments.write_parquet(folder / "comments.parquet")
identities = ("female", "male", "muslim", "christian")

fw.zero_shot(
    fw.ZeroShotConfig(
        in_=folder / "comments.parquet",
        text_col="comment_text",
        task="toxicity",
        model=model,
        label_col="target",
        id_cols=identities,
        calibrate="prior",
        base_rate=0.5,
        out=folder / "scores.parquet",
    )
)
result = fw.audit_fairness(
    fw.FairnessConfig(
        preds=folder / "scores.parquet", label_col="target", id_cols=identities, min_group_size=3, out=folder / "fairness.csv"
    )
)
print(result.overall)
print(result.report(folder / "report.html", title=f"{model} on the built-in comments"))
