"""The table of verbs: what a user types → (where it lives, what it does).

A verb of two words belongs to a group, which stands alone in GROUPS. Naming a verb's file here loads nothing of it.
"""

VERBS: dict[str, tuple[str, str]] = {
    "zeroshot": ("fairwitness.cli.zeroshot:zeroshot", "Classify texts with a causal language model, and explain why."),
    "models list": ("fairwitness.cli.models:list_models", "The models on this machine."),
    "models pull": ("fairwitness.cli.models:pull", "Bring a model to this machine."),
    "fairness": ("fairwitness.cli.fairness:fairness", "Rates, gaps and bias AUCs of a file of predictions, by group."),
    "report": ("fairwitness.cli.report:report", "Write one self-contained page for one or more runs."),
    "compare": ("fairwitness.cli.compare:compare", "Which gaps changed between two runs, beyond noise."),
    "gate": ("fairwitness.cli.gate:gate", "Hold a run to limits: exit 0 passed, 1 failed, 3 not enough evidence."),
    "serve": ("fairwitness.cli.serve:serve", "Browse a folder of runs in a browser."),
    "run": ("fairwitness.cli.run:run", "Run the audits of a suite.toml, ending in one report."),
    "list": ("fairwitness.cli.list:list_names", "What there is: scorers, datasets, models."),
}
GROUPS: dict[str, str] = {
    "models": "Built-in and cached models.",
}
