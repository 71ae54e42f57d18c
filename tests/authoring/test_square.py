"""SQuARe's questions and responses through the same code, with the published pools and raw annotations."""

import json
from pathlib import Path

import pytest
from tests.authoring.conftest import write
from tests.servers.generation import KEY, GenerationServer, serving

from fairwitness.authoring.augmentation import AugmentSentencesConfig, augment_sentences
from fairwitness.authoring.contexts import ContextsConfig, generate_contexts
from fairwitness.authoring.filter_training import TrainFilterConfig, train_filter
from fairwitness.authoring.records import read_rows
from fairwitness.authoring.schema import load_schema
from fairwitness.authoring.sentences import SentencesConfig, generate_sentences

pytestmark = pytest.mark.shared
SQUARE = load_schema("square")


@pytest.fixture
def square(shared: Path) -> Path:
    return shared / "data" / "square"


def test_questions_and_responses_are_drafted(tmp_path: Path, square: Path) -> None:
    pool = read_rows(square / "square_question_iter0.json")
    topics = write(
        tmp_path / "topics.json", {kind: [f"{kind} one, {kind} two"] for kind in ("contentious", "ethical", "predictive")}
    )
    with serving(GenerationServer()) as server:
        service = {"api_url": f"{server.base}/v1/chat/completions", "api_key": KEY, "model": "m", "schema": "square"}
        service |= {"cache": tmp_path / "answers.sqlite", "output_dir": tmp_path, "near_duplicate": 2.0}
        asked = ContextsConfig(
            **service,
            demo_fpath=square / "square_question_iter0.json",
            demographic_list=topics,
            num_in_grp_demos=0,
            num_generations=4,
        )
        made = generate_contexts(asked)
        assert len(made.rows) == 12
        assert made.rows[0].keys() == {"id", "category", "topic_set", "topic", "question"}
        questions = {row["question"] for row in pool}
        prompt = server.record.bodies[0]["messages"][0]["content"]
        assert sum(f"질문: {question}" in prompt for question in questions) == 10
        annotated = [{**row, "sensitive?": 1, "subjective?": "subjective"} for row in made.rows]
        answers = generate_sentences(
            SentencesConfig(
                **service,
                demo_fpath=square / "square_response_iter0.json",
                context_fpath=write(tmp_path / "annotated.json", annotated),
                num_generations_per_context=1,
            )
        )
    assert len(answers.rows) == 12
    [pair] = answers.rows[0]["generations"]
    assert pair.keys() == {"response_acceptable", "response_non-acceptable"}
    wanted = {label: SQUARE.prompts["ko"]["second"]["instruction"][label] for label in ("acceptable", "non-acceptable")}
    prompts = [body["messages"][0]["content"] for body in server.record.bodies[12:]]
    assert {label: sum(prompt.startswith(text) for prompt in prompts) for label, text in wanted.items()} == dict.fromkeys(
        wanted, 12
    )


def test_a_response_filter_is_trained_and_the_pool_augmented(tmp_path: Path, square: Path) -> None:
    rows = read_rows(square / "response_test_ood.json")
    parts = {name: write(tmp_path / f"{name}.json", rows[start::8]) for start, name in enumerate(("valid", "test"))}
    train = write(tmp_path / "train.json", [row for number, row in enumerate(rows) if number % 8 > 1])
    trained = train_filter(
        TrainFilterConfig(
            task="square_acceptable_response_classify",
            trn_pth=train,
            val_pth=parts["valid"],
            tst_pth=parts["test"],
            checkpoint_dirpath=tmp_path / "models",
            exp_name="responses",
            filter_model_type="ngram",
            epoch=3,
        )
    )
    [accuracy] = trained.measurements.filter(
        (trained.measurements["metric"] == "accuracy") & (trained.measurements["group"] == "")
    ).to_dicts()
    assert accuracy["n"] == 60
    assert 0.4 < accuracy["value"] <= 1
    pool = augment_sentences(
        AugmentSentencesConfig(
            input_fname=square / "response_test_ood_annotations.json",
            filter_model_ckpt_dir=tmp_path / "models" / "responses",
            filter_model_train_epochs=3,
            schema="square",
            output_dir=tmp_path,
        )
    )
    annotated = json.loads((square / "response_test_ood_annotations.json").read_text(encoding="utf-8"))
    agreed = [
        row for row in annotated if len({a["acceptable?"] for a in row["raw_annotations"][SQUARE.second.label_question]}) == 1
    ]
    expected = {label: int(sum(row["acceptable?"] == label for row in agreed) * 0.25) for label in (0, 1)}
    assert {label: sum(row["acceptable?"] == label for row in pool) for label in (0, 1)} == expected
