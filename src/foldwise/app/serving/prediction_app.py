"""The web application of `foldwise serve`, in plain ASGI: routes, bodies, time limits and answers."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import polars as pl
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from foldwise.app.safe_cells import without_formulas
from foldwise.app.serving.json_rows import NotJsonError
from foldwise.app.serving.micro_batches import BusyError, MicroBatches
from foldwise.app.serving.openapi import document
from foldwise.app.serving.page import page, static_file
from foldwise.app.serving.request_words import request_words
from foldwise.app.serving.served_model import ColumnCells, RequestRows, ServedModel
from foldwise.app.serving.serving_metrics import ServingMetrics
from foldwise.app.web.middleware import header, json_error
from foldwise.data.target import written_labels
from foldwise.errors import FoldwiseError

LARGE_BODY = 1 << 15  # bytes: read in a thread, so that other requests go on
JSON, CSV = "application/json", "text/csv"


@dataclass(frozen=True)
class ServingLimits:
    """What one request may ask for.

    Parameters
    ----------
    n_bytes : int
        Size of the body.
    n_rows : int
        Number of rows.
    seconds : float
        Time until the answer.
    """

    n_bytes: int = 10_000_000
    n_rows: int = 100_000
    seconds: float = 30.0


class PredictionApp:
    """Answers requests for predictions by one or more models.

    Parameters
    ----------
    models : mapping of str to ServedModel
        The models by their names in URLs.
    limits : ServingLimits
        What one request may ask for.
    token : bool
        Whether clients need a token, which the OpenAPI document then says.
    """

    def __init__(
        self, models: Mapping[str, ServedModel], limits: ServingLimits | None = None, *, token: bool = False
    ) -> None:
        self._models, self._limits = dict(models), limits or ServingLimits()
        self._metrics = ServingMetrics()
        self._batches = {name: MicroBatches(model, self._watcher(name)) for name, model in models.items()}
        self._openapi = document(models, token=token)
        self._predict_paths = {f"/models/{name}/predict": name for name in models}
        if len(models) == 1:
            self._predict_paths["/predict"] = next(iter(models))

    def _watcher(self, name: str) -> Any:
        return lambda _, n_rows: self._metrics.count_pass(name, n_rows)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["path"] in self._predict_paths:
            await self._predict(self._predict_paths[scope["path"]], scope, receive, send)
        else:
            if scope["method"] not in ("GET", "HEAD"):
                known = scope["path"] in ("/", "/health", "/metrics", "/models", "/openapi.json")
                raise not_allowed("GET") if known else self._unknown(scope["path"])
            await self._page(scope["path"])(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                for batches in self._batches.values():
                    batches.close()
                return

    def _page(self, path: str) -> Response:
        if path == "/health":
            return as_json({"status": "ok", "models": list(self._models)})
        if path == "/metrics":
            return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")
        if path == "/models":
            return as_json({name: described(model) for name, model in self._models.items()})
        if path == "/openapi.json":
            return as_json(self._openapi)
        if path == "/":
            return page(self._models, self._openapi)
        found = static_file(path)
        if found is None:
            raise self._unknown(path)
        return found

    def _unknown(self, path: str) -> HTTPException:
        models = f"the models at /models/NAME/predict are {', '.join(self._models)}"
        hint = models if path.endswith("/predict") else "see / for all addresses"
        return HTTPException(404, f"there is nothing at this address. Hint: {hint}.")

    async def _predict(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        status = 500
        try:
            response = await self._answer(name, scope, receive)
            status = response.status_code
        except HTTPException as error:
            status = error.status_code
            raise
        finally:
            self._metrics.count_request(name, status, time.perf_counter() - started)
        await response(scope, receive, send)

    async def _answer(self, name: str, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            raise not_allowed("POST")
        is_csv = media_type(header(scope, b"content-type")) == CSV
        if not is_csv and media_type(header(scope, b"content-type")) not in ("", JSON):
            raise HTTPException(415, f"the body must be {JSON} or {CSV}. Hint: send the header Content-Type.")
        is_read = False
        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await read_body(receive)
                is_read = True
                rows = await self._rows(name, body, is_csv, keep_of(scope))
                if len(rows) > self._limits.n_rows:
                    most = f"{self._limits.n_rows:,}"
                    raise HTTPException(
                        413, f"a request may have at most {most} rows, got {len(rows):,}. Hint: send fewer rows."
                    )
                columns = await self._batches[name].predict(rows)
                accepted = header(scope, b"accept") or b""
                wants_csv = CSV.encode() in accepted or (is_csv and JSON.encode() not in accepted)
                names = self._models[name].columns
                if wants_csv:
                    return await asyncio.to_thread(csv_response, names, columns, rows)
                if len(rows) > 1_000:
                    return await asyncio.to_thread(json_response, names, columns, rows)
                return json_response(names, columns, rows)
        except TimeoutError:
            limit = f"{self._limits.seconds:g} seconds"
            if not is_read:
                raise HTTPException(408, f"the body did not arrive within {limit}.", {"connection": "close"}) from None
            raise HTTPException(503, f"the prediction took more than {limit}. Hint: send fewer rows.") from None
        except BusyError as error:
            raise HTTPException(503, str(error), {"retry-after": "1"}) from None
        except FoldwiseError as error:
            return json_error(400 if isinstance(error, NotJsonError) else 422, request_words(error))

    async def _rows(self, name: str, body: bytes, is_csv: bool, keep: list[str]) -> RequestRows:
        model = self._models[name]
        taken = set(keep) & set(model.columns)
        if taken:
            raise HTTPException(422, f"keep names {', '.join(sorted(taken))}, which the output already contains.")
        if is_csv:
            return await asyncio.to_thread(model.read_csv, body, keep)
        if len(body) > LARGE_BODY:
            return await asyncio.to_thread(model.read_json, body, keep)
        return model.read_json(body, keep)


def not_allowed(method: str) -> HTTPException:
    return HTTPException(405, f"this address needs the method {method}.", {"allow": method})


async def read_body(receive: Receive) -> bytes:
    """Read a whole body; the layer around the application counts its bytes."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message.get("body", b""))
    parts = []
    while message["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()
    raise HTTPException(400, "the client disconnected before the body was complete.")


def media_type(value: bytes | None) -> str:
    """The type in a Content-Type header, without parameters."""
    return (value or b"").decode("latin-1").partition(";")[0].strip().lower()


def keep_of(scope: Scope) -> list[str]:
    """The columns that a request wants back, by `?keep=id&keep=name`."""
    query = scope["query_string"]
    if not query:
        return []
    try:
        given = parse_qs(query.decode("latin-1"), encoding="utf-8", errors="replace", max_num_fields=100)
    except ValueError:
        raise HTTPException(400, "the address has more than 100 parameters.") from None
    return list(dict.fromkeys(given.get("keep", ())))


def as_json(value: Any) -> Response:
    return Response(json.dumps(value), media_type=JSON)


def json_response(names: tuple[str, ...], columns: ColumnCells, rows: RequestRows) -> Response:
    """Return predictions as JSON, one object per row."""
    if rows.kept is not None:
        names, columns = (*rows.kept.columns, *names), [*(as_text(one) for one in rows.kept), *columns]
    predictions = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return as_json({"predictions": predictions, "notes": rows.notes})


def as_text(column: pl.Series) -> list[Any]:
    """Cells that JSON can represent: dates become text."""
    return (column.cast(pl.String) if column.dtype.is_temporal() else column).to_list()


def csv_response(names: tuple[str, ...], columns: ColumnCells, rows: RequestRows) -> Response:
    """Return predictions as CSV. Text that a spreadsheet would execute as a formula gets an apostrophe."""
    frame = pl.DataFrame([pl.Series(name, column, strict=False) for name, column in zip(names, columns, strict=True)])
    frame = frame if rows.kept is None else pl.concat([rows.kept, frame], how="horizontal")
    out = io.BytesIO()
    without_formulas(frame).write_csv(out)
    return Response(out.getvalue(), media_type=CSV)


def described(model: ServedModel) -> dict[str, Any]:
    """What a client should know about a model."""
    stored = model.stored
    return {
        "target": stored.target,
        "task": stored.metadata.get("task") or stored.task,
        "columns": dict(stored.kinds),
        "classes": written_labels(stored.classes_).tolist(),
        "predicted": list(model.columns),
    }
