"""`serve_workbench`: the web application of the workbench with its layers, and `foldwise ui`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from foldwise.app.web.address import ServerAddress
from foldwise.app.web.middleware import POLICY, protected
from foldwise.app.web.running import run_server
from foldwise.app.workbench.bench import Workbench, error_page
from foldwise.app.workbench.folder import WorkFolder
from foldwise.app.workbench.pages import PAGES
from foldwise.app.workbench.signing_in import SignInRequired
from foldwise.errors import InputError

STATIC = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
HEADERS = {"content-security-policy": f"{POLICY}; frame-src 'self'"}


class BenchApp:
    """Leads requests to pages, which find the workbench in their scope. Invalid input is answered with its sentence."""

    def __init__(self, bench: Workbench) -> None:
        routes = [*(route for page in PAGES for route in page.ROUTES), Route("/static/{name}", static)]
        self._bench = bench
        self._router = Router(routes, default=missing, lifespan=lambda app: lifespan(bench))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            await self._router({**scope, "foldwise": self._bench}, receive, send)
        except InputError as error:
            raise HTTPException(422, str(error)) from error


def make_app(bench: Workbench, hosts: frozenset[str]) -> ASGIApp:
    """The application: pages inside the layers that protect them."""
    inner = SignInRequired(BenchApp(bench), bench.sign_in)
    return protected(inner, hosts, bench.upload_bytes, headers=HEADERS, render=error_page)


async def missing(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer an address that no page has."""
    raise HTTPException(404, "There is no such page.")


@asynccontextmanager
async def lifespan(bench: Workbench) -> AsyncIterator[None]:
    """Keep the queue going while the server runs."""
    tasks = [asyncio.create_task(one) for one in (bench.keep_queue(), bench.workers.warm())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, InputError):
                await task
        await bench.close()


async def static(request: Request) -> Response:
    """A script or style that ships with the package."""
    name = request.path_params["name"]
    rooms = (files("foldwise.app.workbench").joinpath("static"), files("foldwise.report").joinpath("page"))
    for room in rooms:
        for file in room.iterdir():
            if file.name == name and Path(name).suffix in STATIC:
                headers = {"cache-control": "private, max-age=3600"}
                return Response(file.read_bytes(), media_type=STATIC[Path(name).suffix], headers=headers)
    raise HTTPException(404, "There is no such file.")


def serve_workbench(folder: Path, address: ServerAddress, upload_bytes: int) -> None:
    """Show a folder until Ctrl-C."""
    bench = Workbench(WorkFolder(folder), upload_bytes)

    def ready(url: str) -> None:
        print(f"Workbench on {bench.folder.path}\n\n  {url}/?token={bench.sign_in.token}\n", flush=True)
        print("Open this link in a browser. It works once. Press Ctrl-C to stop. Runs continue.", flush=True)

    run_server(make_app(bench, address.allowed_hosts), address, ready, timeout_graceful_shutdown=1)
