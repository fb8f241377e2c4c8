"""Check: what changed in a new table since the training of a run."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from foldwise.app.run_folder import MODEL, current
from foldwise.app.timing import FILE_SECONDS
from foldwise.app.workbench.bench import bench_of, render
from foldwise.app.workbench.choices import read_choices
from foldwise.app.workbench.pages.result import markup_of

ROOM = "foldwise.app.workbench.checked_table:"


async def check(request: Request) -> Response:
    """Show the tables to choose from, and the check of the one that the address names."""
    bench = bench_of(request)
    view = bench.run(request)
    if not view.has_result:
        raise HTTPException(404, "This run has no model yet.")
    model, facts = current(view.folder, MODEL), None
    target = await bench.work(f"{ROOM}target_of", files=(model,), folder=str(view.folder))
    asked = request.query_params.get("table", "")
    labels = target if "labels" in request.query_params else None
    if asked:
        table = bench.folder.table(asked)
        if table is None:
            raise HTTPException(404, "There is no such table in this folder.")
        reading = read_choices(bench.folder, table.name).options().keywords()
        given: dict[str, Any] = {
            "folder": str(view.folder),
            "table": str(table.path),
            "labels": labels,
            "reading": reading,
        }
        found = await bench.work(f"{ROOM}check_table", seconds=FILE_SECONDS, files=(model, table.path), **given)
        sections = [{**one, "body": markup_of(one["body"])} for one in found["sections"]]
        facts = {"top": markup_of(found["top"]), "sections": sections}
    shown = {"tables": bench.folder.tables(), "target": target, "asked": asked, "labels": labels}
    return render(request, "check.html", view=view, facts=facts, **shown)


ROUTES = [Route("/runs/{run}/check", check)]
