"""The whole loop for one iteration from a TOML file: it stops for people, goes on, pays nothing twice, and ends in a dataset."""

import json
from pathlib import Path

import pytest
from tests.servers.generation import Faults, GenerationServer, serving, unique

from fairwitness.authoring.annotation_store import AnnotationStore
from fairwitness.authoring.dataset import split
from fairwitness.authoring.loop_config import read_loop
from fairwitness.authoring.records import read_rows
from fairwitness.authoring.schema import load_schema
from fairwitness.authoring.votes import Vote
from fairwitness.errors import EvidenceError, InputError
from fairwitness.files import file_hash
from fairwitness.runs import read_manifest

KOSBI = load_schema("kosbi")
UNSAFE = KOSBI.prompts["en"]["second"]["instruction"]["unsafe"].strip()


def speak(number: int, prompt: str, body: dict) -> str:
    """Sentences whose class can be learnt from their words."""
    return unique(number, prompt, body) + (" were late again" if prompt.startswith(UNSAFE) else " waved kindly")


@pytest.fixture
def config(tmp_path: Path, groups: Path, context_pool: Path, sentence_pool: Path) -> Path:
    path = tmp_path / "loop.toml"
    path.write_text(
        f"""
name = "little"
folder = "work"
groups = "{groups.name}"
context_demos = "{context_pool.name}"
sentence_demos = "{sentence_pool.name}"
license = "CC-BY-4.0"
annotators_per_item = 2
most_ambiguous_ratio = 0.5

[service]
api_url = "URL"
model = "m"
language = "en"
cache = "{tmp_path / "answers.sqlite"}"
near_duplicate = 2.0
price_read = 1.0
price_written = 2.0

[contexts]
num_generations = 5

[sentences]
num_generations_per_context = 2

[filter]
epoch = 3
""",
        encoding="utf-8",
    )
    return path


def annotate(path: Path, says) -> None:
    """Two annotators answer everything."""
    store = AnnotationStore(path)
    for name in ("ann", "bob"):
        store.add_annotator(name)
        while (item := store.next_item(name)) is not None:
            store.save(item.id, says(name, item.row))


def about_context(name: str, row: dict) -> Vote:
    included = not row["context"].split()[0].startswith("0")
    return Vote(annotator=name, label="safe" if included else None, includes=included)


def about_sentence(name: str, row: dict) -> Vote:
    if "late" in row["sentence"]:
        return Vote(annotator=name, label="unsafe", sub_labels=("stereotype_explicit",))
    return Vote(annotator=name, label="safe")


def test_one_iteration(tmp_path: Path, config: Path, fairwitness) -> None:
    with serving(GenerationServer(speak, faults=Faults(0.1, ("500", "cut")))) as server:
        config.write_text(config.read_text().replace("URL", f"{server.base}/v1/completions"))
        folder = tmp_path / "work" / "iter1"
        first = fairwitness("kosbi", "run", config)
        assert first.code == 3, first.err
        assert "0 of 20 contexts are annotated" in first.err
        assert f"--store {folder / 'contexts.sqlite'}" in first.err
        annotate(folder / "contexts.sqlite", about_context)
        second = fairwitness("kosbi", "run", config)
        assert second.code == 3, second.err
        assert "sentences are annotated" in second.err
        annotate(folder / "sentences.sqlite", about_sentence)
        third = fairwitness("kosbi", "run", config, "--json")
        assert third.code == 0, third.err
        paid = len(server.record.bodies)
        again = fairwitness("kosbi", "run", config, "--json")
        assert again.code == 0
        assert again.out == third.out
        assert len(server.record.bodies) == paid
        assert set(server.record.answered.values()) == {1}
    check_dataset(folder)
    assert (folder / "audit" / "filter.csv").is_file()
    assert json.loads(third.out)["stages"][-1] == "audit"
    pool = read_rows(folder / "sentence_pool.json")
    assert {row["sentence_label"] for row in pool} == {"safe", "unsafe"}
    check_datasheet(folder)
    for place in (folder, folder / "dataset", folder / "models" / "sentence_filter"):
        for name, entry in read_manifest(place).items():
            assert entry["inputs"], name
            assert all(file_hash(Path(entry["inputs"][key])) == digest for key, digest in entry["data"].items()), name


def test_drafts_that_failed_are_asked_again_and_what_follows_is_done_again(config: Path, fairwitness) -> None:
    with serving(GenerationServer(speak, faults=Faults(0.3, ("500",)))) as server:
        text = config.read_text().replace("URL", f"{server.base}/v1/completions")
        config.write_text(text.replace('model = "m"', 'model = "m"\nattempts = 1'))
        first = fairwitness("kosbi", "run", config)
        assert first.code == 3, first.err
        assert "drafts failed. Run the same command again" in first.err
        assert "of 20 contexts" not in first.err
        server.faults.rate = 0.0
        second = fairwitness("kosbi", "run", config)
        assert second.code == 3, second.err
        assert "0 of 20 contexts are annotated" in second.err
        assert set(server.record.answered.values()) == {1}


