"""Audit a scorer of your own. It is a package with one entry point (examples/scorer_plugin), installed beside Fair Witness:

pip install ./examples/scorer_plugin
python examples/own_scorer.py
"""

from pathlib import Path

import fairwitness as fw

folder = Path("runs") / "own_scorer"
result = fw.counterfactual(fw.CounterfactualConfig(scorer="shouting", categories=("gender",), resamples=200, out=folder))
for widest in result.facts["headline"]:
    print(f"{widest['category']}: {widest['a']} scores {widest['difference']:+.3f} against {widest['b']} in the same sentences")
print(folder / "report.html")
