"""Hold a build to limits: audit the predictions, judge them by gate.toml, and leave with 0 (passed), 1 (failed) or 3 (cannot say).

python examples/gate_in_ci.py        examples/github-actions/fairness-gate.yml does the same in a workflow
"""

import sys
from pathlib import Path

import fairwitness as fw

here = Path(__file__).parent
folder = Path("runs") / "gate"
fw.audit_fairness(
    fw.FairnessConfig(
        preds=here / "my_predictions.csv",
        label_col="toxic",
        pred_col="flagged",
        id_cols=("women", "men"),
        out=folder / "fairness.csv",
    )
)
verdict, judged = fw.gate(folder, fw.GateConfig(rules=here / "gate.toml", min_coverage=0.99))
for rule in judged.table.iter_rows(named=True):
    print(f"{rule['verdict']:7} {rule['rule']}  {rule['attribute']}  {rule['value']:.3f}  {rule['why']}")
print(verdict.name)
sys.exit(verdict.value)
