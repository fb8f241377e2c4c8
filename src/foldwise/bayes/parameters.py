"""The parameters of the estimator, checked when it is fitted: what must hold, what came, what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.families.protocol import Setting
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.summaries.number_kernels import Floats


def check_setting(
    alpha: Any, var_floor: Any, ddof: Any, missing: Any, unseen: Any, columns: Sequence[int] | None = None
) -> Setting:
    """The setting that finishes facts."""
    given = {"alpha": alpha, "var_floor": var_floor, "ddof": ddof, "missing": missing, "unseen": unseen}
    checked = {name: CHECKS[name](value) for name, value in given.items()}
    return Setting(**checked, columns=None if columns is None else tuple(int(j) for j in columns))


CHECKS: dict[str, Callable[[Any], Any]] = {
    "alpha": lambda value: at_least_zero("alpha", value, "1 is Laplace's, 0 counts as they are."),
    "var_floor": lambda value: at_least_zero(
        "var_floor", value, "it is a share of the column's variance, such as 1e-9."
    ),
    "ddof": lambda value: at_least_zero("ddof", value, "1 divides by n - 1, 0 by n."),
    "missing": lambda value: one_of("missing", value, ("ignore", "category")),
    "unseen": lambda value: one_of("unseen", value, ("ignore", "smooth")),
}


def check_columns(columns: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """The places of the columns in use, in the order of the table; None for all of them."""
    if columns is None:
        return None
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise FoldwiseTypeError(f"columns must be None or a list of names or places, got {columns!r}.")
    place = {name: j for j, name in enumerate(names)}
    found = set()
    for key in columns:
        j = place.get(str(key))
        by_place = isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(names)
        if j is None and by_place:
            j = int(key)
        if j is None:
            raise InputError(f"columns names {key!r}, which the table does not have.", f"it has {listing(names)}.")
        found.add(j)
    return tuple(sorted(found))


def check_jobs(n_jobs: Any) -> None:
    """None, or a whole number other than 0."""
    if n_jobs is not None and (not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.", "-1 uses all cores.")


def at_least_zero(name: str, value: Any, hint: str) -> float:
    """A finite number of at least 0."""
    if not isinstance(value, int | float | np.integer | np.floating) or value is True or value is False:
        raise FoldwiseTypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.", hint)
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not 0 <= number < np.inf:
        raise InputError(f"{name} must be a finite number of at least 0, got {value!r}.", hint)
    return number


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}.")
    return value


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
        raise InputError(f"priors must be numbers, one a class; got {priors!r}.") from error
    if shares.shape != (len(labels),):
        raise InputError(
            f"priors must hold one probability a class: {len(labels)} for {listing(labels)}, got shape {shares.shape}."
        )
    if not (shares >= 0).all() or not np.isclose(shares.sum(), 1.0):
        raise InputError(f"priors must be at least 0 and sum to 1, got {shares.tolist()} with sum {shares.sum():g}.")
    return np.asarray(shares / shares.sum())
