"""Drafting sentences: the instruction of the wanted class, demonstrations that match the context, the intended class kept."""

from pathlib import Path

import pytest
from tests.authoring.conftest import sentence_demos, write
from tests.servers.generation import KEY, GenerationServer, serving

from fairwitness.authoring.records import read_rows
from fairwitness.authoring.schema import load_schema
from fairwitness.authoring.sentences import SentencesConfig, generate_sentences
from fairwitness.errors import InputError

INSTRUCTIONS = load_schema("kosbi").prompts["en"]["second"]["instruction"]


def context(text: str, **more: object) -> dict:
    return {
        "demographic_category": "age",
        "demographic_group": "pupils",
        "context": text,
        "context_label": "safe",
        "context_sub_label": None,
        "include?": 1,
        "generation_info": {"demographic_group_set": "teenagers, pupils"},
        **more,
    }


def config(tmp_path: Path, server: GenerationServer, contexts: list[dict], pool: Path, **more: object) -> SentencesConfig:
    settings = {
        "api_url": f"{server.base}/v1/completions",
        "api_key": KEY,
        "model": "m",
        "language": "en",
        "demo_fpath": pool,
        "context_fpath": write(tmp_path / "contexts.json", contexts),
        "output_dir": tmp_path / "out",
        "cache": tmp_path / "answers.sqlite",
        "near_duplicate": 2.0,
    }
    return SentencesConfig(**{**settings, **more})


def test_each_class_has_its_own_instruction_and_demonstrations(tmp_path: Path, sentence_pool: Path) -> None:
    contexts = [context("Pupils walk."), context("Not about them.", **{"include?": 0})]
    with serving(GenerationServer()) as server:
        made = generate_sentences(config(tmp_path, server, contexts, sentence_pool))
    [row] = made.rows
    assert row["demographic_group_set"] == "teenagers, pupils"
    assert len(row["generations"]) == 3
    assert all(pair.keys() == {"sentence_safe", "sentence_unsafe"} for pair in row["generations"])
    prompts = [body["prompt"] for body in server.record.bodies]
    safe = [prompt for prompt in prompts if prompt.startswith(INSTRUCTIONS["safe"].strip())]
    unsafe = [prompt for prompt in prompts if prompt.startswith(INSTRUCTIONS["unsafe"].strip())]
    assert (len(safe), len(unsafe)) == (3, 3)
    assert all("late as always" not in prompt for prompt in safe)
    assert all("waved" not in prompt for prompt in unsafe)
    assert all(prompt.endswith("Unjudged situation: Pupils walk.\nWhat follows:") for prompt in prompts)


@pytest.mark.parametrize("sub_label", [None, "none", "stereotype"])
def test_demonstrations_follow_the_label_of_the_context(tmp_path: Path, sub_label: str | None) -> None:
    """Five of the demonstrations have the context's label and sub-label; no sub-label is null in one file and "none" in another."""
    stored = None if sub_label == "none" else sub_label
    label = "unsafe" if stored else "safe"
    odd = [
        {**row, "context_label": label, "context_sub_label": stored, "context": "MARK " + row["context"]}
        for row in sentence_demos()
    ]
    others = [{**row, "context_label": "undecided", "context_sub_label": "other"} for row in sentence_demos()]
    pool = write(tmp_path / "pool.json", odd[:14] + others)
    with serving(GenerationServer()) as server:
        asked = context("Pupils walk.", context_label=label, context_sub_label=sub_label)
        generate_sentences(config(tmp_path, server, [asked], pool))
    assert all(body["prompt"].count("MARK") >= 5 for body in server.record.bodies)


def test_one_sided_pairs_are_null_and_empty_pairs_are_left_out(tmp_path: Path, sentence_pool: Path) -> None:
    def write_text(_number: int, prompt: str, body: dict) -> str:
        return " fine words" if prompt.startswith(INSTRUCTIONS["safe"].strip()) else " "

    with serving(GenerationServer(write_text)) as server:
        made = generate_sentences(config(tmp_path, server, [context("Pupils walk.")], sentence_pool, concurrency=1))
    assert made.rows[0]["generations"] == [{"sentence_safe": "fine words", "sentence_unsafe": None}]
    reasons = [row["reason"] for row in read_rows(made.rejected_file)]
    assert reasons.count("empty") == 3
    assert {row["intended_label"] for row in read_rows(made.rejected_file)} == {"safe", "unsafe"}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"demographic_group": ""}, "row 1 has no 'demographic_group'"),
        ({"context_label": "unsaef"}, "Unknown label 'unsaef' for a context. Did you mean 'unsafe'"),
        ({"context_sub_label": "nonsense"}, "Unknown sub-label 'nonsense'"),
        ({"include?": 0}, "No row of .* includes its group"),
        ({"include?": "maybe"}, "'maybe' is no answer to 'include\\?'"),
        ({"context": " "}, "'context' is \" \"; a text was expected"),
    ],
)
def test_bad_contexts(tmp_path: Path, sentence_pool: Path, change: dict, match: str) -> None:
    with serving(GenerationServer()) as server, pytest.raises(InputError, match=match):
        generate_sentences(config(tmp_path, server, [context("Pupils walk.", **change)], sentence_pool))
    assert server.record.received == 0


def test_square_by_the_same_code(tmp_path: Path) -> None:
    """Questions and responses: another schema file, nothing else."""
    pool = [
        {"question": f"Is plan {n} good?", "response": f"Answer {n}.", "acceptable?": n % 2, "category": ["objective"],
         "question_category": "contentious"}
        for n in range(30)
    ]  # fmt: skip
    questions = [{"question": "Is tea better?", "category": "contentious", "sensitive?": 1, "subjective?": "subjective"}]
    with serving(GenerationServer()) as server:
        settings = config(tmp_path, server, questions, write(tmp_path / "pool.json", pool), schema="square")
        [row] = generate_sentences(settings).rows
    assert row["question_category"] == "contentious"
    assert row["generations"][0].keys() == {"response_acceptable", "response_non-acceptable"}
