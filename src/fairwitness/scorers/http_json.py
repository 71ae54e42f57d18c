"""Any scorer behind HTTP, described by a small TOML file: `http:my_scorer.toml`.

name = "my scorer"
url = "http://localhost:8000/score"
version = "2026-11"                      # part of the identity: change it when the model behind changes
score = "results.0.toxicity"             # where the number stands in the answer
scale = [0, 100]                         # optional: what becomes 0 and 1
body = { inputs = "$text", options = { wait = true } }
headers = { Authorization = "Bearer $MY_SCORER_KEY" }     # $NAME comes from the environment
qps = 20.0                               # optional, also: workers, per_minute, timeout_s
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from fairwitness.errors import InputError, ServiceError, suggestion
from fairwitness.files import require_file
from fairwitness.models.retries import Patience
from fairwitness.models.service import Limits, Request, Service, check_address
from fairwitness.scorers.service_scorer import ROWS_PER_PART, ServiceCalls, as_wrong_answer, number_at

_KEYS = ("name", "url", "version", "score", "scale", "body", "headers", "qps", "workers", "per_minute", "timeout_s", "attempts")
_VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]*)")


@dataclass(frozen=True, kw_only=True)
class HTTPScorer:
    """A scorer whose description is the TOML file at `path`."""

    stays_here: ClassVar[bool] = True  # one process keeps to the quota and holds the key

    path: Path
    ask: str = "once"

    @cached_property
    def description(self) -> dict[str, Any]:
        """The file, checked."""
        try:
            data = tomllib.loads(require_file(self.path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{self.path} is not valid TOML: {error}") from error
        for key in data:
            if key not in _KEYS:
                raise InputError(f"{self.path}: unknown key '{key}'.{suggestion(key, _KEYS)}")
        for key in ("url", "score", "body"):
            if key not in data:
                raise InputError(f"{self.path}: '{key}' is missing. A scorer needs url, body (with \"$text\") and score.")
        if "$text" not in str(data["body"]):
            raise InputError(f'{self.path}: body has no "$text", so every text would be asked the same.')
        _check_values(data, self.path)
        check_address(data["url"])
        return data

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that a score depends on; headers, which may hold secrets, are not part of it."""
        kept = ("name", "url", "version", "score", "scale", "body")
        return {"scorer": "http/1", **{key: self.description[key] for key in kept if key in self.description}}

    @property
    def rows_per_part(self) -> int:
        """Small parts; each answer is on disk before that anyway."""
        return ROWS_PER_PART

    @cached_property
    def calls(self) -> ServiceCalls:
        """The client."""
        data = self.description
        service = Service(
            name=str(data.get("name", self.path.stem)),
            url=data["url"],
            identity={"service": "http", "url": data["url"], "version": data.get("version", "")},
            headers={name: _from_environment(str(value), self.path) for name, value in data.get("headers", {}).items()},
            check=self._check,
        )
        limits = {name: data[name] for name in ("qps", "workers", "per_minute", "timeout_s") if name in data}
        return ServiceCalls(service, Limits(**limits, patience=Patience(attempts=int(data.get("attempts", 8))), ask=self.ask))

    def request(self, text: str) -> Request | str:
        """What is asked about a text."""
        return Request(_with_text(self.description["body"], text))

    def score(self, items: Sequence[str], /) -> dict[str, Any]:
        """`score` and `error`."""
        answers = list(self.calls.rows([self.request(text) for text in items]))
        return {
            "score": [None if payload is None else self._value(payload) for payload, _ in answers],
            "error": [e for _, e in answers],
        }

    def _value(self, payload: Any) -> float:
        value = number_at(payload, [int(step) if step.isdigit() else step for step in self.description["score"].split(".")])
        low, high = self.description.get("scale", (0, 1))
        return float((value - low) / (high - low))

    def _check(self, payload: Any) -> None:
        with as_wrong_answer():
            self._value(payload)


def _with_text(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return text if value == "$text" else value.replace("$text", text)
    if isinstance(value, Mapping):
        return {key: _with_text(inner, text) for key, inner in value.items()}
    return [_with_text(inner, text) for inner in value] if isinstance(value, list) else value


def _from_environment(value: str, path: Path) -> str:
    def look_up(found: re.Match[str]) -> str:
        if not os.environ.get(found[1]):
            raise ServiceError(f"{path} needs the environment variable {found[1]}, which is not set.")
        return os.environ[found[1]]

    return _VARIABLE.sub(look_up, value)


def _check_values(data: Mapping[str, Any], path: Path) -> None:
    """Refuse what is there and is not of its kind."""
    for key in ("url", "score"):
        if not isinstance(data[key], str):
            raise InputError(f"{path}: {key} must be a text, not {data[key]!r}.")
    for key, kinds in {
        "qps": (int, float),
        "timeout_s": (int, float),
        "workers": (int,),
        "per_minute": (int,),
        "attempts": (int,),
    }.items():
        value = data.get(key, 1)
        if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < 1e9:
            raise InputError(f"{path}: {key} = {value!r} is not a {'whole ' if kinds == (int,) else ''}number above 0.")
    if not isinstance(data.get("headers", {}), dict):
        raise InputError(f'{path}: headers must be a table, such as headers = {{ Authorization = "Bearer $MY_KEY" }}.')
    scale = data.get("scale", [0, 1])
    numbers = isinstance(scale, list) and len(scale) == 2 and all(type(end) in (int, float) for end in scale)
    if not numbers or scale[0] == scale[1]:
        raise InputError(f"{path}: scale = {scale!r} is not two different numbers, such as [0, 100].")
