"""Who may see a page, and what a page may do: the token at the door, and headers that keep scripts and frames out.

On localhost no token is asked for. Anywhere else one must be given, once in the address or as a bearer; a cookie then remembers it.
"""

import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from fairwitness.errors import InputError

LOCAL = ("127.0.0.1", "localhost", "::1")
COOKIE = "fairwitness_token"
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' 'unsafe-inline'; "
    "img-src data: 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


def choose_token(host: str, token: str | None) -> str | None:
    """The token to ask for: none on localhost, the one given elsewhere. An open door to the network is refused."""
    if host in LOCAL or token:
        return token
    raise InputError(f"--host {host} can be reached from other machines, so a token is needed: --token {secrets.token_urlsafe(12)}")


class Guard:
    """Wraps an application: checks the host name and the token, allows reading only, and puts the headers on every answer."""

    def __init__(self, app: App, *, token: str | None, host: str) -> None:
        self._app, self._token = app, token
        # A page on another site can make a browser ask localhost under a name of its own; only our own names are answered.
        self._hosts = {*LOCAL, host.strip("[]")} if token is None else None

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send, {}))
            return
        remembered = {"set-cookie": f"{COOKIE}={quoted(self._token)}; HttpOnly; SameSite=Strict; Path=/"} if self._token else {}
        await self._app(scope, receive, _with_headers(send, remembered))

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("This viewer only reads.", 405)
        if self._hosts is not None and (request.url.hostname or "").strip("[]") not in self._hosts:
            return PlainTextResponse("Unknown host name.", 421)
        if self._token is not None and not any(secrets.compare_digest(word, self._token.encode()) for word in _offered(request)):
            return PlainTextResponse("A token is needed: open the address that 'fairwitness serve' printed.", 401)
        return None


def quoted(token: str) -> str:
    """A token as it stands in an address or a cookie, whatever characters it has.

    >>> quoted("a+b/c; ä")
    'a%2Bb%2Fc%3B%20%C3%A4'
    """
    return quote(token, safe="")


def _offered(request: Request) -> list[bytes]:
    """What a browser shows as the token. Headers come as Latin-1, whatever was sent."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ").encode("latin-1")
    in_address = request.query_params.get("token", "").encode(errors="replace")
    return [in_address, bearer, unquote_to_bytes(request.cookies.get(COOKIE, ""))]


def require_port(host: str, port: int) -> None:
    """Refuse an address that nobody can listen at, before anybody is told to go there."""
    if not 0 < port < 65536:
        raise InputError(f"--port is {port}; a number from 1 to 65535 was expected.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except OSError as error:
        raise InputError(f"Nobody can listen at {host}, port {port}: {error.strerror or error}. Take another --port.") from error


def _with_headers(send: Any, further: dict[str, str]) -> Callable[[Any], Awaitable[None]]:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            present = {name.decode().lower() for name, _ in message["headers"]}
            new = {name: value for name, value in {**HEADERS, **further}.items() if name not in present}
            message["headers"] = [*message["headers"], *((name.encode(), value.encode()) for name, value in new.items())]
        await send(message)

    return sending
