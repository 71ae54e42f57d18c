"""`fairwitness serve`: the reports and rows of a folder of runs, in a browser. Reads only."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from fairwitness.audits.reporting import report_of
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.report.content import Example, format_cell
from fairwitness.report.page import render, shade
from fairwitness.report.zeroshot_section import explained_examples
from fairwitness.web.guard import Guard
from fairwitness.web.rows import Query, source_of
from fairwitness.web.shelf import Shelf

MOST_ROWS = 500
_FIRST = ("idx", "id", "text", "outcome", "pred", "score", "error")


def application(root: Path, *, token: str | None = None, host: str = "127.0.0.1") -> Guard:
    """The viewer over a folder of runs, behind its guard."""
    pages = _Pages(Shelf(Path(root)))
    routes = [
        Route("/", pages.shelf),
        Route("/run", pages.run),
        Route("/pair", pages.pair),
        Route("/compare", pages.compared),
        Route("/rows", pages.rows),
        Route("/row", pages.row),
        Route("/api/rows", pages.api_rows),
    ]
    app = Starlette(routes=routes, exception_handlers={FairWitnessError: _refused})
    return Guard(app, token=token, host=host)


def serve(root: Path, *, host: str, port: int, token: str | None) -> None:
    """Listen until stopped."""
    import uvicorn

    uvicorn.run(application(root, token=token, host=host), host=host, port=port, log_level="warning")


# As many digits as any row has; more would fit no slice.
_NUMBER = re.compile(r"-?[0-9]{1,15}")


class _Pages:
    """One method per page. The run and audit a page is about come as query parameters, so that a path can never escape."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._pages = Environment(loader=PackageLoader("fairwitness.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
        self._pages.filters |= {"shade": shade, "cell": format_cell, "called": self._called}

    def shelf(self, _request: Request) -> Response:
        runs: list[dict[str, Any]] = [{"name": name, "audits": self._summaries(name)} for name in self._shelf.names()]
        kinds = sorted({audit["kind"] for run in runs for audit in run["audits"]})
        return self._page("shelf.html", runs=runs, kinds=kinds, root=str(self._shelf.root.resolve()))

    def run(self, request: Request) -> Response:
        name = request.query_params.get("run", "")
        self._shelf.audits(name)
        return HTMLResponse(render(report_of([self._shelf.root / name], title=f"Run: {self._called(name)}")))

    def pair(self, request: Request) -> Response:
        names = [request.query_params.get(side, "") for side in ("a", "b")]
        for name in names:
            self._shelf.audits(name)
        return self._page("pair.html", names=names)

    def compared(self, request: Request) -> Response:
        names = [request.query_params.get(side, "") for side in ("a", "b")]
        for name in names:
            self._shelf.audits(name)
        folders = [self._shelf.root / name for name in names]
        return HTMLResponse(render(report_of(folders, title=" and ".join(map(self._called, names)))))

    def rows(self, request: Request) -> Response:
        run, audit = _which(request)
        rows = self._shelf.rows(run, audit)
        columns = sorted(rows.frame.columns, key=_place)
        return self._page("rows.html", run=run, audit=audit, columns=columns, groups=rows.groups, outcomes=rows.outcomes)

    def row(self, request: Request) -> Response:
        run, audit = _which(request)
        wanted = _whole(request.query_params.get("idx", "0"))
        record = self._shelf.rows(run, audit).frame.filter(pl.col("idx") == wanted)
        if record.is_empty():
            raise InputError(f"There is no row {wanted} in '{audit}' of the run '{run}'.")
        values = record.row(0, named=True)
        facts = {name: _shown(values[name]) for name in sorted(values, key=_place)}
        return self._page("row.html", run=run, audit=audit, facts=facts, why=self._attribution(run, wanted))

    def _attribution(self, run: str, wanted: int) -> Example | None:
        """The words of a row with their weights, where any audit of the run explained it."""
        for recorded in self._shelf.audits(run):
            explained = recorded.table(".ig.parquet") if recorded.kind == "zeroshot-ig" else None
            found = explained.filter(pl.col("idx") == wanted) if explained is not None else None
            examples = explained_examples(found) if found is not None else []
            if examples:
                return examples[0]
        return None

    def api_rows(self, request: Request) -> Response:
        run, audit = _which(request)
        take = request.query_params.get
        query = Query(take("text", ""), take("group", ""), take("outcome", ""), take("error", ""))
        start, count = max(0, _whole(take("start", "0"), 0)), min(MOST_ROWS, max(1, _whole(take("count", "100"), 1)))
        total, frame = self._shelf.find(run, audit, query, start, count)
        return JSONResponse({"total": total, "rows": json.loads(_as_json(frame))})

    def _called(self, name: str) -> str:
        """A run as people call it; the one that lies in the folder itself has the folder's name."""
        return self._shelf.root.resolve().name if name == "." else name

    def _summaries(self, name: str) -> list[dict[str, Any]]:
        try:
            return [
                {
                    "name": each.name,
                    "kind": each.kind,
                    "status": "finished" if each.finished else "not finished",
                    "counts": each.counts,
                    "when": str(each.entry.get("finished") or each.entry.get("started", ""))[:16].replace("T", " "),
                    "rows": source_of(each) is not None,
                }
                for each in self._shelf.audits(name)
            ]
        except FairWitnessError as error:
            return [{"name": "?", "kind": "unreadable", "status": str(error), "counts": {}, "when": "", "rows": False}]

    def _page(self, template: str, **values: Any) -> HTMLResponse:
        return HTMLResponse(self._pages.get_template(template).render(**values))


def _which(request: Request) -> tuple[str, str]:
    return request.query_params.get("run", ""), request.query_params.get("audit", "")


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) and value == value else format_cell(value)


def _place(column: str) -> tuple[int, str]:
    """Columns in reading order: which row, the text, what was made of it, whether it failed; then the rest as it comes."""
    return (_FIRST.index(column), "") if column in _FIRST else (len(_FIRST), "")


def _whole(word: str, otherwise: int | None = None) -> int:
    """A number from an address; what is none is `otherwise`, or no such row."""
    if _NUMBER.fullmatch(word):
        return int(word)
    if otherwise is None:
        raise InputError(f"There is no row '{word[:40]}'.")
    return otherwise


def _as_json(frame: pl.DataFrame) -> str:
    return frame.with_columns(pl.selectors.float().fill_nan(None), pl.selectors.categorical().cast(pl.String)).write_json()


def _refused(_request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 404)
