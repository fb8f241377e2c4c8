"""Shapley values: the contribution of each column of a row to the log-odds of a class, or to a predicted value.

The contribution of a column is how much the log-odds change when its cell replaces that of a background row, averaged
over background rows and over the orders in which cells are replaced. The contributions of a row sum exactly to its
log-odds minus the mean log-odds of the background, however few orders are drawn. For a regressor, the predicted value
takes the place of the log-odds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats, Indices
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.contribution_text import contribution_html, contribution_text
from foldwise.evaluation.label_names import find

Predict = Callable[[pl.DataFrame], Floats]

MIN_PROBA = 1e-6  # probabilities are clipped to [1e-6, 1 - 1e-6], so that log-odds are finite (at most ±13.8)
DEFAULT_PREDICTIONS = 60_000  # rows predicted for each explained row, if n_samples is None
BATCH_ROWS = 20_000
BATCH_CELLS = 4_000_000


@dataclass(frozen=True, repr=False)
class Contributions:
    """The contribution of each column of one row to the log-odds of one class, or to the predicted value.

    Attributes
    ----------
    about : label
        The class that is explained; None for a predicted value.
    columns : tuple of str
        The columns.
    cells : tuple
        The cells of the row.
    values : ndarray of shape (n_columns,)
        The contributions; `base + values.sum() == total`.
    errors : ndarray of shape (n_columns,)
        Their standard errors from the random orders.
    base : float
        Mean log-odds, or mean predicted value, of the background.
    total : float
        Log-odds, or predicted value, of the row.
    proba : ndarray of shape (n_classes,)
        Predicted probabilities of the row; empty for a predicted value.
    classes : tuple
        The classes; empty for a predicted value.
    n_background : int
        Number of background rows used.
    n_orders : int
        Number of orders of columns drawn.
    """

    about: Any
    columns: tuple[str, ...]
    cells: tuple[Any, ...]
    values: Floats
    errors: Floats
    base: float
    total: float
    proba: Floats
    classes: tuple[Any, ...]
    n_background: int
    n_orders: int

    def to_frame(self) -> pl.DataFrame:
        """Return the contributions as a frame.

        Returns
        -------
        polars.DataFrame
            One row per column, the largest contribution first.
        """
        frame = pl.DataFrame(
            {
                "column": self.columns,
                "value": [None if cell is None else str(cell) for cell in self.cells],
                "contribution": self.values,
                "standard_error": self.errors,
            },
            schema_overrides={"value": pl.String},
        )
        return frame.sort(pl.col("contribution").abs(), descending=True)

    def __str__(self) -> str:
        return contribution_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return contribution_html(self)


def contributions_of(
    predict: Predict,
    rows: pl.DataFrame,
    background: pl.DataFrame,
    classes: Sequence[Any] | None,
    *,
    about: Any = None,
    n_samples: int | None = None,
    seed: int = 0,
) -> list[Contributions]:
    """Compute the contributions of the columns of each row.

    Parameters
    ----------
    predict : callable
        Function of a frame that returns probabilities of shape (n_rows, n_classes), or values of shape (n_rows,).
    rows : polars.DataFrame
        The rows to explain.
    background : polars.DataFrame
        The rows to compare with, with the same columns.
    classes : sequence or None
        The classes, in the order of the probabilities. None means that values are predicted.
    about : label, default None
        The class to explain; None means the most probable class of each row.
    n_samples : int or None, default None
        Number of orders of columns drawn for each row, rounded up so that each background row has the same even
        number. None chooses it so that the model predicts about 60,000 rows.
    seed : int, default 0
        Seed of the orders.

    Returns
    -------
    list of Contributions
        One per row.

    Notes
    -----
    Each background row is used equally often, each time with a random order and its reverse (Castro et al. 2009,
    Mitchell et al. 2022). Log-odds are log p / (1 - p), with p clipped to [1e-6, 1 - 1e-6]. Standard errors reflect the
    random orders only, not the choice of the background. If the default does not allow two pairs of orders per
    background row, a sample of the background is used.
    """
    if classes is not None and len(classes) < 2:
        raise InputError("explanations need at least two classes, but the model has a single class.")
    chosen = None if about is None or classes is None else class_index(about, classes)
    reference = scores_of(predict(background))
    rng = np.random.default_rng(seed)
    results = []
    for i in range(rows.height):
        row = rows[i : i + 1]
        predicted = predict(row)
        index = int(np.atleast_1d(predicted[0]).argmax()) if chosen is None else chosen
        n_pairs, used = sampling_plan(n_samples, background.height, rows.width, rng)
        total = float(scores_of(predicted)[0, index])
        walks = Walks(predict, index, background[used], row, reference[used, index], total)
        values, errors = shapley_values(walks, n_pairs, rng)
        results.append(
            Contributions(
                about=None if classes is None else classes[index],
                columns=tuple(rows.columns),
                cells=tuple(row.row(0)),
                values=values,
                errors=errors,
                base=float(reference[used, index].mean()),
                total=total,
                proba=np.empty(0) if classes is None else predicted[0],
                classes=tuple(classes or ()),
                n_background=len(used),
                n_orders=2 * n_pairs * len(used),
            )
        )
    return results


def class_index(name: Any, classes: Sequence[Any]) -> int:
    """Return the index of a class, which may be given as text."""
    index = find(name, classes)
    if index is None:
        raise InputError(f"the model does not know the class {name!r}.", f"choose among {listing(classes)}.")
    return index


def sampling_plan(
    n_samples: int | None, n_background: int, n_columns: int, rng: np.random.Generator
) -> tuple[int, Indices]:
    """Return the number of pairs of orders per background row, and the indices of the background rows to use."""
    used = np.arange(n_background)
    if n_samples is None:
        pairs = DEFAULT_PREDICTIONS // (2 * max(1, n_columns - 1))
        if pairs < n_background:
            used = np.sort(rng.choice(n_background, max(pairs // 2, min(5, n_background)), replace=False))
        return max(2, pairs // len(used)), used
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1, got {n_samples}.")
    return max(1, -(-n_samples // (2 * n_background))), used


def scores_of(predicted: Floats) -> Floats:  # (rows, classes) or (rows,) -> (rows, classes) or (rows, 1)
    """Return what contributions are contributions to: the log-odds of probabilities, or values as they are."""
    return predicted[:, None] if predicted.ndim == 1 else log_odds_of(predicted)


def log_odds_of(proba: Floats) -> Floats:
    """Return log p / (1 - p) of each class against all others, within the bounds of `MIN_PROBA`."""
    odds = np.empty_like(proba)
    for k in range(proba.shape[1]):
        others = np.delete(proba, k, axis=1).sum(axis=1)  # 1 - p would cancel
        inside, outside = np.clip(proba[:, k], MIN_PROBA, 1 - MIN_PROBA), np.clip(others, MIN_PROBA, 1 - MIN_PROBA)
        odds[:, k] = np.log(inside) - np.log(outside)
    return odds


class Walks:
    """Walks from background rows to the explained row, replacing one cell after the other."""

    def __init__(
        self,
        predict: Predict,
        class_index: int,
        background: pl.DataFrame,
        row: pl.DataFrame,
        start: Floats,
        finish: float,
    ) -> None:
        self.predict = predict
        self.class_index = class_index
        self.n_background, self.n_columns = background.height, row.width
        self.start, self.finish = start, finish
        self.table = pl.concat([background, row])
        n = self.n_background
        self.differs = np.column_stack([column[:n].ne_missing(column[n]).to_numpy() for column in self.table])

    def gains(self, chosen: Indices, orders: Indices) -> Floats:  # (walks,), (walks, columns) -> (walks, columns)
        """Return the change of the score at each column, for walks from the chosen background rows.

        A cell that equals the one it replaces changes nothing, so only rows that are new are predicted.
        """
        n_walks, d = orders.shape
        changed = np.take_along_axis(self.differs[chosen], orders, axis=1)
        done, needed = np.cumsum(changed, axis=1), changed.sum(axis=1, keepdims=True)
        steps = np.full((n_walks, d + 1), np.nan)
        steps[:, 0] = self.start[chosen]
        steps[:, 1:][changed & (done == needed)] = self.finish
        walk, step = np.nonzero(changed & (done < needed))
        if len(walk):
            replaced = np.argsort(orders, axis=1)[walk] <= step[:, None]
            source = np.where(replaced, self.n_background, chosen[walk][:, None])
            frame = pl.DataFrame([self.table[:, j].gather(source[:, j]) for j in range(d)])
            steps[walk, step + 1] = scores_of(self.predict(frame))[:, self.class_index]
        for k in range(1, d + 1):
            steps[:, k] = np.where(np.isnan(steps[:, k]), steps[:, k - 1], steps[:, k])
        gains = np.empty((n_walks, d))
        np.put_along_axis(gains, orders, np.diff(steps, axis=1), axis=1)
        return gains


def shapley_values(walks: Walks, n_pairs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the contributions and their standard errors."""
    n, d = walks.n_background, walks.n_columns
    sums, squares = np.zeros((n, d)), np.zeros((n, d))
    batch = max(1, min(BATCH_ROWS, BATCH_CELLS // d) // (2 * max(1, d - 1)))
    starts = np.repeat(np.arange(n), n_pairs)
    for first in range(0, len(starts), batch):
        chosen = starts[first : first + batch]
        orders = np.argsort(rng.random((len(chosen), d)), axis=1)
        gains = 0.5 * (walks.gains(chosen, orders) + walks.gains(chosen, orders[:, ::-1]))
        np.add.at(sums, chosen, gains)
        np.add.at(squares, chosen, gains**2)
    means = sums / n_pairs
    if n_pairs > 1:  # the spread of orders for the same background row
        spread = np.maximum(squares - n_pairs * means**2, 0.0) / (n_pairs - 1)
        errors = np.sqrt(spread.sum(axis=0) / n_pairs) / n
    else:  # includes the spread of background rows, so rather too large
        errors = np.sqrt(means.var(axis=0, ddof=1) / n) if n > 1 else np.full(d, np.nan)
    return np.asarray(means.mean(axis=0)), np.asarray(errors)
