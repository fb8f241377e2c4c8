"""The parameters of the estimators, checked: what must hold, what came, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import at_least_zero, column_index, one_of
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.neighbors.distance import MIXED, NUMERIC, SCALES, DistanceSpec
from foldwise.neighbors.encoding import ColumnRoles
from foldwise.neighbors.votes import FORMS

METRICS = ("auto", *NUMERIC, *MIXED)
MOST_POWER = 100.0  # greater powers of ordinary cells leave the range of floats


@dataclass(frozen=True)
class VotingParams:
    """How neighbors vote: how many, with which weights, who wins a tie, how many pseudo-votes each class has."""

    k: int
    weights: Any  # a name of FORMS or a function of distances
    ties: str = "nearest"
    laplace: float = 0.0


def check_voting(n_neighbors: Any, weights: Any, ties: Any = "nearest", laplace: Any = 0.0) -> VotingParams:
    """The parameters that are read when a model answers."""
    k = check_count("n_neighbors", n_neighbors)
    if not callable(weights):
        weights = one_of("weights", weights, (*FORMS, None)) or "uniform"
    one_of("ties", ties, ("nearest", "class"))
    return VotingParams(k, weights, ties, at_least_zero("laplace", laplace, "1 is Laplace's, 0 shares as they are."))


def check_count(name: str, value: Any) -> int:
    """A whole number of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise FoldwiseTypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.")
    if value < 1:
        raise InputError(f"{name} must be at least 1, got {value!r}.")
    return int(value)


def check_enough(k: int, n_rows: int, n_queries: int, itself: bool) -> None:
    """Refuse more neighbors than there are rows."""
    if k > n_rows - itself:
        raise InputError(
            f"Expected n_neighbors <= {'n_samples_fit - 1' if itself else 'n_samples_fit'}, but n_neighbors = {k}, "
            f"n_samples_fit = {n_rows}, n_samples = {n_queries}: a model of {n_rows} rows has no more neighbors"
            + (", and none is its own." if itself else "."),
            "ask fewer neighbors, or fit more rows.",
        )


def check_metric(metric: Any, scale: Any = None, pca: Any = None) -> str:
    """The name of a distance; "auto" with a scale or principal components is of numbers."""
    if isinstance(metric, str) and metric in ("l2", "l1", "cityblock"):
        return {"l2": "euclidean"}.get(metric, "manhattan")
    name = str(one_of("metric", metric, METRICS))
    return "euclidean" if name == "auto" and (scale is not None or pca is not None) else name


def check_distance(roles: ColumnRoles, p: Any, scale: Any, column_weights: Any, pca: Any) -> DistanceSpec:
    """The distance that was asked for, over columns with these roles."""
    metric = roles.metric
    p = check_power("p", p) if metric == "minkowski" else 2.0
    if metric == "minkowski" and p in (1.0, 2.0, np.inf):
        metric = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}[p]
    one_of("scale", scale, (None, *SCALES))
    if metric in MIXED and (scale is not None or pca is not None):
        given = f"scale={scale!r}" if scale is not None else f"pca={pca!r}"
        raise InputError(
            f"{given} cannot go with metric={metric!r}, which brings columns to one scale by its own definition.",
            "leave it out, or take metric='euclidean'.",
        )
    weights = check_column_weights(column_weights, roles.names)
    numbers, categories = (
        None if weights is None else np.ascontiguousarray(weights[list(columns)])
        for columns in (roles.numbers, roles.categories)
    )
    return DistanceSpec(metric, p, scale, numbers, categories, check_pca(pca, len(roles.numbers)))


def check_power(name: str, value: Any) -> float:
    """A power: from 1 to 100, or infinity."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise FoldwiseTypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    if not value >= 1:
        raise InputError(f"{name} must be at least 1, got {value!r}.", "below 1 it is no distance.")
    if MOST_POWER < value < np.inf:
        raise InputError(
            f"{name} must be at most {MOST_POWER:g}, or infinity, got {value!r}.", "metric='chebyshev' is its limit."
        )
    return float(value)


def check_column_weights(weights: Any, names: Sequence[str]) -> NDArray[np.float64] | None:
    """One weight per column; those that a mapping does not name weigh 1."""
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        found = np.ones(len(names))
        for key, weight in weights.items():
            found[column_index("column_weights", key, names)] = at_least_zero(f"the weight of {key!r}", weight)
    else:
        try:
            found = np.array(weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column_weights must be numbers, one per column, or a mapping; got {weights!r}."
            ) from error
        if found.shape != (len(names),):
            raise InputError(
                f"column_weights must hold one number per column, {len(names)} in all; got shape {found.shape}.",
                "a mapping from names to weights names only some.",
            )
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InputError(f"column_weights must be finite and at least 0, got {found.tolist()}.")
    if not found.any():
        raise InputError("every column has the weight 0, so all rows are alike.", "give some column a weight above 0.")
    return found


def check_pca(pca: Any, n_columns: int) -> int | float | None:
    """None, a number of components, or a share of the variance."""
    if pca is None:
        return None
    is_share = isinstance(pca, float | np.floating) and 0 < pca < 1
    is_count = isinstance(pca, int | np.integer) and not isinstance(pca, bool) and pca >= 1
    if not (is_share or is_count):
        raise InputError(
            f"pca must be None, a number of components, or a share of the variance between 0 and 1; got {pca!r}."
        )
    if is_count and pca > n_columns:
        raise InputError(f"pca={pca} asks for more components than there are columns, {n_columns}.")
    return float(pca) if is_share else int(pca)