def test_the_next_iteration_extends(tmp_path: Path, config: Path, fairwitness) -> None:
    """Iteration 2 takes pools and filter from iteration 1 by itself, sifts with the filter, and extends the pool of contexts."""
    with serving(GenerationServer(speak)) as server:
        text = config.read_text().replace("URL", f"{server.base}/v1/completions")
        # The pool that a small iteration leaves is small as well.
        text = text.replace("generations = 5", "generations = 3\nnum_total_demos = 4\nnum_in_cat_demos = 2\nnum_in_grp_demos = 1")
        text = text.replace("[filter]", "num_total_demos = 4\nnum_in_context_label = 2\n\n[filter]")
        config.write_text(text)
        for number in (1, 2):
            folder = tmp_path / "work" / f"iter{number}"
            assert fairwitness("kosbi", "run", config).code == 3
            annotate(folder / "contexts.sqlite", about_context)
            assert fairwitness("kosbi", "run", config).code == 3
            annotate(folder / "sentences.sqlite", about_sentence)
            done = fairwitness("kosbi", "run", config)
            assert done.code == 0, done.err
            lines = [line for line in text.splitlines() if "_demos" not in line]
            config.write_text("iteration = 2\n" + "\n".join(lines))
        assert set(server.record.answered.values()) == {1}
    first, second = (tmp_path / "work" / f"iter{number}" for number in (1, 2))
    pools = [read_rows(folder / "context_pool.json") for folder in (first, second)]
    assert pools[1][: len(pools[0])] == pools[0]
    assert len(pools[1]) > len(pools[0])
    sifted = read_rows(second / "filtered_sentences.json")
    assert all(0 <= row["generation_info"]["variability"] <= 0.5 for row in sifted)
    drafted = sum(len(row["generations"]) for row in read_rows(second / "output_sentences.json"))
    assert len(sifted) == drafted, "of two drafts of a class for a context one stays"
    # The sentences' pool is ranked anew together with the earlier one, so it may lose rows but never both classes.
    assert {row["sentence_label"] for row in read_rows(second / "sentence_pool.json")} == {"safe", "unsafe"}


def check_dataset(folder: Path) -> None:
    parts = {part: read_rows(folder / "dataset" / f"little_{part}.json") for part in ("train", "valid", "test")}
    contexts = [{row["context"] for row in rows} for rows in parts.values()]
    assert all(contexts)
    assert not contexts[0] & contexts[1]
    assert not contexts[0] & contexts[2]
    assert not contexts[1] & contexts[2]
    [row, *_] = parts["train"]
    assert list(row) == ["demographic_category", "demographic_group", "context", "sentence", "context_label", "context_sub_label",
                         "sentence_label", "sentence_sub_label", "annotated_demo"]  # fmt: skip
    assert all((row["sentence_label"] == "unsafe") == ("late" in row["sentence"]) for rows in parts.values() for row in rows)


def check_datasheet(folder: Path) -> None:
    croissant = json.loads((folder / "dataset" / "croissant.json").read_text(encoding="utf-8"))
    assert croissant["@type"] == "sc:Dataset"
    assert croissant["rai:annotationsPerItem"] == "2"
    assert "sentences: Krippendorff's alpha of label 1.000" in croissant["rai:dataAnnotationAnalysis"][1]
    assert {file["name"] for file in croissant["distribution"]} == {f"little_{part}.json" for part in ("train", "valid", "test")}
    sheet = (folder / "dataset" / "DATASHEET.md").read_text(encoding="utf-8")
    assert "| pensioners |" in sheet
    assert "cost" in sheet
    assert "Krippendorff" in sheet
    # The reference reader of the format accepts the description and reads the rows.
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    dataset = mlcroissant.Dataset(folder / "dataset" / "croissant.json")
    assert not dataset.metadata.issues.errors
    [row, *_] = list(dataset.records("train_rows"))
    assert row["train_rows/sentence"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("[filter]\nepoch = 3\nepok = 3\n", "table [filter]: unknown key 'epok'. Did you mean 'epoch'?"),
        ('[service]\napi_key = "x"\n', "a key does not belong in a file"),
        ('skip = ["generate-context"]\n', "unknown key 'generate-context'. Did you mean 'generate-contexts'?"),
        ("foldr = 3\n", "unknown key 'foldr'. Did you mean 'folder'?"),
        ("folder = 3 4\n", "is not valid TOML"),
        ('folder = "x"\n', "needs 'groups'"),
        ('folder = "x"\niteration = 0\n', "'iteration' is 0; a whole number from 1 was expected"),
        ('folder = "x"\ngroups = 3\n', "'groups' is 3; the path of a file was expected"),
        ('folder = "x"\nname = "../../esc"\n', "'name' is '../../esc'; a word that files can begin with"),
    ],
)
def test_bad_configs(tmp_path: Path, change: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(change)
    with pytest.raises(InputError) as caught:
        read_loop(path)
    assert message in str(caught.value)


def test_wrong_types_are_refused(config: Path) -> None:
    config.write_text(config.read_text().replace("num_generations = 5", 'num_generations = "five"'))
    with pytest.raises(InputError, match=r"table \[contexts\]: 'num_generations' is 'five'; int was expected"):
        read_loop(config)


def test_a_skipped_stage_is_named_where_it_is_missed(tmp_path: Path, config: Path, fairwitness) -> None:
    config.write_text('skip = ["generate-contexts"]\n' + config.read_text())
    done = fairwitness("kosbi", "run", config)
    assert done.code == 2
    assert "The stage 'generate-contexts' makes it" in done.err


def test_split_keeps_contexts_together() -> None:
    rows = [{"context": f"Context {n % 40}{'!' * (n % 3)}", "n": n} for n in range(400)]
    parts = split(KOSBI, rows)
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 320, "valid": 40, "test": 40}
    plain = [{row["context"].rstrip("!") for row in rows} for rows in parts.values()]
    assert sum(len(contexts) for contexts in plain) == 40
    assert split(KOSBI, rows) == parts
    assert split(KOSBI, rows, seed=1) != parts
    with pytest.raises(EvidenceError, match="cannot be split"):
        split(KOSBI, rows[:2])
