"""Bad files are refused with the number of the line or row, and untidy ones are tidied."""

import json
import unicodedata
from pathlib import Path

import pytest
from tests.authoring.conftest import write

from fairwitness.authoring.records import read_groups, read_rows, write_rows
from fairwitness.authoring.schema import load_schema, schema_of_task
from fairwitness.errors import InputError


def test_stray_commas_and_spaces(groups: Path) -> None:
    assert [group.synonyms for group in read_groups(groups)] == [
        ("teenagers", "pupils"),
        ("pensioners",),
        ("islanders", "coast people"),
        ("city people",),
    ]


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ({"age": [" , ,"]}, "has no word in it"),
        ({"age": []}, "needs a list of groups"),
        ({"age": "teenagers"}, "needs a list of groups"),
        ({"age": [3]}, "text was expected"),
        ([], "an object"),
        ({}, "an object"),
    ],
)
def test_bad_groups(tmp_path: Path, table: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        read_groups(write(tmp_path / "g.json", table))


@pytest.mark.parametrize(
    ("name", "data", "match"),
    [
        ("a.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is not valid JSON"),
        ("a.json", b'[{"a": 1}, ', "is not valid JSON"),
        ("a.json", b'{"a": 1}\n{"a": 2}\n', "name it .jsonl"),
        ("a.json", b"[1]", "row 1: an object was expected"),
        ("a.json", b'{"a": 1}', "a JSON list of rows was expected"),
        ("a.json", b"", "is empty"),
        ("a.jsonl", b'{"a": "x"}\n{"a": "' + "문장".encode("cp949") + b'"}\n', "line 2 is not UTF-8.*iconv -f CP949"),
    ],
)
def test_bad_rows(tmp_path: Path, name: str, data: bytes, match: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=match):
        read_rows(tmp_path / name)


def test_encodings_and_forms_of_hangul_are_one(tmp_path: Path) -> None:
    text = json.dumps([{"context": "한 사람이 걷는다."}], ensure_ascii=False)
    for name, data in (
        ("mark", text.encode("utf-8-sig")),
        ("wide", text.encode("utf-16")),
        ("apart", unicodedata.normalize("NFD", text).encode()),
    ):
        (tmp_path / f"{name}.json").write_bytes(data)
        assert read_rows(tmp_path / f"{name}.json") == [{"context": "한 사람이 걷는다."}]


def test_required_fields(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [{"context": "fine"}, {"contxt": "typo"}])
    with pytest.raises(InputError, match=r"row 2 has no 'context'.*Did you mean 'contxt'"):
        read_rows(path, required=["context"])


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_written_is_read_back(tmp_path: Path, name: str) -> None:
    rows = [{"context": "한 줄\n두 줄", "x": None, "y": [1, {"z": 0.5}]}, {}]
    assert read_rows(write_rows(tmp_path / name, rows)) == rows
    assert "한 줄" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("nothing", [None, float("nan"), "", " None ", "NaN", "null"])
def test_nothing_said_is_nothing(nothing: object) -> None:
    kind = load_schema("kosbi").first
    assert kind.label_of(nothing) is None
    assert kind.includes(nothing) is None
    assert kind.sub_labels_of(nothing) == kind.sub_labels_of([nothing]) == ()


def test_schemas() -> None:
    with pytest.raises(InputError, match=r"Unknown schema 'kosby'\. Did you mean 'kosbi'"):
        load_schema("kosby")
    with pytest.raises(InputError, match="Unknown task 'nonsense'"):
        schema_of_task("nonsense")
    assert schema_of_task("my_kosbi_unsafe_sent_classify_v2").name == "kosbi"
    for name in ("kosbi", "square"):
        schema = load_schema(name)
        assert set(schema.prompts) == {"ko", "en"}
        assert set(schema.second.classes) == set(schema.prompts["ko"]["second"]["instruction"])
        assert set(schema.second.classes) == set(schema.second.labels)


def test_a_schema_of_ones_own(tmp_path: Path) -> None:
    from fairwitness.authoring.annotation_store import AnnotationStore
    from fairwitness.authoring.schema import BUILT_IN

    own = tmp_path / "own.toml"
    own.write_text(
        (BUILT_IN / "kosbi.toml").read_text(encoding="utf-8").replace('name = "kosbi"', 'name = "own"', 1), encoding="utf-8"
    )
    assert load_schema(str(own)).name == "own"
    schema = load_schema(str(own))
    store = AnnotationStore(tmp_path / "own.sqlite")
    store.create(schema, schema.first, [{"context": "c", "demographic_group": "g"}], per_item=1)
    assert store.schema == schema, "a store finds its schema again by its path"
    own_broken = tmp_path / "broken.toml"
    own_broken.write_text('name = "x"\n')
    with pytest.raises(InputError, match="is not a schema"):
        load_schema(str(own_broken))
