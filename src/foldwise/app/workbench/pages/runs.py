"""Runs: all runs of FOLDER, and the progress of one while it runs, as an event stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from foldwise.app.timing import FOLDER_PAUSE, STREAM_QUIET, seconds_of
from foldwise.app.workbench.bench import bench_of, fill, form_of, go_to, render
from foldwise.app.workbench.pages.result import result_page
from foldwise.app.workbench.queue import RunQueue, RunView
from foldwise.app.workbench.wording import address


async def runs(request: Request) -> Response:
    """List all runs."""
    return render(request, "runs.html", runs=bench_of(request).queue.views())


async def run(request: Request) -> Response:
    """Show one run: its progress, and its result if there is one."""
    view = bench_of(request).run(request)
    if view.has_result and not view.is_active and view.state != "queued":
        return await result_page(request, view)
    return render(request, "run.html", view=view)


async def stop(request: Request) -> Response:
    """Stop a run and keep what it found; a run that waits is taken from the list."""
    bench = bench_of(request)
    view = bench.run(request)
    if view.is_active:
        bench.queue.stop(view.name)
        return go_to(request, f"/runs/{address(view.name)}")
    if view.state == "queued" or not view.folder.is_dir():
        bench.queue.remove(view.name)
    return go_to(request, "/runs")


async def resume(request: Request) -> Response:
    """Give a run more time."""
    bench = bench_of(request)
    view, form = bench.run(request), await form_of(request)
    budget = form.get("budget", "60s")
    seconds_of(budget)
    if view.can_resume:
        bench.queue.add(view.folder, ["fit", f"--resume={view.name}", f"--budget={budget}"])
        bench.queue.step()
    return go_to(request, f"/runs/{address(view.name)}")


async def events(request: Request) -> Response:
    """The progress of a run as server-sent events, each a part of the page."""
    bench = bench_of(request)
    view = bench.run(request)
    headers = {"x-accel-buffering": "no"}
    return StreamingResponse(stream(bench.queue, view), media_type="text/event-stream", headers=headers)


async def stream(queue: RunQueue, view: RunView | None) -> AsyncIterator[str]:
    """Look at a run folder again and again, and send what changed until the run has ended."""
    sent, quiet = "", 0.0
    name = "" if view is None else view.name
    while view is not None and (view.is_active or view.state == "queued"):
        part = fill("progress.html", view=view)
        if part != sent:
            yield event("progress", part)
            sent, quiet = part, 0.0
        elif (quiet := quiet + FOLDER_PAUSE) > STREAM_QUIET:
            yield ": still there\n\n"
            quiet = 0.0
        await asyncio.sleep(FOLDER_PAUSE)
        view = queue.view(name)
    yield event("ended", "ended")


def event(name: str, text: str) -> str:
    """One server-sent event.

    >>> event("progress", "<p>\\nx")
    'event: progress\\ndata: <p>\\ndata: x\\n\\n'
    """
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return f"event: {name}\n{lines}\n"


ROUTES = [
    Route("/runs", runs),
    Route("/runs/{run}", run),
    Route("/runs/{run}/events", events),
    Route("/runs/{run}/stop", stop, methods=["POST"]),
    Route("/runs/{run}/resume", resume, methods=["POST"]),
]
