"""The filter models: the built-in classifier learns, saves and loads safely; an encoder goes through Trainer."""

from pathlib import Path

import numpy as np
import pytest

from fairwitness.errors import ModelError
from fairwitness.models.ngram_classifier import NgramSettings, load_ngram_classifier, train_ngram_classifier
from fairwitness.models.text_classifier import find_checkpoints, load_classifier, sigmoid_scores

SMALL = NgramSettings(bits=12)


def examples(number: int) -> tuple[list[tuple[str, str]], list[int]]:
    """Whether the second text ends politely: easy to learn from its characters."""
    items = [(f"상황 {n}", f"{n}번째 {'고맙습니다' if n % 2 else '저리 가라'}.") for n in range(number)]
    return items, [n % 2 for n in range(number)]


def test_it_learns_an_epoch_at_a_time() -> None:
    items, labels = examples(60)
    models = list(train_ngram_classifier(items, labels, 4, SMALL, {"task": "t"}))
    assert [model.about["epoch"] for model in models] == [0, 1, 2, 3]
    new, truth = examples(100)
    assert (models[-1].logits(new[60:]).argmax(axis=1) == truth[60:]).mean() == 1.0
    assert len({model.weights.tobytes() for model in models}) == 4, "every epoch is another checkpoint"


def test_the_same_training_gives_the_same_weights() -> None:
    items, labels = examples(40)
    first, second = (list(train_ngram_classifier(items, labels, 2, SMALL, {}))[-1] for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()
    other = list(train_ngram_classifier(items, labels, 2, NgramSettings(bits=12, seed=1), {}))[-1]
    assert first.weights.tobytes() != other.weights.tobytes()


def test_saved_is_loaded_without_pickle(tmp_path: Path) -> None:
    items, labels = examples(30)
    model = list(train_ngram_classifier(items, labels, 1, SMALL, {"task": "일"}))[-1]
    path = model.save(tmp_path / "ckpt-000-0.50000.npz")
    loaded = load_ngram_classifier(path)
    assert loaded.about == model.about
    assert np.array_equal(loaded.logits(items), model.logits(items))
    assert np.array_equal(loaded.logits(items), np.concatenate([loaded.logits([item]) for item in items])), "batches change nothing"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ModelError, match="damaged"):
        load_ngram_classifier(path)


def test_a_pickled_array_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "ckpt-000-0.5.npz", head=np.array([{"run": print}], dtype=object))
    with pytest.raises(ModelError, match="not a checkpoint"):
        load_classifier(tmp_path / "ckpt-000-0.5.npz")
    (tmp_path / "model.ckpt").write_bytes(b"x")
    with pytest.raises(ModelError, match="is a pickle"):
        load_classifier(tmp_path / "model.ckpt")


def test_odd_texts_have_scores() -> None:
    items, labels = examples(10)
    model = list(train_ngram_classifier(items, labels, 1, SMALL, {}))[-1]
    scores = sigmoid_scores(model, [("", ""), ("가", "🙂"), ("x", "가" * 5000)])
    assert np.isfinite(scores).all()
    assert scores.sum(axis=1) == pytest.approx(1.0), "one logit: both scores are complementary"
    assert sigmoid_scores(model, []).shape == (0, 2)


def test_checkpoints_are_found_by_epoch_wherever_they_landed(tmp_path: Path) -> None:
    items, labels = examples(10)
    [model] = train_ngram_classifier(items, labels, 1, SMALL, {})
    folder = tmp_path / "all" / "experiment"
    for name in ("ckpt-010-0.3", "ckpt-002-0.2", "ckpt-001-0.4"):
        model.save(folder / f"{name}.npz")
    assert [checkpoint.epoch for checkpoint in find_checkpoints(tmp_path / "all")] == [1, 2, 10]
    assert [checkpoint.epoch for checkpoint in find_checkpoints(folder, most=2)] == [1, 2]
    assert load_classifier(folder).about["epoch"] == 0
    model.save(tmp_path / "all" / "another" / "ckpt-001-0.4.npz")
    with pytest.raises(ModelError, match=r"several trainings \(another, experiment\)"):
        find_checkpoints(tmp_path / "all")


@pytest.fixture
def tiny_encoder(tmp_path: Path) -> Path:
    """An ELECTRA of a few thousand weights with a vocabulary of characters."""
    from transformers import BertTokenizerFast, ElectraConfig, ElectraForSequenceClassification

    letters = sorted({letter for item in examples(60)[0] for text in item for letter in text if letter != " "})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False)
    size = {"embedding_size": 16, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    ElectraForSequenceClassification(ElectraConfig(vocab_size=len(words), **size)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_an_encoder_is_trained_saved_and_loaded(tmp_path: Path, tiny_encoder: Path) -> None:
    from fairwitness.models.encoder_classifier import EncoderSettings, save_encoder_classifier, train_encoder_classifier

    items, labels = examples(60)
    seen: list[np.ndarray] = []

    def after(epoch: int, model) -> bool:
        seen.append(model.logits(items[:5]))
        save_encoder_classifier(model, tmp_path / f"ckpt-{epoch:03d}-0.50000")
        return epoch < 2

    about = {"task": "t", "joiner": " [SEP] "}
    settings = EncoderSettings(name=str(tiny_encoder), epochs=5, lr=1e-2)
    train_encoder_classifier({"train": items}, {"train": labels}, settings, about, after)
    found = find_checkpoints(tmp_path)
    assert [checkpoint.epoch for checkpoint in found] == [0, 1, 2], "stopped after the third epoch, as told"
    assert list(found[0].path.glob("*.safetensors"))
    assert not list(found[0].path.glob("*.bin"))
    for checkpoint, logits in zip(found, seen, strict=True):
        assert checkpoint.load().logits(items[:5]) == pytest.approx(logits, abs=1e-5)


def test_an_encoder_that_is_not_there(tmp_path: Path) -> None:
    from fairwitness.models.encoder_classifier import EncoderSettings, train_encoder_classifier

    with pytest.raises(ModelError, match=r"cannot be loaded.*--filter_model_type ngram"):
        train_encoder_classifier({"train": []}, {"train": []}, EncoderSettings(name=str(tmp_path / "nowhere")), {}, lambda *_: True)
