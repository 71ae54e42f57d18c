"""Pictures of any text come out: long ones, other scripts, markup, nothing at all."""

from pathlib import Path

import pytest

from fairwitness.report.attribution_charts import MISSING, Heatmap, draw_heatmap, draw_identity_share, readable, write_page

TEXTS = {
    "long": ["word", "another", "immensely-long-" * 12, "$x_1$", "a"] * 40,
    "korean": ["안녕하세요", "오늘", "날씨가", "좋네요"],
    "arabic": ["مرحبا", "كيف", "حالك", "اليوم"],
    "emoji": ["hello", "😀🎉", "👩‍👩‍👧", "❤️"],
    "markup": ["<script>alert(1)</script>", "&amp;", "$\\frac{", "a_b^c", "\x07bell"],
    "one": ["x"],
}


@pytest.mark.parametrize("kind", TEXTS)
def test_any_text_is_drawn(kind: str, tmp_path: Path) -> None:
    words = TEXTS[kind]
    values = [(-1) ** k * (k % 7) / 7 for k in range(len(words))]
    heatmap = Heatmap(
        "row 0", words, values, [k % 3 == 0 for k in range(len(words))], "footer", converged=False, caution="NOT CONVERGED"
    )
    data = draw_heatmap(heatmap, tmp_path / "row0.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert draw_heatmap(heatmap, tmp_path / "again.png").read_bytes() == data
    page = write_page({"row0": heatmap}, tmp_path / "page.html", title="<t>").read_text(encoding="utf-8")
    assert "<script" not in page
    assert 'dir="auto"' in page
    assert "NOT CONVERGED" in page
    assert page.index("Content warning") < page.index('class="words"')


def test_all_zero_values_are_white(tmp_path: Path) -> None:
    page = write_page({"r": Heatmap("t", ["a"], [0.0], [False], "")}, tmp_path / "p.html", title="t").read_text(encoding="utf-8")
    assert "rgb(255,255,255)" in page


def test_what_no_font_has_becomes_a_box() -> None:
    assert readable("a\U0010fffd") == f"a{MISSING}"


def test_identity_share_chart(tmp_path: Path) -> None:
    rows = [
        {"group": "all", "outcome": "fp", "n": 3, "share": 0.4, "low": 0.2, "high": 0.6, "word_share": 0.1},
        {"group": "women", "outcome": "tn", "n": 1, "share": 0.1, "low": float("nan"), "high": float("nan"), "word_share": 0.1},
    ]
    assert draw_identity_share(rows, tmp_path / "c.png").stat().st_size > 1000
