"""A few worked examples for the report: right and wrong predictions, with the contribution of each column."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.explaining import explain
from foldwise.app.fold_model import EACH, MOST_COLUMNS, explained_fold

if TYPE_CHECKING:
    from foldwise.app.blend import Blend
    from foldwise.app.result import FitResult

Floats = NDArray[np.float64]

BACKGROUND_ROWS = 200
SAME = 0.005  # a model that is fitted again must predict its old probabilities to this
NO_TIME = "there was not enough time"
MOST_SECONDS = 3.0
LEAST_SECONDS = 0.3
MOST_PAIRS = 200  # of orders of columns, for each row
LEAST_PAIRS = 5


def example_facts(result: FitResult, *, seconds: float) -> list[dict[str, Any]]:
    """Two right and two wrong predictions of one fold, neither the surest nor the least sure.

    They are explained by the model that made them, fitted again without the fold, so that the contributions sum to
    the log-odds of the probability shown. Where there is no time for that, they come without contributions.
    """
    started = time.perf_counter()
    setup, selection = result.setup, result.final.selection
    honest, tested = selection.honest, selection.tested
    fold = explained_fold(selection)
    here = np.flatnonzero(tested.fold[honest.index] == fold)
    proba, codes = honest.proba[here], tested.codes[honest.index[here]]
    predicted = proba.argmax(axis=1)
    picked = picked_rows(predicted == codes, proba.max(axis=1))
    rows = tested.rows[honest.index[here[picked]]]
    labels = [str(one) for one in setup.task.classes.tolist()]
    explainer = FoldExplainer.of(result, setup.X[rows.tolist()], proba[picked], min(seconds, MOST_SECONDS))
    facts = []
    for at, (row, i) in enumerate(zip(rows.tolist(), picked, strict=True)):
        if time.perf_counter() - started > seconds and not isinstance(explainer, str):
            explainer = NO_TIME
        facts.append(
            {
                "row": row,
                "fold": fold + 1,
                "truth": labels[codes[i]],
                "predicted": labels[predicted[i]],
                "right": bool(predicted[i] == codes[i]),
                "proba": dict(zip(labels, proba[i].tolist(), strict=True)),
                "about": labels[predicted[i]],
                **({"unexplained": explainer} if isinstance(explainer, str) else explainer(at)),
            }
        )
    return facts


@dataclass(frozen=True)
class FoldExplainer:
    """Explains rows of a fold by the model that predicted them."""

    model: Blend
    X: pl.DataFrame  # the rows
    background: pl.DataFrame  # training rows of the fold
    pairs: int
    about: list[Any]  # the class of each row
    seed: int

    @classmethod
    def of(cls, result: FitResult, X: pl.DataFrame, proba: Floats, seconds: float) -> FoldExplainer | str:
        """Prepare the explanation of rows within so many seconds, or say why there is none."""
        setup, found = result.setup, result.final.fold_model
        if X.width > MOST_COLUMNS:
            return f"the table has more than {MOST_COLUMNS} columns"
        if found is None or seconds < LEAST_SECONDS:
            return NO_TIME
        again = found.model.predict_proba(X)
        if np.abs(again - proba).max() > SAME or (again.argmax(axis=1) != proba.argmax(axis=1)).any():
            return "the models of this fold did not predict the same when they were fitted again"
        train = setup.splits[found.fold].train
        some = np.random.default_rng(setup.config.seed).permutation(train)[:BACKGROUND_ROWS]
        background = setup.X[some.tolist()]
        pairs = n_pairs(found.model, background, seconds / X.height, X.width)
        if pairs < LEAST_PAIRS:
            return NO_TIME
        about = [setup.task.classes.tolist()[k] for k in proba.argmax(axis=1)]
        return cls(found.model, X, background[:pairs], pairs, about, setup.config.seed)

    def __call__(self, at: int) -> dict[str, Any]:
        """The contributions to the log-odds of a row's predicted class, and its probabilities by the same model."""
        row, samples = self.X[at : at + 1], 2 * self.pairs
        [one] = explain(self.model, row, self.background, self.about[at], n_samples=samples, seed=self.seed)
        proba = dict(zip(map(str, one.classes), one.proba.tolist(), strict=True))
        return {"proba": proba, **contributions(one, row)}


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
