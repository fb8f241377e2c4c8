"""`Conformal`: a model whose predictions come with intervals or sets of a chosen coverage."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.target import encode_target, number_target
from foldwise.decisions.conformal.calibrating import (
    CalibrationPlan,
    CalibrationScores,
    class_calibration,
    value_calibration,
)
from foldwise.decisions.conformal.calibration_folds import class_splits, value_splits
from foldwise.decisions.conformal.checks import check_parameters, warn_of_few_scores, warn_of_rare_classes, warn_of_ties
from foldwise.decisions.conformal.class_scores import class_scores
from foldwise.decisions.conformal.interval_scores import IntervalScore
from foldwise.decisions.conformal.kept_models import KeptModels
from foldwise.decisions.conformal.levels import (
    SLACK,
    check_coverage,
    closed,
    guaranteed_coverage,
    plus_intervals,
    quantile_of,
    rank_of,
)
from foldwise.decisions.wrapper import AroundEstimator, if_wrapped_has, plain_rows
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import count_rows


def wraps(kind: Any) -> Any:
    """Make a method available only around an estimator of one kind."""
    return available_if(lambda self: kind(self.estimator))


class Conformal(MetaEstimatorMixin, AroundEstimator):  # type: ignore[misc]
    """Predict intervals of a quantity, or sets of classes, that contain the truth with a chosen probability.

    A regressor gets `predict_interval`, a classifier `predict_set`. All other predictions are those of the model.

    Parameters
    ----------
    estimator : regressor or classifier
        The model. A classifier needs `predict_proba`.
    method : {"cross", "split", "cv+", "jackknife+"}, default "cross"
        How calibration scores are computed. "cross" fits the model on all rows and uses out-of-fold predictions; it is
        accurate in practice, but no theorem covers it. "split" fits the model without the rows of the first fold and
        calibrates on these; the coverage is guaranteed. "cv+" keeps the model of each fold, and "jackknife+" a model
        without each row. Both are for regression with `conformity="absolute"`, and guarantee at least about 1 - 2α
        instead of 1 - α.
    coverage : float, default 0.9
        The share of new rows whose interval or set must contain the truth. It is 1 - α.
    conformity : str, default "auto"
        What is compared with the quantile of calibration scores.
        For regression: "absolute" (the default) for intervals of one width, "normalized" for intervals that are wider
        where a second model expects larger errors, "quantile" for conformalized quantile regression. For
        classification: "lac" (the default) for the smallest sets on average, "aps" for sets that adapt more to
        difficult rows.
    by_class : bool, default False
        Whether each class gets a quantile of its own (Mondrian), so that the coverage also holds for rare classes.
    interval_estimator : regressor, default None
        The second model of "normalized" and "quantile". By default a clone of `estimator`. A quantile loss is set
        automatically.
    cv : int, splitter or iterable of (train, test), default 5
        The folds. A number means shuffled folds with a fixed seed, stratified for classes. "split" uses the first
        split only, and "jackknife+" ignores it. If rows belong to groups or are ordered in time, pass splits that
        respect this.
    allow_empty : bool, default True
        Whether sets may be empty. Otherwise an empty set gets the most probable class.
    random_state : int, default 0
        Seed of the random part of "aps".
    n_jobs : int or None, default None
        Number of folds to fit in parallel. The result does not depend on it.

    Attributes
    ----------
    estimator_ : estimator
        The model that predicts: fitted on all rows, or without the calibration rows if `method="split"`.
    scores_ : ndarray of shape (n_calibration,)
        The calibration scores, sorted. For "cv+" and "jackknife+" in the order of rows.
    quantiles_ : ndarray of shape (1,) or (n_classes,)
        The largest score inside an interval or a set, for each class if `by_class=True`. Infinite if there are too few
        calibration rows.
    guaranteed_coverage_ : float
        The coverage that theorems guarantee if rows are exchangeable; 0 for "cross".
    classes_ : ndarray of shape (n_classes,)
        The classes. Only of a classifier.

    Notes
    -----
    The quantile is the ⌈(n + 1)(1 - α)⌉-th smallest of n calibration scores. Coverage is marginal: it is an average
    over rows, not a promise for each kind of row. It assumes that new rows are exchangeable with the calibration rows,
    which groups and time order break.

    References
    ----------
    Lei et al. (2018), Distribution-free predictive inference for regression. Romano, Patterson and Candès (2019),
    Conformalized quantile regression. Sadinle, Lei and Wasserman (2019), Least ambiguous set-valued classifiers.
    Romano, Sesia and Candès (2020), Classification with valid and adaptive coverage. Barber et al. (2021), Predictive
    inference with the jackknife+.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from foldwise import Conformal
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Conformal(Ridge(alpha=0.1), coverage=0.9).fit(X[:400], y[:400])
    >>> model.predict_interval(X[400:402]).round()
    array([[ 86., 271.],
           [  1., 187.]])
    """

    scores_: Floats
    score_codes_: NDArray[np.intp] | None
    quantiles_: Floats
    guaranteed_coverage_: float
    n_calibration_: int
    conformity_: IntervalScore | None
    interval_estimators_: list[Any]
    kept_models_: KeptModels | None
    fold_: Rows | None

    def __init__(
        self,
        estimator: Any,
        method: str = "cross",
        coverage: float = 0.9,
        *,
        conformity: str = "auto",
        by_class: bool = False,
        interval_estimator: Any = None,
        cv: Any = 5,
        allow_empty: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.coverage = coverage
        self.conformity = conformity
        self.by_class = by_class
        self.interval_estimator = interval_estimator
        self.cv = cv
        self.allow_empty = allow_empty
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model and compute its calibration scores.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The training rows.
        y : array-like of shape (n_rows,)
            The value or the class of each row.
        sample_weight : array-like of shape (n_rows,), default None
            Weight of each row in the fit. Calibration counts every row once.

        Returns
        -------
        self : Conformal
            The fitted estimator.
        """
        coverage = check_coverage(self.coverage)
        check_parameters(self)
        X, _, weights = plain_rows(X, None, sample_weight)
        n_rows = count_rows(X)
        if n_rows < 2:
            raise InputError(f"calibration needs at least two rows, got n_samples={n_rows}.", "pass more rows.")
        if is_classifier(self.estimator):
            target = encode_target(y, n_rows)
            splits = class_splits(self.method, self.cv, X, target.classes[target.codes], target.codes)
            found = class_calibration(self._plan("lac"), X, target.classes[target.codes], weights, splits)
            self.classes_ = found.model.classes_
        else:
            values = number_target(y, n_rows)
            splits = value_splits(self.method, self.cv, X, values)
            found = value_calibration(self._plan("absolute"), X, values, weights, splits)
        self._adopt(found)
        self.guaranteed_coverage_ = guaranteed_coverage(self.method, coverage, self.n_calibration_, len(splits))
        self.quantiles_ = self._quantiles(coverage)
        if not self.by_class and self.kept_models_ is None and np.isfinite(self.quantiles_[0]):
            warn_of_ties(self.scores_, float(self.quantiles_[0]), coverage, hasattr(self, "classes_"))
        return self

    def _plan(self, usual: str) -> CalibrationPlan:
        conformity = usual if self.conformity == "auto" else self.conformity
        options = (self.interval_estimator, self.random_state, self.n_jobs)
        return CalibrationPlan(self.estimator, self.method, self.coverage, conformity, *options)

    def _adopt(self, found: CalibrationScores) -> None:
        """Take over the fitted model and the scores."""
        self._hold(found.model)
        self.conformity_, self.interval_estimators_ = found.conformity, found.interval_models
        self.kept_models_, self.fold_ = found.kept, found.fold
        self.n_calibration_ = len(found.scores)
        if found.kept is None:
            order = np.argsort(found.scores, kind="stable")
            self.scores_ = found.scores[order]
            self.score_codes_ = None if found.codes is None else found.codes[order]
        else:
            self.scores_, self.score_codes_ = found.scores, None

    def _quantiles(self, coverage: float) -> Floats:
        """Return the quantile of all scores, or of each class; warn where there are too few scores."""
        if not self.by_class:
            if rank_of(coverage, self.n_calibration_) > self.n_calibration_:
                warn_of_few_scores(coverage, self.n_calibration_, hasattr(self, "classes_"))
            return np.array([quantile_of(np.sort(self.scores_), coverage)])
        assert self.score_codes_ is not None
        found = [quantile_of(self.scores_[self.score_codes_ == k], coverage) for k in range(len(self.classes_))]
        scarce = [str(label) for label, value in zip(self.classes_, found, strict=True) if value == np.inf]
        if scarce:
            warn_of_rare_classes(coverage, scarce)
        return np.array(found)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the value or the class of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predictions of `estimator_`.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

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
            The probabilities of `estimator_`.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @wraps(is_regressor)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, coverage: float | None = None) -> Floats:
        """Predict an interval for the value of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.
        coverage : float, optional
            Another coverage than that of the estimator. Not available with `conformity="quantile"`, whose models
            depend on it.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            The low and the high end of each interval.
        """
        check_is_fitted(self)
        level = self._level(coverage)
        if self.conformity == "quantile" and level != self.coverage:
            raise InputError(
                f"conformity='quantile' fits its models for coverage={self.coverage:g}, so {level:g} is not available.",
                f"fit again with coverage={level:g}.",
            )
        quantiles = self.quantiles_ if coverage is None else self._quantiles(level)
        center = np.asarray(self.estimator_.predict(X), dtype=np.float64).reshape(-1)
        if self.kept_models_ is not None:
            assert self.fold_ is not None
            return plus_intervals(self.kept_models_.predict(X), self.fold_, self.scores_, level)
        shape = [np.asarray(one.predict(X), dtype=np.float64).reshape(-1) for one in self.interval_estimators_]
        assert self.conformity_ is not None
        low, high = self.conformity_.bounds(center, np.column_stack([*shape, center]), float(quantiles[0]))
        return closed(low, high)

    @wraps(is_classifier)  # type: ignore[untyped-decorator]
    def predict_set(self, X: Any, coverage: float | None = None) -> NDArray[np.bool_]:
        """Predict a set of classes for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.
        coverage : float, optional
            Another coverage than that of the estimator.

        Returns
        -------
        ndarray of bool of shape (n_rows, n_classes)
            Whether each class, in the order of `classes_`, belongs to the set.
        """
        check_is_fitted(self)
        level = self._level(coverage)
        quantiles = self.quantiles_ if coverage is None else self._quantiles(level)
        proba = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        kind = "lac" if self.conformity == "auto" else self.conformity
        found = class_scores(kind, proba, self.random_state) <= quantiles + SLACK
        if not self.allow_empty:
            empty = np.flatnonzero(~found.any(axis=1))
            found[empty, proba[empty].argmax(axis=1)] = True
        return np.asarray(found)

    def _level(self, coverage: float | None) -> float:
        return check_coverage(self.coverage if coverage is None else coverage)

    def coverage_of(self, X: Any, y: Any) -> float:
        """Return the share of rows whose interval or set contains the truth.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Rows that were not used by `fit`.
        y : array-like of shape (n_rows,)
            Their values or classes.

        Returns
        -------
        float
            The share.
        """
        check_is_fitted(self)
        if is_classifier(self.estimator):
            sets = self.predict_set(X)
            codes = np.searchsorted(self.classes_, np.asarray(y)).clip(0, len(self.classes_) - 1)
            return float(np.mean(sets[np.arange(len(sets)), codes] & (self.classes_[codes] == np.asarray(y))))
        ends = self.predict_interval(X)
        values = number_target(y, len(ends))
        return float(np.mean((ends[:, 0] <= values) & (values <= ends[:, 1])))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R² of a regressor.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Test rows.
        y : array-like of shape (n_rows,)
            Their classes or values.
        sample_weight : array-like of shape (n_rows,), default None
            Weight of each row.

        Returns
        -------
        float
            The score of the predictions. `coverage_of` is that of the intervals or sets.
        """
        metric = accuracy_score if is_classifier(self.estimator) else r2_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self._inner_tags()
        if inner is not None:
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
            tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
            tags.target_tags.multi_output = False
        return tags
