"""Worked examples for the report: right and wrong predictions or the largest errors, column by column."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.explaining import explain
from foldwise.app.fold_model import EACH, MOST_COLUMNS, explained_fold
from foldwise.app.timing import EXAMPLES_LEAST, EXAMPLES_MOST
from foldwise.arrays import Floats

if TYPE_CHECKING:
    from foldwise.app.blend import Blend, ValueBlend
    from foldwise.app.result import FitResult


BACKGROUND_ROWS = 200
SAME = 0.005  # a model that is fitted again must predict its old probabilities to this
NO_TIME = "there was not enough time"
MOST_PAIRS = 200  # of orders of columns, for each row
LEAST_PAIRS = 5


def example_facts(result: FitResult, *, seconds: float) -> list[dict[str, Any]]:
    """Two right and two wrong predictions of one fold, neither the surest nor the least sure.

    Of a quantity, these are the rows with the largest errors of the fold with the largest error of all.
    They are explained by the model that made them, fitted again without the fold, so that the contributions sum to
    the log-odds of the probability shown. Where there is no time for that, they come without contributions.
    """
    started = time.perf_counter()
    setup, selection = result.setup, result.final.selection
    honest, tested = selection.honest, selection.tested
    fold = explained_fold(selection)
    here = np.flatnonzero(tested.fold[honest.index] == fold)
    found, truth = honest.predicted[here], tested.truth[honest.index[here]]
    if setup.task.is_quantity:
        picked = np.argsort(-np.abs(found - truth), kind="stable")[: 2 * EACH].tolist()
        outcomes = [{"truth": float(truth[i]), "predicted": float(found[i])} for i in picked]
    else:
        picked = picked_rows(found.argmax(axis=1) == truth, found.max(axis=1))
        labels = [str(one) for one in setup.task.classes.tolist()]
        outcomes = [class_outcome(labels, int(truth[i]), found[i]) for i in picked]
    rows = tested.rows[honest.index[here[picked]]]
    explainer = FoldExplainer.of(result, setup.X[rows.tolist()], found[picked], min(seconds, EXAMPLES_MOST))
    facts = []
    numbers = setup.task.row_numbers(rows).tolist()
    for at, (row, outcome) in enumerate(zip(numbers, outcomes, strict=True)):
        if time.perf_counter() - started > seconds and not isinstance(explainer, str):
            explainer = NO_TIME
        worked = {"unexplained": explainer} if isinstance(explainer, str) else explainer(at)
        facts.append({"row": row, "fold": fold + 1, **outcome, **worked})
    return facts


def class_outcome(labels: list[str], truth: int, proba: Floats) -> dict[str, Any]:
    """What was predicted for a row, and what is true."""
    predicted = int(proba.argmax())
    return {
        "truth": labels[truth],
        "predicted": labels[predicted],
        "right": predicted == truth,
        "proba": dict(zip(labels, proba.tolist(), strict=True)),
        "about": labels[predicted],
    }


@dataclass(frozen=True)
class FoldExplainer:
    """Explains rows of a fold by the model that predicted them."""

    model: Blend | ValueBlend
    X: pl.DataFrame  # the rows
    background: pl.DataFrame  # training rows of the fold
    pairs: int
    about: list[Any]  # the class of each row; None for a quantity
    seed: int

    @classmethod
    def of(cls, result: FitResult, X: pl.DataFrame, predicted: Floats, seconds: float) -> FoldExplainer | str:
        """Prepare the explanation of rows within so many seconds, or say why there is none."""
        setup, found = result.setup, result.final.fold_model
        if X.width > MOST_COLUMNS:
            return f"the table has more than {MOST_COLUMNS} columns"
        if found is None or seconds < EXAMPLES_LEAST:
            return NO_TIME
        if not same_predictions(predict(found.model, X), predicted, setup.task.y):
            return "the models of this fold were not kept and could not be reproduced exactly"
        train = setup.splits[found.fold].train
        some = np.random.default_rng(setup.config.seed).permutation(train)[:BACKGROUND_ROWS]
        background = setup.X[some.tolist()]
        pairs = n_pairs(found.model, background, seconds / X.height, X.width)
        if pairs < LEAST_PAIRS:
            return NO_TIME
        classes, about = setup.task.classes.tolist(), [None] * X.height
        if classes:
            about = [classes[k] for k in predicted.argmax(axis=1)]
        return cls(found.model, X, background[:pairs], pairs, about, setup.config.seed)

    def __call__(self, at: int) -> dict[str, Any]:
        """The contributions to a row's value, or to the log-odds of its predicted class with its probabilities."""
        row, samples = self.X[at : at + 1], 2 * self.pairs
        [one] = explain(self.model, row, self.background, self.about[at], n_samples=samples, seed=self.seed)
        if not one.classes:
            return contributions(one, row)
        proba = dict(zip(map(str, one.classes), one.proba.tolist(), strict=True))
        return {"proba": proba, **contributions(one, row)}


def predict(model: Blend | ValueBlend, X: pl.DataFrame) -> Floats:
    """Predict probabilities, or values of a quantity."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def same_predictions(again: Floats, before: Floats, y: NDArray[Any]) -> bool:
    """Whether a model that was fitted again predicts the same, up to a small share of the spread of the target."""
    if before.ndim == 1:
        return bool(np.abs(again - before).max() <= SAME * np.std(y))
    return bool(np.abs(again - before).max() <= SAME and (again.argmax(axis=1) == before.argmax(axis=1)).all())


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


def n_pairs(model: Blend | ValueBlend, background: pl.DataFrame, seconds: float, n_columns: int) -> int:
    """How many pairs of orders of columns can be tried in so many seconds, from the time of one prediction."""
    start = time.perf_counter()
    predict(model, background)
    a_row = (time.perf_counter() - start) / background.height
    return int(min(MOST_PAIRS, seconds / max(a_row, 1e-7) / (2 * n_columns)))
