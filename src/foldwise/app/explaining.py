"""Explain predictions of a model: contributions of columns to the log-odds, and the worked table of naive Bayes.

The Shapley values are computed in `evaluation/contributions.py`. Here models are unwrapped and tables are checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.bayes import NaiveBayes
from foldwise.bayes.explanation import Explanation
from foldwise.data.frames import as_polars
from foldwise.data.schema import listing
from foldwise.decisions import Calibrated, CostSensitive
from foldwise.ensembles import Ensemble
from foldwise.errors import InputError
from foldwise.evaluation.contributions import Contributions, contributions_of
from foldwise.storage import StoredModel
from foldwise.storage.table_check import match_columns

Floats = NDArray[np.float64]


def explain(
    model: Any, rows: Any, background: Any, about: Any = None, n_samples: int | None = None, seed: int = 0
) -> list[Contributions]:
    """Compute what each column adds to the log-odds of a class, for each of some rows.

    Parameters
    ----------
    model : a fitted classifier with `predict_proba`, or a `StoredModel`
    rows : the rows to explain
    background : training rows, or some of them: what "on average" means
    about : the class; by default the most probable class of each row
    n_samples : how many orders of columns are drawn for each row; by default as many as need about 60,000 predictions
    seed : of the orders

    Returns
    -------
    list of Contributions, one per row

    Notes
    -----
    See `foldwise.evaluation.contributions.contributions_of` for the method.

    Examples
    --------
    >>> from foldwise import NaiveBayes, read_table
    >>> table = read_table("examples/weather.csv", target="play")
    >>> model = NaiveBayes().fit(table.X, table.y)
    >>> [found] = explain(model, table.X[:1], table.X, about="yes")
    >>> bool(abs(found.base + found.values.sum() - found.total) < 1e-9)
    True
    """
    rows, background, as_array = prepared(model, rows, background)

    def predict_proba(frame: pl.DataFrame) -> Floats:
        return np.asarray(model.predict_proba(frame.to_numpy() if as_array else frame), dtype=np.float64)

    classes = np.asarray(model.classes_).tolist()
    return contributions_of(predict_proba, rows, background, classes, about=about, n_samples=n_samples, seed=seed)


def prepared(model: Any, rows: Any, background: Any) -> tuple[pl.DataFrame, pl.DataFrame, bool]:
    """Rows and background as frames of the same columns and types, and whether the model wants arrays."""
    as_array = not isinstance(model, StoredModel) and isinstance(rows, np.ndarray)
    if isinstance(model, StoredModel):
        rows, background = match_columns(rows, model.kinds).X, match_columns(background, model.kinds).X
    rows, background = as_polars(rows), as_polars(background)
    if not background.height or not rows.height:
        raise InputError("there are no rows to explain, or none to compare with.", "pass one of each at least.")
    missing = [name for name in rows.columns if name not in background.columns]
    if missing:
        raise InputError(f"the background lacks the column {listing(missing)}.", "pass rows of the training table.")
    background = background.select(rows.columns)
    changed = [column for column in rows if column.dtype != background[column.name].dtype]
    if changed:
        try:
            rows = rows.with_columns(column.cast(background[column.name].dtype) for column in changed)
        except pl.exceptions.PolarsError:  # an unknown level, or 2.5 among whole numbers: a wider type holds both
            wide = {column.name: pl.Float64 if column.dtype.is_numeric() else pl.String for column in changed}
            rows, background = rows.cast(wide), background.cast(wide)
    return rows, background, as_array


@dataclass(frozen=True)
class WorkedTable:
    """The worked table of naive Bayes for one row, and what the whole model makes of it."""

    explanation: Explanation
    classes: tuple[Any, ...]
    proba: Floats  # (classes,), of the whole model

    @property
    def changed(self) -> bool:
        """Whether calibration gives other probabilities than naive Bayes itself."""
        return not np.allclose(self.proba, self.explanation.proba, rtol=0, atol=1e-9)


def worked_tables(model: Any, rows: Any) -> list[WorkedTable] | None:
    """The worked tables, where the model is naive Bayes: alone, in a pipeline, calibrated, deciding by cost."""
    proba = np.asarray(model.predict_proba(rows), dtype=np.float64)
    classes = tuple(np.asarray(model.classes_).tolist())
    if isinstance(model, StoredModel):
        inner, frame = unwrapped(model.model), match_columns(rows, model.kinds).X
    else:
        inner, frame = unwrapped(model), rows
    bayes = inner
    if hasattr(inner, "steps"):
        bayes = inner.steps[-1][1]
        frame = inner[:-1].transform(frame)
    if not isinstance(bayes, NaiveBayes) or len(bayes.classes_) != len(classes):
        return None
    # members of a run know classes as codes, in the order of its classes
    named = [replace(one, classes=classes) for one in bayes.explain(frame)]
    return [WorkedTable(one, classes, of_row) for one, of_row in zip(named, proba, strict=True)]


def unwrapped(model: Any) -> Any:
    """The one model inside wrappers, and inside ensembles and blends of one member."""
    while True:
        if isinstance(model, Calibrated | CostSensitive):
            model = model.estimator_
            continue
        members = getattr(model, "members_" if isinstance(model, Ensemble) else "members", None)
        if not isinstance(members, list | tuple) or len(members) != 1:
            return model
        model = members[0]
