"""A few predictions, right and wrong, with what each column said: from rows that the model had not seen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foldwise.app.explaining import explain

if TYPE_CHECKING:
    from foldwise.app.blend import Blend
    from foldwise.app.run import Found, Session

EACH = 2  # right and wrong
MOST_SECONDS = 3.0
LEAST_SECONDS = 0.3
MOST_PAIRS = 200  # of orders of columns, for each row
LEAST_PAIRS = 5


def example_facts(
    session: Session, found: Found, model: Blend, background: pl.DataFrame, *, seconds: float
) -> list[dict[str, Any]]:
    """Two right and two wrong predictions, neither the surest nor the least sure; fewer where there is no time.

    Which rows are shown, what was said of them and how sure, is told by the honest predictions; the contributions are
    those of the final model, which knows the rows, for and against the class that was said.
    """
    started = time.perf_counter()
    seconds = min(seconds, MOST_SECONDS)
    if seconds < LEAST_SECONDS:
        return []
    honest, codes = found.honest, found.stack.codes[found.honest.places]
    said = honest.proba.argmax(axis=1)
    sure = honest.proba.max(axis=1)
    picked: list[int] = []
    for right in (True, False):
        here = np.flatnonzero((said == codes) == right)
        order = here[np.argsort(sure[here], kind="stable")]
        picked += order[np.linspace(0, len(order) - 1, EACH + 2).astype(int)[1:-1]].tolist() if len(order) else []
    picked = list(dict.fromkeys(picked))
    if not picked:
        return []
    rows = found.stack.rows[honest.places[picked]]
    X = session.X[rows.tolist()]
    labels = [str(one) for one in session.task.classes.tolist()]
    pairs = n_pairs(model, background, seconds / len(picked), X.width)
    if pairs < LEAST_PAIRS:
        return []
    background = background[:pairs]  # in random order, as it was drawn
    facts = []
    for place, row in enumerate(rows.tolist()):
        if time.perf_counter() - started > seconds:
            break
        about = session.task.classes.tolist()[said[picked[place]]]
        [one] = explain(model, X[place : place + 1], background, about, n_samples=2 * pairs, seed=session.seed)
        proba = honest.proba[picked[place]]
        facts.append(
            {
                "row": row,
                "truth": labels[codes[picked[place]]],
                "said": labels[said[picked[place]]],
                "right": bool(said[picked[place]] == codes[picked[place]]),
                "proba": dict(zip(labels, proba.tolist(), strict=True)),
                "about": str(about),
                **contributions(one, X, place),
            }
        )
    return facts


def contributions(one: Any, X: pl.DataFrame, place: int) -> dict[str, Any]:
    cells = [
        {"column": name, "cell": cell_text(X[name][place]), "contribution": float(value)}
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
