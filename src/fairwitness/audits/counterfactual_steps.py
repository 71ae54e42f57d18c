"""What the steps of the counterfactual audit share. Each goes from file to file, streams, resumes and seals its output:

comments → counterfactual_templates.py → counterfactual_expand.py → counterfactual_score.py → counterfactual.py
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairwitness import runs, tables
from fairwitness.files import file_hash, require_file


def asked(config: Any) -> dict[str, Any]:
    """A step's settings as part of its question. What is in the files counts; where they and the results lie does not."""
    hidden = ("out", "restart", "in_", "lexicon")
    settings = {name: value for name, value in vars(config).items() if name not in hidden}
    return settings | {
        "in": None if config.in_ is None else file_hash(require_file(config.in_)),
        "own_lexicons": [file_hash(require_file(Path(path))) for path in config.lexicon],
    }


def facts_of(run: runs.Run) -> dict[str, Any]:
    """What the record says of a step, for its result."""
    return {name: run.entry[name] for name in run.entry if name not in ("question", "versions", "command", "data")}


def check_columns(path: Path, wanted: Sequence[str]) -> None:
    """Refuse a table without these columns, naming what makes one."""
    tables.require_columns(tables.columns_of(require_file(path)), wanted, path)
