"""Talks to the workbench in the same process, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from foldwise.app.web.address import ServerAddress
from foldwise.app.workbench.bench import Workbench
from foldwise.app.workbench.folder import WorkFolder
from foldwise.app.workbench.server import make_app

BASE = "http://127.0.0.1:8765"
ORIGIN = {"origin": BASE}


class BenchClient:
    """A workbench on a folder, and a browser that has its cookie unless told otherwise."""

    def __init__(self, folder: Path, upload_bytes: int = 1 << 20) -> None:
        self.bench = Workbench(WorkFolder(folder), upload_bytes)
        self.app = make_app(self.bench, ServerAddress().allowed_hosts)
        self.token = str(self.bench.sign_in.token)
        self.cookie = self.bench.sign_in.cookie({"scheme": "http", "server": ("127.0.0.1", 8765)}).split(";")[0]

    def __call__(self, method: str, path: str, *, signed: bool = True, **given: Any) -> httpx.Response:
        """Send one request."""
        return asyncio.run(self._send(method, path, signed, given))

    async def _send(self, method: str, path: str, signed: bool, given: dict[str, Any]) -> httpx.Response:
        headers: Mapping[str, str] = {**({"cookie": self.cookie} if signed else {}), **given.pop("headers", {})}
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            answer = await client.request(method, path, headers=headers, **given)
        await self.bench.workers.close()
        return answer

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self("POST", path, **{"headers": ORIGIN, **given})

    def upload(self, name: str, content: bytes) -> httpx.Response:
        return self.post("/data/upload", params={"name": name}, content=content)


async def pieces(n: int, size: int) -> AsyncIterator[bytes]:
    """A body without a stated length."""
    for _ in range(n):
        yield b"x" * size
