"""Whether fits on the same rows give the same model; only then may settings share a fit.

The check is conservative: an estimator whose `random_state` is not an integer counts as random, except for the types
of scikit-learn in `STEADY`, which draw no random numbers with certain parameters. Callables count as deterministic
unless they have a `random_state` of their own (`SelectKBest(mutual_info_classif)` adds noise).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np


@dataclass(frozen=True)
class TableSize:
    """Upper bounds of the number of training rows, and of columns of a dense table (None if unknown)."""

    rows: int
    columns: int | None = None


def is_repeatable(estimator: Any, size: TableSize) -> bool:
    """Whether fits on the same rows, at most `size.rows`, give the same model."""
    parts = nested_parts(estimator)
    # the number of columns that reach a nested estimator is unknown
    return all(not is_random(part, size if part is estimator else TableSize(size.rows)) for part in parts)


def has_seed(estimator: Any) -> bool:
    """Whether any part of it has a `random_state`; if not, no simple value of a parameter makes it random."""
    return any(seed_of(part) is not NO_SEED for part in nested_parts(estimator))


NO_SEED = object()


def is_random(part: Any, size: TableSize) -> bool:
    """Whether an estimator, splitter or callable itself draws new random numbers at each fit."""
    if isinstance(part, np.random.RandomState | np.random.Generator | np.random.BitGenerator):
        return True
    seed = seed_of(part)
    if seed is NO_SEED or isinstance(seed, Integral):
        return False
    if is_splitter(part):
        return getattr(part, "shuffle", True) is not False
    rule = STEADY.get(type(part).__name__) if type(part).__module__.startswith("sklearn.") else None
    return rule is None or not rule(part, size)


def seed_of(part: Any) -> Any:
    """The random_state of an estimator, a splitter or a callable; NO_SEED if it has no such parameter."""
    if is_estimator(part):
        return part.get_params(deep=False).get("random_state", NO_SEED)
    if is_splitter(part):
        return getattr(part, "random_state", NO_SEED)
    if callable(part) and not isinstance(part, type):
        try:
            seed = signature(part).parameters.get("random_state")
        except (TypeError, ValueError):  # a builtin
            return NO_SEED
        return NO_SEED if seed is None else seed.default
    return NO_SEED


def nested_parts(value: Any) -> Iterator[Any]:
    """The value and everything nested in its parameters or elements."""
    yield value
    if is_estimator(value):
        inner = list(value.get_params(deep=False).values())
    elif isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = list(value)
    else:
        return
    for one in inner:
        yield from nested_parts(one)


def is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def is_splitter(value: Any) -> bool:
    return hasattr(value, "split") and hasattr(value, "get_n_splits")


def exact_pca(pca: Any, size: TableSize) -> bool:
    """Whether PCA uses an exact solver.

    "auto" is exact for at most 50 columns: "full" up to 500 rows, "covariance_eigh" from 10 rows per column on. On a
    sparse or unknown table it may be "arpack".
    """
    if pca.svd_solver != "auto":
        return pca.svd_solver in ("full", "covariance_eigh")
    if size.columns is None:
        return False
    whole = pca.n_components is None or pca.n_components == "mle" or 0 < pca.n_components < 1
    return bool(whole or size.columns <= 50 or (size.columns <= 500 and size.rows <= 500))


def no_subsample(step: Any, size: TableSize) -> bool:
    return bool(step.subsample is None or size.rows <= step.subsample)


def all_rows_binned(model: Any, size: TableSize) -> bool:
    """Whether histogram boosting uses all rows for training and binning, and all columns."""
    stops = model.early_stopping is True or (model.early_stopping == "auto" and size.rows > 10_000)
    return not stops and model.max_features == 1.0 and size.rows <= 200_000


RepeatabilityRule = Callable[[Any, TableSize], bool]

# types with a random_state that draw no random numbers under these conditions
STEADY: dict[str, RepeatabilityRule] = {
    "PCA": exact_pca,
    "KBinsDiscretizer": lambda step, size: step.strategy in ("uniform", "quantile") and no_subsample(step, size),
    "QuantileTransformer": no_subsample,
    # a splitter passed as cv is checked by itself
    "TargetEncoder": lambda step, _: step.shuffle is False or not isinstance(step.cv, Integral),
    "IterativeImputer": lambda step, _: (
        step.estimator is None
        and not step.sample_posterior
        and step.n_nearest_features is None
        and step.imputation_order != "random"
    ),
    "LogisticRegression": lambda model, _: model.solver in ("lbfgs", "newton-cg", "newton-cholesky"),
    "Ridge": lambda model, _: model.solver not in ("sag", "saga"),
    "RidgeClassifier": lambda model, _: model.solver not in ("sag", "saga"),
    "Lasso": lambda model, _: model.selection == "cyclic",
    "ElasticNet": lambda model, _: model.selection == "cyclic",
    "SVC": lambda model, _: model.probability is not True,
    "DummyClassifier": lambda model, _: model.strategy in ("most_frequent", "prior", "constant"),
    "HistGradientBoostingClassifier": all_rows_binned,
    "HistGradientBoostingRegressor": all_rows_binned,
}

# transformers that turn a dense table into a dense table with at most as many columns
NO_WIDER = {
    "StandardScaler",
    "MinMaxScaler",
    "MaxAbsScaler",
    "RobustScaler",
    "Normalizer",
    "PowerTransformer",
    "QuantileTransformer",
    "VarianceThreshold",
    "SelectKBest",
    "SelectPercentile",
    "SelectFromModel",
    "RFE",
    "PCA",
}


def dense_columns(X: Any) -> int | None:
    """The number of columns of a dense table; None for other tables."""
    frame = nw.dependencies.is_into_dataframe(X) and not hasattr(X, "sparse")  # pandas: a frame with sparse columns
    return int(X.shape[1]) if frame or (isinstance(X, np.ndarray) and X.ndim == 2) else None


def columns_after(step: Any, columns: int | None) -> int | None:
    """An upper bound of the number of columns that a transformer returns; None if its type is unknown."""
    if step is None or isinstance(step, str):
        return columns
    known = type(step).__module__.startswith("sklearn.") and type(step).__name__ in NO_WIDER
    return columns if known else None


def writes_in_place(estimator: Any) -> bool:
    """Whether its parameters allow it to overwrite its input (copy=False)."""
    estimators = (part for part in nested_parts(estimator) if is_estimator(part))
    return any(
        part.get_params(deep=False).get(name, True) is False for part in estimators for name in ("copy", "copy_X")
    )


def depends_on_order(estimator: Any) -> bool:
    """Whether it has parameters for folds or random numbers, which depend on the order of rows."""
    estimators = (part for part in nested_parts(estimator) if is_estimator(part))
    return any({"cv", "random_state"} & part.get_params(deep=False).keys() for part in estimators)
