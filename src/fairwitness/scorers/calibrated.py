"""A local scorer fitted to a recorded one, so that old thresholds keep their meaning: `calibrated:calibration.json`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairwitness.errors import InputError
from fairwitness.files import require_file
from fairwitness.scorers.by_name import ScorerSettings, TextScorer, scorer_by_name

FORMAT = "fairwitness-calibration/1"


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """Scores with the local scorer named in the file, then maps each score along the fitted, never falling steps."""

    path: Path
    settings: ScorerSettings = field(default_factory=ScorerSettings)

    @cached_property
    def fitted(self) -> dict[str, Any]:
        """The file's contents."""
        try:
            data: dict[str, Any] = json.loads(require_file(self.path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path} is not JSON: {error}") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{self.path} is not a calibration ({FORMAT}). Make one with: fairwitness counterfactual calibrate")
        if not isinstance(data.get("scorer"), str) or not _steps(data.get("x"), data.get("y")):
            raise InputError(f"{self.path} is damaged: it needs scorer, a name, and x and y, equally many rising numbers.")
        return data

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on: the local scorer, and the steps."""
        return {"scorer": "calibrated/1", "local": self.local.identity, "x": self.fitted["x"], "y": self.fitted["y"]}

    @property
    def rows_per_part(self) -> int:
        """As the local scorer says."""
        return self.local.rows_per_part

    @property
    def stays_here(self) -> bool:
        """A service that was calibrated is still a service."""
        return bool(getattr(self.local.inner, "stays_here", False))

    @property
    def uses_gpu(self) -> bool:
        """As the local scorer."""
        return bool(getattr(self.local.inner, "uses_gpu", False))

    @cached_property
    def local(self) -> TextScorer:
        """The scorer that was calibrated."""
        return scorer_by_name(self.fitted["scorer"], self.settings)

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score` on the recorded scorer's scale, and the local one as `raw`."""
        columns = self.local.score(items)
        raw = columns["score"]
        mapped = np.interp(raw, self.fitted["x"], self.fitted["y"])
        return columns | {"raw": raw, "score": np.where(np.isnan(raw), np.nan, mapped)}


# Whole numbers beyond this are more than numpy takes for one; no score is so large.
_LARGEST = 2.0**53


def _steps(x: Any, y: Any) -> bool:
    """Whether these are the corners of a curve: as many as each other, numbers, and rising in x."""
    numbers = all(isinstance(side, list) and all(type(value) in (int, float) for value in side) for side in (x, y))
    return numbers and 0 < len(x) == len(y) and bool(np.all(np.abs([*x, *y]) < _LARGEST)) and bool(np.all(np.diff(x) >= 0))
