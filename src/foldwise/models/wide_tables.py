"""Tables with far more numeric columns than models can use: a filter in front of every model, learned in each fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.frames import as_polars
from foldwise.data.target import Task
from foldwise.errors import InputError
from foldwise.models.column_roles import Outline, Role

WIDE = 600  # numeric columns from which a table is filtered
MOST_KEPT = 500
FIRST_KEPT = 200  # columns that models start with, but not more than there are rows
LEAST_KEPT = 5


class TopColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the numeric columns that tell most about the target by their F statistic; other columns pass.

    For classes, F compares their means (analysis of variance); for a quantity, it is that of a linear regression.

    The kept columns are called "top 1", "top 2", … in order of their F statistic, so that later steps know their
    names before any row was seen. If fewer than `most` are kept, the others are 0 throughout.

    Parameters
    ----------
    passing : sequence of str, default=()
        The columns that pass. All others are numbers, and are chosen from. A list of these would be far longer, and
        every copy of a pipeline would copy it.
    k : int, default=200
        Number of columns to keep.
    most : int, default=500
        Number of columns of the result, apart from those that pass.
    task : {"classification", "regression"}, default="classification"
        Whether the target contains classes or a quantity.
    """

    def __init__(
        self,
        passing: Sequence[str] = (),
        *,
        k: int = FIRST_KEPT,
        most: int = MOST_KEPT,
        task: Task = "classification",
    ) -> None:
        self.passing = passing
        self.k = k
        self.most = most
        self.task = task

    def fit(self, X: Any, y: Any) -> Self:
        """Rank the columns on the training rows."""
        frame, passing = as_polars(X), set(self.passing)
        names = [name for name in frame.columns if name not in passing]
        cells = cells_of(frame, names)
        if self.task == "regression":
            found = linear_f_statistics(cells, np.asarray(y, dtype=np.float64))
        else:
            found = f_statistics(cells, np.unique(np.asarray(y), return_inverse=True)[1])
        order = np.argsort(-found, kind="stable")
        self.kept_ = [names[j] for j in order[: min(self.k, self.most)]]
        return self

    def transform(self, X: Any) -> pl.DataFrame:
        """Return the columns that pass, and the kept ones."""
        check_is_fitted(self)
        frame = as_polars(X)
        known = set(frame.columns)
        absent = [name for name in self.kept_ if name not in known]
        if absent:
            raise InputError(f"column {absent[0]!r} is missing.", "pass the columns that the model was fitted on.")
        cells = np.zeros((frame.height, self.most))
        cells[:, : len(self.kept_)] = cells_of(frame, self.kept_)
        passing = set(self.passing)
        others = [name for name in frame.columns if name in passing] if passing else []
        top = pl.DataFrame(cells, schema=top_names(self.most), orient="row").fill_nan(None)
        return frame[others].hstack(top) if others else top


def cells_of(frame: pl.DataFrame, names: list[str]) -> Floats:
    """The cells of some columns. `select` would read each name as an expression, which takes long for many."""
    chosen = frame if len(names) == frame.width else frame[names]
    return chosen.to_numpy().astype(np.float64, copy=False)


def f_statistics(cells: Floats, codes: NDArray[np.int64]) -> Floats:  # (columns,)
    """Return the F statistic of each column between classes; missing and infinite cells are ignored.

    A column that is constant within classes but differs between them has infinite F; a constant column has 0.
    """
    finite = np.isfinite(cells)
    present, known = finite.astype(np.float64), np.where(finite, cells, 0.0)
    n_present = np.maximum(present.sum(axis=0), 1.0)
    centered = np.where(finite, known - known.sum(axis=0) / n_present, 0.0)
    spread = np.sqrt((centered**2).sum(axis=0) / n_present)
    scaled = centered / np.where(spread > 0, spread, 1.0)
    member = np.eye(int(codes.max()) + 1)[codes]  # (rows, classes)
    counts, sums = member.T @ present, member.T @ scaled
    total = (scaled**2).sum(axis=0)
    between = (sums**2 / np.maximum(counts, 1.0)).sum(axis=0)
    n_groups = (counts > 0).sum(axis=0)
    within = np.maximum(total - between, 0.0) / np.maximum(counts.sum(axis=0) - n_groups, 1.0)
    explained = between / np.maximum(n_groups - 1, 1)
    return np.where(explained > 1e-12, explained / np.maximum(within, 1e-12), 0.0)


def linear_f_statistics(cells: Floats, y: Floats) -> Floats:  # (columns,)
    """Return the F statistic of each column in a linear regression; missing and infinite cells are ignored."""
    finite = np.isfinite(cells)
    n_present = np.maximum(finite.sum(axis=0), 1)
    known, truth = np.where(finite, cells, 0.0), np.where(finite, y[:, None], 0.0)
    centered = np.where(finite, known - known.sum(axis=0) / n_present, 0.0)
    errors = np.where(finite, truth - truth.sum(axis=0) / n_present, 0.0)
    scale, spread = np.sqrt((centered**2).sum(axis=0)), np.sqrt((errors**2).sum(axis=0))
    varies = (scale > 0) & (spread > 0)
    share = (centered / np.where(varies, scale, 1.0) * (errors / np.where(varies, spread, 1.0))).sum(axis=0) ** 2
    return np.where(varies, share / np.maximum(1.0 - share, 1e-12) * np.maximum(n_present - 2, 1), 0.0)


def top_names(most: int) -> list[str]:
    return [f"top {i + 1}" for i in range(most)]


def used_columns(pipeline: Any, names: Sequence[str]) -> list[str]:
    """Return the columns of a table that a fitted pipeline looks at: all, or what its filter keeps and passes."""
    steps = getattr(pipeline, "named_steps", {})
    found = steps.get("filter")
    if not isinstance(found, TopColumns):
        return list(names)
    used = {*found.kept_, *found.passing}
    return [name for name in names if name in used]


def is_wide(outline: Outline) -> bool:
    """Whether a table has so many numeric columns that they are filtered in front of every model."""
    return len(outline.columns("number")) > WIDE


def narrowed(outline: Outline) -> Outline:
    """Return the outline of a wide table after the filter."""
    others = {name: outline.roles[name] for name in outline.columns("category", "text", "date")}
    top: dict[str, Role] = dict.fromkeys(top_names(MOST_KEPT), "number")
    return replace(outline, roles={**others, **top})
