"""`Comparison`: models scored on the same splits of one table, and what their differences are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import above_zero
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.comparing.compared_models import ComparedModels
from foldwise.evaluation.comparing.paired import (
    Posterior,
    TTest,
    check_rope,
    corrected_t_test,
    correlated_bayesian_t,
    holm,
)
from foldwise.evaluation.estimates import Estimate, StudentSpread, check_level
from foldwise.evaluation.intervals import corrected_error
from foldwise.evaluation.metrics.scoring import metric_behind, title_of
from foldwise.evaluation.nested import NestedResult
from foldwise.evaluation.plotting import axes, interval_text
from foldwise.evaluation.split_record import SplitsRecord
from foldwise.evaluation.tables import number, probability

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(ComparedModels):
    """Models on the same splits: how good each is, and which cannot be told from the best.

    A model is tied with the best (the highest mean score) unless the corrected paired t-test of the two has a p value
    below 1 - `level`, after Holm's correction for all pairs of models: which one is best is itself read off the scores,
    so a correction for the pairs with the best alone would be too small.

    Attributes
    ----------
    names : the models, best first
    scores : (models, splits), in the order of `names`
    estimates : the `Estimate` of each model by name
    test_share : test rows to training rows
    metric : the name of the metric that all were scored by
    greater_is_better : False where the metric is an error, a loss or a cost
    rope : differences up to this count as none
    level : of intervals, and 1 minus that of tests
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
    test_name: ClassVar[str] = "corrected paired t-test"
    posterior_name: ClassVar[str] = "Bayesian correlated t"

    @classmethod
    def of(
        cls, results: Mapping[str, Any], *, test_share: float | None = None, rope: float = 0.01, level: float = 0.95
    ) -> Comparison:
        """From scores at hand: one a split, the same splits for every model.

        Parameters
        ----------
        results : by name of the model, its scores (greater is better), or what `nested_cv` gave
        test_share : test rows to training rows, for example 1/9 of ten folds; nested results know theirs
        rope, level : as in `compare`

        >>> from foldwise.evaluation import Comparison
        >>> scores = {"one": [0.91, 0.92, 0.90, 0.93, 0.92], "other": [0.85, 0.86, 0.84, 0.85, 0.86]}
        >>> Comparison.of(scores, test_share=1 / 4).tied
        ('one',)
        """
        check_names(results)
        found = {name: checked_scores(name, result) for name, result in results.items()}
        check_same_rows(results, found)
        metric = one_metric({name: result.metric for name, result in results.items() if hasattr(result, "metric")})
        nested = [result for result in results.values() if isinstance(result, NestedResult)]
        if test_share is None and not nested:
            raise InputError(
                "scores alone do not say how many rows they were tested on.",
                "pass test_share, test rows to training rows: 1/9 for ten folds.",
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
        """The best model first; of equally good ones the one that was named first.

        Scores and estimates come with the sign of a scorer, greater is better; the comparison shows the metric's own.
        """
        check_level(level)
        names = sorted(scores, key=lambda name: -float(np.mean(scores[name])))
        metric, greater_is_better = metric_behind(metric)
        stacked = np.array([scores[name] for name in names]) * (1.0 if greater_is_better else -1.0)
        stacked.setflags(write=False)
        ordered = {name: estimates[name] if greater_is_better else estimates[name].negated() for name in names}
        return cls(tuple(names), stacked, ordered, test_share, metric, check_rope(rope), level, greater_is_better)

    def test(self, first: str, second: str) -> TTest:
        """The corrected paired t-test of two models."""
        return corrected_t_test(self._differences(first, second), self.test_share)

    def posterior(self, first: str, second: str) -> Posterior:
        """The Bayesian correlated t-test of two models; its `plot` draws what is believed of their difference."""
        sign = 1.0 if self.greater_is_better else -1.0  # above 0 the first model is better
        return correlated_bayesian_t(sign * self._differences(first, second), self.test_share, self.rope)

    def _differences(self, first: str, second: str) -> Floats:
        for name in (first, second):
            if name not in self.estimates:
                raise InputError(f"no model is called {name!r}.", f"there are {listing(self.names)}.")
        return np.asarray(self.scores[self.names.index(first)] - self.scores[self.names.index(second)])

    @cached_property
    def _adjusted(self) -> dict[tuple[str, str], float]:
        """Holm's p values of all pairs, the better model first."""
        pairs = list(combinations(self.names, 2))
        return dict(zip(pairs, holm([self.test(*pair).p for pair in pairs]).tolist(), strict=True))

    def _own(self, name: str) -> dict[str, Any]:
        estimate = self.estimates[name]
        low, high = estimate.interval(self.level)
        return {"score": estimate.value, "low": low, "high": high, "naive": estimate.naive}

    def _against_best(self, name: str) -> dict[str, float]:
        return self._facts(name, self.best)

    def _facts(self, first: str, second: str) -> dict[str, float]:
        test, posterior = self.test(first, second), self.posterior(first, second)
        pair = (first, second) if (first, second) in self._adjusted else (second, first)
        return {
            "difference": test.difference,
            "p": test.p,
            "p_holm": self._adjusted[pair],
            "better": posterior.better,
            "equal": posterior.equal,
            "worse": posterior.worse,
        }

    @property
    def pairs(self) -> Any:
        """A polars frame, one row a pair of models: their difference, first minus second, and what the table has."""
        import polars as pl

        rows = []
        for first, second in combinations(self.names, 2):
            facts = self._facts(first, second)
            low, high = self.test(first, second).interval(self.level)
            rows.append(
                {"first": first, "second": second, "difference": facts.pop("difference"), "low": low, "high": high}
                | facts
            )
        return pl.DataFrame(rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw the intervals of all models, those tied with the best in color; gives the axes."""
        ax = axes(ax, (7.0, 1.2 + 0.4 * len(self.names)))
        places = np.arange(len(self.names))[::-1]
        shown = set()
        for place, name in zip(places, self.names, strict=True):
            estimate, tied = self.estimates[name], name in self.tied
            low, high = estimate.interval(self.level)
            label = "tied with the best" if tied else "worse than the best"
            color, ends = ("C0", "filled") if tied else ("0.6", "none")
            ax.plot([low, high], [place, place], color=color, linewidth=2, solid_capstyle="butt")
            face = color if ends == "filled" else "white"
            once = {} if label in shown else {"label": label}
            ax.plot(estimate.value, place, "o", color=color, markerfacecolor=face, linestyle="none", **once)
            shown.add(label)
            if estimate.naive is not None:
                once = {} if "naive" in shown else {"label": "what the search itself says"}
                ax.plot(estimate.naive, place, "|", color="C3", markersize=12, linestyle="none", **once)
                shown.add("naive")
        ax.axvline(self.estimates[self.best].value, color="0.3", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_yticks(places, self.names)
        ax.set_ylim(-0.6, len(self.names) - 0.4)
        title = title_of(self.metric, self.greater_is_better)
        ax.set_xlabel(f"{title}, {self.level:.0%} interval over {self.scores.shape[1]} splits")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return ax

    def _cells(self, row: dict[str, Any]) -> dict[str, str]:
        cells = {"score": number(row["score"]), f"{self.level:.0%} interval": interval_text(row["low"], row["high"])}
        if any(estimate.naive is not None for estimate in self.estimates.values()):
            cells["naive"] = number(row["naive"])
        return {**cells, "diff": number(row["difference"], sign="+"), "p": probability(row["p_holm"])}

    def _tested_on(self) -> str:
        return f"the same {self.scores.shape[1]} splits"


def estimate_of(scores: Floats, test_share: float) -> Estimate:
    """Scores at hand as an estimate."""
    spread = StudentSpread(float(corrected_error(scores, test_share)), len(scores) - 1)
    return Estimate(float(np.mean(scores)), f"{len(scores)} scores, corrected resampled t interval", spread)


def check_names(models: Any, what: str = "models") -> None:
    """Refuse anything but a mapping from at least two names."""
    if not isinstance(models, Mapping):
        raise FoldwiseTypeError(
            f"{what} to compare come by name, as a dict, got {type(models).__name__}.",
            "pass {'a name': …, 'another': …}.",
        )
    if len(models) < 2:
        raise InputError(
            f"a comparison needs at least two {what}, got {len(models)}.", "`estimate` scores a single one."
        )
    for name in models:
        if not isinstance(name, str):
            raise FoldwiseTypeError(f"names of {what} must be text, got {name!r}.")


def checked_scores(name: str, result: Any) -> Floats:
    """The scores of a result, one a split."""
    if hasattr(result, "fit"):
        raise FoldwiseTypeError(
            f"{name!r} is a {type(result).__name__}, not scores; what a search says of its own winner is too good.",
            "pass models and searches to compare(models, X, y).",
        )
    try:
        scores = np.asarray(result.scores if isinstance(result, NestedResult) else result, dtype=np.float64)
    except (TypeError, ValueError):
        raise FoldwiseTypeError(
            f"{name!r} must be scores, one a split, or what nested_cv gave, but is a {type(result).__name__}."
        ) from None
    if scores.ndim != 1 or len(scores) < 2:
        raise InputError(
            f"{name!r} must have the scores of at least two splits, but their shape is {scores.shape}.",
            "pass one number a split.",
        )
    return finite_scores(name, scores)


def finite_scores(name: str, scores: Floats) -> Floats:
    """Refuse a model that has no score on some split."""
    if not np.isfinite(scores).all():
        place = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(
            f"{name!r} has no score on split {place} but {scores[place]}, so it cannot be compared.",
            "see the warnings before this error, or leave the model out.",
        )
    return scores


def check_same_rows(results: Mapping[str, Any], scores: Mapping[str, Floats]) -> None:
    """Refuse results of different splits."""
    hint = "pass the models to compare(models, X, y), or give all of them the same splits: cv=list(cv.split(X, y))."
    (first, reference), *others = scores.items()
    for name, found in others:
        if len(found) != len(reference):
            raise InputError(
                f"{first!r} was tested on {len(reference)} splits and {name!r} on {len(found)}: differences are taken "
                "split by split.",
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
    """The metric of all; an error where they disagree."""
    if not metrics:
        return None
    (first, metric), *rest = metrics.items()
    for name, other in rest:
        if other != metric:
            raise InputError(
                f"{first!r} is scored by {metric} and {name!r} by {other}, so their scores cannot be compared.",
                "pass scoring= to compare, such as scoring='accuracy': it scores all of them; searches still choose by "
                "their own metric.",
            )
    return metric
