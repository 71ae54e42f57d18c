"""Every protocol is what its description says: compared with the slow, obvious way, one sequence at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairwitness.errors import InputError, ModelError
from fairwitness.scorers.likelihood import PROTOCOLS, WHOLE, Likelihood

from .tiny_text_models import causal_folder, rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return causal_folder(tmp_path_factory.mktemp("llama"))


def logprobs(scorer: Likelihood, ids: list[int]) -> Any:
    """log P of each token but the first, one plain pass."""
    with torch.no_grad():
        logits = scorer.lm.model(input_ids=torch.tensor([ids])).logits[0].float()
    return torch.log_softmax(logits, -1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0].numpy()


def encode(scorer: Likelihood, text: str) -> list[int]:
    return list(scorer.lm.tokenizer(text, add_special_tokens=False)["input_ids"])


def test_reference_within_is_the_authors_formula(folder: str) -> None:
    scorer = Likelihood(model=folder, protocol="reference", device="cpu")
    items = rows("intrasentence")
    found = scorer.score(items)
    for (_, _, text), score, n in zip(items, found["score"], found["n_tokens"], strict=True):
        ids = encode(scorer, text)
        first = logprobs(scorer, [0, ids[0]])
        every = np.concatenate([first, logprobs(scorer, ids)])
        assert score == pytest.approx(2 ** np.mean(every / np.log(2)), rel=1e-4)
        assert n == len(ids)


@pytest.mark.parametrize("protocol", ["conditional", "conditional_sum", "pmi", "reference"])
def test_between_sentences_only_the_association_counts(folder: str, protocol: str) -> None:
    scorer = Likelihood(model=folder, protocol=protocol, device="cpu")
    items = rows("intersentence")
    found = scorer.score(items)
    for index, (_, context, text) in enumerate(items):
        context_ids, both = encode(scorer, context), encode(scorer, f"{context} {text}")
        assert both[: len(context_ids)] == context_ids
        association = both[len(context_ids) :]
        behind = logprobs(scorer, [0, *both])[len(context_ids) :]
        alone = logprobs(scorer, [0, *association]).sum()
        expected = {
            "conditional": behind.mean(),
            "conditional_sum": behind.sum(),
            "pmi": behind.sum() - alone,
            "reference": np.exp(behind.mean()),
        }
        assert found["score"][index] == pytest.approx(expected[protocol], rel=1e-4, abs=1e-4)
        assert found["logprob_sum"][index] == pytest.approx(behind.sum(), rel=1e-4)
        assert found["logprob_mean"][index] == pytest.approx(behind.mean(), rel=1e-4)
        assert found["n_tokens"][index] == len(association)


def test_conditional_within_begins_at_the_blank_whatever_the_capitals(folder: str) -> None:
    scorer = Likelihood(model=folder, protocol="conditional_sum", device="cpu")
    context = "The Italian guest was BLANK at the table."
    texts = [f"The italian guest was {word} at the table." for word in ("lively", "silent", "silver")]
    found = scorer.score([("intrasentence", context, text) for text in texts])
    for text, total in zip(texts, found["score"], strict=True):
        ids, ahead = encode(scorer, text), encode(scorer, "The italian guest was")
        assert total == pytest.approx(logprobs(scorer, [0, *ids])[len(ahead) :].sum(), rel=1e-4)


def test_chat_is_the_mean_over_the_whole_templated_sequence(folder: str) -> None:
    scorer = Likelihood(model=folder, protocol="chat", device="cpu")
    items = rows()
    found = scorer.score(items)
    for (subset, context, text), score in zip(items, found["score"], strict=True):
        shown = text if subset == "intrasentence" else f"{context} {text}"
        turns = [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": shown}]
        ids = scorer.lm.tokenizer.apply_chat_template(turns, tokenize=True, return_dict=True)["input_ids"]
        with torch.no_grad():
            loss = scorer.lm.model(input_ids=torch.tensor([ids]), labels=torch.tensor([ids])).loss.item()
        assert score == pytest.approx(-loss, rel=1e-4)


def test_full_is_the_same_without_a_template(folder: str) -> None:
    scorer = Likelihood(model=folder, protocol="full", device="cpu")
    found = scorer.score([(WHOLE, "", "The monk led a peaceful life.")])
    ids = [0, *encode(scorer, "The monk led a peaceful life.")]
    assert found["score"][0] == pytest.approx(logprobs(scorer, ids).mean(), rel=1e-4)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_batch_size_and_order_change_nothing(folder: str, protocol: str) -> None:
    items = rows()
    whole = Likelihood(model=folder, protocol=protocol, device="cpu", token_budget=4096).score(items)
    small = Likelihood(model=folder, protocol=protocol, device="cpu", token_budget=1).score(items)
    units = [items[start : start + 3] for start in range(0, len(items), 3)][::-1]
    turned = Likelihood(model=folder, protocol=protocol, device="cpu").score([row for unit in units for row in unit])
    back = np.array(turned["score"]).reshape(-1, 3)[::-1].ravel()
    np.testing.assert_allclose(small["score"], whole["score"], rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(back, whole["score"], rtol=2e-5, atol=1e-5)


def test_start_tokens(folder: str) -> None:
    item = [("intersentence", "A monk walked in.", "He sat down.")]
    named = Likelihood(model=folder, protocol="conditional", device="cpu", start="</s>")
    assert named.start_ids == [1]
    assert named.score(item)["score"][0] != Likelihood(model=folder, protocol="conditional", device="cpu").score(item)["score"][0]
    none = Likelihood(model=folder, protocol="reference", device="cpu", start="none")
    within = none.score([("intrasentence", "A monk was BLANK.", "A monk was calm.")])
    ids = encode(none, "A monk was calm.")
    assert within["score"][0] == pytest.approx(np.exp(logprobs(none, ids).mean()), rel=1e-4)
    with pytest.raises(InputError, match="no such token"):
        Likelihood(model=folder, device="cpu", start="<nope>").score(item)
    with pytest.raises(InputError, match="start token"):
        Likelihood(model=folder, device="cpu", protocol="pmi", start="none").score(item)


def test_a_text_that_is_too_long_fails_alone(folder: str) -> None:
    items = [("intersentence", "A monk. " * 200, text) for text in "abc"] + rows("intersentence")[:3]
    found = Likelihood(model=folder, protocol="conditional", device="cpu").score(items)
    assert all("context" in word for word in found["error"][:3])
    assert found["error"][3:] == [None] * 3
    assert np.isfinite(found["score"][3:]).all()


def test_no_chat_template_is_said(tmp_path: Path) -> None:
    scorer = Likelihood(model=causal_folder(tmp_path, chat=False), protocol="chat", device="cpu")
    with pytest.raises(ModelError, match=r"no chat template.*--protocol full"):
        scorer.score(rows("intersentence")[:3])


def test_an_unknown_protocol_is_refused_with_the_near_one(folder: str) -> None:
    with pytest.raises(InputError, match="Did you mean 'reference'"):
        _ = Likelihood(model=folder, protocol="referense").identity
