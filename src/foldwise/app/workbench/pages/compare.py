"""Compare: finished runs side by side, with a test of their differences."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from foldwise.app.run_folder import FACTS, current
from foldwise.app.workbench.bench import bench_of, render

COMPARE_RUNS = "foldwise.app.workbench.side_by_side:compare_runs"
MOST = 6


async def compare(request: Request) -> Response:
    """Show the runs that the address names, and let others be chosen."""
    bench = bench_of(request)
    finished = [one for one in bench.queue.views() if one.has_result and not one.is_exploration]
    asked = list(dict.fromkeys(request.query_params.getlist("run")))[:MOST]
    known = {one.name: one for one in finished}
    if any(name not in known for name in asked):
        raise HTTPException(404, "There is no such run in this folder.")
    facts = None
    if len(asked) > 1:
        folders = [known[name].folder for name in asked]
        files = tuple(current(folder, FACTS) for folder in folders)
        facts = await bench.work(COMPARE_RUNS, files=files, folders=[str(folder) for folder in folders])
    return render(request, "compare.html", runs=finished, asked=asked, facts=facts, most=MOST)


ROUTES = [Route("/compare", compare)]
