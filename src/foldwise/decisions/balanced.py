"""`Balanced`: a classifier fitted on balanced classes, by weights or by resampled training rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from foldwise.data.target import Target, encode_target
from foldwise.decisions.resampling import balancing_weights, oversample, smote_rows, undersample
from foldwise.decisions.wrapper import Wrapper, log_softmax, plain_rows, repeats
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import count_rows, take_rows
from foldwise.folds.weights import weight_name, weight_params

Floats = NDArray[np.float64]

METHODS = ("weights", "under", "over", "smote")
DRAWN = {"under": undersample, "over": oversample}


def answers(name: str) -> Any:
    """Whether the wrapped classifier has a method, fitted or not."""
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), name))


class Balanced(Wrapper):
    """Fit a classifier as if all classes were equally frequent.

    Only the rows given to `fit` are weighted or resampled, so in cross-validation only training rows are.

    Parameters
    ----------
    estimator : a classifier
    method : "weights", "under", "over", "smote", or a sampler of imbalanced-learn
        Weights under which all classes weigh the same; as many rows of each class as the smallest has; as many as the
        largest has, by copies, or by rows that SMOTE draws between neighbors (SMOTE, SMOTENC or SMOTEN of
        imbalanced-fit_calibrator, by the kinds of columns; `pip install 'foldwise[balance]'`).
    correct_priors : bool, default False
        Whether probabilities, and with them predictions, are those of the classes as frequent as they are:
        P(c | row) · P(c) / P'(c), where P' are the shares that the classifier was shown, normalized.
    random_state : of the draws

    Attributes
    ----------
    classes_ : the classes
    priors_, shown_ : the shares of the classes in the rows given to `fit`, and in those the classifier was shown
    estimator_ : the fitted classifier

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
        """Fit the classifier on balanced rows; weights count rows before they are balanced."""
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
                f"correct_priors=True corrects probabilities, but {type(model).__name__} has no predict_proba.",
                "wrap it: Balanced(Calibrated(estimator), …).",
            )
        self._wrap(model)
        present = np.isin(target.classes, self.classes_)  # a model may leave out a class without weight
        true = np.bincount(target.codes, weights, minlength=len(target.classes))[present]
        self.priors_, self.shown_ = true / true.sum(), totals[present] / totals.sum()
        return self

    def _drawn(self, target: Target, weights: Floats) -> Rows:
        """The rows shown to the classifier."""
        return DRAWN[self.method](target.codes, weights, generator(self.random_state))

    def _resampled(self, X: Any, codes: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """Rows that are not all there, and their codes."""
        seed = int(generator(self.random_state).randint(np.iinfo(np.int32).max))
        if len(np.unique(codes)) == 1:
            return X, codes
        if self.method == "smote":
            return smote_rows(X, codes, seed)
        made, labels = self.method.fit_resample(X, codes)
        return made, np.asarray(labels)

    def _weights_of(self, codes: NDArray[Any], real: NDArray[Any], weights: Floats) -> Floats:
        """The weights of rows: of real ones, which SMOTE puts in front, their own; of others the mean of the class."""
        means = np.bincount(real, weights) / np.maximum(np.bincount(real), 1)
        found = means[codes]
        if isinstance(self.method, str):
            found[: len(real)] = weights
        return np.asarray(found)

    def predict(self, X: Any) -> NDArray[Any]:
        """The classifier's own prediction; with corrected priors the most probable class."""
        check_is_fitted(self)
        if not self.correct_priors:
            return np.asarray(self.estimator_.predict(X))
        return np.asarray(np.take(self.classes_, self.predict_proba(X).argmax(axis=1)))

    @answers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """P(class | row), in the order of `classes_`."""
        check_is_fitted(self)
        if not self.correct_priors:
            return np.asarray(self.estimator_.predict_proba(X))
        if hasattr(self.estimator_, "predict_log_proba"):
            return np.asarray(np.exp(self.predict_log_proba(X)))
        with np.errstate(divide="ignore"):
            logs = np.log(self.estimator_.predict_proba(X))
        return np.asarray(np.exp(corrected(logs, self.priors_, self.shown_)))

    @answers("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | row)."""
        check_is_fitted(self)
        logs = np.asarray(self.estimator_.predict_log_proba(X))
        return corrected(logs, self.priors_, self.shown_) if self.correct_priors else logs

    @available_if(  # type: ignore[untyped-decorator]
        lambda self: (
            not self.correct_priors and hasattr(getattr(self, "estimator_", self.estimator), "decision_function")
        )
    )
    def decision_function(self, X: Any) -> Floats:
        """The decision values of the wrapped classifier; there are none with corrected priors."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def _repeats(self, n_rows: int) -> bool:
        drawn = not (isinstance(self.method, str) and self.method == "weights")
        return repeats(self.estimator, n_rows) and (not drawn or isinstance(self.random_state, int | np.integer))

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """The fold session: resampled rows are training rows like any others; weights open one session per split."""
        from foldwise.decisions.balanced_session import BalancedSession

        return BalancedSession.open(self, X, y, fit_params)


def check_method(method: Any) -> None:
    """One of the methods by name, or an object that resamples."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"method must be {' or '.join(map(repr, METHODS))}, or a sampler, got {method!r}.")
    elif not hasattr(method, "fit_resample"):
        raise FoldwiseTypeError(
            f"method must be a name or a sampler with fit_resample, got {method!r}.", f"one of {', '.join(METHODS)}."
        )


def balance_params(model: Any, weights: Floats) -> dict[str, Any]:
    """The balancing weights as fit wants them."""
    name = weight_name(model)
    if name is None:
        raise InputError(
            f"classes are balanced by weights, but {type(model).__name__} takes none.",
            "use method='over', 'under' or 'smote'.",
        )
    return {name: weights}


def corrected(log_proba: Floats, priors: Floats, shown: Floats) -> Floats:
    """Log-probabilities under other priors than those that were shown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = log_proba + (np.log(priors) - np.log(shown))
    return log_softmax(np.where(shown > 0, moved, -np.inf))


def generator(random_state: Any) -> np.random.RandomState:
    """numpy's older generator, which scikit-learn and imbalanced-learn take, from any seed."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(1 << 31))
    found: np.random.RandomState = check_random_state(random_state)
    return found
