"""The parameters of the estimator, checked when it is fitted: what must hold, what came, what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.families.protocol import Setting
from foldwise.data.arguments import above_zero, at_least_zero, column_index, one_of, whole_at_least
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.summaries.number_kernels import Floats


def check_setting(given: Mapping[str, Any]) -> Setting:
    """The setting that finishes facts, from parameters by name; what is not given is as by default."""
    checked = {name: check(given[name]) for name, check in CHECKS.items() if name in given}
    columns = given.get("columns")
    return Setting(**checked, columns=None if columns is None else tuple(int(j) for j in columns))


def by_column(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """The check of a parameter that may also be a mapping from columns to values."""

    def checked(name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {column: check(f"{name}[{column!r}]", entry) for column, entry in value.items()}
        return check(name, value)

    return checked


MOST = "None takes the most that a row holds."
SILVERMAN = "None takes Silverman's for each class and column."
BY_COLUMN: dict[str, Callable[[str, Any], Any]] = {
    "trials": by_column(lambda name, value: None if value is None else whole_at_least(name, value, 1, MOST)),
    "bins": by_column(lambda name, value: whole_at_least(name, value, 1, "10 is usual.")),
    "cuts": by_column(lambda name, value: one_of(name, value, ("width", "frequency", "entropy"))),
    "bandwidth": by_column(lambda name, value: None if value is None else above_zero(name, value, SILVERMAN)),
}


def by_name(setting: Setting, names: Sequence[str]) -> Setting:
    """The setting with its mappings by the names of columns; a column that the table does not have is refused."""
    named: dict[str, Any] = {}
    for parameter in BY_COLUMN:
        given = getattr(setting, parameter)
        if isinstance(given, Mapping):
            named[parameter] = {names[column_index(parameter, key, names)]: entry for key, entry in given.items()}
    return replace(setting, **named) if named else setting


CHECKS: dict[str, Callable[[Any], Any]] = {
    "alpha": lambda value: at_least_zero("alpha", value, "1 is Laplace's, 0 counts as they are."),
    "var_floor": lambda value: at_least_zero(
        "var_floor", value, "it is a share of the column's variance, such as 1e-9."
    ),
    "ddof": lambda value: at_least_zero("ddof", value, "1 divides by n - 1, 0 by n."),
    "missing": lambda value: one_of("missing", value, ("ignore", "category")),
    "unseen": lambda value: one_of("unseen", value, ("ignore", "smooth")),
    **{name: partial(check, name) for name, check in BY_COLUMN.items()},
}


def check_columns(columns: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """The indices of the columns in use, in the order of the table; None for all of them."""
    if columns is None:
        return None
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise FoldwiseTypeError(f"columns must be None or a list of names or indices, got {columns!r}.")
    return tuple(sorted({column_index("columns", key, names) for key in columns}))


def check_priors(priors: Any, classes: NDArray[Any], class_weight: Floats) -> Floats:
    """The logarithms of the priors, in the order of the classes."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(prior_shares(priors, classes, class_weight))
    return logs


def prior_shares(priors: Any, classes: NDArray[Any], class_weight: Floats) -> Floats:
    labels = classes.tolist()
    if isinstance(priors, str):
        if one_of("priors", priors, ("empirical", "uniform")) == "uniform":
            return np.full(len(labels), 1 / len(labels))
        total = class_weight.sum()
        # before any row has a weight, all classes are alike
        return np.asarray(class_weight / total) if total > 0 else np.full(len(labels), 1 / len(labels))
    if hasattr(priors, "items"):  # a mapping, or a pandas Series with the classes as its index
        priors = dict(priors.items())
        if set(priors) != set(labels):
            raise InputError(
                f"priors must name each class once; the classes are {listing(labels)}, named are {listing(priors)}."
            )
        priors = [priors[label] for label in labels]
    try:
        shares = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"priors must be numbers, one per class; got {priors!r}.") from error
    if shares.shape != (len(labels),):
        raise InputError(
            f"priors must hold one probability per class: {len(labels)} for {listing(labels)}; got shape "
            f"{shares.shape}."
        )
    if not (shares >= 0).all() or not np.isclose(shares.sum(), 1.0):
        raise InputError(f"priors must be at least 0 and sum to 1, got {shares.tolist()} with sum {shares.sum():g}.")
    return np.asarray(shares / shares.sum())
