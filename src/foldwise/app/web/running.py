"""Start and stop a web server: on SIGTERM or Ctrl-C, open requests are finished before the process ends."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from foldwise.app.timing import GRACE_SECONDS, KEEP_ALIVE_SECONDS
from foldwise.app.web.address import ServerAddress, listening_socket
from foldwise.app.web.limited_protocol import LimitedProtocol


class WebServer(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, when_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._when_ready()


def make_server(app: ASGIApp, address: ServerAddress, when_ready: Callable[[], None], **options: Any) -> WebServer:
    """Configure a server. `options` are settings of uvicorn."""
    settings: dict[str, Any] = {
        "log_config": None,  # errors go to the log of the program
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # nobody may claim another address
        "http": LimitedProtocol,
        "ws": "none",
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": GRACE_SECONDS,
        "ssl_certfile": address.cert,
        "ssl_keyfile": address.key,
    }
    return WebServer(uvicorn.Config(app, **{**settings, **options}), when_ready)


def run_server(app: ASGIApp, address: ServerAddress, when_ready: Callable[[str], None], **options: Any) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish open requests and return.

    Parameters
    ----------
    app : ASGI application
        What answers the requests.
    address : ServerAddress
        Where to listen.
    when_ready : callable
        Called with the URL once the server accepts connections.
    **options
        Settings of uvicorn.
    """
    with listening_socket(address) as listening:
        url = address.url(listening.getsockname()[1])
        with no_interrupts():
            make_server(app, address, lambda: when_ready(url), **options).run([listening])


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Let the server handle signals alone: it raises them again after a graceful stop, which is a success here."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
