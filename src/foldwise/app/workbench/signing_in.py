"""Who may use the workbench: a link that works once gives a cookie, and every request needs the cookie.

Other users of the same computer can connect to a local port, so there is always a token. Writes also need the Origin of
the workbench itself, so that other pages in the same browser cannot send them.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from foldwise.app.web.middleware import HttpLayer, header
from foldwise.app.web.tokens import new_token, same_token

SAFE = ("GET", "HEAD")


class SignIn:
    """The token of the printed link, until it is used, and the secret of the cookie it is exchanged for."""

    def __init__(self) -> None:
        self.token: str | None = new_token()
        self._secret = new_token()

    def redeem(self, given: str) -> bool:
        """Whether a token is valid. It is used up then."""
        if self.token is None or not same_token(given, self.token):
            return False
        self.token = None
        return True

    def cookie(self, scope: Scope) -> str:
        """The cookie that is set. Its name contains the port, because cookies are shared by all ports of a host."""
        secure = "; Secure" if scope["scheme"] == "https" else ""
        return f"{cookie_name(scope)}={self._secret}; HttpOnly; SameSite=Strict; Path=/{secure}"

    def knows(self, scope: Scope) -> bool:
        """Whether a request has the cookie."""
        try:
            sent = SimpleCookie((header(scope, b"cookie") or b"").decode("latin-1")).get(cookie_name(scope))
        except CookieError:
            return False
        return sent is not None and same_token(sent.value.encode(), self._secret)


class SignInRequired(HttpLayer):
    """Refuses requests without the cookie, and writes from another origin. `/?token=…` exchanges the token."""

    def __init__(self, app: ASGIApp, sign_in: SignIn) -> None:
        super().__init__(app)
        self._sign_in = sign_in

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it has the cookie, or set the cookie."""
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["method"] == "GET" and scope["path"] == "/" and tokens:
            await self._exchange(tokens[0], scope, receive, send)
            return
        if not self._sign_in.knows(scope):
            raise HTTPException(
                401,
                "This page needs the link that foldwise ui printed, and each link works once. Restart foldwise ui "
                "to get a new link. Runs continue in the meantime.",
            )
        if scope["method"] not in SAFE and header(scope, b"origin") != own_origin(scope):
            raise HTTPException(403, "This request came from another page, so nothing was changed.")
        await self._app(scope, receive, send)

    async def _exchange(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {}
        if self._sign_in.redeem(token):
            headers["set-cookie"] = self._sign_in.cookie(scope)
        elif not self._sign_in.knows(scope):
            raise HTTPException(401, "This link was already used. Restart foldwise ui to get a new one.")
        await RedirectResponse("/", 303, headers)(scope, receive, send)  # the token leaves the address bar


def own_origin(scope: Scope) -> bytes:
    """The Origin that a browser sends with requests of our own pages."""
    return str(scope["scheme"]).encode() + b"://" + (header(scope, b"host") or b"")


def cookie_name(scope: Scope) -> str:
    server = scope.get("server") or ("", 0)
    return f"foldwise-{server[1]}"
