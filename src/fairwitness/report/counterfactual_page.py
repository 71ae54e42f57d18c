"""One self-contained HTML page for a counterfactual audit, built from the tables and pictures in its folder."""

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.files import write_text

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2rem auto;padding:0 1rem;color:#202124}
h1{font-size:1.6rem}h2{margin-top:2.2rem;border-bottom:1px solid #dadce0}
table{border-collapse:collapse;margin:.6rem 0;font-size:13px}
td,th{padding:.25rem .6rem;border-bottom:1px solid #eee;text-align:right}td:first-child,th:first-child{text-align:left}
td.text{text-align:left;max-width:34rem}.mark{background:#fde7d9;font-weight:600}img{max-width:100%}.note{color:#5f6368}
"""


def write_page(path: Path, *, title: str, facts: Mapping[str, Any], sections: Sequence[tuple[str, str]]) -> Path:
    """Write the page: a title, facts in a list, then sections (heading, HTML)."""
    items = "".join(f"<li><b>{html.escape(str(name))}</b>: {html.escape(str(value))}</li>" for name, value in facts.items())
    body = "".join(f"<h2>{html.escape(heading)}</h2>{content}" for heading, content in sections if content)
    page = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    page += f"<title>{html.escape(title)}</title>"
    write_text(path, f"{page}<style>{_STYLE}</style><h1>{html.escape(title)}</h1><ul>{items}</ul>{body}</html>\n")
    return path


def picture(path: Path, words: str) -> str:
    """A picture inside the page, with words for those who cannot see it."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img alt="{html.escape(words)}" src="data:image/png;base64,{data}"></p>'


def table(frame: pl.DataFrame, *, mark: Mapping[str, float] | None = None, texts: Sequence[str] = ()) -> str:
    """A table as HTML. Numbers get three decimals; what is undefined is a dash; absolute values from `mark` on are highlighted."""
    if frame.is_empty():
        return ""
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in frame.columns)
    rows = [
        "<tr>" + "".join(_cell(name, value, mark or {}, texts) for name, value in row.items()) + "</tr>" for row in frame.to_dicts()
    ]
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def note(text: str) -> str:
    """A paragraph of explanation."""
    return f'<p class="note">{html.escape(text)}</p>'


def _cell(name: str, value: Any, mark: Mapping[str, float], texts: Sequence[str]) -> str:
    if name in texts:
        return f'<td class="text">{html.escape(str(value or ""))}</td>'
    if value is None or (isinstance(value, float) and value != value):
        return "<td>–</td>"
    marked = ' class="mark"' if name in mark and isinstance(value, float) and abs(value) >= mark[name] else ""
    shown = f"{value:.3f}" if isinstance(value, float) else html.escape(str(value))
    return f"<td{marked}>{shown}</td>"
