"""`Calibrated`: a classifier whose probabilities are calibrated on out-of-fold predictions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import check_jobs, one_of, whole_at_least
from foldwise.decisions.calibration import METHODS, CalibrationData, ClassScores, fit_calibrator
from foldwise.decisions.calibration.scores import Calibrator, model_scores, session_scores
from foldwise.decisions.wrapper import Wrapper, plain_rows
from foldwise.errors import InputError
from foldwise.evaluation.cross_predict import check_partition
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Failure, FoldSession, Labels, Rows
from foldwise.folds.splits import Split, freeze_splits
from foldwise.folds.weights import weight_params

Floats = NDArray[np.float64]


class Calibrated(Wrapper):
    """Calibrate the probabilities of a classifier.

    The calibrator is fitted on out-of-fold predictions (for naive Bayes almost free); the classifier is fitted on all
    rows. With the same splits, scores and method this is scikit-learn's
    `CalibratedClassifierCV(ensemble=False)`; but log-probabilities are used where a model has them, clipped at
    log(1e-12), and sigmoid and isotonic calibration act on log-odds instead of probabilities.

    Parameters
    ----------
    estimator : a classifier with `predict_log_proba`, `predict_proba` or `decision_function`
    method : "auto", "temperature", "sigmoid", "isotonic", "dirichlet" or "none"
        Temperature scaling is one factor for all scores; Platt's sigmoid and isotonic regression treat each class
        against the rest; Dirichlet is a linear map of log-probabilities (with two classes: beta calibration). "auto"
        chooses by cross-validated log loss on the out-of-fold predictions, and uses temperature unless another method
        is better by more than a standard error.
    cv : the number of stratified folds, a splitter, or an iterable of (train, test)
        A number of folds means stratified folds of a fixed shuffle, at most as many as the largest class has rows. Rows
        whose class is missing from the training part of their fold are not used.
    n_jobs : workers over folds; the answer is the same with any number

    Attributes
    ----------
    method_ : the method that was chosen
    calibrator_ : the fitted calibrator
    estimator_ : the classifier, fitted on all rows
    classes_ : the classes

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
        """Fit the classifier on all rows, and the calibrator on its out-of-fold predictions."""
        one_of("method", self.method, METHODS)
        check_jobs(self.n_jobs)
        X, y, sample_weight = plain_rows(X, y, sample_weight)
        params = weight_params(self._unfitted(), sample_weight)
        model = self._unfitted().fit(X, y, **params)
        session = open_session(self._unfitted(), X, y, params)
        target = session.target
        if not isinstance(target, Labels):
            raise InputError("calibration needs a target of one column of classes.", "pass y with one label per row.")
        data = self._calibration_data(session, target, sample_weight)
        self._wrap(model)
        self.method_, self.calibrator_ = fit_calibrator(self.method, data)
        return self

    def _calibration_data(self, session: FoldSession, target: Labels, sample_weight: Any) -> CalibrationData:
        """Out-of-fold scores of all rows."""
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
        """The most probable class of each row."""
        check_is_fitted(self)
        return np.asarray(np.take(self.classes_, self.predict_log_proba(X).argmax(axis=1)))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row), in the order of `classes_`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | row); -inf where isotonic calibration gives 0."""
        check_is_fitted(self)
        return self.calibrator_.log_proba(model_scores(self.estimator_, X))

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """The fold session: one session of the classifier also answers the calibration folds of each training set."""
        from foldwise.decisions.calibrated_session import CalibratedSession

        return CalibratedSession.open(self, X, y, fit_params)


def calibration_splits(cv: Any, X: Any, y: Any, codes: NDArray[np.integer[Any]]) -> Sequence[Split]:
    """The splits of a training set: every row is held out once, if two classes are left to learn from."""
    if isinstance(cv, int | np.integer) and cv is not True and cv is not False:
        largest = int(np.bincount(codes).max())
        folds = min(whole_at_least("cv", cv, 2), largest)
        if folds < 2:
            raise InputError(
                f"calibration needs folds, but no class has more than one of the {len(codes)} rows (n_samples).",
                "pass more rows.",
            )
        cv, X, y = StratifiedKFold(folds, shuffle=True, random_state=0), np.empty((len(codes), 0)), codes
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # its rows teach nothing, if lost
        splits = freeze_splits(cv, X, y, n_rows=len(codes))
    check_partition(splits, len(codes))
    return [split for split in splits if (codes[split.train] != codes[split.train[0]]).any()]  # one class: no model


def calibration_data(
    parts: list[ClassScores], splits: Sequence[Split], codes: NDArray[np.integer[Any]], weights: Floats
) -> CalibrationData:
    """The scores of all splits in the order of rows, without rows whose class their model had not seen."""
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
