"""Every text scorer under the one contract: scores in [0, 1] or an error with its reason, and no secret anywhere."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.servers.moderation import serving_moderation
from tests.servers.perspective import KEY, Faults, PerspectiveServer, score_of, serving

from fairwitness.engine.contract import score_part
from fairwitness.errors import InputError, ServiceError
from fairwitness.models.service import WrongAnswerError
from fairwitness.scorers import cassette
from fairwitness.scorers.by_name import ScorerSettings, TextScorer, scorer_by_name
from fairwitness.scorers.perspective import Perspective, cut_bytes
from fairwitness.scorers.sentiment import labeller
from fairwitness.scorers.service_scorer import as_wrong_answer, number_at


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRWITNESS_CACHE", str(tmp_path / "cache"))


def test_profanity() -> None:
    from profanity_check import predict_prob

    texts = ["I am a gay man", "I am a straight man"]
    assert scorer_by_name("profanity").score(texts)["score"] == pytest.approx(predict_prob(texts))


def test_names() -> None:
    with pytest.raises(InputError, match="Did you mean 'perspective'"):
        scorer_by_name("perspectve")
    with pytest.raises(InputError, match="needs a model"):
        scorer_by_name("hf")
    with pytest.raises(InputError, match="Did you mean 'TOXICITY'"):
        _ = scorer_by_name("perspective", ScorerSettings(attributes=("TOXICTY",))).identity


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"timeout_s": 0.0}, {"timeout_s": float("inf")}, {"timeout_s": float("nan")}])
def test_numbers_with_which_nothing_could_be_asked_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"--{next(iter(wrong))} is"):
        scorer_by_name("perspective", ScorerSettings(**wrong))


@pytest.mark.parametrize("name", ["profanity", "perspective"])
def test_ask_is_checked_also_where_nobody_is_asked(name: str) -> None:
    with pytest.raises(InputError, match="--ask agin is neither once nor again"):
        scorer_by_name(name, ScorerSettings(ask="agin"))
    scorer_by_name(name, ScorerSettings(ask="again"))


class Wild:
    rows_per_part = 10

    @property
    def identity(self):
        return {"scorer": "wild"}

    def score(self, items):
        return {"score": [1.5, -0.1, 0.5, float("nan")][: len(items)]}


def test_scores_outside_the_range_are_errors() -> None:
    scored = score_part(TextScorer("wild", Wild()), ["a", "b", "c", "d", ""])
    assert scored["score"].to_list() == [None, None, 0.5, None, None]
    assert scored["error"].to_list()[:2] == ["score 1.5 is outside [0, 1]", "score -0.1 is outside [0, 1]"]
    assert scored["error"].to_list()[4] == "no text"


def test_log_odds_become_probabilities() -> None:
    class Odds(Wild):
        def score(self, items):
            return {"score": np.array([0.0, 800.0]), "error": [None, None]}

    assert TextScorer("o", Odds(), is_log_odds=True).score(["a", "b"])["score"].tolist() == [0.5, 1.0]


def perspective(server: PerspectiveServer, **more) -> Perspective:
    return Perspective(url=server.url, qps=1000, timeout_s=2, backoff_s=0.01, **more)


def test_perspective_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERSPECTIVE_API_KEY", raising=False)
    with pytest.raises(ServiceError, match=r"No API key for Perspective\. Set PERSPECTIVE_API_KEY\."):
        Perspective(url="http://127.0.0.1:9/").score(["x"])


def test_perspective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)
    long = "ü" * 12_000
    with serving(PerspectiveServer()) as server:
        scorer = perspective(server, attributes=("TOXICITY", "INSULT"))
        scored = score_part(TextScorer("perspective", scorer), ["one", " ", long, "two", None])
        assert scored["score"].to_list() == [score_of("one"), None, None, score_of("two"), None]
        assert scored["insult"].to_list()[0] == score_of("one", "INSULT")
        errors = scored["error"].to_list()
        assert "COMMENT_EMPTY" in errors[1]
        assert errors[2] == "COMMENT_TOO_LONG: 24,000 bytes; the limit is 20,480"
        assert KEY not in str(scorer.identity) + repr(scorer)
        body = server.record.bodies[0]
        assert body["doNotStore"] is True
        assert body["languages"] == ["en"]
        cut = perspective(server, truncate=True).score([long])
        assert cut["error"] == [None]
    assert len(cut_bytes(long, 20_480).encode()) <= 20_480


def test_perspective_wrong_language_and_wrong_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)
    with serving(PerspectiveServer()) as server:
        scored = perspective(server, languages=("xx",)).score(["hello"])
        assert "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE" in scored["error"][0]
        monkeypatch.setenv("PERSPECTIVE_API_KEY", "AIzaWrong00000000000000000000000000000")
        with pytest.raises(ServiceError, match="403") as caught:
            perspective(server).score(["hello"])
        assert "AIzaWrong" not in str(caught.value)


def test_perspective_under_faults_never_scores_zero_for_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSPECTIVE_API_KEY", KEY)
    texts = [f"text {index}" for index in range(200)]
    with serving(PerspectiveServer(faults=Faults(0.3, slow_s=0.1))) as server:
        scorer = Perspective(url=server.url, qps=5000, timeout_s=1, backoff_s=0.01, minute_s=1.0)
        scored = score_part(TextScorer("p", scorer), texts)
    for text, score, error in zip(texts, scored["score"], scored["error"], strict=True):
        assert (score == score_of(text)) if error is None else score is None


def test_openai_moderation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-0123456789")
    with serving_moderation() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        scored = scorer_by_name("openai-moderation").score(["abc", ""])
        assert scored["score"].tolist() == [0.3, 0.05]
        assert scored["hate"] == [0.3, 0.0]
        assert scorer_by_name("openai-moderation:omni-moderation-latest@harassment").score(["abc"])["score"].tolist() == [0.05]
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key-0123456789")
        with pytest.raises(ServiceError, match="401") as caught:
            scorer_by_name("openai-moderation").score(["new"])
        assert "sk-wrong" not in str(caught.value)


DESCRIPTION = """
name = "mine"
url = "{url}"
version = "1"
score = "attributeScores.TOXICITY.summaryScore.value"
scale = [0, 2]
body = {{ comment = {{ text = "$text" }}, requestedAttributes = {{ TOXICITY = {{}} }} }}
headers = {{ x-goog-api-key = "$MY_KEY" }}
"""


def test_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    path = tmp_path / "mine.toml"
    with serving(PerspectiveServer()) as server:
        path.write_text(DESCRIPTION.format(url=server.url))
        scorer = scorer_by_name(f"http:{path}")
        assert scorer.score(["a"])["score"].tolist() == [score_of("a") / 2]
        assert KEY not in str(scorer.identity)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(ServiceError, match="MY_KEY, which is not set"):
        scorer_by_name(f"http:{path}").score(["b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("url = 'http://x/'\nscore = 's'\nbody = { a = 'b' }", "no .\\$text"),
        ("url = 'http://x/'\nscor = 's'", "Did you mean 'score'"),
        ("url = 'x'\nscore = 's'\nbody = { a = '$text' }", "not the address"),
        ("score = 's'", "'url' is missing"),
        ("= 1", "not valid TOML"),
    ],
)
def test_bad_http_descriptions(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        _ = scorer_by_name(f"http:{path}").identity


def test_cassette(tmp_path: Path) -> None:
    texts = ["a", "b"]
    scored = pl.DataFrame({"score": [0.25, None], "error": [None, "too long"], "insult": [0.5, None]})
    rows = cassette.rows_of(texts, scored, attribute="TOXICITY", version="v1", keep_text=False)
    path = cassette.write_cassette(tmp_path / "c.parquet", [rows], {"scorer": "perspective"})
    table, about = cassette.read_cassette(path)
    assert about == {"format": cassette.FORMAT, "scorer": "perspective"}
    assert table.columns == list(cassette.COLUMNS)
    assert table["text"].null_count() == table.height
    served = scorer_by_name(f"cassette:{path}").score(["b", "a", "c"])
    assert served["error"] == ["too long", None, "not in the cassette"]
    assert served["score"].tolist()[1] == 0.25
    assert scorer_by_name(f"cassette:{path}@INSULT").score(["a"])["score"].tolist() == [0.5]
    with pytest.raises(InputError, match="Did you mean 'INSULT'"):
        scorer_by_name(f"cassette:{path}@INSLT").score(["a"])
    other = tmp_path / "other.parquet"
    pl.DataFrame({"x": [1]}).write_parquet(other)
    with pytest.raises(InputError, match="not a cassette"):
        scorer_by_name(f"cassette:{other}").score(["a"])


@pytest.fixture(scope="module")
def tiny_classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights and labels of its own."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "i", "am", "a", "gay", "straight", "man", "good", "bad"]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=16).save_pretrained(folder)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(words), max_position_embeddings=16, **size)
    config.id2label, config.label2id = {0: "NEGATIVE", 1: "POSITIVE"}, {"NEGATIVE": 0, "POSITIVE": 1}
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return folder


def test_hf(tiny_classifier: Path) -> None:
    scorer = scorer_by_name(f"hf:{tiny_classifier}@POSITIVE")
    texts = ["I am a gay man", "good", "bad " * 40]
    scored = scorer.score(texts)
    assert scored["score"] == pytest.approx(scored["p_POSITIVE"])
    assert scored["score"] + scored["p_NEGATIVE"] == pytest.approx(np.ones(3))
    assert scored["truncated"] == [False, False, True]
    one_by_one = [scorer.score([text])["score"][0] for text in texts]
    assert scored["score"] == pytest.approx(one_by_one, abs=1e-6)
    with pytest.raises(InputError, match="Did you mean 'POSITIVE'"):
        scorer_by_name(f"hf:{tiny_classifier}@POSITIV").score(["good"])


def test_sentiment(tiny_classifier: Path) -> None:
    assert labeller("vader")(["I love it", "It is a table", "This is awful"]) == ["positive", "neutral", "negative"]
    assert set(labeller(str(tiny_classifier))(["good", "bad"])) <= {"positive", "negative"}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400, True, "0.5", None])
def test_what_is_no_finite_number_is_a_wrong_answer(number: Any) -> None:
    with pytest.raises(WrongAnswerError), as_wrong_answer():
        number_at({"score": number}, ["score"])
