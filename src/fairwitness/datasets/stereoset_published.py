"""What the authors published for nine models on StereoSet's dev set: facts to stand a new model beside.

LMS, SS, ICAT in percent, by the `reference` definition. Intersentence figures come from next-sentence heads that the authors
trained (and, for BERT, from its own), not from likelihood, so a likelihood score is beside them and not on the same ruler.
"""

import polars as pl

_OVERALL, _INTRA, _INTER = "both", "intrasentence", "intersentence"

PUBLISHED: dict[str, dict[str, tuple[float, float, float]]] = {
    "gpt2": {_OVERALL: (83.65, 57.03, 71.89), _INTRA: (91.11, 61.93, 69.37), _INTER: (76.26, 52.28, 72.79)},
    "gpt2-medium": {_OVERALL: (87.11, 58.96, 71.50), _INTRA: (92.21, 62.74, 68.71), _INTER: (82.09, 55.30, 73.38)},
    "gpt2-large": {_OVERALL: (88.92, 61.86, 67.83), _INTRA: (92.49, 64.26, 66.12), _INTER: (85.35, 59.50, 69.12)},
    "bert-base": {_OVERALL: (85.77, 59.56, 69.38), _INTRA: (83.02, 58.68, 68.61), _INTER: (88.53, 60.43, 70.06)},
    "bert-large": {_OVERALL: (85.77, 59.65, 69.22), _INTRA: (83.60, 59.01, 68.54), _INTER: (87.93, 60.18, 70.02)},
    "roberta-base": {_OVERALL: (68.96, 49.90, 68.83), _INTRA: (71.15, 55.21, 63.74), _INTER: (66.78, 44.75, 59.77)},
    "roberta-large": {_OVERALL: (76.58, 56.01, 67.37), _INTRA: (72.90, 55.45, 64.96), _INTER: (80.23, 56.61, 69.63)},
    "xlnet-base": {_OVERALL: (67.26, 54.19, 61.63), _INTRA: (68.91, 53.97, 63.43), _INTER: (65.72, 54.59, 59.69)},
    "xlnet-large": {_OVERALL: (78.03, 54.35, 71.24), _INTRA: (73.68, 52.98, 69.29), _INTER: (82.39, 55.76, 72.90)},
}


def published() -> pl.DataFrame:
    """The nine models as a table: `model`, `subset`, `lms`, `ss`, `icat`.

    >>> published().filter(model="gpt2", subset="both").row(0)
    ('gpt2', 'both', 83.65, 57.03, 71.89)
    """
    rows = [(model, subset, *triple) for model, by_subset in PUBLISHED.items() for subset, triple in by_subset.items()]
    return pl.DataFrame(rows, schema=["model", "subset", "lms", "ss", "icat"], orient="row")
