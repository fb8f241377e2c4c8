"""`Calibrated`: a classifier whose probabilities are calibrated on out-of-fold predictions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.arguments import check_jobs, one_of, whole_at_least
from foldwise.data.target import encode_target
from foldwise.decisions.calibration import METHODS, CalibrationData, ClassScores, fit_calibrator
from foldwise.decisions.calibration.scores import Calibrator, model_scores, session_scores
from foldwise.decisions.wrapper import Wrapper, plain_rows
from foldwise.errors import InputError
from foldwise.evaluation.cross_predict import check_partition
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Failure, FoldSession, Labels, Rows
from foldwise.folds.splits import Split, freeze_splits
from foldwise.folds.weights import weight_params


class Calibrated(Wrapper):
    """Calibrate the probabilities of a classifier.

    The classifier is fitted on all rows, the calibrator on out-of-fold predictions of the same rows. A classifier
    inside scikit-learn's `FrozenEstimator` stays as it is. The calibrator is then fitted on its predictions for all
    rows, which should not be the rows that the classifier was fitted on.

    Parameters
    ----------
    estimator : classifier
        It needs `predict_log_proba`, `predict_proba` or `decision_function`.
    method : {"auto", "temperature", "sigmoid", "isotonic", "dirichlet", "none"}, default "auto"
        "temperature" multiplies all scores by one number. "sigmoid" (Platt) and "isotonic" calibrate each class against
        the rest. "dirichlet" is a linear map of log-probabilities; for two classes that is beta calibration. "auto"
        uses temperature scaling unless another method has a lower cross-validated log loss by more than one standard
        error. "none" leaves probabilities as they are.
    cv : int, splitter or iterable of (train, test), default 5
        Folds of the out-of-fold predictions. A number means shuffled stratified folds with a fixed seed, at most as
        many as the largest class has rows. Rows are not used if their class is missing from the training part.
    n_jobs : int or None, default None
        Number of folds to fit in parallel. The result does not depend on it.

    Attributes
    ----------
    method_ : str
        The method used; of interest with `method="auto"`.
    calibrator_ : Calibrator
        The fitted calibrator.
    estimator_ : classifier
        The classifier, fitted on all rows.
    classes_ : ndarray of shape (n_classes,)
        The classes.

    Notes
    -----
    The procedure is that of scikit-learn's `CalibratedClassifierCV(ensemble=False)`, with two differences:
    log-probabilities are used where a model has them, clipped at log(1e-12), and sigmoid and isotonic calibration act
    on log-odds instead of probabilities.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks. Kull et al. (2019), Beyond temperature scaling.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import Calibrated, NaiveBayes
    >>> model = Calibrated(NaiveBayes()).fit(*load_iris(return_X_y=True))
    >>> model.method_, round(model.calibrator_.inverse, 2)
    ('temperature', 0.61)
    """

    method_: str
    calibrator_: Calibrator

    def __init__(self, estimator: Any, method: str = "auto", cv: Any = 5, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier on all rows, and the calibrator on its out-of-fold predictions.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The training rows.
        y : array-like of shape (n_rows,)
            The class of each row.
        sample_weight : array-like of shape (n_rows,), default None
            Weight of each row; None weighs all rows equally.

        Returns
        -------
        self : Calibrated
            The fitted estimator.
        """
        one_of("method", self.method, METHODS)
        check_jobs(self.n_jobs)
        X, y, sample_weight = plain_rows(X, y, sample_weight)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            self._wrap(self._unfitted())
            self.method_, self.calibrator_ = fit_calibrator(self.method, self._frozen_data(X, y, sample_weight))
            return self
        params = weight_params(self._unfitted(), sample_weight)
        model = self._unfitted().fit(X, y, **params)
        session = open_session(self._unfitted(), X, y, params)
        target = session.target
        if not isinstance(target, Labels):
            raise InputError("calibration needs a single column of classes as y.", "pass y with one label per row.")
        data = self._calibration_data(session, target, sample_weight)
        self._wrap(model)
        self.method_, self.calibrator_ = fit_calibrator(self.method, data)
        return self

    def _frozen_data(self, X: Any, y: Any, sample_weight: Any) -> CalibrationData:
        """Compute the scores of all rows by a model that was fitted before, on other rows."""
        if self.method == "none":
            return empty_data(len(self.classes_))
        scores = model_scores(self.estimator, X)
        hint = "calibrate with rows of the classes that the model was fitted on."
        codes = encode_target(y, len(scores.values), np.asarray(self.classes_), hint).codes
        weights = np.ones(len(codes)) if sample_weight is None else sample_weight
        return CalibrationData(scores, codes, weights).take(np.flatnonzero(weights > 0))

    def _calibration_data(self, session: FoldSession, target: Labels, sample_weight: Any) -> CalibrationData:
        """Compute out-of-fold scores of all rows."""
        n_rows, classes = len(target.codes), np.arange(len(target.classes))
        if len(classes) == 1 or self.method == "none":
            return empty_data(len(classes))
        splits = calibration_splits(self.cv, session.X, session.y, target.codes)
        pool = Parallel(self.n_jobs, prefer="threads" if session.threads else None)
        found = pool(delayed(session_scores)(session, [{}], split.train, split.test, classes) for split in splits)
        parts = []
        for [one] in found:
            if isinstance(one, Failure):
                raise one.error
            parts.append(one)
        return calibration_data(
            parts, splits, target.codes, np.ones(n_rows) if sample_weight is None else sample_weight
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row.

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
        return np.asarray(np.take(self.classes_, self.predict_log_proba(X).argmax(axis=1)))

    def predict_proba(self, X: Any) -> Floats:
        """Predict the calibrated probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities in the order of `classes_`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the calibrated probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Log-probabilities in the order of `classes_`; -inf where isotonic calibration gives 0.
        """
        check_is_fitted(self)
        return self.calibrator_.log_proba(model_scores(self.estimator_, X))

    def _session_class(self) -> Any:
        from foldwise.decisions.calibrated_session import CalibratedSession

        return CalibratedSession

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Open the fold session of this wrapper; a frozen classifier has no folds of its own, and nothing to share.

        Parameters
        ----------
        X, y : table and target
            All rows.
        fit_params : dict
            Further arguments of `fit`.

        Returns
        -------
        FoldSession or None
            None if only a refit is right.
        """
        return None if isinstance(self.estimator, FrozenEstimator) else self._open_folds(X, y, fit_params)


def calibration_splits(cv: Any, X: Any, y: Any, codes: NDArray[np.integer[Any]]) -> Sequence[Split]:
    """Split training rows so that each row is held out once; splits with a single training class are dropped."""
    if isinstance(cv, str):
        raise InputError(
            f"cv must be a number of folds, a splitter or a list of splits, got {cv!r}.",
            "to calibrate a model as it was fitted, pass Calibrated(FrozenEstimator(model)), with scikit-learn's "
            "FrozenEstimator.",
        )
    if isinstance(cv, int | np.integer) and cv is not True and cv is not False:
        largest = int(np.bincount(codes).max())
        folds = min(whole_at_least("cv", cv, 2), largest)
        if folds < 2:
            raise InputError(
                f"calibration needs a class with at least two rows, but all {len(codes)} rows (n_samples) have "
                "different classes.",
                "pass more rows.",
            )
        cv, X, y = StratifiedKFold(folds, shuffle=True, random_state=0), np.empty((len(codes), 0)), codes
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # rows of rare classes are left out
        splits = freeze_splits(cv, X, y, n_rows=len(codes))
    check_partition(splits, len(codes))
    return [split for split in splits if (codes[split.train] != codes[split.train[0]]).any()]


def calibration_data(
    parts: list[ClassScores], splits: Sequence[Split], codes: NDArray[np.integer[Any]], weights: Floats
) -> CalibrationData:
    """Join the scores of all splits in row order, without rows whose class was missing from their training rows."""
    n_classes = int(codes.max()) + 1
    if not parts:
        return empty_data(n_classes)
    values, known = np.empty((len(codes), n_classes)), np.zeros(len(codes), dtype=bool)
    for part, split in zip(parts, splits, strict=True):
        values[split.test] = part.values
        seen = np.bincount(codes[split.train], minlength=n_classes) > 0
        known[split.test] = seen[codes[split.test]] & (weights[split.test] > 0)
    rows: Rows = np.flatnonzero(known)
    return CalibrationData(ClassScores(values, parts[0].normalized), codes, weights).take(rows)


def empty_data(n_classes: int) -> CalibrationData:
    return CalibrationData(ClassScores(np.empty((0, n_classes)), True), np.empty(0, dtype=np.intp), np.empty(0))
