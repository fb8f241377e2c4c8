"""A member: an estimator fitted as its spec says, which predicts the classes of the ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from foldwise.arrays import Floats, Indices
from foldwise.ensembles.protocol import MemberSpec, TrainingData
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels
from foldwise.folds.rows import take_columns, take_rows
from foldwise.folds.weights import weight_name, weight_params

TREES = {"DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"}
MOST_SEED = np.iinfo(np.int32).max  # as in scikit-learn's ensembles, so that the same seed gives the same trees


@dataclass(frozen=True)
class Member:
    """A fitted model with its spec; `class_indices` are the indices of its classes, None for a regressor."""

    spec: MemberSpec
    model: Any
    class_indices: Indices | None
    n_classes: int

    def predict(self, X: Any, proba: bool, checked: bool = False) -> NDArray[Any]:
        """(rows, classes) probabilities, or (rows,) class indices or values.

        A class without training rows has probability 0. If rows are `checked`, trees skip their checks.
        """
        X = X if self.spec.columns is None else take_columns(X, self.spec.columns)
        options = {"check_input": False} if checked and is_tree(self.model) else {}
        if self.class_indices is None:
            return np.asarray(self.model.predict(X, **options), dtype=np.float64).reshape(-1)
        if not proba:
            classes = np.asarray(self.model.classes_)
            return np.asarray(self.class_indices[np.searchsorted(classes, self.model.predict(X, **options))])
        found = np.asarray(self.model.predict_proba(X, **options), dtype=np.float64)
        if len(self.class_indices) == self.n_classes:
            return found
        wide = np.zeros((len(found), self.n_classes))
        wide[:, self.class_indices] = found
        return wide


class SingleClassModel:
    """The model of rows with a single class, which many classifiers do not accept."""

    def __init__(self, label: Any) -> None:
        self.classes_ = np.array([label])

    def predict(self, X: Any) -> NDArray[Any]:
        return np.repeat(self.classes_, X.shape[0])

    def predict_proba(self, X: Any) -> Floats:
        return np.ones((X.shape[0], 1))


def unfitted(spec: MemberSpec) -> Any:
    """The unfitted estimator of a spec, with its parameters."""
    model = clone(spec.estimator)
    return model.set_params(**{name: clone(value, safe=False) for name, value in spec.params.items()})


def takes_weights(estimator: Any) -> bool:
    return weight_name(estimator) is not None


def random_names(estimator: Any, copies: bool) -> list[str]:
    """The parameters that get a seed from the ensemble; members that are not copies keep the seeds they have."""
    params = estimator.get_params(deep=True)
    names = [name for name in sorted(params) if name == "random_state" or name.endswith("__random_state")]
    return [name for name in names if copies or params[name] is None]


def seeds_for(names: Sequence[str], seed: int | None) -> dict[str, Any]:
    """A seed for each of these parameters; `random_state` itself gets the given seed."""
    if list(names) == ["random_state"]:  # a tree of a forest needs no RandomState, which takes time
        return {"random_state": seed}
    more = np.random.RandomState(seed)
    return {name: seed if name == "random_state" else int(more.randint(MOST_SEED)) for name in names}


def with_seeds(estimator: Any, seed: int | None) -> Any:
    """A clone with seeds for all random parameters that have none; unchanged if the seed is None."""
    model = clone(estimator)
    if seed is None or not hasattr(model, "get_params"):
        return model
    return model.set_params(**seeds_for(random_names(model, copies=False), seed))


def fit_member(spec: MemberSpec, data: TrainingData, boosted: Floats | None = None) -> Member:
    """Fit the estimator of a spec; `boosted` are the weights of all rows in boosting."""
    model = unfitted(spec)
    rows, weights = rows_and_weights(spec, data, boosted, model)
    target = data.target
    if not isinstance(target, Labels):
        y: NDArray[Any] = target.numbers if rows is None else target.numbers[rows]
        return Member(spec, fit_model(model, spec, data, rows, y, weights), None, 0)
    codes = target.codes if rows is None else target.codes[rows]
    if spec.code is not None:
        codes = spec.code[codes].astype(np.int64)
        seen = codes >= 0
        if not seen.all():
            rows = np.flatnonzero(seen) if rows is None else rows[seen]
            codes = codes[seen]
            weights = None if weights is None else weights[seen]
        classes, n_classes = np.array([0, 1]), 2
    else:
        classes, n_classes = target.classes, data.n_classes
    present = np.flatnonzero(np.bincount(codes, None if weights is None else weights > 0))
    if len(present) == 0:
        raise InputError(f"the member {spec.name!r} has no training rows.", "use larger samples or fewer partitions.")
    if len(present) == 1 and n_classes > 1:
        return Member(spec, SingleClassModel(classes[present[0]]), present, n_classes)
    fitted = fit_model(model, spec, data, rows, classes[codes], weights)
    return Member(spec, fitted, class_indices_among(fitted.classes_, classes), n_classes)


def fit_model(
    model: Any,
    spec: MemberSpec,
    data: TrainingData,
    rows: NDArray[np.intp] | None,
    y: NDArray[Any],
    weights: Floats | None,
) -> Any:
    X = data.X if rows is None else take_rows(data.X, rows)
    X = X if spec.columns is None else take_columns(X, spec.columns)
    options = weight_params(model, weights)
    if data.checked and is_tree(model):
        options["check_input"] = False
    return model.fit(X, y, **options)


def rows_and_weights(
    spec: MemberSpec, data: TrainingData, boosted: Floats | None, model: Any
) -> tuple[NDArray[np.intp] | None, Floats | None]:
    """The rows of a spec, and the product of sample weights, drawn weights and boosted weights; None for all, or equal.

    If `fit` does not accept weights, drawn rows are repeated. This is also done for pipelines, because their first
    steps ignore weights.
    """
    rows, weights = spec.rows, spec.weights
    accepts = takes_weights(model)
    if weights is not None and spec.counts and (not accepts or isinstance(model, Pipeline)):
        rows = np.repeat(spec.row_indices(data), weights.astype(np.intp))
        weights = None
    for more in (data.weights, boosted):
        if more is not None:
            own = more if rows is None else more[rows]
            weights = own if weights is None else weights * own
    if weights is not None and not accepts:
        raise InputError(
            f"{type(spec.estimator).__name__} does not accept sample weights.",
            "use members whose fit has sample_weight, or leave sample_weight out.",
        )
    return rows, weights


def class_indices_among(classes: Any, everyone: NDArray[Any]) -> NDArray[np.intp]:
    """The indices of a member's classes among all classes."""
    index = {label: i for i, label in enumerate(everyone.tolist())}
    return np.array([index[label] for label in np.asarray(classes).tolist()], dtype=np.intp)


def is_tree(estimator: Any) -> bool:
    return type(estimator).__name__ in TREES and type(estimator).__module__.startswith("sklearn.tree.")


def prepare_for_trees(X: Any, estimators: Iterable[Any]) -> Any:
    """The rows as trees convert them, if all estimators are trees, so that each need not convert them again."""
    if type(X) is not np.ndarray or X.dtype.kind not in "fiu" or not all(is_tree(one) for one in estimators):
        return X
    with np.errstate(over="ignore"):  # too large numbers become infinite, which trees do not accept
        return np.ascontiguousarray(X, dtype=np.float32)


def is_checked(X: Any) -> bool:
    """Whether rows are finite and as trees convert them, so that trees can skip their checks."""
    return type(X) is np.ndarray and X.dtype == np.float32 and bool(np.isfinite(X.sum()))
