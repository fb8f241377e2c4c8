"""`SelectFeatures`: select columns by cross-validated score, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import narwhals as nw
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from foldwise.data.arguments import check_jobs, one_of
from foldwise.data.schema import listing
from foldwise.data.validation import validate_table
from foldwise.data.view import array_names, is_frame, plain_table
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.intervals import corrected_ends, share_tested
from foldwise.evaluation.metrics.scoring import check_single, metrics_of
from foldwise.evaluation.plotting import axes, metric_name, score_label
from foldwise.evaluation.procedure_scores import check_model
from foldwise.folds.audit import check_one
from foldwise.folds.engine import EvaluationTask, ScoringPlan, evaluate
from foldwise.folds.opening import open_subsets
from foldwise.folds.protocol import FoldSession, Need, Params
from foldwise.folds.rows import count_rows, refuse_routing, take_columns
from foldwise.folds.splits import Split, freeze_splits
from foldwise.folds.sums.subsets import Subset
from foldwise.tuning.fold_search import check_rows
from foldwise.tuning.selection_path import (
    SelectionMethod,
    SelectionPath,
    SignificanceStop,
    SizeStop,
    StoppingRule,
    SubsetScores,
)

SHOWN = 0.95  # level of the intervals in frames and plots
DIRECTIONS = ("forward", "backward")


class SelectFeatures(MetaEstimatorMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select columns by the cross-validated score of an estimator: forward, backward or floating.

    All subsets are scored on the same splits. `NaiveBayes` computes the terms of each column once per split. Linear
    models of scikit-learn compute one Gram matrix per split, also behind a scaler or an encoder. Other estimators are
    refitted on each subset.

    Parameters
    ----------
    estimator : estimator
        The classifier or regressor to score. Column names in parameters of `NaiveBayes` refer to the whole table; other
        estimators see the subset only.
    direction : {"forward", "backward"}, default "forward"
        Start from no column, or from all columns.
    floating : bool, default False
        Whether to step back after each step, as long as that beats the best known score for that number of columns
        (SFFS, SBFS).
    n_features : "auto", int or float, default "auto"
        Number or fraction of columns to select. With "auto" a corrected test decides; see Notes.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric; None means the `score` method of the estimator.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means 5 folds. With "auto", ten folds detect more than five.
    level : float, default 0.75
        Level of the one-sided test of "auto", above 0.5; see Notes.
    n_jobs : int or None, default None
        Number of parallel jobs.
    audit : bool, default True
        Whether to check one random subset and split by a refit, if subsets share work.

    Attributes
    ----------
    support_ : ndarray of shape (n_columns,)
        Mask of the selected columns.
    n_features_ : int
        Number of selected columns.
    history_ : polars.DataFrame
        All steps: the column added or dropped, the mean score with its 95% interval (corrected resampled t), and
        whether the step was taken. With "auto", the last step may be rejected.
    by_size_ : polars.DataFrame
        The best subset found of each size, with its score and interval; `plot` draws it.
    session_ : str
        What was shared between subsets; "refit" means nothing.
    models_scored_ : int
        Number of subsets times number of splits.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns, if the table has any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from foldwise import NaiveBayes, SelectFeatures
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> select = SelectFeatures(NaiveBayes(), cv=10).fit(X, y)
    >>> select.get_feature_names_out().tolist()
    ['worst texture', 'worst perimeter', 'worst smoothness']

    Notes
    -----
    With "auto", two subsets are compared split by split. A mean difference is significant if it exceeds
    t·sd·√(1/J + n_test/n_train), where t is the `level` quantile of Student's t distribution with J - 1 degrees of
    freedom (Nadeau & Bengio 2003). Forward, a column is added if that is significantly better than the best subset of
    the previous size; the first column is always added. Backward, a column is dropped unless that is significantly
    worse than the best known subset.

    At a level of 0.95, a gain must be 0.84 standard deviations with ten folds and 1.43 with five, so most columns that
    help a little are rejected. At 0.75 it is 0.32 and 0.50. Noise columns are then still rarely added forward, but some
    are kept backward (see benchmarks/selection.md). The test does not adjust for the number of columns: of thousands
    of noise columns, some may be added.

    The mean score of the selected subset is optimistic, because the subset was selected by it. For an honest estimate,
    score a pipeline of selection and model by `nested_cv` or `cross_validate`, which repeat the selection on the
    training rows of each split.
    """

    support_: NDArray[np.bool_]
    n_features_: int
    history_: Any
    by_size_: Any
    session_: str
    models_scored_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _names: tuple[str, ...]

    def __init__(
        self,
        estimator: Any,
        *,
        direction: str = "forward",
        floating: bool = False,
        n_features: Any = "auto",
        scoring: Any = None,
        cv: Any = None,
        level: float = 0.75,
        n_jobs: int | None = None,
        audit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.direction = direction
        self.floating = floating
        self.n_features = n_features
        self.scoring = scoring
        self.cv = cv
        self.level = level
        self.n_jobs = n_jobs
        self.audit = audit

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any) -> Self:
        """Select columns.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The table.
        y : array-like of shape (n_rows,), default None
            The target.
        groups : array-like of shape (n_rows,), default None
            Groups for splitters that use them.
        **fit_params : dict
            Passed to `fit` of the estimator, such as `sample_weight`.

        Returns
        -------
        self : SelectFeatures
            The fitted selector.
        """
        [fitted] = self.fit_settings([{}], X, y, groups=groups, **fit_params)
        for name in ENTERED:
            self.__dict__.pop(name, None)
        self.__dict__.update(vars(fitted))
        return self

    # settings that differ only in these score subsets on the same splits; the session of pipelines fits them together
    shared_params = frozenset({"direction", "floating", "n_features", "level"})

    def fit_settings(
        self, settings: Sequence[Params], X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> list[Self]:
        """Fit one selector per setting, scoring each subset once; this selector is not changed.

        Parameters
        ----------
        settings : sequence of dict
            Settings that differ only in `shared_params`.
        X : array-like or frame of shape (n_rows, n_columns)
            The table.
        y : array-like of shape (n_rows,), default None
            The target.
        groups : array-like of shape (n_rows,), default None
            Groups for splitters that use them.
        **fit_params : dict
            Passed to `fit` of the estimator.

        Returns
        -------
        list of SelectFeatures
            The fitted selectors.
        """
        fresh = copy(self)
        for name in ENTERED:
            fresh.__dict__.pop(name, None)
        selectors = [copy(fresh).set_params(**setting) for setting in settings]
        refuse_routing(fit_params)
        for selector in (self, *selectors):
            selector._check()
        X, y = fresh._enter(X, reset=True), fresh._target(y)
        check_rows(self.estimator, X, y, fit_params)
        session = open_subsets(self.estimator, X, y, fit_params)
        splits = freeze_splits(self.cv, X, y, groups, n_rows=count_rows(X), classifier=is_classifier(self.estimator))
        asking = SubsetEvaluation(session, splits, ScoringPlan(fresh._metrics()), fresh._names, self.n_jobs)
        scored = SubsetScores(asking.scores)
        for selector in selectors:
            selector.__dict__.update({name: vars(fresh)[name] for name in ENTERED if name in vars(fresh)})
            selector._select(scored, splits)
            selector.session_, selector.models_scored_ = session.shares, len(scored.known) * len(splits)
        if self.audit:
            visited = [{"columns": subset} for subset in scored.known]
            check_one(session, visited, splits, asking.work.need | Need.PROBA, np.random.default_rng())
        return selectors

    def transform(self, X: Any) -> Any:
        """Return the selected columns.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The table.

        Returns
        -------
        array or frame of shape (n_rows, n_features_)
            The selected columns, in the container of X.
        """
        check_is_fitted(self)
        return self._converted(take_columns(self._enter(X, reset=False), self.get_support(indices=True)))

    def _converted(self, X: Any) -> Any:
        """Convert a frame to the library of `set_output`; scikit-learn would convert it through object arrays."""
        configured = getattr(self, "_sklearn_output_config", {}).get("transform")
        wanted = configured or sklearn.get_config()["transform_output"]
        if not is_frame(X) or wanted not in ("pandas", "polars"):
            return X
        frame = nw.from_native(X, eager_only=True)
        return frame.to_pandas() if wanted == "pandas" else frame.to_polars()

    def plot(self, ax: Any = None) -> Any:
        """Plot the best score by number of columns.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        check_is_fitted(self)
        ax = axes(ax)
        sizes, means, low, high = (self.by_size_[name].to_numpy() for name in ("n_features", "score", "low", "high"))
        ax.fill_between(sizes, low, high, alpha=0.2, linewidth=0, label=f"{SHOWN:.0%} interval")
        ax.plot(sizes, means, marker="o", markersize=3, label="Best subset found of each size")
        selected: dict[str, Any] = {"marker": "o", "markersize": 9, "fillstyle": "none", "linestyle": "none"}
        chosen, label = means[sizes == self.n_features_][0], f"Selected ({self.n_features_} columns)"
        ax.plot(self.n_features_, chosen, color="black", label=label, **selected)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("Number of columns")
        ax.set_ylabel(score_label(metric_name(self.scoring, self.estimator)))
        ax.legend(loc="best", frameon=False)
        return ax

    def _check(self) -> None:
        """Raise an error for invalid parameters before anything is fitted."""
        check_model(self.estimator, "estimator")
        one_of("direction", self.direction, DIRECTIONS)
        if not isinstance(self.floating, bool | np.bool_):
            raise FoldwiseTypeError(f"floating must be True or False, got {self.floating!r}.")
        check_jobs(self.n_jobs)
        check_level(self.level)
        if self.level <= 0.5:
            raise InputError(
                f"level must be above 0.5, got {self.level!r}.",
                "the default is 0.75; with a lower level more columns are selected.",
            )
        given = self.n_features
        number = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
        if not number and not (isinstance(given, str) and given == "auto"):
            raise InputError(
                f"n_features must be 'auto', a whole number or a fraction of the columns, got {given!r}.",
                "'auto' stops by a test, 5 selects five columns, 0.5 half of them.",
            )

    def _metrics(self) -> dict[str, Any]:
        check_single(self.scoring)
        metrics: dict[str, Any] = metrics_of(self.scoring, self.estimator)[0]
        return metrics

    def _enter(self, X: Any, reset: bool) -> Any:
        """Check the shape and names of the table as scikit-learn does, without converting frames."""
        tags = get_tags(self).input_tags
        X = plain_table(X)
        if is_frame(X):
            table = validate_table(self, X, None if reset else self._names).table
            X = X.to_native() if isinstance(X, nw.DataFrame) else X
            names = tuple(column.name for column in table.columns)
        else:
            accept = "csr" if tags.sparse else False
            options = {"dtype": None, "accept_sparse": accept, "ensure_all_finite": not tags.allow_nan}
            X = validate_data(self, X, reset=reset, **options)
            names = array_names(X.shape[1])
        if reset:
            self._names = names
            if len(names) == 1:
                raise InputError(
                    f"Found array with 1 feature(s) (shape=({count_rows(X)}, 1)) while a minimum of 2 is required to "
                    "select columns.",
                    "fit the estimator itself on a single column.",
                )
        return X

    def _target(self, y: Any) -> Any:
        """Return the target as an array, if the estimator needs one."""
        if y is None and get_tags(self.estimator).target_tags.required:
            name = type(self.estimator).__name__
            raise InputError(f"{name} requires y to be passed, but the target y is None.", "pass the target as y.")
        return y if y is None or hasattr(y, "shape") or isinstance(y, list | tuple) else np.asarray(y)

    def _stop(self, splits: Sequence[Split]) -> StoppingRule:
        """Return the rule that ends the path."""
        n_columns, given = len(self._names), self.n_features
        if isinstance(given, str):
            if len(splits) < 2:
                raise InputError(
                    "n_features='auto' needs at least two splits, but there is one.",
                    "pass cv=10, or a number of columns as n_features.",
                )
            return SignificanceStop(self.level, share_tested(splits), n_columns, self.direction == "forward")
        number = int(given) if isinstance(given, Integral) else 0
        if not isinstance(given, Integral) and 0 < given <= 1:
            number = int(n_columns * given)
        if not 1 <= number <= n_columns:
            raise InputError(
                f"n_features={given!r} is out of range: X has {n_columns} columns.",
                f"pass a whole number from 1 to {n_columns}, a fraction from {1 / n_columns:.2g} to 1.0, or 'auto'.",
            )
        return SizeStop(number)

    def _select(self, scored: SubsetScores, splits: Sequence[Split]) -> None:
        """Walk the path and store its result."""
        n_columns = len(self._names)
        way = SelectionMethod(n_columns, self.direction == "forward", bool(self.floating))
        path = way.walk(scored, self._stop(splits))
        self.support_ = np.zeros(n_columns, dtype=bool)
        self.support_[list(path.chosen)] = True
        self.n_features_ = len(path.chosen)
        self.history_, self.by_size_ = self._frames(path, scored, share_tested(splits))

    def _frames(self, path: SelectionPath, scored: SubsetScores, share: float) -> tuple[Any, Any]:
        """Create the frames of all steps, and of the best subset of each size."""
        import polars as pl

        def figures(subsets: Sequence[Subset]) -> dict[str, Any]:
            scores = np.array([scored.known[subset] for subset in subsets])
            low, high = corrected_ends(scores, share, SHOWN, self._metrics()["score"].bounds)
            sizes = np.array([len(subset) for subset in subsets])
            return {"n_features": sizes, "score": np.mean(scores, axis=1), "low": low, "high": high}

        names = [None if step.column is None else self._names[step.column] for step in path.steps]
        first = 0 if path.steps[0].action == "start" else 1
        history = {
            "step": np.arange(first, first + len(path.steps)),
            "action": [step.action for step in path.steps],
            "column": pl.Series(names, dtype=pl.String),
            **figures([step.subset for step in path.steps]),
            "taken": [step.taken for step in path.steps],
        }
        best = [path.best[size] for size in sorted(path.best)]
        columns = [[self._names[j] for j in subset] for subset in best]
        return pl.DataFrame(history), pl.DataFrame({**figures(best), "columns": columns})

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.categorical = inner.input_tags.categorical
        tags.target_tags.required = inner.target_tags.required
        return tags


ENTERED = ("n_features_in_", "feature_names_in_", "_names")


@dataclass(frozen=True)
class SubsetEvaluation:
    """Scores subsets by a session, all on the same splits."""

    session: FoldSession
    splits: Sequence[Split]
    work: ScoringPlan
    names: Sequence[str]
    n_jobs: int | None

    def scores(self, subsets: Sequence[Subset]) -> NDArray[np.float64]:  # (subsets, splits)
        settings = [{"columns": subset} for subset in subsets]
        [outcome] = evaluate(self.session, [EvaluationTask(settings, self.splits)], self.work, n_jobs=self.n_jobs)
        failed = [*outcome.failures, *((i, number, error) for i, number, _, error in outcome.unscored)]
        for i, number, error in failed:
            if self.session.shares == "refit":  # if work is shared, any column may have raised it
                error.add_note(f"raised by the columns {self._named(subsets[i])} on split {number}")
            raise error
        scores = np.asarray(outcome.scores["score"], dtype=np.float64)
        if np.isnan(scores).any():
            i, number = np.argwhere(np.isnan(scores))[0]
            raise InputError(
                f"the score of the columns {self._named(subsets[i])} on split {number} is nan.",
                "use splits that contain all classes, or another metric.",
            )
        return scores

    def _named(self, subset: Subset) -> str:
        return listing([self.names[j] for j in subset])
