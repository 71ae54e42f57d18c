"""The table of verbs: what a user types → (where it lives, what it does).

A verb of two words belongs to a group, which stands alone in GROUPS. Naming a verb's file here loads nothing of it.
"""

VERBS: dict[str, tuple[str, str]] = {
    "data download": ("fairwitness.cli.data:download", "Get a dataset as a normalised table."),
    "data doctor": ("fairwitness.cli.data:doctor", "Which sources of datasets answer, and which have died."),
    "data card": ("fairwitness.cli.data:card", "A dataset's licence, counts, columns and content warning."),
    "models list": ("fairwitness.cli.models:list_models", "The models on this machine."),
    "models pull": ("fairwitness.cli.models:pull", "Bring a model to this machine."),
    "fairness": ("fairwitness.cli.fairness:fairness", "Rates, gaps and bias AUCs of a file of predictions, by group."),
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
    "kosbi generate-contexts": ("fairwitness.cli.kosbi:generate_contexts", "Draft neutral contexts for every social group."),
    "kosbi filter-contexts": ("fairwitness.cli.kosbi:filter_contexts", "Remove contexts that do not include their group."),
    "kosbi train-filter": ("fairwitness.cli.kosbi:train_filter", "Train a filter model, a checkpoint per epoch."),
    "kosbi augment-contexts": ("fairwitness.cli.kosbi:augment_contexts", "The next pool of context demonstrations."),
    "kosbi generate-sentences": ("fairwitness.cli.kosbi:generate_sentences", "Draft safe and unsafe sentences after each context."),
    "kosbi filter-sentences": ("fairwitness.cli.kosbi:filter_sentences", "Keep the sentences that filter checkpoints disagree on."),
    "kosbi augment-sentences": ("fairwitness.cli.kosbi:augment_sentences", "The next pool of sentence demonstrations."),
    "kosbi annotate": ("fairwitness.cli.kosbi:annotate", "Serve the annotation page; import and export annotations."),
    "kosbi run": ("fairwitness.cli.kosbi:run", "One iteration of the whole loop from a TOML file."),
    "list": ("fairwitness.cli.list:list_names", "What there is: scorers, datasets, models."),
}
GROUPS: dict[str, str] = {
    "data": "Datasets: get them, and know them first.",
    "usermodel": "Graph user models: train, compare views, trade accuracy against gaps, build and generate graphs.",
    "models": "Built-in and cached models.",
    "kosbi": "Author a bias dataset: generate, filter, annotate, train, augment.",
}
