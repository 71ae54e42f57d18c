"""Conversation AI's sentence templates: short phrases filled with identity terms, half of them toxic."""

import re
from collections.abc import Iterator

import polars as pl

from fairwitness.datasets.card import Card, Dataset, WebFile, WebFiles
from fairwitness.datasets.raw import RawCopy, csv_batches, readable
from fairwitness.tables import require_columns

COMMIT = "9c7d91aaa53406a362354661a93e07956d95e59a"
GITHUB = f"https://raw.githubusercontent.com/conversationai/unintended-ml-bias-analysis/{COMMIT}"
TERMS = "identity_terms_adjectives_people.txt"

CARD = Card(
    name="jigsaw_templates",
    title="Conversation AI sentence templates (English)",
    licence="CC BY 4.0 (data)",
    citation="Dixon, Li, Sorensen, Thain, Vasserman (2018). Measuring and Mitigating Unintended Bias in Text Classification. AIES",
    warning="short phrases, half of them insults, each with an identity term in it",
    counts={"phrases": 76_564, "toxic": 38_282, "not toxic": 38_282, "template kinds": 6, "identity terms": 50},
    counted_on="a real copy of en_sentence_templates.csv and of the term list",
    columns={
        "comment_text": "the phrase",
        "target": "1 toxic, 0 not",
        "one column a term": "1 where the phrase holds the term as a word, else 0; only where the term list lies beside the file",
        "template": "the kind of template",
        "id": "the row's number",
    },
    layouts=(f"en_sentence_templates.csv, with {TERMS} beside it", ".gz too"),
    remotes=(
        WebFiles(
            (WebFile(url=f"{GITHUB}/sentence_templates/en_sentence_templates.csv", name="en_sentence_templates.csv"),),
        ),
    ),
    revision=COMMIT,
)


def _read(copy: RawCopy, _split: str) -> Iterator[pl.DataFrame]:
    file = copy.need("sentence templates", "en_sentence_templates.csv", "*sentence_templates.csv", "*.csv")[0]
    terms = _terms(copy)
    start = 0
    for frame in csv_batches(file):
        require_columns(frame.columns, ("template", "toxicity", "phrase"), file.shown)
        phrase = pl.col("phrase")
        # (?i)\b…\b is the authors' own rule for whether a phrase mentions a term.
        flags = (phrase.str.contains(rf"(?i)\b{re.escape(term)}\b").cast(pl.Float64).alias(own) for term, own in terms.items())
        yield frame.select(
            phrase.alias("comment_text"),
            (pl.col("toxicity") == "toxic").cast(pl.Int64).alias("target"),
            *flags,
            "template",
            pl.int_range(start, start + pl.len()).cast(pl.String).alias("id"),
        )
        start += frame.height


def _terms(copy: RawCopy) -> dict[str, str]:
    files = copy.find(TERMS)
    if not files:
        return {}
    with readable(files[0]), files[0].open() as stream:
        lines = stream.read().decode("utf-8-sig").splitlines()
    return {line.strip(): line.strip().replace(" ", "_").replace("-", "_") for line in lines if line.strip()}


DATASET = Dataset(card=CARD, tables={"phrases": _read}, beside=(TERMS,))
