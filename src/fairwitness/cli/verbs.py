"""The table of verbs: what a user types → (where it lives, what it does).

A verb of two words belongs to a group, which stands alone in GROUPS. Naming a verb's file here loads nothing of it.
"""

VERBS: dict[str, tuple[str, str]] = {
    "data download": ("fairwitness.cli.data:download", "Get a dataset as a normalised table."),
    "data doctor": ("fairwitness.cli.data:doctor", "Which sources of datasets answer, and which have died."),
    "data card": ("fairwitness.cli.data:card", "A dataset's licence, counts, columns and content warning."),
    "zeroshot": ("fairwitness.cli.zeroshot:zeroshot", "Classify texts with a causal language model, and explain why."),
    "stereoset eval": ("fairwitness.cli.stereoset:evaluate", "Score StereoSet's items with a language model."),
    "stereoset score": ("fairwitness.cli.stereoset:score", "StereoSet's official numbers from a prediction file."),
    "stereoset sensitivity": ("fairwitness.cli.stereoset:sensitivity", "How far StereoSet's numbers move with the way of asking."),
    "stereoset analyze": ("fairwitness.cli.stereoset:analyze", "Tables, words, examples and charts from a StereoSet result."),
    "crows": ("fairwitness.cli.crows:crows", "CrowS-Pairs: how often a model finds the more stereotyping sentence likelier."),
    "models list": ("fairwitness.cli.models:list_models", "The models on this machine."),
    "models pull": ("fairwitness.cli.models:pull", "Bring a model to this machine."),
    "fairness": ("fairwitness.cli.fairness:fairness", "Rates, gaps and bias AUCs of a file of predictions, by group."),
    "counterfactual run": ("fairwitness.cli.counterfactual:run", "All of it, from comments (or our own templates) to report.html."),
    "counterfactual templates": ("fairwitness.cli.counterfactual:templates", "Comments to templates with placeholders."),
    "counterfactual expand": ("fairwitness.cli.counterfactual:expand", "Templates to texts: every group, and the control."),
    "counterfactual score": ("fairwitness.cli.counterfactual:score", "Score filled texts with any scorer."),
    "counterfactual analyze": ("fairwitness.cli.counterfactual:analyze", "Scores to paired gaps, tests, charts, report.html."),
    "counterfactual record": ("fairwitness.cli.counterfactual:record", "Keep a scorer's answers as a cassette."),
    "counterfactual replay": ("fairwitness.cli.counterfactual:replay", "Score texts from a cassette, without network."),
    "counterfactual calibrate": ("fairwitness.cli.counterfactual:calibrate", "Fit a local scorer to a recorded one."),
    "counterfactual compare": ("fairwitness.cli.counterfactual:compare", "Several scorers side by side on the same texts."),
    "usermodel train": ("fairwitness.cli.usermodel:train", "Train a graph user model and measure it by class and group."),
    "usermodel compare-views": ("fairwitness.cli.usermodel:compare_views_command", "What binarising hides, over a finished run."),
    "usermodel curve": ("fairwitness.cli.usermodel:curve", "Accuracy against a gap under group-reweighted training."),
    "usermodel build": ("fairwitness.cli.usermodel:build", "Build a graph's files from the raw public files."),
    "usermodel generate": ("fairwitness.cli.usermodel:generate", "Make up a graph like Alibaba's or JD's."),
    "report": ("fairwitness.cli.report:report", "Write one self-contained page for one or more runs."),
    "compare": ("fairwitness.cli.compare:compare", "Which gaps changed between two runs, beyond noise."),
    "gate": ("fairwitness.cli.gate:gate", "Hold a run to limits: exit 0 passed, 1 failed, 3 not enough evidence."),
    "serve": ("fairwitness.cli.serve:serve", "Browse a folder of runs in a browser."),
    "run": ("fairwitness.cli.run:run", "Run the audits of a suite.toml, ending in one report."),
    "list": ("fairwitness.cli.list:list_names", "What there is: scorers, datasets, models."),
}
GROUPS: dict[str, str] = {
    "counterfactual": "The same sentence said of different groups, and what a toxicity scorer makes of it.",
    "data": "Datasets: get them, and know them first.",
    "usermodel": "Graph user models: train, compare views, trade accuracy against gaps, build and generate graphs.",
    "stereoset": "StereoSet: evaluate a model, score predictions, analyse.",
    "models": "Built-in and cached models.",
}
