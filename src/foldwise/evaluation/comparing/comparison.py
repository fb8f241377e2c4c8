"""`Comparison`: models scored on the same splits of one table, with tests of their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.comparing.compared_models import ComparedModels
from foldwise.evaluation.comparing.paired import Posterior, TTest, check_rope, corrected_t_test, correlated_bayesian_t
from foldwise.evaluation.estimates import SEARCH_SCORE, Estimate, StudentSpread, check_level
from foldwise.evaluation.intervals import corrected_error
from foldwise.evaluation.metrics.scoring import metric_behind, title_of
from foldwise.evaluation.nested import NestedResult
from foldwise.evaluation.plotting import axes
from foldwise.evaluation.split_record import SplitsRecord
from foldwise.evaluation.tables import capitalized, interval_text, number, numbers_of_column, p_text


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(ComparedModels):
    """A comparison of models on the same splits.

    A model is statistically tied with the best one unless the corrected resampled t-test of the two has a p-value below
    1 - `level`, Holm-adjusted for all pairs of models. Adjusting only for the pairs with the best model would not be
    enough, because the best one is selected by the same scores.

    Attributes
    ----------
    names : tuple of str
        The models, best first.
    scores : ndarray of shape (n_models, n_splits)
        Scores in the order of `names`.
    estimates : mapping of str to Estimate
        The estimated score of each model.
    test_share : float
        Test rows divided by training rows.
    metric : str
        Name of the metric.
    rope : float
        Region of practical equivalence: smaller differences count as none.
    level : float
        Level of intervals; tests are at 1 - level.
    greater_is_better : bool
        False for errors, losses and costs.

    Examples
    --------
    >>> from foldwise.evaluation import Comparison
    >>> scores = {"one": [0.91, 0.92, 0.90, 0.93, 0.92], "other": [0.85, 0.86, 0.84, 0.85, 0.86]}
    >>> comparison = Comparison.of(scores, test_share=1 / 4)
    >>> comparison.best, comparison.tied, round(comparison.test("one", "other").difference, 3)
    ('one', ('one',), 0.064)
    """

    names: tuple[str, ...]
    scores: Floats
    estimates: Mapping[str, Estimate]
    test_share: float
    metric: str = "score"
    rope: float = 0.01
    level: float = 0.95
    greater_is_better: bool = True
    facts: ClassVar[tuple[str, ...]] = ("difference", "p", "p_holm", "better", "equal", "worse")
    test_name: ClassVar[str] = "corrected resampled t-test"
    posterior_name: ClassVar[str] = "Bayesian correlated t-test"

    @classmethod
    def of(
        cls, results: Mapping[str, Any], *, test_share: float | None = None, rope: float = 0.01, level: float = 0.95
    ) -> Comparison:
        """Compare scores that you already have.

        Parameters
        ----------
        results : mapping of str to array-like or NestedResult
            The scores of each model, one per split and on the same splits for all models, where higher is better; or
            the results of `nested_cv`.
        test_share : float, default None
            Test rows divided by training rows, for example 1/9 for ten folds. Not needed for results of `nested_cv`.
        rope : float, default 0.01
            Region of practical equivalence: smaller differences count as none.
        level : float, default 0.95
            Level of intervals; tests are at 1 - level.

        Returns
        -------
        Comparison
            The comparison.
        """
        check_names(results)
        found = {name: checked_scores(name, result) for name, result in results.items()}
        check_same_rows(results, found)
        metric = one_metric({name: result.metric for name, result in results.items() if hasattr(result, "metric")})
        nested = [result for result in results.values() if isinstance(result, NestedResult)]
        if test_share is None and not nested:
            raise InputError(
                "scores alone do not tell the sizes of training and test sets, which the test needs.",
                "pass test_share, the number of test rows divided by that of training rows, such as 1/9 for ten folds.",
            )
        share = nested[0].splits.test_share if test_share is None else above_zero("test_share", test_share)
        estimates = {
            name: result.estimate if isinstance(result, NestedResult) else estimate_of(found[name], share)
            for name, result in results.items()
        }
        return cls.sorted(found, estimates, share, metric or "score", rope, level)

    @classmethod
    def sorted(
        cls,
        scores: Mapping[str, Floats],
        estimates: Mapping[str, Estimate],
        test_share: float,
        metric: str,
        rope: float,
        level: float,
    ) -> Comparison:
        """Create a comparison with the models sorted by mean score.

        Parameters
        ----------
        scores : mapping of str to ndarray
            Scores of each model, signed so that higher is better.
        estimates : mapping of str to Estimate
            Estimates with the same sign.
        test_share : float
            Test rows divided by training rows.
        metric : str
            Name of the metric or scorer; the comparison shows its own sign.
        rope : float
            Region of practical equivalence.
        level : float
            Level of intervals.

        Returns
        -------
        Comparison
            The comparison.
        """
        check_level(level)
        names = sorted(scores, key=lambda name: -float(np.mean(scores[name])))
        metric, greater_is_better = metric_behind(metric)
        stacked = np.array([scores[name] for name in names]) * (1.0 if greater_is_better else -1.0)
        stacked.setflags(write=False)
        ordered = {name: estimates[name] if greater_is_better else estimates[name].negated() for name in names}
        return cls(tuple(names), stacked, ordered, test_share, metric, check_rope(rope), level, greater_is_better)

    def test(self, first: str, second: str) -> TTest:
        """Test two models by the corrected resampled t-test.

        Parameters
        ----------
        first : str
            Name of the first model.
        second : str
            Name of the second model.

        Returns
        -------
        TTest
            The test of the difference, first minus second.
        """
        return corrected_t_test(self._differences(first, second), self.test_share)

    def posterior(self, first: str, second: str) -> Posterior:
        """Compare two models by the Bayesian correlated t-test.

        Parameters
        ----------
        first : str
            Name of the first model.
        second : str
            Name of the second model.

        Returns
        -------
        Posterior
            The distribution of the difference, positive if the first model is better; `plot` draws it.
        """
        sign = 1.0 if self.greater_is_better else -1.0  # above 0 the first model is better
        return correlated_bayesian_t(sign * self._differences(first, second), self.test_share, self.rope)

    def _differences(self, first: str, second: str) -> Floats:
        for name in (first, second):
            if name not in self.estimates:
                raise InputError(f"there is no model called {name!r}.", f"choose among {listing(self.names)}.")
        return np.asarray(self.scores[self.names.index(first)] - self.scores[self.names.index(second)])

    def _own(self, name: str) -> dict[str, Any]:
        estimate = self.estimates[name]
        low, high = estimate.interval(self.level)
        return {"score": estimate.value, "low": low, "high": high, "search_score": estimate.search_score}

    def _pair(self, first: str, second: str) -> dict[str, Any]:
        test, posterior = self.test(first, second), self.posterior(first, second)
        low, high = test.interval(self.level)
        difference = {"difference": test.difference, "low": low, "high": high, "p": test.p, "p_holm": test.p}
        return difference | {"better": posterior.better, "equal": posterior.equal, "worse": posterior.worse}

    def plot(self, ax: Any = None) -> Any:
        """Plot the score of each model with its interval; models tied with the best are filled.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        ax = axes(ax, (7.0, 1.4 + 0.4 * len(self.names)))
        heights = dict(zip(self.names, range(len(self.names) - 1, -1, -1), strict=True))
        others = [name for name in self.names if name not in self.tied]
        marks: list[tuple[str, Sequence[str], dict[str, Any]]] = [
            ("Best, or statistically tied with it", self.tied, {"color": "C0"}),
            ("Worse than the best", others, {"color": "0.6", "markerfacecolor": "white"}),
        ]
        for label, names, style in marks:
            for name in names:
                ends = self.estimates[name].interval(self.level)
                ax.plot(ends, [heights[name]] * 2, color=style["color"], linewidth=2, solid_capstyle="butt")
            values = [self.estimates[name].value for name in names]
            if names:
                ax.plot(values, [heights[name] for name in names], "o", label=label, **style)
        searched = {name: one.search_score for name, one in self.estimates.items() if one.search_score is not None}
        if searched:
            at = [heights[name] for name in searched]
            ax.plot(list(searched.values()), at, "|", color="C3", markersize=12, label=capitalized(SEARCH_SCORE))
        ax.axvline(self.estimates[self.best].value, color="0.3", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_yticks(list(heights.values()), list(heights))
        ax.set_ylim(-0.6, len(self.names) - 0.4)
        title = capitalized(title_of(self.metric, self.greater_is_better))
        ax.set_xlabel(f"{title}, with {self.level:.0%} interval over {self.scores.shape[1]} splits")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="small")
        return ax

    @property
    def _searched(self) -> bool:
        return any(estimate.search_score is not None for estimate in self.estimates.values())

    def _cells(self, row: dict[str, Any]) -> dict[str, str]:
        shown = numbers_of_column(one["score"] for one in self._rows)
        cells = {"score": shown(row["score"]), f"{self.level:.0%} interval": interval_text(row["low"], row["high"])}
        if self._searched:
            cells["search"] = number(row["search_score"])
        return {**cells, "diff": number(row["difference"], sign="+"), "p": p_text(row["p_holm"])}

    def _notes(self) -> list[str]:
        tied, *notes = super()._notes()
        searched = [f"search: {SEARCH_SCORE}, the best score inside the search."] if self._searched else []
        return [tied, *searched, *notes]

    def _tested_on(self) -> str:
        return f"the same {self.scores.shape[1]} splits"


