"""Masked scoring against the obvious way: one masked row at a time, the authors' recipe spelt out."""

import string
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairwitness.errors import InputError, ModelError
from fairwitness.models.masked_lm import Masked, is_masked, load
from fairwitness.scorers.masked_likelihood import MaskedLikelihood

from .tiny_text_models import bert_folder, causal_folder, roberta_folder, rows

FOLDERS: dict[str, Callable[[Path], str]] = {"bert": bert_folder, "roberta": roberta_folder}


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return FOLDERS[request.param](tmp_path_factory.mktemp(request.param))


def probability(scorer: MaskedLikelihood, ids: list[int], place: int, target: int) -> float:
    with torch.no_grad():
        return float(scorer.mlm.model(input_ids=torch.tensor([ids])).logits[0, place].softmax(-1)[target])


def masked_at(scorer: MaskedLikelihood, ids: list[int], place: int) -> float:
    hidden = [*ids]
    hidden[place] = scorer.mlm.tokenizer.mask_token_id
    return probability(scorer, hidden, place, ids[place])


def test_masked_is_the_authors_recipe(folder: str) -> None:
    scorer = MaskedLikelihood(model=folder, protocol="masked", device="cpu")
    items = rows("intrasentence")
    found = scorer.score(items)
    tokenizer: Any = scorer.mlm.tokenizer
    for (_, context, text), score in zip(items, found["score"], strict=True):
        place = [k for k, word in enumerate(context.split(" ")) if "BLANK" in word][-1]
        word = "".join(letter for letter in text.split(" ")[place] if letter not in string.punctuation)
        pieces = tokenizer.encode(word, add_special_tokens=False)
        chances = []
        for k, piece in enumerate(pieces):
            ids = tokenizer(context.replace("BLANK", tokenizer.decode(pieces[:k]) + tokenizer.mask_token))["input_ids"]
            chances.append(probability(scorer, ids, ids.index(tokenizer.mask_token_id), piece))
        assert score == pytest.approx(np.mean(chances), rel=1e-4)
    assert max(found["n_tokens"]) > 1


def test_pll_masks_every_token_in_turn(folder: str) -> None:
    scorer = MaskedLikelihood(model=folder, protocol="pll_sum", device="cpu")
    text = "The monk led a peaceful life."
    ids = scorer.mlm.tokenizer(text)["input_ids"]
    expected = np.log([masked_at(scorer, ids, place) for place in range(1, len(ids) - 1)])
    found = scorer.score([("intrasentence", "The monk led a BLANK life.", text)])
    assert found["score"][0] == pytest.approx(expected.sum(), rel=1e-4)
    assert found["logprob_mean"][0] == pytest.approx(expected.mean(), rel=1e-4)


def test_pll_between_sentences_counts_the_association_only(folder: str) -> None:
    scorer = MaskedLikelihood(model=folder, protocol="pll", device="cpu")
    context, text = "A monk walked into the library.", "He sat down."
    ids = scorer.mlm.tokenizer(f"{context} {text}")["input_ids"]
    ahead = len(scorer.mlm.tokenizer(context)["input_ids"]) - 1
    expected = np.log([masked_at(scorer, ids, place) for place in range(ahead, len(ids) - 1)])
    assert scorer.score([("intersentence", context, text)])["score"][0] == pytest.approx(expected.mean(), rel=1e-4)


def test_unmodified_sums_over_the_tokens_both_share(folder: str) -> None:
    scorer = MaskedLikelihood(model=folder, protocol="unmodified", device="cpu")
    more, less = "The girl asked for a pink coat.", "The boy asked for a pink coat."
    one, other = (list(scorer.mlm.tokenizer(text)["input_ids"]) for text in (more, less))
    spans = [op for op in SequenceMatcher(None, [str(x) for x in one], [str(x) for x in other]).get_opcodes() if op[0] == "equal"]
    template = [place for _, start, end, _, _ in spans for place in range(start, end)][1:-1]
    expected = sum(np.log(masked_at(scorer, one, place)) for place in template)
    assert scorer.score([("whole", less, more)])["score"][0] == pytest.approx(expected, rel=1e-4)


def test_batches_and_repeats_change_nothing(folder: str) -> None:
    items = rows("intrasentence")[:9]
    one = MaskedLikelihood(model=folder, protocol="pll", device="cpu", token_budget=1).score(items)
    many = MaskedLikelihood(model=folder, protocol="pll", device="cpu", token_budget=5000).score(items)
    np.testing.assert_allclose(one["score"], many["score"], rtol=1e-5)


def test_one_context_is_computed_once_for_its_associations(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mlm = load(folder, device="cpu")
    ids = tuple(mlm.tokenizer(f"The monk led a {mlm.tokenizer.mask_token} life.")["input_ids"])
    seen: list[int] = []
    forward = mlm._one_pass
    monkeypatch.setattr(mlm, "_one_pass", lambda rows, asked: (seen.append(len(rows)), forward(rows, asked))[1])
    place = ids.index(mlm.tokenizer.mask_token_id)
    assert len(mlm.logprobs([Masked(ids, place, target) for target in (5, 6, 7)])) == 3
    assert seen == [1]


def test_what_cannot_be_scored_is_an_error_of_its_row(folder: str) -> None:
    scorer = MaskedLikelihood(model=folder, protocol="pll", device="cpu")
    found = scorer.score([("intrasentence", "x BLANK", "word " * 200), ("intrasentence", "x BLANK", "a monk")])
    assert "longer than the model's context" in found["error"][0]
    assert found["error"][1] is None
    empty = MaskedLikelihood(model=folder, protocol="masked", device="cpu").score([("intrasentence", "It was BLANK", "It was ...")])
    assert empty["error"] == ["there is no token to mask"]


def test_masked_between_sentences_is_refused(folder: str) -> None:
    with pytest.raises(InputError, match="next-sentence head"):
        MaskedLikelihood(model=folder, protocol="masked", device="cpu").score([("intersentence", "A.", "B.")])


def test_kinds_are_told_apart(folder: str, tmp_path: Path) -> None:
    assert is_masked(folder)
    causal = causal_folder(tmp_path)
    assert not is_masked(causal)
    with pytest.raises(ModelError):
        load(causal, device="cpu")
