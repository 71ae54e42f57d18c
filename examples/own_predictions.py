"""Audit your own classifier's predictions in five lines: a CSV with the truth, the prediction and who is named in each row.

python examples/own_predictions.py
"""

from pathlib import Path

import fairwitness as fw

table = Path(__file__).parent / "my_predictions.csv"
result = fw.group_fairness(table, label="toxic", pred="flagged", score="score", flags=["women", "men"], groups=["age"])
print(result.gaps().select("metric", "attribute", "value", "low", "high", "p_adjusted").head(5))
print(result.report("own_predictions.html", title="My classifier"))
