"""The base of estimators that wrap another one: its feature names and tags; of classifiers, also its classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from foldwise.data.arguments import shown
from foldwise.data.target import check_weights, label_array, refuse_lengths
from foldwise.data.view import is_frame, plain_table
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.randomness import TableSize, is_repeatable
from foldwise.folds.rows import count_rows, with_rows


class AroundEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator around another one, which is fitted as `estimator_`."""

    estimator: Any
    estimator_: Any
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _hold(self, model: Any) -> None:
        """Take over a fitted model and what it knows about its columns."""
        self.estimator_ = model
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
            elif hasattr(self, name):
                delattr(self, name)  # of an earlier fit

    def _inner_tags(self) -> Any:
        """The tags of the wrapped estimator; None if `fit` would refuse it."""
        has_tags = hasattr(self.estimator, "fit") and not isinstance(self.estimator, type)
        return get_tags(self.estimator) if has_tags else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")


class Wrapper(ClassifierMixin, AroundEstimator):  # type: ignore[misc]
    """A classifier around another one."""

    def _unfitted(self) -> Any:
        """Clone the wrapped estimator, which must be a classifier."""
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise FoldwiseTypeError(
                f"estimator of {type(self).__name__} must be a classifier, got {shown(self.estimator)}.",
                "pass an instance, such as NaiveBayes().",
            )
        if is_regressor(self.estimator):
            raise InputError(
                f"estimator of {type(self).__name__} must be a classifier, but {type(self.estimator).__name__} is a "
                "regressor.",
                "pass a classifier.",
            )
        return clone(self.estimator)

    def _session_class(self) -> Any:
        """Return the class of the fold session; imported on use, as sessions import their estimators."""
        raise NotImplementedError

    # not inherited as open_folds: a subclass of a wrapper may predict differently
    def _open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Open the fold session of this wrapper, or return None if only a refit is right."""
        return self._session_class().open(self, X, y, fit_params)

    def _wrap(self, model: Any) -> Self:
        """Adopt a fitted model with its classes and feature names."""
        self._hold(model)
        self.classes_ = model.classes_
        return self

    def _repeats(self, n_rows: int) -> bool:
        """Whether repeated fits on the same rows give the same model; only then may settings share it."""
        own = [value for name, value in self.get_params(deep=False).items() if name != "estimator"]
        return repeats(self.estimator, n_rows) and all(is_repeatable(value, TableSize(n_rows)) for value in own)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self._inner_tags()
        if inner is not None:
            tags.input_tags = inner.input_tags
            if inner.classifier_tags is not None:
                tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def repeats(estimator: Any, n_rows: int) -> bool:
    """Whether repeated fits of an estimator on the same rows give the same model."""
    return estimator._repeats(n_rows) if isinstance(estimator, Wrapper) else is_repeatable(estimator, TableSize(n_rows))


def if_wrapped_has(name: str) -> Any:
    """Make a method available only if the wrapped estimator has it, fitted or not."""
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), name))


def plain_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Convert table, labels and weights to containers whose rows can be indexed."""
    if not (is_frame(X) or isinstance(X, list) or type(X) is np.ndarray or sp.issparse(X)):
        X = np.asarray(plain_table(X))
    X = with_rows(X)
    n_rows = count_rows(X)
    if y is not None:
        y = label_array(y)
        if len(y) != n_rows:
            refuse_lengths(n_rows, len(y))
    weights = check_weights(sample_weight, n_rows)
    if weights is not None and not weights.any():
        raise InputError(
            "every sample weight is zero, so no row is left to train on.", "give some rows a weight above 0."
        )
    return X, y, weights


def log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalize scores along the last axis, so that their exponentials sum to 1."""
    top = scores[..., 0]
    for k in range(1, scores.shape[-1]):  # column by column: numpy's reductions of short rows take three times as long
        top = np.maximum(top, scores[..., k])
    shifted = scores - top[..., None]
    shares = np.exp(shifted)
    total = shares[..., 0]
    for k in range(1, scores.shape[-1]):
        total = total + shares[..., k]
    return np.asarray(shifted - np.log(total)[..., None])
