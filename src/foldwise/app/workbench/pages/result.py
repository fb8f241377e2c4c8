"""Result: the headline, the leaderboard and the report of a run that has a result."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from foldwise.app.run_folder import FACTS, HELD_OUT, REPORT, current
from foldwise.app.workbench.bench import bench_of, render
from foldwise.app.workbench.folder import safe_name
from foldwise.app.workbench.queue import RunView
from foldwise.report.markup import Html, embedded

WRITE_PREDICTIONS = "foldwise.app.workbench.run_results:write_predictions"
RESULT_FACTS = "foldwise.app.workbench.run_results:result_facts"
# the report has scripts of its own: it gets an origin of its own, and may be shown only inside the workbench
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


async def result_page(request: Request, view: RunView) -> Response:
    """The result of a run."""
    files = (current(view.folder, FACTS),)
    facts = await bench_of(request).work(RESULT_FACTS, files=files, folder=str(view.folder))
    shown = {**facts, "top": markup_of(facts["top"])}
    shown["sections"] = [{**one, "body": markup_of(one["body"])} for one in facts["sections"]]
    decision = None if facts["decision"] is None else embedded(facts["decision"], "decision-facts")
    return render(request, "result.html", view=view, facts=shown, embedded_decision=decision)


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
    await bench.work(WRITE_PREDICTIONS, folder=str(view.folder), out=str(out))
    return download(out, f"{safe_name(view.name)}-held-out.csv")


def download(path: Path, name: str) -> Response:
    """A file that the browser saves and does not show. It is removed afterwards."""
    headers = {"content-disposition": f'attachment; filename="{safe_name(name)}"'}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(path, media_type="application/octet-stream", headers=headers, background=remove)


async def report_frame(request: Request) -> Response:
    """The page that shows the report in a sandboxed frame."""
    return render(request, "report.html", view=bench_of(request).run(request))


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
]
