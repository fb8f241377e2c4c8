"""Which columns a fitted model needs, and what they contain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from foldwise.errors import InputError


def kinds_given(columns: Any) -> dict[str, str]:
    return dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns, "number")


def kinds_seen(model: Any) -> dict[str, str]:
    """Return the columns that an estimator was fitted on, and what they contain."""
    schema = getattr(model, "schema_", None)
    if schema is not None:
        kinds = {"numeric": "number", "binary": "truth", "categorical": "text", "date": "date"}
        return {column.name: kinds[column.kind] for column in schema}
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        check_is_fitted(model)
        raise InputError(
            f"the columns of {type(model).__name__} have no names, because it was fitted on an array.",
            "pass columns=, the names of the columns in the table.",
        )
    return dict.fromkeys(map(str, names), "number")


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
