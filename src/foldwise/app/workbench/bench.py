"""`Workbench`: what handlers of pages use: the folder, its runs, workers, and templates that escape all text."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from foldwise.app.recording.lock import FolderLock
from foldwise.app.timing import PAGE_SECONDS, QUEUE_PAUSE
from foldwise.app.workbench.folder import TableFile, WorkFolder
from foldwise.app.workbench.queue import RunQueue, RunView
from foldwise.app.workbench.signing_in import SignIn
from foldwise.app.workbench.wording import FILTERS
from foldwise.app.workbench.worker import WorkerPool
from foldwise.errors import InputError

MOST_CACHED = 30
FORM_BYTES = 2 << 20


@dataclass
class Workbench:
    """One folder that is shown in browsers."""

    folder: WorkFolder
    upload_bytes: int
    sign_in: SignIn = field(default_factory=SignIn)
    workers: WorkerPool = field(default_factory=WorkerPool)

    def __post_init__(self) -> None:
        self.queue = RunQueue(self.folder)
        self._cached: OrderedDict[str, asyncio.Task[Any]] = OrderedDict()
        self._prepared: set[asyncio.Task[Any]] = set()
        try:
            self._lock = FolderLock(self.folder.state())
        except InputError:
            raise InputError(
                f"a workbench is already open on the folder {str(self.folder.path)!r}.",
                "use that one, or stop it first.",
            ) from None

    async def keep_queue(self) -> None:
        """Start waiting runs as long as the server runs."""
        while True:
            with suppress(OSError):
                self.queue.step()
            await asyncio.sleep(QUEUE_PAUSE)

    async def close(self) -> None:
        """End the workers and free the folder. Runs go on."""
        await self.workers.close()
        self._lock.close()

    async def work(
        self, function: str, *, files: tuple[Path, ...] = (), seconds: float = PAGE_SECONDS, **arguments: Any
    ) -> Any:
        """Call a function of this room in a worker. With files, its answer is kept until one of them changes."""
        if not files:
            return await self.workers(function, seconds, **arguments)
        key = json.dumps([function, arguments, *[stamp(path) for path in files]], sort_keys=True)
        if key not in self._cached:  # two requests for the same wait for one answer
            self._cached[key] = asyncio.create_task(self.workers(function, seconds, **arguments))
            while len(self._cached) > MOST_CACHED:
                self._cached.popitem(last=False)
        self._cached.move_to_end(key)
        try:
            return await asyncio.shield(self._cached[key])
        except Exception:
            self._cached.pop(key, None)
            raise

    def prepare(self, **request: Any) -> None:
        """Let a worker begin what will probably be asked next. Its errors are shown when it is asked."""
        if self.workers.is_warm:
            task = asyncio.create_task(self.work(**request))
            self._prepared.add(task)
            task.add_done_callback(self._prepared.discard)
            task.add_done_callback(lambda one: one.cancelled() or one.exception())

    def table(self, request: Request) -> TableFile:
        """The table that the address names by `{table}`."""
        found = self.folder.table(request.path_params["table"])
        if found is None:
            raise HTTPException(404, "There is no such table in this folder.")
        return found

    def run(self, request: Request) -> RunView:
        """The run that the address names by `{run}`."""
        found = self.queue.view(request.path_params["run"])
        if found is None:
            raise HTTPException(404, "There is no such run in this folder.")
        return found


def stamp(path: Path) -> list[Any]:
    """What changes when a file changes."""
    try:
        about = path.stat()
    except OSError:
        return [str(path)]
    return [str(path), about.st_mtime_ns, about.st_size, about.st_ino]


def bench_of(request: Request) -> Workbench:
    """The workbench of a request."""
    found = request.scope["foldwise"]
    assert isinstance(found, Workbench)
    return found


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, as texts; files are ignored."""
    length = request.headers.get("content-length", "")
    if not length.isdigit() or int(length) > FORM_BYTES:
        raise HTTPException(413, "The form is too large.")
    async with request.form(max_files=0, max_fields=10_000) as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("foldwise.app.workbench"),
    autoescape=True,
    undefined=jinja2.ChainableUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= FILTERS


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or a part of one, from its template."""
    bench = bench_of(request)
    shared = {"folder_name": bench.folder.path.name or "/", "path": request.url.path, "now": time.time()}
    return HTMLResponse(fill(template, **shared, **values), status)


def go_to(request: Request, where: str) -> Response:
    """Lead the browser to another address, after a form that htmx sent."""
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"hx-redirect": where})
    return RedirectResponse(where, 303)


def fill(template: str, **values: Any) -> str:
    """The text of a template with its values."""
    from foldwise.app.workbench.pages import MENU, RUN_MENU

    return ENVIRONMENT.get_template(template).render(menu=MENU, run_menu=RUN_MENU, **values)


def error_page(status: int, sentence: str) -> Response:
    """A page with one sentence, for any error."""
    return HTMLResponse(fill("error.html", status=status, sentence=sentence, folder_name="", path=""), status)