def estimate_of(scores: Floats, test_share: float) -> Estimate:
    """Convert given scores to an estimate."""
    spread = StudentSpread(float(corrected_error(scores, test_share)), len(scores) - 1)
    return Estimate(float(np.mean(scores)), f"{len(scores)} scores, corrected resampled t interval", spread)


def check_names(models: Any) -> None:
    """Raise an error unless `models` is a mapping from at least two names."""
    if not isinstance(models, Mapping):
        raise FoldwiseTypeError(
            f"models must be a list of models, or a dict of models by name, got {type(models).__name__}.",
            "pass {'one': …, 'other': …}.",
        )
    if len(models) < 2:
        raise InputError(
            f"a comparison needs at least two models, got {len(models)}.", "use `estimate` for a single model."
        )
    for name in models:
        if not isinstance(name, str):
            raise FoldwiseTypeError(f"names of models must be strings, got {name!r}.")


def checked_scores(name: str, result: Any) -> Floats:
    """Return the scores of a result, one per split."""
    if hasattr(result, "fit"):
        raise FoldwiseTypeError(
            f"Comparison.of needs scores, but {name!r} is an estimator ({type(result).__name__}).",
            "pass models and searches to compare(models, X, y).",
        )
    try:
        scores = np.asarray(result.scores if isinstance(result, NestedResult) else result, dtype=np.float64)
    except (TypeError, ValueError):
        raise FoldwiseTypeError(
            f"{name!r} must be scores, one per split, or a result of nested_cv, got {type(result).__name__}."
        ) from None
    if scores.ndim != 1 or len(scores) < 2:
        raise InputError(
            f"{name!r} needs the scores of at least two splits, but their shape is {scores.shape}.",
            "pass one number per split.",
        )
    return finite_scores(name, scores)


