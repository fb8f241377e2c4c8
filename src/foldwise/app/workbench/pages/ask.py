"""Ask: a form made from the columns of a model predicts one row and explains it; a file is predicted as a whole."""

from __future__ import annotations

import os
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from foldwise.app.timing import FILE_SECONDS
from foldwise.app.workbench.bench import bench_of, form_of, render
from foldwise.app.workbench.choices import read_choices
from foldwise.app.workbench.folder import ending
from foldwise.app.workbench.pages.result import download, row_form
from foldwise.app.workbench.queue import RunView
from foldwise.app.workbench.row_pictures import curve, reasons
from foldwise.errors import InputError

ROOM = "foldwise.app.workbench."
CELL = "cell:"  # before the names of fields


async def ask(request: Request) -> Response:
    """Show the form with a typical row."""
    view, form = await form_of_run(request)
    cells = {one["name"]: one["typical"] for one in form["fields"]}
    return render(request, "ask.html", **shared(request, view, form), cells=cells)


async def answer(request: Request) -> Response:
    """Predict the row of the form."""
    bench = bench_of(request)
    view, form = await form_of_run(request)
    given = await form_of(request)
    cells = {name.removeprefix(CELL): text for name, text in given.items() if name.startswith(CELL)}
    shown: dict[str, Any] = {**shared(request, view, form), "cells": cells}
    try:
        found = await bench.work(
            f"{ROOM}one_row:ask_row", folder=str(view.folder), cells=cells, tables=str(bench.folder.path)
        )
    except InputError as error:
        return render(request, "ask.html", **shown, error=str(error))
    is_share = form["task"] == "classification"
    what = f"probability of {found['class']}" if is_share else form["target"] or "prediction"
    pictures = [curve(one, what, is_share) for one in found["curves"]]
    return render(request, "ask.html", **shown, answer=found, reasons=reasons(found), curves=pictures)


def shared(request: Request, view: RunView, form: dict[str, Any]) -> dict[str, Any]:
    """What the page shows before and after a prediction."""
    tables = bench_of(request).folder.tables()
    return {"view": view, "form": form, "tables": tables, "trained_on": form["table"]}


async def predict_table(request: Request) -> Response:
    """Predict a table of the folder, and send the predictions as a file."""
    bench = bench_of(request)
    view, _ = await form_of_run(request)
    table = bench.folder.table(request.query_params.get("table", ""))
    if table is None:
        raise HTTPException(404, "There is no such table in this folder.")
    out = bench.folder.state("downloads") / f"{os.urandom(8).hex()}.csv"
    reading = read_choices(bench.folder, table.name).options().keywords()
    given: dict[str, Any] = {"folder": str(view.folder), "table": str(table.path), "out": str(out), "reading": reading}
    await bench.work(f"{ROOM}whole_file:predict_whole_file", seconds=FILE_SECONDS, **given)
    return download(out, f"{table.name.removesuffix(ending(table.name))}-predictions.csv")


async def form_of_run(request: Request) -> tuple[RunView, dict[str, Any]]:
    """The run of the address, and the fields of its form."""
    bench = bench_of(request)
    view = bench.run(request)
    if not view.has_result:
        raise HTTPException(404, "This run has no model yet.")
    form = await bench.work(**row_form(view))
    assert isinstance(form, dict)
    return view, form


ROUTES = [
    Route("/runs/{run}/ask", ask),
    Route("/runs/{run}/ask", answer, methods=["POST"]),
    Route("/runs/{run}/predictions", predict_table),
]
