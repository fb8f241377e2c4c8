"""Layers around a web application, in plain ASGI: allowed hosts, token, body limit, security headers, errors.

Each layer wraps an application and is one itself; `protected` puts them in order. They pass on anything that is not an
HTTP request, except that web sockets are refused.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foldwise.app.web.tokens import same_token, sent_token

LOG = logging.getLogger("foldwise.web")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

Render = Callable[[int, str], Response]  # from a status and a sentence to a response


def json_error(status: int, sentence: str) -> Response:
    """Return an error as JSON: `{"error": "…"}`."""
    return Response(json.dumps({"error": sentence}), status, media_type="application/json")


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of a request with this lower-case name."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


def protected(
    app: ASGIApp,
    hosts: Collection[str],
    n_bytes: int,
    *,
    token: str | None = None,
    headers: dict[str, str] | None = None,
    render: Render = json_error,
) -> ASGIApp:
    """Wrap an application in all layers: even a refused request gets an error in plain words and security headers.

    Parameters
    ----------
    app : ASGI application
        What answers the requests that pass.
    hosts : collection of str
        Names that a Host header may have, such as `ServerAddress.allowed_hosts`.
    n_bytes : int
        The largest body.
    token : str, optional
        If given, every request must carry it in its Authorization header.
    headers : dict, optional
        Security headers that replace those of `HEADERS`.
    render : callable, optional
        Makes a response of a status and a sentence.
    """
    app = BodyLimit(app, n_bytes)
    app = app if token is None else TokenRequired(app, token)
    return SecurityHeaders(PlainErrors(AllowedHosts(app, hosts), render), headers)


class HttpLayer(ABC):
    """Base of the layers: HTTP requests are answered by the layer, and anything else is passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        await (self.answer if scope["type"] == "http" else self._app)(scope, receive, send)

    @abstractmethod
    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request."""


class PlainErrors(HttpLayer):
    """Answers an exception with its sentence, or with "internal error". The stack trace goes to the log only.

    An `HTTPException` of Starlette states status, sentence and headers itself.
    """

    def __init__(self, app: ASGIApp, render: Render = json_error) -> None:
        super().__init__(app)
        self._render = render

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse a web socket."""
        if scope["type"] != "websocket":
            await super().__call__(scope, receive, send)
            return
        await receive()
        await send({"type": "websocket.close", "code": 1008})

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and turn an exception into an answer."""
        is_started = False

        async def watch(message: Message) -> None:
            nonlocal is_started
            is_started = is_started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except HTTPException as error:
            if is_started:
                raise
            response = self._render(error.status_code, error.detail)
            response.headers.update(error.headers or {})
            await response(scope, receive, send)
        except Exception:
            LOG.exception("internal error at %s %s", scope["method"], scope["path"])
            if is_started:
                raise  # the connection is closed, so that nobody takes half an answer for a whole one
            await self._render(500, "internal error. The log of the server has the details.")(scope, receive, send)


class SecurityHeaders(HttpLayer):
    """Adds security headers to every response, unless the response has its own."""

    def __init__(self, app: ASGIApp, headers: dict[str, str] | None = None) -> None:
        super().__init__(app)
        self._headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in {**HEADERS, **(headers or {})}.items()]

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to its response."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                present = {key.lower() for key, _ in own}
                message["headers"] = own + [one for one in self._headers if one[0] not in present]
            await send(message)

        await self._app(scope, receive, with_headers)


class AllowedHosts(HttpLayer):
    """Refuses requests whose Host header names another computer (DNS rebinding)."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        super().__init__(app)
        self._hosts = frozenset(name.lower().encode("latin-1") for name in hosts)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it has one Host header with an allowed name."""
        named = [value for key, value in scope["headers"] if key == b"host"]
        if len(named) != 1 or host_name(named[0]) not in self._hosts:
            raise HTTPException(
                421, "the Host header must name this server. Hint: start it with --allowed-host and the name."
            )
        await self._app(scope, receive, send)


def host_name(value: bytes) -> bytes:
    """Return the name in a Host header, without the port.

    >>> host_name(b"LocalHost:8000"), host_name(b"[::1]:8000"), host_name(b"a.b")
    (b'localhost', b'[::1]', b'a.b')
    """
    value = value.strip().lower()
    if value.startswith(b"["):
        return value[: value.find(b"]") + 1]
    return value.partition(b":")[0].removesuffix(b".")


class TokenRequired(HttpLayer):
    """Refuses every request without the token in its Authorization header."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        super().__init__(app)
        self._token = token.encode()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it carries the token."""
        if not same_token(sent_token(header(scope, b"authorization") or b""), self._token):
            raise HTTPException(
                401,
                "this server needs its token. Hint: send the header Authorization: Bearer TOKEN.",
                headers={"www-authenticate": 'Bearer, Basic realm="Foldwise: the token is the password"'},
            )
        await self._app(scope, receive, send)


class BodyLimit(HttpLayer):
    """Refuses bodies above a number of bytes. They are counted while they arrive; a stated length is not trusted."""

    def __init__(self, app: ASGIApp, n_bytes: int) -> None:
        super().__init__(app)
        self._n_bytes = n_bytes

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and stop reading when its body is too large."""
        stated = header(scope, b"content-length")
        if stated is not None and stated.isdigit() and (len(stated) > 18 or int(stated) > self._n_bytes):
            raise self._refusal()
        n_received = 0

        async def count() -> Message:
            nonlocal n_received
            message = await receive()
            if message["type"] == "http.request":
                n_received += len(message.get("body", b""))
                if n_received > self._n_bytes:
                    raise self._refusal()
            return message

        await self._app(scope, count, send)

    def _refusal(self) -> HTTPException:
        return HTTPException(
            413, f"the body is larger than {self._n_bytes:,} bytes. Hint: send fewer rows.", {"connection": "close"}
        )
