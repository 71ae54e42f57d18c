"""The annotation page: several annotators label texts in their browsers, a lead watches the agreement and adjudicates.

Everything is rendered on the server and escaped; the script only adds the keyboard. An annotator sees their own answers and nobody
else's. What is stored, and who may do what to it, is authoring/annotation_store.py's.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from fairwitness.authoring.agreement import measure_agreement
from fairwitness.authoring.annotation_store import AnnotationStore, Item
from fairwitness.authoring.exchange import conflicts, counts, render, state_of
from fairwitness.authoring.votes import Vote
from fairwitness.errors import FairWitnessError
from fairwitness.web.annotate_words import WORDS

SESSION, LANGUAGE = "fairwitness_annotator", "fairwitness_language"
LOCAL = ("127.0.0.1", "localhost", "::1")
STATIC = Path(__file__).with_name("static")
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # Not "no-referrer": browsers then send "Origin: null" with our own forms, which looks like another site's.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
FORMATS = {"kosbi": "application/json", "labelstudio": "application/json", "csv": "text/csv"}
# Keys by their place on the keyboard, so that they work while a Korean input method is on.
INCLUDE_KEYS = ("KeyY", "KeyN")
SUB_LABEL_KEYS = ("KeyA", "KeyS", "KeyD", "KeyF", "KeyG", "KeyH", "KeyJ", "KeyK", "KeyL")

Page = Callable[[Request, str], Response]


def application(store: AnnotationStore, *, host: str = "127.0.0.1") -> Starlette:
    """The page over a store."""
    pages = AnnotationPages(store, host)
    routes = [
        Route("/", pages.wrap(pages.task)),
        Route("/enter", pages.enter, methods=["GET", "POST"]),
        Route("/leave", pages.wrap(pages.leave), methods=["POST"]),
        Route("/answer", pages.wrap(pages.answer), methods=["POST"]),
        Route("/skip", pages.wrap(pages.skip), methods=["POST"]),
        Route("/undo", pages.wrap(pages.undo), methods=["POST"]),
        Route("/agreement", pages.wrap(pages.agreement, lead=True)),
        Route("/adjudicate", pages.wrap(pages.adjudicate, lead=True)),
        Route("/rule", pages.wrap(pages.rule, lead=True), methods=["POST"]),
        Route("/export", pages.wrap(pages.export, lead=True)),
        Route("/static/{name}", pages.static),
    ]
    return Starlette(routes=routes, exception_handlers={FairWitnessError: _refused})


def serve(store: AnnotationStore, *, host: str, port: int) -> None:
    """Listen until stopped."""
    import uvicorn

    uvicorn.run(application(store, host=host), host=host, port=port, log_level="warning")


class AnnotationPages:
    """One method per page; `wrap` sees to it that whoever asks may."""

    def __init__(self, store: AnnotationStore, host: str) -> None:
        self._store = store
        # Another site can make a browser ask localhost under a name of its own; on localhost only our own names are answered.
        self._hosts = {*LOCAL, host} if host in LOCAL else None
        self._pages = Environment(loader=PackageLoader("fairwitness.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True)

    def wrap(self, page: Page, *, lead: bool = False) -> Callable[[Request], Awaitable[Response]]:
        """A page for those who are in: session, host name, CSRF word of a POST, and the lead's pages for the lead."""

        async def wrapped(request: Request) -> Response:
            if not self._known_host(request):
                return _secured(PlainTextResponse("Unknown host name.", 421))
            request.state.form = await request.form() if request.method == "POST" else FormData()
            return _secured(await run_in_threadpool(self._guarded, page, request, lead))

        return wrapped

    def _guarded(self, page: Page, request: Request, lead: bool) -> Response:
        session = request.cookies.get(SESSION, "")
        annotator = self._store.annotator_of_session(session) if session else None
        if annotator is None:
            return RedirectResponse("/enter", 303)
        words = WORDS[_language(request)]
        if request.method == "POST" and not self._from_our_form(request, session):
            return HTMLResponse(self._message(request, words["expired"]), 403)
        if lead and not self._store.is_lead(annotator):
            return HTMLResponse(self._message(request, words["lead_only"]), 403)
        return page(request, annotator)

    # ---- coming and going -------------------------------------------------------------------------------------------------

    async def enter(self, request: Request) -> Response:
        """Give the token, by form or in the link one was sent; a cookie that no script can read then remembers the session."""
        if not self._known_host(request):
            return _secured(PlainTextResponse("Unknown host name.", 421))
        form = await request.form() if request.method == "POST" else FormData()
        token = str(form.get("token") or request.query_params.get("token") or "").strip()
        return _secured(await run_in_threadpool(self._enter, request, token))

    def _enter(self, request: Request, token: str) -> Response:
        annotator = self._store.annotator_of_token(token) if token else None
        if annotator is None:
            return self._page(request, "annotate_enter.html", 401 if token else 200, wrong=bool(token))
        # The lead watches; looking at a text to annotate would keep it from the annotators.
        response = RedirectResponse("/agreement" if self._store.is_lead(annotator) else "/", 303)
        secure = request.url.scheme == "https"
        session = self._store.open_session(annotator)
        response.set_cookie(SESSION, session, httponly=True, samesite="strict", secure=secure, max_age=14 * 24 * 3600)
        return response

    def leave(self, request: Request, _annotator: str) -> Response:
        """End the session."""
        self._store.close_session(request.cookies.get(SESSION, ""))
        response = RedirectResponse("/enter", 303)
        response.delete_cookie(SESSION)
        return response

    # ---- annotating -------------------------------------------------------------------------------------------------------

    def task(self, request: Request, annotator: str) -> Response:
        """The next text, and the form for it."""
        return self._task(request, annotator, self._store.next_item(annotator), request.query_params.get("said", ""))

    def answer(self, request: Request, annotator: str) -> Response:
        """Save an answer. It is on disk before the next text is shown."""
        item = self._store.item(str(request.state.form.get("item")))
        vote = self._vote(request.state.form, annotator)
        problem = self._problem(vote)
        if problem:
            return self._task(request, annotator, item, problem, status=400)
        if not self._store.may_answer(item.id, annotator):
            return RedirectResponse("/", 303)
        self._store.save(item.id, vote)
        return RedirectResponse("/?said=saved", 303)

    def skip(self, request: Request, annotator: str) -> Response:
        """Put a text off."""
        self._store.skip(self._store.item(str(request.state.form.get("item"))).id, annotator)
        return RedirectResponse("/", 303)

    def undo(self, _request: Request, annotator: str) -> Response:
        """Take one's own last answer back."""
        undone = self._store.undo(annotator)
        return RedirectResponse("/?said=undone" if undone else "/?said=nothing_to_undo", 303)

    def _task(self, request: Request, annotator: str, item: Item | None, said: str, *, status: int = 200) -> Response:
        progress = self._store.progress(annotator)
        return self._page(request, "annotate_task.html", status, annotator=annotator, item=item, progress=progress, said=said)

    def _vote(self, form: FormData, annotator: str) -> Vote:
        includes = {"1": True, "0": False}.get(str(form.get("includes")))
        label = str(form.get("label") or "") or None
        if includes is False and label is None:
            return Vote(annotator=annotator, label=None, includes=False)
        offered = self._store.kind.sub_labels.get(label or "", ())
        chosen = {str(value) for value in form.getlist(f"sub_{label}")}
        # In the schema's order, and only what belongs to the label: boxes of another label may have been ticked before.
        return Vote(annotator=annotator, label=label, includes=includes, sub_labels=tuple(n for n in offered if n in chosen))

    def _problem(self, vote: Vote) -> str:
        kind = self._store.kind
        if kind.include is not None and vote.includes is None:
            return "need_include"
        if vote.label is None and vote.includes is not False:
            return "need_label"
        return "need_sub_label" if kind.sub_labels.get(vote.label or "") and not vote.sub_labels else ""

    # ---- the lead ---------------------------------------------------------------------------------------------------------

    def agreement(self, request: Request, annotator: str) -> Response:
        """How far the annotators agree, now."""
        measured = measure_agreement(self._store.schema, self._store.items(), self._store.votes())
        return self._page(request, "annotate_agreement.html", annotator=annotator, counts=counts(self._store), measured=measured)

    def adjudicate(self, request: Request, annotator: str) -> Response:
        """The next text without a majority: what everybody said, and the form that decides."""
        open_items = conflicts(self._store)
        item = next((one for one in open_items if one.id == request.query_params.get("item")), None) or next(iter(open_items), None)
        votes = state_of(self._store).votes.get(item.id, []) if item else []
        said = request.query_params.get("said", "")
        return self._page(
            request, "annotate_adjudicate.html", annotator=annotator, item=item, votes=votes, left=len(open_items), said=said
        )

    def rule(self, request: Request, annotator: str) -> Response:
        """Keep an adjudication."""
        item = self._store.item(str(request.state.form.get("item")))
        vote = self._vote(request.state.form, annotator)
        problem = self._problem(vote)
        if problem:
            return RedirectResponse(f"/adjudicate?item={item.id}&said={problem}", 303)
        self._store.rule(item.id, vote)
        return RedirectResponse("/adjudicate?said=saved", 303)

    def export(self, request: Request, _annotator: str) -> Response:
        """The annotations as a file."""
        form: Any = request.query_params.get("format", "kosbi")
        text = render(self._store, self._store.items(), form)
        name = f"{self._store.kind.name}s.{form}.{'csv' if form == 'csv' else 'json'}"
        return Response(text, media_type=FORMATS[form], headers={"content-disposition": f'attachment; filename="{name}"'})

    # ---- beneath ----------------------------------------------------------------------------------------------------------

    async def static(self, request: Request) -> Response:
        """The page's own style and script."""
        kinds = {"annotate.css": "text/css", "annotate.js": "text/javascript"}
        name = request.path_params["name"]
        if name not in kinds:
            return _secured(PlainTextResponse("Not found.", 404))
        return _secured(Response((STATIC / name).read_text(encoding="utf-8"), media_type=kinds[name]))

    def _page(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        language = _language(request)
        schema = self._store.schema
        text = self._pages.get_template(template).render(
            words=WORDS[language],
            names=schema.words[language],
            warning=schema.warning[language],
            language=language,
            schema=schema,
            kind=self._store.kind,
            include_keys=INCLUDE_KEYS,
            sub_label_keys=SUB_LABEL_KEYS,
            csrf=self._csrf(request.cookies.get(SESSION, "")),
            is_lead=self._store.is_lead(values["annotator"]) if "annotator" in values else False,
            path=request.url.path,
            **values,
        )
        response = HTMLResponse(text, status)
        if request.query_params.get("language") in WORDS:
            response.set_cookie(LANGUAGE, language, samesite="strict", max_age=365 * 24 * 3600)
        return response

    def _message(self, request: Request, message: str) -> str:
        words = WORDS[_language(request)]
        return self._pages.get_template("annotate_message.html").render(words=words, message=message, language=_language(request))

    def _csrf(self, session: str) -> str:
        """A word that only a page we gave to this very session can know."""
        return hmac.new(self._store.fact("secret").encode(), session.encode(), hashlib.sha256).hexdigest()

    def _from_our_form(self, request: Request, session: str) -> bool:
        origin = request.headers.get("origin")
        ours = origin is None or urlsplit(origin).netloc == request.headers.get("host")
        return ours and hmac.compare_digest(str(request.state.form.get("csrf", "")).encode(), self._csrf(session).encode())

    def _known_host(self, request: Request) -> bool:
        return self._hosts is None or (request.url.hostname or "").strip("[]") in self._hosts


def _language(request: Request) -> str:
    asked = (request.query_params.get("language"), request.cookies.get(LANGUAGE), request.headers.get("accept-language", "")[:2])
    return next((word for word in asked if word in WORDS), "ko")


def _secured(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _refused(_request: Request, error: Exception) -> Response:
    return _secured(PlainTextResponse(str(error), 400))
