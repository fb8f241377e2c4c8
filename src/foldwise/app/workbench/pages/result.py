"""Result: the headline, the leaderboard and the report of a run that has a result."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from foldwise.app.run_folder import BACKGROUND, FACTS, HELD_OUT, MODEL, REPORT, current
from foldwise.app.workbench.bench import Workbench, bench_of, render
from foldwise.app.workbench.folder import safe_name
from foldwise.app.workbench.queue import RunView
from foldwise.report.markup import Html, embedded

ROOM = "foldwise.app.workbench."
# the report has scripts of its own: it gets an origin of its own, and may be shown only inside the workbench
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


async def result_page(request: Request, view: RunView) -> Response:
    """The result of a run."""
    bench = bench_of(request)
    facts, decision = await asyncio.gather(facts_of(bench, view), decision_of(bench, view))
    if facts["is_fit"]:
        bench.prepare(**row_form(view))
    return render(request, "result.html", view=view, facts=facts, decision=decision)


async def facts_of(bench: Workbench, view: RunView, whole: bool = False) -> dict[str, Any]:
    """The top and the sections of a result as markup."""
    given: dict[str, Any] = {"files": (current(view.folder, FACTS),), "folder": str(view.folder), "whole": whole}
    facts = await bench.work(f"{ROOM}run_results:result_facts", **given)
    sections = [{**one, "body": markup_of(one["body"])} for one in facts["sections"]]
    return {**facts, "top": markup_of(facts["top"]), "sections": sections}


async def decisions(request: Request) -> Response:
    """The part of the page with the threshold, for another class."""
    view = bench_of(request).run(request)
    decision = await decision_of(bench_of(request), view, request.query_params.get("of", ""))
    if decision is None:
        raise HTTPException(404, "This run has no held-out predictions of classes.")
    return render(request, "decisions.html", view=view, decision=decision)


async def decision_of(bench: Workbench, view: RunView, of: str = "") -> dict[str, Any] | None:
    """Counts for the decisions about one class, and as markup for the script that adds them up."""
    files = (current(view.folder, FACTS), current(view.folder, HELD_OUT))
    facts = await bench.work(f"{ROOM}decisions:decision_facts", files=files, folder=str(view.folder), of=of)
    return None if facts is None else {**facts, "embedded": embedded(facts, "decision-facts")}


def row_form(view: RunView) -> dict[str, Any]:
    """The request for the form of *Predict*. A worker prepares it while the result is read."""
    files = (current(view.folder, MODEL), current(view.folder, BACKGROUND))
    return {"function": f"{ROOM}one_row:row_form", "files": files, "folder": str(view.folder)}


def markup_of(text: str) -> Html:
    """Markup that the sections of the report made in a worker. Styles in attributes are not allowed on our pages."""
    return Html(text.replace(' style="--share:', ' data-share="').replace("<h1>", "<h2>").replace("</h1>", "</h2>"))


async def predictions(request: Request) -> Response:
    """The held-out predictions as a CSV file."""
    bench = bench_of(request)
    view = bench.run(request)
    if not bench.folder.holds(current(view.folder, HELD_OUT)):
        raise HTTPException(404, "This run has no held-out predictions.")
    out = bench.folder.state("downloads") / f"{os.urandom(8).hex()}.csv"
    await bench.work(f"{ROOM}held_out_rows:write_predictions", folder=str(view.folder), out=str(out))
    return download(out, f"{safe_name(view.name)}-held-out.csv")


def download(path: Path, name: str) -> Response:
    """A file that the browser saves and does not show. It is removed afterwards."""
    headers = {"content-disposition": f'attachment; filename="{safe_name(name)}"'}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(path, media_type="application/octet-stream", headers=headers, background=remove)


async def report_frame(request: Request) -> Response:
    """The page that shows the report in a sandboxed frame. A print would cut it off, so it contains the sections."""
    bench = bench_of(request)
    view = bench.run(request)
    facts = await facts_of(bench, view, whole=True) if view.has_result else None
    return render(request, "report.html", view=view, facts=facts)


async def report(request: Request) -> Response:
    """The report itself, as its file has it."""
    bench = bench_of(request)
    view = bench.run(request)
    path = current(view.folder, REPORT)
    if not path.is_file() or not bench.folder.holds(path):
        raise HTTPException(404, "This run has no report yet.")
    headers = {"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
    if "download" in request.query_params:
        headers["content-disposition"] = 'attachment; filename="report.html"'
    return Response(path.read_bytes(), media_type="text/html; charset=utf-8", headers=headers)


ROUTES = [
    Route("/runs/{run}/report", report_frame),
    Route("/runs/{run}/report.html", report),
    Route("/runs/{run}/held-out.csv", predictions),
    Route("/runs/{run}/decisions", decisions),
]
