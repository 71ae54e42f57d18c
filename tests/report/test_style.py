"""Words in shaded cells can be read, whatever the shade."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairwitness.report.attribution_charts import shade
from fairwitness.report.style import SOFT, contrast, families, ink_on, new_figure, save_figure
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


def test_words_in_any_script_are_drawn_without_a_warning(tmp_path: Path) -> None:
    figure, axis = new_figure(4, 2)
    axis.barh(["한국인", "العربية", "plain"], [1, 2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure, tmp_path / "a.png")
    fonts = {label.get_text(): label.get_fontfamily() for label in axis.get_yticklabels()}
    assert fonts["한국인"] == list(families())
    assert fonts["plain"] != fonts["한국인"]