def finite_scores(name: str, scores: Floats) -> Floats:
    """Raise an error if a model has no score on some split."""
    if not np.isfinite(scores).all():
        split = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(
            f"scores must be finite to be compared, but the score of {name!r} on split {split} is {scores[split]}.",
            "see the warnings before this error, or leave the model out.",
        )
    return scores


def check_same_rows(results: Mapping[str, Any], scores: Mapping[str, Floats]) -> None:
    """Raise an error if results come from different splits."""
    hint = "pass the models to compare(models, X, y), or use the same splits for all of them: cv=list(cv.split(X, y))."
    (first, reference), *others = scores.items()
    for name, found in others:
        if len(found) != len(reference):
            raise InputError(
                f"models must be tested on the same splits, but {first!r} was tested on {len(reference)} splits and "
                f"{name!r} on {len(found)}.",
                hint,
            )
    records: dict[str, SplitsRecord] = {
        name: result.splits for name, result in results.items() if isinstance(result, NestedResult)
    }
    if not records:
        return
    (first, record), *rest = records.items()
    for name, other in rest:
        differ = [i for i, (a, b) in enumerate(zip(record.marks, other.marks, strict=True)) if a != b]
        if differ:
            raise InputError(
                f"{first!r} and {name!r} were tested on different rows: {len(differ)} of {len(record.marks)} splits "
                f"differ, the first is split {differ[0]}.",
                hint,
            )


def one_metric(metrics: Mapping[str, str]) -> str | None:
    """Return the metric of all models; raise an error if they disagree."""
    if not metrics:
        return None
    (first, metric), *rest = metrics.items()
    for name, other in rest:
        if other != metric:
            raise InputError(
                f"models must be scored by one metric, but {first!r} is scored by {metric} and {name!r} by {other}.",
                "pass scoring= to compare, such as scoring='accuracy'; searches still select by their own metric.",
            )
    return metric
