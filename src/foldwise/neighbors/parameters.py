"""Checks of the estimators' parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import at_least_zero, column_index, one_of, whole_at_least
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.neighbors.distance import MIXED, NUMERIC, SCALES, DistanceSpec
from foldwise.neighbors.encoding import ColumnRoles
from foldwise.neighbors.votes import FORMS

METRICS = ("auto", *NUMERIC, *MIXED)
MOST_POWER = 100.0  # greater powers of ordinary values overflow


@dataclass(frozen=True)
class VotingParams:
    """How neighbors vote: their number, their weights, the winner of a tie, and the pseudo-votes per class."""

    k: int
    weights: Any  # a key of FORMS, or a function from distances to weights
    ties: str = "nearest"
    laplace: float = 0.0


def check_voting(n_neighbors: Any, weights: Any, ties: Any = "nearest", laplace: Any = 0.0) -> VotingParams:
    """Check the parameters that are used at prediction time."""
    k = whole_at_least("n_neighbors", n_neighbors, 1)
    if not callable(weights):
        weights = one_of("weights", weights, (*FORMS, None)) or "uniform"
    one_of("ties", ties, ("nearest", "class"))
    return VotingParams(k, weights, ties, at_least_zero("laplace", laplace, "0 means no smoothing."))


def check_enough(k: int, n_rows: int, n_queries: int, itself: bool) -> None:
    """Raise if there are fewer training rows than neighbors."""
    if k > n_rows - itself:
        raise InputError(
            f"n_neighbors must be at most {n_rows - itself}, got {k}: there are {n_rows} training rows "
            f"(n_samples_fit = {n_rows}, n_samples = {n_queries})."
            + (" A training row is not its own neighbor." if itself else ""),
            "reduce n_neighbors, or fit on more rows.",
        )


def check_metric(metric: Any, scale: Any = None, pca: Any = None) -> str:
    """Resolve the name of a distance; "auto" with `scale` or `pca` is Euclidean."""
    if isinstance(metric, str) and metric in ("l2", "l1", "cityblock"):
        return {"l2": "euclidean"}.get(metric, "manhattan")
    name = str(one_of("metric", metric, METRICS))
    return "euclidean" if name == "auto" and (scale is not None or pca is not None) else name


def check_distance(roles: ColumnRoles, p: Any, scale: Any, column_weights: Any, pca: Any) -> DistanceSpec:
    """Check the parameters of the distance between columns with these roles."""
    metric = roles.metric
    p = check_power("p", p) if metric == "minkowski" else 2.0
    if metric == "minkowski" and p in (1.0, 2.0, np.inf):
        metric = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}[p]
    one_of("scale", scale, (None, *SCALES))
    if metric in MIXED and (scale is not None or pca is not None):
        given = f"scale={scale!r}" if scale is not None else f"pca={pca!r}"
        raise InputError(
            f"{given} cannot be combined with metric={metric!r}, which has its own scaling.",
            "remove it, or use metric='euclidean'.",
        )
    weights = check_column_weights(column_weights, roles.names)
    numbers, categories = (
        None if weights is None else np.ascontiguousarray(weights[list(columns)])
        for columns in (roles.numbers, roles.categories)
    )
    return DistanceSpec(metric, p, scale, numbers, categories, check_pca(pca, len(roles.numbers)))


def check_power(name: str, value: Any) -> float:
    """Check a power: from 1 to 100, or infinity."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise FoldwiseTypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    if not value >= 1:
        raise InputError(f"{name} must be at least 1, got {value!r}.", "2 is the Euclidean distance.")
    if MOST_POWER < value < np.inf:
        raise InputError(
            f"{name} must be at most {MOST_POWER:g}, or infinity, got {value!r}.",
            "use metric='chebyshev', which is the limit for large p.",
        )
    return float(value)


def check_column_weights(weights: Any, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Check the weights of the columns; columns that a mapping does not name have weight 1."""
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        found = np.ones(len(names))
        for key, weight in weights.items():
            found[column_index("column_weights", key, names)] = at_least_zero(f"column_weights[{key!r}]", weight)
    else:
        try:
            found = np.array(weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column_weights must be one number per column, or a mapping from columns to numbers; got {weights!r}."
            ) from error
        if found.shape != (len(names),):
            raise InputError(
                f"column_weights must be one number per column, {len(names)} in total; got shape {found.shape}.",
                "pass a mapping from column names to weights to set only some of them.",
            )
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InputError(f"column_weights must be finite and at least 0, got {found.tolist()}.")
    if not found.any():
        raise InputError("all column_weights are 0, so every distance would be 0.", "set at least one weight above 0.")
    return found


def check_pca(pca: Any, n_columns: int) -> int | float | None:
    """Check the principal components: None, a number of them, or a share of the variance."""
    if pca is None:
        return None
    is_share = isinstance(pca, float | np.floating) and 0 < pca < 1
    is_count = isinstance(pca, int | np.integer) and not isinstance(pca, bool) and pca >= 1
    if not (is_share or is_count):
        raise InputError(
            f"pca must be None, a number of components, or a share of the variance above 0 and below 1; got {pca!r}."
        )
    if is_count and pca > n_columns:
        raise InputError(f"pca={pca} is more components than the {n_columns} columns allow.", "reduce pca.")
    return float(pca) if is_share else int(pca)
