"""Encode labels for classifiers that accept only 0, 1, … (XGBoost) or return labels of another type (CatBoost)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from foldwise.data.target import encode_target
from foldwise.folds import open_session
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import Answer, Failure, Need, Params, Rows
from foldwise.folds.rows import count_rows

PREFIX = "estimator__"


class CodedLabels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a classifier to labels encoded as 0, 1, … and decode its predictions.

    Parameters
    ----------
    estimator : classifier
        The classifier to wrap.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = CodedLabels(DecisionTreeClassifier()).fit(np.array([[0.0], [1.0]]), ["no", "yes"])
    >>> model.predict([[0.2], [0.9]]).tolist()
    ['no', 'yes']
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of the estimator to the encoded labels.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
            The training rows, as the estimator accepts them.
        y : array of shape (n_rows,)
            The labels.
        **fit_params
            Passed on to the `fit` of the estimator.
        """
        target = encode_target(y, count_rows(X))
        self.estimator_ = clone(self.estimator).fit(X, target.codes, **fit_params)
        self.classes_ = target.classes
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predicted labels.
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.classes_[np.asarray(self.estimator_.predict(X)).reshape(-1).astype(np.int64)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict the class probabilities of each row.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        found: NDArray[Any] = self.estimator_.predict_proba(X)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> ModelSession | None:
        """Open the fold session of the wrapped estimator on the encoded labels.

        Parameters
        ----------
        X : frame or array
            The rows of all folds.
        y : array
            Their labels.
        fit_params : dict
            Parameters of `fit`.

        Returns
        -------
        ModelSession or None
            The session; None if the estimator can only be fitted again in each fold.
        """
        session = CodedSession(self, X, y, fit_params)
        return None if session.inner.shares == "refit" else session


class CodedSession(ModelSession):
    """Evaluate settings with the session of the wrapped estimator if the training rows contain all classes."""

    def __init__(self, estimator: CodedLabels, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> None:
        super().__init__(estimator, X, y, fit_params)
        target = encode_target(y, self.n_rows)
        self.codes, self.n_classes = target.codes, len(target.classes)
        self.inner: Any = open_session(estimator.estimator, X, target.codes, fit_params)
        self.shares = self.inner.shares

    def lazy(self, params: Params) -> frozenset[str]:
        if not all(name.startswith(PREFIX) for name in params):
            return frozenset()
        return frozenset(PREFIX + name for name in self.inner.lazy(stripped(params)))

    def answer_group(
        self, settings: Sequence[Params], train: Rows, X_test: Any, need: Need
    ) -> Iterator[Answer | Failure]:
        plain = all(name.startswith(PREFIX) for setting in settings for name in setting)
        learned = len(np.unique(self.codes[train])) == self.n_classes
        if plain and learned and not need & Need.MODEL:
            yield from self.inner.answer_group([stripped(setting) for setting in settings], train, X_test, need)
        else:  # if a class is missing, the labels are encoded differently
            yield from super().answer_group(settings, train, X_test, need)


def stripped(params: Params) -> dict[str, Any]:
    """Return the parameters with their names in the wrapped estimator."""
    return {name.removeprefix(PREFIX): value for name, value in params.items()}
