"""Ask an ASGI application without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def send_request(
    app: Any,
    method: str,
    path: str,
    body: bytes | Iterable[bytes] = b"",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request; a body of several parts arrives part by part."""
    path, _, query = path.partition("?")
    given = {"host": "localhost:8000", **(headers or {})}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(key.lower().encode(), value.encode()) for key, value in given.items()],
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
        "root_path": "",
        "state": {},
    }
    parts = iter([body] if isinstance(body, bytes) else body)
    pending = [next(parts, b"")]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not pending:
            await asyncio.sleep(3600)
        part = pending.pop()
        following = next(parts, None)
        if following is not None:
            pending.append(following)
        return {"type": "http.request", "body": part, "more_body": following is not None}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    headers_back = {key.decode(): value.decode() for key, value in start["headers"]}
    return Reply(start["status"], headers_back, b"".join(one.get("body", b"") for one in sent[1:]))


def ask(app: Any, method: str, path: str, body: Any = b"", headers: Mapping[str, str] | None = None) -> Reply:
    return asyncio.run(send_request(app, method, path, body, headers))
