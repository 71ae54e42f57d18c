"""Words in shaded cells can be read, whatever the shade."""

from typing import Any

import numpy as np
import polars as pl

from fairwitness.report.attribution_charts import shade
from fairwitness.report.style import SOFT, contrast, ink_on
from fairwitness.report.user_model_charts import TITLES, heat_maps


def test_ink_is_readable_on_every_grey_and_every_shade() -> None:
    backgrounds: list[Any] = [(level, level, level) for level in np.linspace(0, 1, 256)]
    backgrounds += [shade(strength) for strength in np.linspace(-1, 1, 101)]
    assert min(contrast(ink_on(colour), colour) for colour in backgrounds) >= 4.5
    assert contrast(SOFT, "white") >= 4.5


def test_numbers_in_a_heat_map_are_readable() -> None:
    values = [*np.linspace(0, 1, 11).tolist(), None]
    rows = [
        {"metric": name, "attribute": "a", "class": 1, "group": str(k), "value": value, "low": None, "high": None, "n": 9}
        for name in TITLES
        for k, value in enumerate(values)
    ]
    figure = heat_maps(pl.DataFrame(rows, infer_schema_length=None), "many shades")
    for axis in figure.axes:
        (image,) = axis.images
        for text in axis.texts:
            value = values[round(text.get_position()[0])]
            background = "white" if value is None else image.to_rgba(value)[:3]
            assert contrast(text.get_color(), background) >= 4.5, text.get_text()
