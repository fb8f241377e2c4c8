"""`SelectFeatures`: columns chosen by cross-validated score, as a scikit-learn transformer."""

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
from foldwise.evaluation.plotting import axes, metric_name
from foldwise.evaluation.procedure_scores import check_model
from foldwise.folds.audit import check_one
from foldwise.folds.columns import take_columns
from foldwise.folds.engine import EvaluationTask, ScoringPlan, evaluate
from foldwise.folds.opening import open_subsets
from foldwise.folds.protocol import FoldSession, Need, Params
from foldwise.folds.rows import count_rows, refuse_routing
from foldwise.folds.splits import Split, freeze_splits
from foldwise.folds.sums.subsets import Subset
from foldwise.tuning.search import check_rows
from foldwise.tuning.selection_path import AtNumber, ByTest, SelectionMethod, SelectionPath, Stop, SubsetScores

SHOWN = 0.95  # the level of the intervals that are shown
DIRECTIONS = ("forward", "backward")


class SelectFeatures(MetaEstimatorMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select columns by the cross-validated score of an estimator: forward, backward, or floating.

    All subsets are scored on the same splits. For `NaiveBayes` what each column says of each test row is had once a
    split, and a step costs a pass over these terms; other estimators are refitted on each subset.

    Parameters
    ----------
    estimator : what is scored; any classifier or regressor. Columns that its parameters name are those of the whole
        table (`NaiveBayes` only: others see the subset alone)
    direction : "forward", from no column, or "backward", from all
    floating : bool
        Whether, after each step, columns are moved the other way as long as that beats the best score known for that
        number of columns (SFFS, SBFS).
    n_features : "auto", a whole number, or a share of the columns
        With "auto" a corrected test decides, see Notes.
    scoring, cv : as in scikit-learn's searches; also a `CostMatrix`. With "auto", ten folds see more than five
    level : float above 0.5, default 0.75
        Of the one-sided test of "auto", see Notes.
    n_jobs : threads over splits, or workers over subsets and splits where each is fitted
    audit : bool
        Whether one random subset and split is checked by a true refit, where subsets share work.

    Attributes
    ----------
    support_ : the mask of the columns selected
    n_features_ : how many they are
    history_ : a polars frame of all steps: what was added or dropped, the mean score and its 95 % interval (corrected
        resampled t), and whether the step was taken: with "auto", the last one may not be
    by_size_ : a polars frame of the best subset met of each size, with its score and interval; `plot` draws it
    session_, models_scored_ : what subsets shared ("refit": nothing), and subsets × splits
    n_features_in_, feature_names_in_ : as in scikit-learn

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
    "auto": scores of two subsets are compared split by split. The mean difference counts where it exceeds
    t·sd·√(1/J + n_test/n_train), with t the `level` quantile of Student's distribution with J - 1 degrees of freedom
    (Nadeau & Bengio 2003): splits share training rows. Forward, a column is added if that is better than the best
    subset of the size before; the first column always is. Backward, one is dropped unless that is worse than the best
    subset known.

    At the usual 0.95 a gain must be 0.84 standard deviations of its differences between ten folds, 1.43 between five:
    most columns that help a little fail that. At 0.75 it is 0.32 and 0.50: forward, columns of noise still seldom pass,
    while backward some of them stay (benchmarks/selection.md has figures). The test knows nothing of the number of
    candidates: of thousands of columns of noise, some may pass.

    The mean score of the selected subset is too good, for it was chosen by it. Score a pipeline of selection and model:
    inside `nested_cv` or `cross_validate` columns are selected anew from the training rows of each split.
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
        """Select columns by these rows. Fit parameters go to the estimator; those of one entry a row are split."""
        [fitted] = self.fit_settings([{}], X, y, groups=groups, **fit_params)
        for name in ENTERED:
            self.__dict__.pop(name, None)
        self.__dict__.update(vars(fitted))
        return self

    # settings that differ in these ask about subsets on the same splits: the session of pipelines fits them together
    shared_params = frozenset({"direction", "floating", "n_features", "level"})

    def fit_settings(
        self, settings: Sequence[Params], X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> list[Self]:
        """Selectors fitted for settings that differ in `shared_params` only: no subset is scored twice for them.

        This one stays as it was.
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
        """The selected columns: a frame of the library it came from, or an array."""
        check_is_fitted(self)
        return self._converted(take_columns(self._enter(X, reset=False), self.get_support(indices=True)))

    def _converted(self, X: Any) -> Any:
        """A frame of the library that `set_output` names: scikit-learn would take it there through objects."""
        configured = getattr(self, "_sklearn_output_config", {}).get("transform")
        wanted = configured or sklearn.get_config()["transform_output"]
        if not is_frame(X) or wanted not in ("pandas", "polars"):
            return X
        frame = nw.from_native(X, eager_only=True)
        return frame.to_pandas() if wanted == "pandas" else frame.to_polars()

    def plot(self, ax: Any = None) -> Any:
        """Draw the best score of each number of columns into a matplotlib axes, by default a new one, and give it."""
        check_is_fitted(self)
        ax = axes(ax)
        sizes, means, low, high = (self.by_size_[name].to_numpy() for name in ("n_features", "score", "low", "high"))
        ax.fill_between(sizes, low, high, alpha=0.2, linewidth=0, label=f"{SHOWN:.0%} interval")
        ax.plot(sizes, means, marker="o", markersize=3, label="best subset met of each size")
        chosen = means[sizes == self.n_features_][0]
        ax.plot(self.n_features_, chosen, marker="o", markersize=9, fillstyle="none", color="black")
        ax.annotate(
            f"{self.n_features_} selected",
            (self.n_features_, chosen),
            xytext=(0, 10),
            textcoords="offset points",
            ha="center",
        )
        ax.set_xlabel("number of columns")
        ax.set_ylabel(metric_name(self.scoring, self.estimator))
        ax.legend(loc="best", frameon=False)
        return ax

    def _check(self) -> None:
        """Refuse parameters that no selection can follow, before anything is fitted."""
        check_model(self.estimator, "what is scored")
        one_of("direction", self.direction, DIRECTIONS)
        if not isinstance(self.floating, bool | np.bool_):
            raise FoldwiseTypeError(f"floating must be True or False, got {self.floating!r}.")
        check_jobs(self.n_jobs)
        check_level(self.level)
        if self.level <= 0.5:
            raise InputError(
                f"level must be above 0.5, got {self.level!r}: a test at even odds decides nothing.",
                "0.75 is the default; lower levels keep more columns.",
            )
        given = self.n_features
        number = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
        if not number and not (isinstance(given, str) and given == "auto"):
            raise InputError(
                f"n_features must be 'auto', a whole number or a share of the columns, got {given!r}.",
                "'auto' stops by a test, 5 at five columns, 0.5 at half of them.",
            )

    def _metrics(self) -> dict[str, Any]:
        check_single(self.scoring, "columns are selected by")
        metrics: dict[str, Any] = metrics_of(self.scoring, self.estimator)[0]
        return metrics

    def _enter(self, X: Any, reset: bool) -> Any:
        """The table, after scikit-learn's checks of its shape and names; frames stay what they are."""
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
                    f"there is nothing to select: Found array with 1 feature(s) (shape=({count_rows(X)}, 1)) while a "
                    "minimum of 2 is required.",
                    "fit the estimator itself on a single column.",
                )
        return X

    def _target(self, y: Any) -> Any:
        """The labels or numbers to learn, if the estimator learns any."""
        if y is None and get_tags(self.estimator).target_tags.required:
            name = type(self.estimator).__name__
            raise InputError(f"{name} requires y to be passed, but the target y is None.", "pass the labels as y.")
        return y if y is None or hasattr(y, "shape") or isinstance(y, list | tuple) else np.asarray(y)

    def _stop(self, splits: Sequence[Split]) -> Stop:
        """When the path ends."""
        n_columns, given = len(self._names), self.n_features
        if isinstance(given, str):
            if len(splits) < 2:
                raise InputError(
                    "n_features='auto' compares scores over several splits, but there is one.",
                    "pass cv=10, say, or the number of columns as n_features.",
                )
            return ByTest(self.level, share_tested(splits), n_columns, self.direction == "forward")
        number = int(given) if isinstance(given, Integral) else 0
        if not isinstance(given, Integral) and 0 < given <= 1:
            number = int(n_columns * given)
        if not 1 <= number <= n_columns:
            raise InputError(
                f"n_features={given!r} is out of range: of {n_columns} columns at least one and at most all can be "
                "selected.",
                f"pass a whole number from 1 to {n_columns}, a share from {1 / n_columns:.2g} to 1.0, or 'auto'.",
            )
        return AtNumber(number)

    def _select(self, scored: SubsetScores, splits: Sequence[Split]) -> None:
        """Walk the path and take over what came of it."""
        n_columns = len(self._names)
        way = SelectionMethod(n_columns, self.direction == "forward", bool(self.floating))
        path = way.walk(scored, self._stop(splits))
        self.support_ = np.zeros(n_columns, dtype=bool)
        self.support_[list(path.chosen)] = True
        self.n_features_ = len(path.chosen)
        self.history_, self.by_size_ = self._frames(path, scored, share_tested(splits))

    def _frames(self, path: SelectionPath, scored: SubsetScores, share: float) -> tuple[Any, Any]:
        """All steps, and the best subset met of each size, as frames."""
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
    """Subsets put to a session, on splits that all of them share."""

    session: FoldSession
    splits: Sequence[Split]
    work: ScoringPlan
    names: Sequence[str]
    n_jobs: int | None

    def scores(self, subsets: Sequence[Subset]) -> NDArray[np.float64]:  # (subsets, splits)
        settings = [{"columns": subset} for subset in subsets]
        [outcome] = evaluate(self.session, [EvaluationTask(settings, self.splits)], self.work, n_jobs=self.n_jobs)
        failed = [(i, number, error) for i, number, error in outcome.failures]
        failed += [(i, number, error) for i, number, _, error in outcome.unscored]
        if failed:
            i, number, error = failed[0]
            if self.session.shares == "refit":  # where work is shared, any column may have raised it
                error.add_note(f"raised by the columns {self._named(subsets[i])} on split {number}")
            raise error
        scores = np.asarray(outcome.scores["score"], dtype=np.float64)
        if np.isnan(scores).any():
            i, number = np.argwhere(np.isnan(scores))[0]
            raise InputError(
                f"the score of the columns {self._named(subsets[i])} on split {number} is no number.",
                "choose splits on which the metric is defined, with all classes in each, or another metric.",
            )
        return scores

    def _named(self, subset: Subset) -> str:
        return listing([self.names[j] for j in subset])
