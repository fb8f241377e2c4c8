"""HTTP connections whose headers are limited in time and size, before any application sees the request.

uvicorn waits for headers without end: a client could keep connections open, or fill the memory with one long header.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from foldwise.app.timing import HEADER_SECONDS

HEADER_BYTES = 1 << 16


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose headers are late or long. Between requests, the keep-alive time of uvicorn applies."""

    _timer: asyncio.TimerHandle | None = None
    _n_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._done()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the headers of a request."""
        self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop waiting: from here on, the limits of the application apply."""
        self._done()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read bytes."""
        super().data_received(data)
        if self._timer is not None:  # still headers
            self._n_bytes += len(data)
            if self._n_bytes > HEADER_BYTES:
                self._close()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._close)

    def _done(self) -> None:
        self._n_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._done()
        if not self.transport.is_closing():
            self.transport.close()
