"""Data: the tables of FOLDER, uploads, how a table was read with every decision as a control, and what to predict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from foldwise.app.workbench.bench import Workbench, bench_of, form_of, go_to, render
from foldwise.app.workbench.choices import DROP, KINDS, TableChoices, read_choices, write_choices
from foldwise.app.workbench.column_cards import distribution
from foldwise.app.workbench.folder import TableFile
from foldwise.app.workbench.wording import address
from foldwise.errors import InputError

DESCRIBE = "foldwise.app.workbench.describing:describe"
SEPARATORS = {",": "comma", ";": "semicolon", "\\t": "tab", "|": "bar", " ": "space", ":": "colon"}
BUDGETS = ("10s", "30s", "60s", "5m", "15m", "1h")


async def home(request: Request) -> Response:
    """Lead to the list of tables."""
    return RedirectResponse("/data", 303)


async def tables(request: Request) -> Response:
    """List the tables of the folder."""
    bench = bench_of(request)
    return render(request, "tables.html", tables=bench.folder.tables(), limit=bench.upload_bytes)


async def upload(request: Request) -> Response:
    """Write the body to a new table file. It appears when it is complete."""
    bench, said = bench_of(request), request.query_params.get("name", "")
    bench.folder.new_table_path(said)  # refuses other endings before anything is stored
    draft = bench.folder.state("uploads") / f"{os.urandom(8).hex()}.part"
    try:
        with draft.open("xb") as file:
            async for chunk in request.stream():  # the layer around the application counts its bytes
                file.write(chunk)
        path = bench.folder.new_table_path(said)
        publish(draft, path)
    except OSError as error:
        raise HTTPException(507, f"The file could not be stored: {(error.strerror or 'error').lower()}.") from error
    finally:
        draft.unlink(missing_ok=True)
    return Response(f"/data/{address(path.name)}", 201, media_type="text/plain")


def publish(draft: Path, path: Path) -> None:
    """Give a complete file its name. Unlike a rename, a hard link never replaces a file; not every disk has them."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o666))
        os.replace(draft, path)


async def table(request: Request) -> Response:
    """Show one table."""
    bench = bench_of(request)
    file = bench.table(request)
    return await table_page(request, file, read_choices(bench.folder, file.name))


async def choose(request: Request) -> Response:
    """Store what was chosen, and show the table as it is read now."""
    file, choices = await chosen(request)
    return await table_page(request, file, choices)


async def forget(request: Request) -> Response:
    """Go back to what Foldwise decides."""
    bench = bench_of(request)
    file = bench.table(request)
    write_choices(bench.folder, file.name, TableChoices())
    return go_to(request, f"/data/{address(file.name)}")


async def start(request: Request) -> Response:
    """Store what was chosen, and let a run wait for its turn."""
    file, choices = await chosen(request)
    bench = bench_of(request)
    out = bench.folder.new_run_path(file.path)
    bench.queue.add(out, choices.arguments(file, out, bench.folder))
    bench.queue.step()
    return go_to(request, f"/runs/{address(out.name)}")


async def explore(request: Request) -> Response:
    """Store what was chosen, and let an exploration wait for its turn. It needs no target."""
    file, choices = await chosen(request)
    bench = bench_of(request)
    out = bench.folder.new_run_path(file.path, "explore")
    bench.queue.add(out, choices.exploring(file, out))
    bench.queue.step()
    return go_to(request, f"/runs/{address(out.name)}")


async def chosen(request: Request) -> tuple[TableFile, TableChoices]:
    """Store the choices of the form."""
    bench = bench_of(request)
    file = bench.table(request)
    choices = TableChoices.of_form(await form_of(request), read_choices(bench.folder, file.name))
    write_choices(bench.folder, file.name, choices)
    return file, choices


async def table_page(request: Request, file: TableFile, choices: TableChoices) -> Response:
    """The page of a table; one that cannot be read shows its error beside the controls."""
    facts, error = None, ""
    try:
        facts = await described(bench_of(request), file, choices)
    except InputError as refusal:
        error = str(refusal)
    task = choices.task or ((facts or {}).get("target") or {}).get("task", "")
    cards = [] if facts is None else [{**one, "picture": distribution(one)} for one in facts["columns"]]
    detected = {} if facts is None else facts["detected"]
    shown: dict[str, Any] = {
        "file": file,
        "choices": choices,
        "facts": facts,
        "error": error,
        "cards": cards,
        "detected": detected,
    }
    metrics = (facts or {}).get("metrics", {}).get(task, ())
    lists: dict[str, Any] = {"kinds": KINDS, "drop": DROP, "separators": SEPARATORS, "metrics": metrics}
    return render(request, "table.html", **shown, **lists, task=task, budgets=BUDGETS)


async def described(bench: Workbench, file: TableFile, choices: TableChoices) -> dict[str, Any]:
    """What a worker found in the file."""
    given: dict[str, Any] = {"path": str(file.path), "options": choices.options().keywords(), "target": choices.target}
    facts = await bench.work(DESCRIBE, files=(file.path,), **given)
    assert isinstance(facts, dict)
    return facts


ROUTES = [
    Route("/", home),
    Route("/data", tables),
    Route("/data/upload", upload, methods=["POST"]),
    Route("/data/{table}", table),
    Route("/data/{table}", choose, methods=["POST"]),
    Route("/data/{table}/forget", forget, methods=["POST"]),
    Route("/data/{table}/run", start, methods=["POST"]),
    Route("/data/{table}/explore", explore, methods=["POST"]),
]
