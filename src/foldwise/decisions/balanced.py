"""`Balanced`: fit a classifier on balanced classes, by sample weights or by resampling the training rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.schema import listing
from foldwise.data.target import Target, encode_target
from foldwise.decisions.resampling import balancing_weights, oversample, smote_rows, undersample
from foldwise.decisions.wrapper import Wrapper, if_wrapped_has, log_softmax, plain_rows, repeats
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import count_rows, take_rows
from foldwise.folds.weights import weight_name, weight_params

METHODS = ("weights", "under", "over", "smote")
DRAWN = {"under": undersample, "over": oversample}


class Balanced(Wrapper):
    """Fit a classifier as if all classes were equally frequent.

    Only the rows passed to `fit` are weighted or resampled. In cross-validation the test rows are never changed.

    Parameters
    ----------
    estimator : classifier
        The classifier to fit on balanced classes.
    method : {"weights", "under", "over", "smote"} or sampler, default "weights"
        "weights" gives all classes the same total weight. "under" keeps as many rows of each class as the smallest
        class has. "over" copies rows until each class is as large as the largest. "smote" creates synthetic rows
        instead of copies, by SMOTE, SMOTENC or SMOTEN of imbalanced-learn depending on the types of the columns
        (`pip install 'foldwise[balance]'`). A sampler is any object with `fit_resample`.
    correct_priors : bool, default False
        Whether to convert probabilities, and predictions with them, back to the original class frequencies; see Notes.
    random_state : int, RandomState or None, default None
        Seed of the resampling.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    priors_ : ndarray of shape (n_classes,)
        Class frequencies in the rows passed to `fit`.
    shown_ : ndarray of shape (n_classes,)
        Class frequencies after balancing.
    estimator_ : classifier
        The fitted classifier.

    Notes
    -----
    With `correct_priors=True` the probability of class c is P(c | row) · P(c) / P'(c), normalized over classes. P are
    the class frequencies in the rows passed to `fit`, P' those after balancing.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import Balanced, NaiveBayes
    >>> X, y = np.arange(20.0)[:, None], np.repeat(["common", "rare"], [16, 4])
    >>> Balanced(NaiveBayes(), "over", random_state=0).fit(X, y).estimator_.class_count_
    array([16., 16.])
    """

    priors_: Floats
    shown_: Floats

    def __init__(
        self, estimator: Any, method: Any = "weights", correct_priors: bool = False, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.correct_priors = correct_priors
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier on balanced classes.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The training rows.
        y : array-like of shape (n_rows,)
            The class of each row.
        sample_weight : array-like of shape (n_rows,), default None
            Weight of each row before classes are balanced; None weighs all rows equally.

        Returns
        -------
        self : Balanced
            The fitted estimator.
        """
        check_method(self.method)
        model = self._unfitted()
        X, y, sample_weight = plain_rows(X, y, sample_weight)
        target = encode_target(y, count_rows(X))
        weights = np.ones(len(target)) if sample_weight is None else sample_weight
        if self.method == "weights":
            shown = balancing_weights(target.codes, weights)
            model.fit(X, y, **balance_params(model, shown))
            totals = np.bincount(target.codes, shown, minlength=len(target.classes))
        elif self.method in METHODS and self.method != "smote":
            rows = self._drawn(target, weights)
            params = weight_params(model, None if sample_weight is None else sample_weight[rows])
            model.fit(take_rows(X, rows), take_rows(y, rows), **params)
            totals = np.bincount(target.codes[rows], weights[rows], minlength=len(target.classes))
        else:
            rows = np.flatnonzero(weights > 0)
            made, codes = self._resampled(take_rows(X, rows), target.codes[rows])
            shown = self._weights_of(codes, target.codes[rows], weights[rows])
            model.fit(made, target.classes[codes], **weight_params(model, None if sample_weight is None else shown))
            totals = np.bincount(codes, shown, minlength=len(target.classes))
        if self.correct_priors and not hasattr(model, "predict_proba"):
            raise InputError(
                f"correct_priors=True needs probabilities, but {type(model).__name__} has no predict_proba.",
                "wrap the classifier: Balanced(Calibrated(estimator), correct_priors=True).",
            )
        self._wrap(model)
        present = np.isin(target.classes, self.classes_)  # a model may leave out a class without weight
        true = np.bincount(target.codes, weights, minlength=len(target.classes))[present]
        self.priors_, self.shown_ = true / true.sum(), totals[present] / totals.sum()
        return self

    def _drawn(self, target: Target, weights: Floats) -> Rows:
        """Draw the training rows of the classifier."""
        return DRAWN[self.method](target.codes, weights, generator(self.random_state))

    def _resampled(self, X: Any, codes: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """Create the training rows of the classifier, some of which are synthetic, and their class codes."""
        seed = int(generator(self.random_state).randint(np.iinfo(np.int32).max))
        if len(np.unique(codes)) == 1:
            return X, codes
        if self.method == "smote":
            return smote_rows(X, codes, seed)
        made, labels = self.method.fit_resample(X, codes)
        return made, np.asarray(labels)

    def _weights_of(self, codes: NDArray[Any], real: NDArray[Any], weights: Floats) -> Floats:
        """Weights of resampled rows: real rows, which SMOTE puts first, keep theirs; others get the class mean."""
        means = np.bincount(real, weights) / np.maximum(np.bincount(real), 1)
        found = means[codes]
        if isinstance(self.method, str):
            found[: len(real)] = weights
        return np.asarray(found)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row: the most probable one if priors are corrected.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predicted classes.
        """
        check_is_fitted(self)
        if not self.correct_priors:
            return np.asarray(self.estimator_.predict(X))
        return np.asarray(np.take(self.classes_, self.predict_proba(X).argmax(axis=1)))

    @if_wrapped_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        if not self.correct_priors:
            return np.asarray(self.estimator_.predict_proba(X))
        if hasattr(self.estimator_, "predict_log_proba"):
            return np.asarray(np.exp(self.predict_log_proba(X)))
        with np.errstate(divide="ignore"):
            logs = np.log(self.estimator_.predict_proba(X))
        return np.asarray(np.exp(corrected(logs, self.priors_, self.shown_)))

    @if_wrapped_has("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Log-probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        logs = np.asarray(self.estimator_.predict_log_proba(X))
        return corrected(logs, self.priors_, self.shown_) if self.correct_priors else logs

    @available_if(  # type: ignore[untyped-decorator]
        lambda self: (
            not self.correct_priors and hasattr(getattr(self, "estimator_", self.estimator), "decision_function")
        )
    )
    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of the wrapped classifier; not available with `correct_priors=True`.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray
            Decision values, as the wrapped classifier returns them.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def _repeats(self, n_rows: int) -> bool:
        drawn = not (isinstance(self.method, str) and self.method == "weights")
        return repeats(self.estimator, n_rows) and (not drawn or isinstance(self.random_state, int | np.integer))

    def _session_class(self) -> Any:
        from foldwise.decisions.balanced_session import BalancedSession

        return BalancedSession

    open_folds = Wrapper._open_folds


def check_method(method: Any) -> None:
    """Raise an error unless `method` is one of the names or a sampler."""
    if method in METHODS if isinstance(method, str) else hasattr(method, "fit_resample"):
        return
    kind = InputError if isinstance(method, str) else FoldwiseTypeError
    raise kind(f"method must be one of {listing(METHODS)}, or a sampler with fit_resample, got {method!r}.")


def balance_params(model: Any, weights: Floats) -> dict[str, Any]:
    """Return the balancing weights as a fit parameter."""
    name = weight_name(model)
    if name is None:
        raise InputError(
            f"method='weights' needs sample weights, but {type(model).__name__}.fit does not accept them.",
            "use method='over', 'under' or 'smote'.",
        )
    return {name: weights}


def corrected(log_proba: Floats, priors: Floats, shown: Floats) -> Floats:
    """Convert log-probabilities from balanced class frequencies to the original ones."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = log_proba + (np.log(priors) - np.log(shown))
    return log_softmax(np.where(shown > 0, moved, -np.inf))


def generator(random_state: Any) -> np.random.RandomState:
    """Make a RandomState, which scikit-learn and imbalanced-learn accept, from any kind of seed."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(1 << 31))
    found: np.random.RandomState = check_random_state(random_state)
    return found
