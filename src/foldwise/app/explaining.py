"""Explain predictions: contributions of columns to the log-odds or to a value, and the worked table of naive Bayes.

The Shapley values are computed in `evaluation/contributions.py`. This file unwraps models and checks tables.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import is_regressor

from foldwise.app.blend import Blend, ValueBlend
from foldwise.arrays import Floats
from foldwise.bayes import NaiveBayes
from foldwise.bayes.explanation import Explanation
from foldwise.bayes.families.protocol import Factor
from foldwise.data.frames import as_polars
from foldwise.data.schema import listing
from foldwise.decisions import Calibrated, CostSensitive
from foldwise.ensembles import Ensemble
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.contributions import Contributions, contributions_of
from foldwise.storage import StoredModel
from foldwise.storage.stored_model import stored
from foldwise.storage.table_check import match_columns


def explain(
    model: Any, rows: Any, background: Any = None, about: Any = None, n_samples: int | None = None, seed: int = 0
) -> list[Contributions]:
    """Explain predictions by the contribution of each column to the log-odds of a class, or to the predicted value.

    Parameters
    ----------
    model : estimator, Run or StoredModel
        A fitted classifier with `predict_proba`, a fitted regressor, or the result of `fit`.
    rows : frame or array
        The rows to explain.
    background : frame or array, default=None
        Training rows, or a sample of them. Contributions are relative to their average prediction. A run has such a
        sample, unless it was fitted with `rows=False`.
    about : class label, default=None
        The class to explain. By default the most probable class of each row. A regressor has none.
    n_samples : int, default=None
        Number of column orders sampled per row. By default, it is chosen so that the model predicts about 60,000 rows.
    seed : int, default=0
        Random seed of the column orders.

    Returns
    -------
    list of Contributions
        One per row, with the Shapley value of each column and its standard error.

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
    if isinstance(model, str | os.PathLike):
        raise FoldwiseTypeError(
            f"model must be a fitted model, but is the path {str(model)!r}.", "open the model file with open_model."
        )
    if background is None:
        background = background_of(model)
    model = stored(model)
    inner = getattr(model, "model", model)
    quantity = is_regressor(inner)
    if not quantity and not hasattr(model, "classes_"):
        raise InputError("only a fitted classifier or regressor can be explained.", "fit the model first.")
    if quantity and about is not None:
        raise InputError("the model predicts a quantity, so it has no class to explain.", "leave about= out.")
    if not quantity and not hasattr(inner, "predict_proba"):
        raise InputError(
            f"{type(inner).__name__} does not predict probabilities, which explanations need.",
            f"fit Calibrated({type(inner).__name__}()) instead.",
        )
    rows, background, as_array = prepared(model, rows, background)
    classes = None if quantity else np.asarray(model.classes_).tolist()
    predictor = inner if isinstance(inner, Blend | ValueBlend) else model
    ask = predictor.predict if quantity else predictor.predict_proba

    def predict(frame: pl.DataFrame) -> Floats:
        return np.asarray(ask(frame.to_numpy() if as_array else frame), dtype=np.float64)

    return contributions_of(predict, rows, background, classes, about=about, n_samples=n_samples, seed=seed)


def background_of(model: Any) -> pl.DataFrame:
    """Return the training rows that a run holds."""
    rows = getattr(model, "background", None)
    if not isinstance(rows, pl.DataFrame) or not rows.height:
        raise InputError(
            "an explanation compares a row with training rows, but none are stored with this model.",
            "pass background=, a table of training rows.",
        )
    return rows


def prepared(model: Any, rows: Any, background: Any) -> tuple[pl.DataFrame, pl.DataFrame, bool]:
    """Convert rows and background to frames with the same columns and types, and check if the model takes arrays."""
    as_array = not isinstance(model, StoredModel) and isinstance(rows, np.ndarray)
    inner, kinds = getattr(model, "model", model), getattr(model, "kinds", None)
    if kinds is not None:
        rows = match_columns(rows, kinds).X
    if isinstance(inner, Blend | ValueBlend):  # a column that no member looks at contributes nothing
        rows = as_polars(rows)
        rows = rows.select(inner.used_columns(rows.columns))
    if kinds is not None:
        background = match_columns(background, {name: kinds[name] for name in rows.columns}).X
    rows, background = as_polars(rows), as_polars(background)
    if not background.height or not rows.height:
        raise InputError("rows and background must not be empty.", "pass at least one row of each.")
    missing = [name for name in rows.columns if name not in background.columns]
    if missing:
        noun = "column" if len(missing) == 1 else "columns"
        raise InputError(f"background has no {noun} {listing(missing)}.", "pass rows of the training table.")
    background = background.select(rows.columns)
    changed = [column for column in rows if column.dtype != background[column.name].dtype]
    if changed:
        try:
            rows = rows.with_columns(column.cast(background[column.name].dtype) for column in changed)
        except pl.exceptions.PolarsError:  # an unknown level, or 2.5 among integers: use a type that holds both
            wide = {column.name: pl.Float64 if column.dtype.is_numeric() else pl.String for column in changed}
            rows, background = rows.cast(wide), background.cast(wide)
    return rows, background, as_array


def worked_tables(model: Any, rows: Any) -> list[Explanation] | None:
    """Return the worked tables if the model is naive Bayes: alone, in a pipeline, calibrated, or cost-sensitive.

    Their probabilities are those that the whole model predicts.
    """
    if is_regressor(getattr(model, "model", model)):
        return None
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
    blank = {name for _, step in getattr(inner, "steps", ()) for name in getattr(step, "blank_", ())}
    # models of a run are trained on class codes
    named = [replace(one, classes=classes, factors=noted(one.factors, blank)) for one in bayes.explain(frame)]
    return [with_final(one, of_row) for one, of_row in zip(named, proba, strict=True)]


def with_final(worked: Explanation, proba: Floats) -> Explanation:
    """The worked table with the probabilities of the whole model, where they differ from those of naive Bayes."""
    same = np.allclose(proba, worked.proba, rtol=0, atol=1e-9)
    return worked if same else replace(worked, calibrated=tuple(proba.tolist()))


def noted(factors: tuple[Factor, ...], blank: set[str]) -> tuple[Factor, ...]:
    """The factors, where columns that feature selection left out are not called missing."""
    return tuple(replace(one, note="left out by feature selection") if one.column in blank else one for one in factors)


def unwrapped(model: Any) -> Any:
    """Return the model inside wrappers and inside ensembles with a single member."""
    while True:
        if isinstance(model, Calibrated | CostSensitive):
            model = model.estimator_
            continue
        members = getattr(model, "members_" if isinstance(model, Ensemble) else "members", None)
        if not isinstance(members, list | tuple) or len(members) != 1:
            return model
        model = members[0]
