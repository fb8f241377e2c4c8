"""A few worked examples for the report: right and wrong predictions, with the contribution of each column."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.explaining import explain

if TYPE_CHECKING:
    from foldwise.app.blend import Blend
    from foldwise.app.result import FitResult

EACH = 2  # right and wrong
MOST_SECONDS = 3.0
LEAST_SECONDS = 0.3
MOST_PAIRS = 200  # of orders of columns, for each row
LEAST_PAIRS = 5


def example_facts(result: FitResult, background: pl.DataFrame, *, seconds: float) -> list[dict[str, Any]]:
    """Two right and two wrong predictions, neither the surest nor the least sure; fewer where there is no time.

    Which rows are shown, their predicted class and how sure it is, come from the honest predictions. The contributions
    are those of the final model, which knows the rows, for and against the predicted class.
    """
    started = time.perf_counter()
    seconds = min(seconds, MOST_SECONDS)
    if seconds < LEAST_SECONDS:
        return []
    setup, selection, model = result.setup, result.final.selection, result.final.model
    honest, codes = selection.honest, selection.tested.codes[selection.honest.index]
    predicted = honest.proba.argmax(axis=1)
    picked = picked_rows(predicted == codes, honest.proba.max(axis=1))
    rows = selection.tested.rows[honest.index[picked]]
    X = setup.X[rows.tolist()]
    pairs = n_pairs(model, background, seconds / len(picked), X.width)
    if pairs < LEAST_PAIRS:
        return []
    background = background[:pairs]  # in random order, as it was drawn
    classes = setup.task.classes.tolist()
    labels = [str(one) for one in classes]
    facts = []
    for at, (row, i) in enumerate(zip(rows.tolist(), picked, strict=True)):
        if time.perf_counter() - started > seconds:
            break
        about = classes[predicted[i]]
        here = X[at : at + 1]
        [one] = explain(model, here, background, about, n_samples=2 * pairs, seed=setup.config.seed)
        facts.append(
            {
                "row": row,
                "truth": labels[codes[i]],
                "predicted": labels[predicted[i]],
                "right": bool(predicted[i] == codes[i]),
                "proba": dict(zip(labels, honest.proba[i].tolist(), strict=True)),
                "about": str(about),
                **contributions(one, here),
            }
        )
    return facts


def picked_rows(right: NDArray[np.bool_], sure: NDArray[np.float64]) -> list[int]:
    """Some right and some wrong rows, spread over how sure their prediction is."""
    picked: list[int] = []
    for wanted in (True, False):
        here = np.flatnonzero(right == wanted)
        order = here[np.argsort(sure[here], kind="stable")]
        picked += order[np.linspace(0, len(order) - 1, EACH + 2).astype(int)[1:-1]].tolist() if len(order) else []
    return list(dict.fromkeys(picked))


def contributions(one: Any, row: pl.DataFrame) -> dict[str, Any]:
    cells = [
        {"column": name, "cell": cell_text(row[name][0]), "contribution": float(value)}
        for name, value in zip(one.columns, one.values, strict=True)
    ]
    cells.sort(key=lambda cell: -abs(cell["contribution"]))
    return {"cells": cells, "base": float(one.base), "total": float(one.total)}


def cell_text(cell: Any) -> str:
    return "missing" if cell is None else str(cell)


def n_pairs(model: Blend, background: pl.DataFrame, seconds: float, n_columns: int) -> int:
    """How many pairs of orders of columns can be tried in so many seconds, from the time of one prediction."""
    start = time.perf_counter()
    model.predict_proba(background)
    a_row = (time.perf_counter() - start) / background.height
    return int(min(MOST_PAIRS, seconds / max(a_row, 1e-7) / (2 * n_columns)))
