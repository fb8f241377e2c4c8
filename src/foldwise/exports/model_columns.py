"""Which columns a fitted model needs, and what they contain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from foldwise.data.frames import as_polars
from foldwise.errors import InputError
from foldwise.storage.table_check import kinds_of

KINDS = {"numeric": "number", "binary": "truth", "categorical": "text", "date": "date"}  # of a schema
UNNAMED = ""  # a column that a step computed


def kinds_given(columns: Any, model: Any) -> dict[str, str]:
    """Return what columns contain: as a mapping says, or of a list of names what the encoders of the model know."""
    if isinstance(columns, Mapping):
        return dict(columns)
    given = [str(name) for name in columns]
    n_columns = getattr(model, "n_features_in_", len(given))
    if len(given) != n_columns:
        raise InputError(
            f"columns= must have one name per column of the model, {n_columns} in total; got {len(given)}.",
            "pass one name per column, in their order.",
        )
    names = [str(name) for name in getattr(model, "feature_names_in_", given)]
    kinds: dict[str, str] = {}
    if len(names) == getattr(model, "n_features_in_", None):
        learn_kinds(model, names, kinds)
    return {name: kinds.get(name, "number") for name in given}


def kinds_seen(model: Any, rows: pl.DataFrame | None = None) -> dict[str, str]:
    """Return the columns that an estimator uses, and what they contain.

    Encoders know the categories of their columns. Other columns contain numbers, unless some rows show booleans.
    """
    schema = getattr(model, "schema_", None)
    if schema is not None:
        return {column.name: KINDS[column.kind] for column in schema}
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise without_names(model)
    kinds: dict[str, str] = {}
    learn_kinds(model, [str(name) for name in names], kinds)
    shown = {} if rows is None else kinds_of(rows)
    kinds = {name: "truth" if (kind, shown.get(name)) == ("number", "truth") else kind for name, kind in kinds.items()}
    return {str(name): kinds[str(name)] for name in names if str(name) in kinds}


def without_names(model: Any) -> InputError:
    """Return the error for a model that does not know the names of its columns."""
    if type(model).__name__ in ("Blend", "ValueBlend"):
        return InputError(
            "the model of a run does not know the names of its columns.",
            "pass the run itself, or its model file opened by open_model.",
        )
    if hasattr(model, "best_estimator_"):
        return InputError("a search cannot be exported.", "pass its best_estimator_, and columns=.")
    check_is_fitted(model)
    return InputError(
        f"{type(model).__name__} does not know the names of its columns; perhaps it was fitted on an array.",
        "pass columns=, the names of the columns in the table.",
    )


def learn_kinds(step: Any, columns: list[str], kinds: dict[str, str]) -> list[str]:
    """Note what a fitted step knows about its columns, and return the columns that come out of it."""
    if step is None or isinstance(step, str):
        return [] if step == "drop" else columns
    name = type(step).__name__
    for inner in ("transformer_", "estimator_", "regressor_"):  # of TableEncoder, wrappers and transformed targets
        if hasattr(step, inner):
            return learn_kinds(getattr(step, inner), columns, kinds)
    if hasattr(step, "steps"):
        for _, one in step.steps:
            columns = learn_kinds(one, columns, kinds)
        return columns
    if hasattr(step, "transformers_"):
        parts = [(one, [columns[j] for j in column_indices(step, some)]) for _, one, some in step.transformers_]
        return [name for one, some in parts for name in learn_kinds(one, some, kinds)]
    if name == "FunctionTransformer" and step.func is None:
        return columns
    if name == "SimpleImputer" and len(step.statistics_) == len(columns):
        texts = [isinstance(value, str) for value in step.statistics_.tolist()]
        note(kinds, [one for one, is_text in zip(columns, texts, strict=True) if is_text], "text")
        more = 0 if step.indicator_ is None else len(step.indicator_.features_)
        return [*columns, *[UNNAMED] * more]
    of_columns = getattr(step, "categories_", getattr(step, "levels_", ()))
    if len(of_columns) == len(columns):
        for one, levels in zip(columns, of_columns, strict=True):
            note(kinds, [one], kind_of_levels(one, np.asarray(levels)))
        return [] if hasattr(step, "categories_") else [UNNAMED] * len(columns)
    if hasattr(step, "schema_"):
        for column in step.schema_:
            note(kinds, [column.name], KINDS[column.kind])
        return []
    note(kinds, columns, "date" if name == "DateFeatures" else "number")
    return []


def note(kinds: dict[str, str], columns: Iterable[str], kind: str) -> None:
    """Note what columns contain; what an encoder knows replaces the assumption that they contain numbers."""
    for name in columns:
        if name != UNNAMED and kinds.get(name, "number") == "number":
            kinds[name] = kind


def kind_of_levels(name: str, levels: Any) -> str:
    """Return what a column of these categories contains."""
    if levels.dtype.kind in "iuf":
        return "number"
    present = [one for one in levels.tolist() if not (one is None or one != one)]  # NaN differs from itself
    if all(isinstance(one, bool) for one in present) and present:
        return "truth"
    if all(isinstance(one, str) for one in present):
        return "text"
    if levels.dtype.kind == "O" and all(isinstance(one, int | float) for one in present):
        return "number"
    raise InputError(
        f"the categories of column {name!r} are of type {type(present[0]).__name__}, so it cannot be exported.",
        "convert the column to text before training, or say what it contains with columns=.",
    )


def column_indices(fitted: Any, columns: Any) -> list[int]:
    """Return the indices of the columns of one part of a ColumnTransformer."""
    names = [str(name) for name in getattr(fitted, "feature_names_in_", ())]
    every = range(fitted.n_features_in_)
    if isinstance(columns, slice):
        start, stop = (names.index(end) if isinstance(end, str) else end for end in (columns.start, columns.stop))
        stop = stop + 1 if isinstance(columns.stop, str) else stop  # labels include the last one
        return list(every[start : stop : columns.step])
    keys = np.atleast_1d(np.asarray(columns))
    keys = np.flatnonzero(keys) if keys.dtype == bool else keys
    return [names.index(key) if isinstance(key, str) else every[int(key)] for key in keys.tolist()]


def chosen_columns(fitted: Any, columns: Any, named: Mapping[str, Any], inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of one part of a ColumnTransformer: by name where inputs have names, otherwise by index."""
    names = [str(name) for name in getattr(fitted, "feature_names_in_", ())]
    indices = column_indices(fitted, columns)
    if names and all(names[j] in named for j in indices):
        return [named[names[j]] for j in indices]
    if len(inputs) != fitted.n_features_in_:
        lacking = next(names[j] for j in indices if names[j] not in named) if names else f"number {indices[0]}"
        raise InputError(f"the model needs column {lacking!r}, which is not among its columns.", "add it to columns=.")
    return [inputs[j] for j in indices]


def rows_as_fitted(model: Any, rows: Any, X: pl.DataFrame) -> Any:
    """Return the first rows as Python's model takes them.

    It may ask for columns that it does not use, and a missing text in a frame of pandas is not that of other frames.
    """
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if names and nw.dependencies.is_pandas_dataframe(rows) and set(names) <= set(rows.columns):
        return rows.iloc[: X.height][names]
    frame = as_polars(rows)[: X.height]
    if not names or not set(names) <= {*frame.columns, *X.columns}:
        return X
    return frame.with_columns(X.get_columns()).select(names)


def module_names(model: Any) -> set[str]:
    """Return the top-level modules of an estimator and of all estimators inside it."""
    found, pending = set(), [model]
    while pending:
        one = pending.pop()
        found.add(type(one).__module__.split(".")[0])
        pending += getattr(one, "members", ())
        pending += [step for _, step in getattr(one, "steps", ())]
        pending += [getattr(one, name) for name in ("estimator_", "regressor_", "booster") if hasattr(one, name)]
    return found
