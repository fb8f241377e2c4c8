"""One row asked of a run: its form, its prediction, the reasons, what-if curves and similar rows. Runs in a worker."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.app.explaining import explain
from foldwise.app.file_predictions import PREFIX, Predictor, ValuePredictor, batches_for, costs_of
from foldwise.app.run_folder import MODEL, OPTIONS, OpenRun, current, open_run
from foldwise.app.unknown_categories import known_levels
from foldwise.app.workbench.describing import cell_text
from foldwise.errors import FoldwiseError, InputError
from foldwise.storage import StoredModel
from foldwise.storage.table_check import EMPTY
from foldwise.unsupervised.lookalikes import similar

MOST_CHOICES = 40  # categories in a list; a column with more has a text field
MOST_CURVES = 6  # columns with a what-if curve
POINTS, LEVELS = 25, 8  # of a what-if curve
MOST_SIMILAR = 5
SEARCHED_ROWS = 50_000  # of the training table, for similar rows
ORDERS = 40  # of columns, for the reasons
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def row_form(folder: str) -> dict[str, Any]:
    """The fields of the form, with a typical row as their first values."""
    run = opened(folder)
    model, sample = run.model, typical_rows(run)
    levels = known_levels(model.model)
    used = [name for name in model.kinds if not sample.width or name in sample.columns]
    fields = [field_of(name, model.kinds[name], sample, levels.get(name, frozenset())) for name in used]
    return {
        "fields": fields,
        "target": model.target or "",
        "task": model.task,
        "unused": len(model.kinds) - len(used),
        "table": table_name(Path(folder)),
    }


def field_of(name: str, kind: str, sample: pl.DataFrame, levels: frozenset[str]) -> dict[str, Any]:
    """One field: what may be entered, and what is typical."""
    cells = (sample[name] if name in sample.columns else pl.Series(name, [], dtype=EMPTY[kind])).drop_nulls()
    known = sorted({*levels, *(cells.cast(pl.String).to_list() if kind == "text" else ())})
    field: dict[str, Any] = {"name": name, "kind": kind, "typical": "", "hint": ""}
    if kind == "truth":
        known = ["true", "false"]
    field["choices"] = known if 0 < len(known) <= MOST_CHOICES else []
    if not len(cells):
        return field
    if kind == "number":
        low, middle, high = (plain_number(x) for x in (cells.min(), cells.quantile(0.5, "nearest"), cells.max()))
        return field | {"typical": middle, "hint": f"{low} to {high} in most rows"}
    usual = str(cells.mode().sort()[0] if kind != "date" else cells.sort()[len(cells) // 2])
    return field | {"typical": usual.lower() if kind == "truth" else usual}


def ask_row(folder: str, cells: Mapping[str, str], tables: str) -> dict[str, Any]:
    """Predict one row. Similar rows are searched only if the training table is in the folder `tables`."""
    run = opened(folder)
    frame = row_of(run.model, cells)
    predicted = prediction(run.model, frame)
    reasons = reasons_of(run, frame)
    order = [one["column"] for one in reasons["cells"]] or list(run.model.kinds)
    return {
        **predicted,
        **reasons,
        "curves": what_if(run, frame, order[:MOST_CURVES], predicted.get("class")),
        **similar_rows(run, frame, folder, tables),
    }


def row_of(model: StoredModel, cells: Mapping[str, str]) -> pl.DataFrame:
    """The row as a frame with the types of the model. An empty field is a missing cell."""
    return pl.DataFrame([typed(name, kind, cells.get(name, "").strip()) for name, kind in model.kinds.items()])


def typed(name: str, kind: str, text: str) -> pl.Series:
    """One cell with its type."""
    if not text:
        return pl.Series(name, [None], dtype=EMPTY[kind])
    if kind == "text":
        return pl.Series(name, [text])
    try:
        if kind == "number":
            value = float(text)
            if not math.isfinite(value):
                raise ValueError
            return pl.Series(name, [value])
        if kind == "truth":
            return pl.Series(name, [TRUTHS[text.lower()]])
        return pl.Series(name, [text]).str.to_datetime(time_unit="us")
    except (ValueError, KeyError, pl.exceptions.PolarsError):
        must = {"number": "a number such as 3.5", "truth": "true or false", "date": "a date such as 2024-05-31"}[kind]
        raise InputError(
            f"{name} must be {must}, got {text[:40]!r}.", "correct the field, or leave it empty."
        ) from None


def prediction(model: StoredModel, frame: pl.DataFrame) -> dict[str, Any]:
    """What `foldwise predict` writes for the row."""
    quantity = model.task == "regression"
    predictor = (ValuePredictor if quantity else Predictor)(model, None if quantity else costs_of(model, None), ())
    row = predictor.answers(frame).row(0, named=True)
    found: dict[str, Any] = {"notes": [note.text for note in predictor.summary(1, False).notes]}
    if quantity:
        ends = [row.get(f"{PREFIX}{end}") for end in ("low", "high")]
        return found | {"value": row[f"{PREFIX}value"], "interval": ends if all(map(is_finite, ends)) else None}
    chances = [(str(label), row[f"{PREFIX}p_{label}"]) for label in model.classes_.tolist()]
    found |= {"proba": sorted(chances, key=lambda one: -one[1]), "class": str(row[f"{PREFIX}class"])}
    if model.metadata.get("costs") is not None:
        found |= {"decision": str(row[f"{PREFIX}decision"]), "cost": row[f"{PREFIX}expected_cost"]}
    return found | {"set": row.get(f"{PREFIX}set")}


def reasons_of(run: OpenRun, frame: pl.DataFrame) -> dict[str, Any]:
    """The contribution of each column, the largest first; none if no training rows are stored with the run."""
    if not run.has_background:
        return {"cells": [], "base": None, "total": None, "about": ""}
    [found] = explain(run.model, frame, run.background(), n_samples=ORDERS)
    order = np.argsort(-np.abs(found.values), kind="stable").tolist()
    texts = ["missing" if cell is None else cell_text(cell) for cell in found.cells]
    cells = [{"column": found.columns[j], "cell": texts[j], "contribution": float(found.values[j])} for j in order]
    about = "" if found.about is None else str(found.about)
    return {"cells": cells, "base": found.base, "total": found.total, "about": about}


def what_if(run: OpenRun, frame: pl.DataFrame, columns: list[str], about: str | None) -> list[dict[str, Any]]:
    """How the prediction changes if one cell changes and the others stay."""
    sample, model = typical_rows(run), run.model
    variants, parts = [], []
    for name in columns:
        values = values_to_try(name, model.kinds[name], sample, frame[name])
        if len(values) > 1:
            variants.append((name, values))
            same = frame.drop(name).select(pl.all().repeat_by(len(values)).explode())
            parts.append(same.with_columns(values.alias(name)).select(frame.columns))
    if not parts:
        return []
    rows = pl.concat(parts, how="vertical_relaxed")
    if about is None:
        answers = np.asarray(model.predict(rows), dtype=np.float64)
    else:
        answers = model.predict_proba(rows)[:, [str(one) for one in model.classes_.tolist()].index(about)]
    curves, start = [], 0
    for name, values in variants:
        heights = answers[start : start + len(values)].tolist()
        start += len(values)
        is_number = values.dtype.is_numeric()
        at = [float(x) for x in values.to_list()] if is_number else [str(x) for x in values.to_list()]
        curves.append({"column": name, "at": at, "predicted": heights, "here": here_of(frame[name], is_number)})
    return curves


def values_to_try(name: str, kind: str, sample: pl.DataFrame, cell: pl.Series) -> pl.Series:
    """Values of a column: evenly spaced numbers, or its frequent categories and that of the row."""
    cells = sample[name].drop_nulls() if name in sample.columns else cell.clear()
    if not len(cells) or kind == "date":
        return cell.clear()
    if kind == "number":
        numbers = cells.cast(pl.Float64)
        if not numbers.is_finite().all():
            return cell.clear()
        ends = [x for x in (numbers.min(), numbers.max(), *cell.cast(pl.Float64).to_list()) if isinstance(x, float)]
        spaced = np.linspace(min(ends), max(ends), POINTS)
        whole = bool((numbers == numbers.round()).all())
        return pl.Series(name, np.unique(spaced.round() if whole else spaced))
    counts = cells.value_counts(sort=True)[name].to_list()
    kept = [*cell.drop_nulls().to_list(), *counts]
    return pl.Series(name, list(dict.fromkeys(kept))[:LEVELS], dtype=cell.dtype)


def here_of(cell: pl.Series, is_number: bool) -> float | str | None:
    """The value of the row itself."""
    value = cell[0]
    return None if value is None else float(value) if is_number else str(value)


def similar_rows(run: OpenRun, frame: pl.DataFrame, folder: str, tables: str) -> dict[str, Any]:
    """Training rows that look most like the row, with their targets, if the table is still there."""
    nothing: dict[str, Any] = {"similar": [], "similar_columns": [], "similar_of": 0}
    path = training_table(Path(folder), Path(tables))
    if path is None:
        return nothing
    model = run.model
    try:
        rows = next(batches_for(model, path, reading=reading_of(Path(folder))))[:SEARCHED_ROWS]
        shown = [*([model.target] if model.target in rows.columns else []), *model.kinds]
        if not set(shown) <= set(rows.columns):
            return nothing
        found = similar(rows.select(list(model.kinds)), frame, n=MOST_SIMILAR)
    except FoldwiseError:  # the table has changed since
        return nothing
    lines = [[cell_text(cell) for cell in row] for row in rows.select(shown)[found.rows.tolist()].rows()]
    return {"similar": lines, "similar_columns": shown, "similar_of": rows.height}


def training_table(folder: Path, tables: Path) -> Path | None:
    """The table of a run, if it is a file inside the folder `tables`."""
    try:
        named = json.loads((folder / OPTIONS).read_text(encoding="utf-8"))["table"]
        path = (tables / named).resolve(strict=True)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None
    return path if path.is_file() and path.is_relative_to(tables.resolve()) else None


def table_name(folder: Path) -> str:
    """The file name of the table of a run; empty if it is not known."""
    try:
        return Path(json.loads((folder / OPTIONS).read_text(encoding="utf-8"))["table"]).name
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def reading_of(folder: Path) -> dict[str, Any]:
    """How the table of a run was read."""
    try:
        reading = json.loads((folder / OPTIONS).read_text(encoding="utf-8"))["options"]["reading"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return dict(reading) if isinstance(reading, dict) else {}


def opened(folder: str) -> OpenRun:
    """Open a run, once for as long as its model does not change."""
    path = current(Path(folder), MODEL)
    about = path.stat() if path.is_file() else None
    run = opened_once(folder, (about.st_mtime_ns, about.st_size) if about else (0, 0))
    if run.model.metadata.get("task") == "clusters":
        raise InputError("a model of clusters cannot be tried row by row.", "see the report of the exploration.")
    return run


@lru_cache(maxsize=4)
def opened_once(folder: str, stamp: tuple[int, int]) -> OpenRun:
    """Open a run; `stamp` changes with its model."""
    return open_run(folder)


def typical_rows(run: OpenRun) -> pl.DataFrame:
    """Training rows stored with the run, or none."""
    return run.background() if run.has_background else pl.DataFrame()


def plain_number(value: Any) -> str:
    """A number for a form field, without an exponent where that is short."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float) and math.isfinite(value)
