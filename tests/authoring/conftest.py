"""Small files in the published shapes, with mild texts of our own."""

import json
from pathlib import Path

import pytest

GROUPS = {
    "age": [" teenagers, ,pupils,", "pensioners"],
    "region": ["islanders,  coast people ", "city people"],
}
WORDS = {"teenagers": "age", "pupils": "age", "pensioners": "age", "islanders": "region", "city people": "region"}


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def context_demos() -> list[dict]:
    return [
        {
            "demographic_category": category,
            "demographic_group": group,
            "context": f"One of the {group} walked past house {number}.",
            "context_label": "safe",
            "context_sub_label": None,
        }
        for group, category in WORDS.items()
        for number in range(6)
    ]


def sentence_demos() -> list[dict]:
    return [
        {
            **demo,
            "sentence": f"They {verb} today, the {demo['demographic_group']} of place {number}.",
            "sentence_label": label,
            "sentence_sub_label": None if label == "safe" else ["stereotypical_explicit"],
        }
        for number, demo in enumerate(context_demos())
        for label, verb in (("safe", "waved"), ("unsafe", "were late as always"))
    ]


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    return write(tmp_path / "groups.json", GROUPS)


@pytest.fixture
def context_pool(tmp_path: Path) -> Path:
    return write(tmp_path / "context_pool.json", context_demos())


@pytest.fixture
def sentence_pool(tmp_path: Path) -> Path:
    return write(tmp_path / "sentence_pool.json", sentence_demos())
