"""`fairwitness run suite.toml`: several audits of several models, ending in one report."""

from pathlib import Path

# verb → the option that names its output, and the file it writes in the step's folder
OUTPUTS = {
    "zeroshot": "out=scores.parquet",
    "fairness": "out=fairness.csv",
    "stereoset eval": "output=stereoset.csv",
    "crows": "out=crows.csv",
    "counterfactual run": "out",
    "usermodel train": "out",
}


def run(suite: Path, /, *, out: Path | None = None) -> None:
    """Run the audits of a suite one after another. What is done already is not done again.

    Parameters
    ----------
    suite
        A TOML file with [[audit]] tables: a verb, its options, and optionally a list of models.
    out
        The report to write; by default report.html beside the runs.
    """
    from fairwitness.audits.suite import read_suite
    from fairwitness.cli.app import call
    from fairwitness.cli.verbs import VERBS
    from fairwitness.files import sweep, write_text
    from fairwitness.progress import say
    from fairwitness.report.sections import page_of

    title, steps = read_suite(suite, {verb: output for verb, output in OUTPUTS.items() if verb in VERBS})
    for number, step in enumerate(steps, start=1):
        say(f"[{number}/{len(steps)}] fairwitness {' '.join(step.words)}")
        call(list(step.words))
    folders = list(dict.fromkeys(step.folder for step in steps))
    page = out or folders[0].parent / "report.html"
    write_text(page, page_of(folders, title=title))
    sweep(page.parent)
    print(page)
