"""The sentiment of a text: positive, neutral or negative. VADER is built in; any Hugging Face classifier works by name."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from fairwitness.errors import InputError, MissingExtraError, listing

# VADER's own cut-offs (Hutto and Gilbert, 2014): compound ≥ 0.05 is positive, ≤ −0.05 negative.
CUT = 0.05
_NAMES = {
    "positive": ("positive", "pos", "label_2", "4 stars", "5 stars", "joy"),
    "neutral": ("neutral", "neu", "label_1", "3 stars"),
    "negative": ("negative", "neg", "label_0", "1 star", "2 stars", "anger"),
}


def labeller(name: str) -> Callable[[Sequence[str]], list[str]]:
    """A function from texts to sentiments, by name: `vader`, or a text-classification model."""
    return vader if name == "vader" else _hf(name)


def vader(texts: Sequence[str]) -> list[str]:
    """The sentiment by VADER's compound score and its authors' cut-offs."""
    return [of_compound(_analyzer().polarity_scores(text)["compound"]) for text in texts]


def of_compound(compound: float) -> str:
    """The sentiment that a compound score means.

    >>> of_compound(0.6), of_compound(0.0), of_compound(-0.05)
    ('positive', 'neutral', 'negative')
    """
    return "positive" if compound >= CUT else "negative" if compound <= -CUT else "neutral"


@cache
def _analyzer() -> Any:
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        raise MissingExtraError("vaderSentiment", "text", "Labelling sentiment with VADER") from None
    return SentimentIntensityAnalyzer()


def _hf(model: str) -> Callable[[Sequence[str]], list[str]]:
    from fairwitness.models.classifier import TextClassifier

    classifier = TextClassifier(model)

    def label(texts: Sequence[str]) -> list[str]:
        meaning = meanings(classifier.labels, model)
        values, _ = classifier.probabilities(texts)
        return [meaning[index] for index in values.argmax(axis=1)] if len(texts) else []

    return label


def meanings(labels: Sequence[str], model: str) -> list[str]:
    """Which sentiment each label of a classifier means.

    >>> meanings(["NEGATIVE", "POSITIVE"], "m")
    ['negative', 'positive']
    """
    if len(labels) == 2 and {label.lower() for label in labels} == {"label_0", "label_1"}:
        return ["negative", "positive"]
    found = []
    for label in labels:
        matches = [sentiment for sentiment, names in _NAMES.items() if label.lower() in names]
        if not matches:
            raise InputError(f"The labels of '{model}' do not name sentiments: {listing(labels)}. Choose a sentiment classifier.")
        found.append(matches[0])
    return found
