"""Result: the headline, the leaderboard and the report of a run that has a result."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from foldwise.app.run_folder import FACTS, REPORT, current
from foldwise.app.workbench.bench import bench_of, render
from foldwise.app.workbench.queue import RunView

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
    return render(request, "result.html", view=view, facts=facts)


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
]
