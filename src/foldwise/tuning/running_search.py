"""A search on its way: the plan of what is asked, the rounds of a strategy, and what is reported of failures."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.metrics.protocol import SearchMetric
from foldwise.folds.engine import EvaluationTask, Outcome, ScoringPlan, evaluate
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession, Labels, Params, Rows
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split, among, freeze_splits
from foldwise.tuning.results import format_results
from foldwise.tuning.strategies import Grid, Space, Strategy, Trial


@dataclass(frozen=True)
class CheckedSearchPlan:
    """What a search asks, checked before anything is fitted."""

    search: Any  # the estimator with its parameters: cv, refit, error_score, n_jobs …
    space: Space
    strategy: Strategy
    metrics: dict[str, SearchMetric]
    scorers: dict[str, Any]
    several: bool
    seed: Any = None  # of the strategy's generator
    memo: dict[str, Sequence[Params]] = field(default_factory=dict)  # settings made, and those whose names are checked

    def start(self, session: FoldSession, splits: Sequence[Split]) -> RunningSearch:
        """The search on a session and its splits."""
        return RunningSearch(self, session, splits)

    def start_on(self, session: FoldSession, rows: Rows, groups: Any = None) -> RunningSearch:
        """The search that `fit` on these rows alone would make, on a session of the whole table."""
        cv = self.search.cv
        if holds_generator(cv) or holds_generator(self.strategy):  # each outer fold begins with a generator of its own
            own = copy.deepcopy((cv, self.strategy))
            fresh = copy.copy(self.search)
            fresh.cv = own[0]
            return replace(self, search=fresh, strategy=own[1]).start_plain(session, rows, groups)
        return self.start_plain(session, rows, groups)

    def start_plain(self, session: FoldSession, rows: Rows, groups: Any) -> RunningSearch:
        cv = self.search.cv
        counts_only = cv is None or isinstance(cv, int) or type(cv).__module__.startswith("sklearn.")
        # scikit-learn's splitters count rows and compare labels: no row of the table is copied, no text is sorted
        X = np.empty((len(rows), 0)) if counts_only else take_rows(session.X, rows)
        encoded = counts_only and isinstance(session.target, Labels)
        y = session.target.short[rows] if encoded else take_rows(session.y, rows)  # type: ignore[union-attr]
        inner = self.splits(X, y, None if groups is None else take_rows(groups, rows), len(rows))
        return self.start(session, among(inner, rows))

    def splits(self, X: Any, y: Any, groups: Any, n_rows: int) -> Sequence[Split]:
        return freeze_splits(self.search.cv, X, y, groups, n_rows=n_rows, classifier=self._classifies)

    @cached_property
    def _classifies(self) -> bool:
        return bool(is_classifier(self.search.estimator))

    def propose(self, trials: Sequence[Trial], rng: Callable[[], np.random.Generator]) -> Sequence[Params]:
        """The strategy's next settings. Those of a grid are made once: sessions know the settings they have met."""
        if isinstance(self.strategy, Grid) and "grid" in self.memo:
            return [] if trials else self.memo["grid"]
        settings = self.strategy.propose(self.space, trials, rng()) or []
        if isinstance(settings, Mapping) or not all(isinstance(one, Mapping) for one in settings):
            raise FoldwiseTypeError(
                f"a strategy must propose a list of settings, each a dict, but it proposed {settings!r}.",
                "return [{...}], and [] when the search is over.",
            )
        if isinstance(self.strategy, Grid) and not trials:
            self.memo["grid"] = settings
        return settings

    @property
    def work(self) -> ScoringPlan:
        return ScoringPlan(self.metrics, on_train=self.search.return_train_score)

    @property
    def chooser(self) -> str:
        """The name of the metric that chooses."""
        if not self.several:
            return "score"
        return next(iter(self.metrics)) if callable(self.search.refit) else str(self.search.refit)


class RunningSearch:
    """The rounds of one search: ask `question`, `tell` its outcome, until there is none; then `results`."""

    def __init__(self, plan: CheckedSearchPlan, session: FoldSession, splits: Sequence[Split]) -> None:
        self.plan, self.session, self.splits = plan, session, splits
        self.settings: list[Params] = []
        self.outcomes: list[Outcome] = []
        self.question: EvaluationTask | None = None
        self._next()

    def _next(self) -> None:
        settings = self.plan.propose(self._trials, lambda: self._rng)
        if not settings and not self.settings:
            raise InputError(
                "the search has no setting to try: its space is empty, or its strategy proposed none.",
                "give each parameter at least one value.",
            )
        if settings and self.plan.memo.get("checked") is not settings:
            check_names(self.plan.search.estimator, settings)
            self.plan.memo["checked"] = settings
        self.question = EvaluationTask(settings, self.splits) if settings else None

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(seed_of(self.plan.seed))

    def tell(self, outcome: Outcome) -> None:
        """Take in what came of the question, and go on to the next."""
        assert self.question is not None
        error_score = self.plan.search.error_score
        report_failures(outcome, self.question.settings, error_score)
        scores = settle(outcome.scores, outcome.failures, outcome.unscored, error_score)
        learned = settle(outcome.train_scores, outcome.failures, outcome.train_unscored, error_score)
        self.settings += self.question.settings
        self.outcomes.append(replace(outcome, scores=scores, train_scores=learned))
        self._next()

    @property
    def _trials(self) -> Sequence[Trial]:
        """All settings so far with their scores."""
        return Trials(self)

    @property
    def results(self) -> dict[str, Any]:
        """`cv_results_` of all rounds."""
        seconds = np.concatenate([one.seconds for one in self.outcomes])
        test = joined([one.scores for one in self.outcomes])
        return format_results(self.settings, seconds, test, joined([one.train_scores for one in self.outcomes]))

    @property
    def several(self) -> bool:
        """Whether there are several metrics; a scorer that gives a dict shows only when it was called."""
        return self.plan.several or list(self.outcomes[0].scores) != ["score"]

    @property
    def fits_done(self) -> int:
        return sum(one.fits for one in self.outcomes)

    @property
    def models_scored(self) -> int:
        return len(self.settings) * len(self.splits)

    def best_index(self, results: dict[str, Any]) -> int:
        """The place of the chosen setting: the first of rank 1, or what the callable says."""
        refit = self.plan.search.refit
        if callable(refit):
            index = refit(results)
            if not isinstance(index, int | np.integer):
                raise TypeError("best_index_ returned is not an integer")
            if not 0 <= index < len(results["params"]):
                n_settings = len(results["params"])
                raise IndexError(f"best_index_ index out of range: refit gave {index} for {n_settings} settings")
            return int(index)
        if self.several:
            check_refit(refit, list(self.outcomes[0].scores))
        return int(results[f"rank_test_{refit if self.several else 'score'}"].argmin())


class Trials(Sequence[Trial]):
    """The trials of a search, made when a strategy looks at them: a grid never does."""

    def __init__(self, running: RunningSearch) -> None:
        self._running = running

    def __len__(self) -> int:
        return len(self._running.settings)

    def __getitem__(self, i: Any) -> Any:
        return self._made[i]

    @cached_property
    def _made(self) -> list[Trial]:
        running = self._running
        scores = joined([one.scores for one in running.outcomes])
        named = [name for name in (running.plan.chooser, running.plan.search.refit) if name in scores]
        means = np.average(scores[named[0]] if named else next(iter(scores.values())), axis=1)
        return [Trial(one, float(mean)) for one, mean in zip(running.settings, means, strict=True)]


def run(running: RunningSearch, *, keeper: Any = None, progress: Progress | None = None) -> None:
    """All rounds of one search."""
    search = running.plan.search
    while running.question is not None:
        work = replace(running.plan.work, recorder=keeper)
        options = {"n_jobs": search.n_jobs, "audit": search.audit, "progress": progress}
        [outcome] = evaluate(running.session, [running.question], work, **options)
        running.tell(outcome)


def joined(parts: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The scores of several rounds, one below the other."""
    if not parts:
        return {}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def settle(
    table: dict[str, NDArray[Any]], failures: Sequence[Any], unscored: Sequence[Any], error_score: Any
) -> dict[str, NDArray[Any]]:
    """The scores with `error_score` where a fit or a metric failed."""
    scores = spread_dicts(table)
    for values in scores.values():
        for i, number, _ in failures:
            values[i, number] = error_score
    for i, number, name, _ in unscored:
        for values in [scores[name]] if name in scores else scores.values():
            values[i, number] = error_score
    return scores


def spread_dicts(scores: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """A score that is a dict of numbers becomes as many scores."""
    found: dict[str, NDArray[np.float64]] = {}
    for name, values in scores.items():
        if values.dtype != object:
            found[name] = values
            continue
        keys = list(next(one for one in values.flat if isinstance(one, dict)))
        for key in keys:
            flat = [one[key] if isinstance(one, dict) else np.nan for one in values.flat]
            found[key] = np.array(flat, dtype=np.float64).reshape(values.shape)
    return found


def report_failures(found: Outcome, settings: Sequence[Params], error_score: Any) -> None:
    """Raise, or warn, naming setting and split of the first failure."""
    n_models = found.seconds.size
    if found.failures:
        i, number, error = found.failures[0]
        where = f"setting {dict(settings[i])} on split {number}"
        if error_score == "raise":
            error.add_note(f"raised by {where}")
            raise error
        if len(found.failures) == n_models:
            raise InputError(
                f"All the {len(found.failures)} fits failed; the first was {where}: {type(error).__name__}: {error}",
                "error_score='raise' shows the whole traceback.",
            ) from error
        warnings.warn(
            f"{len(found.failures)} fits failed out of a total of {n_models}; their score is "
            f"{error_score}. The first was {where}: {type(error).__name__}: {error}",
            FitFailedWarning,
            stacklevel=6,
        )
    if found.unscored:
        i, number, name, error = found.unscored[0]
        where = f"setting {dict(settings[i])} on split {number}"
        if error_score == "raise":
            error.add_note(f"raised by the metric {name!r} for {where}")
            raise error
        warnings.warn(
            f"Scoring failed. The score on this train-test partition for these parameters will be set to "
            f"{error_score}. The first was {name!r} for {where}: {type(error).__name__}: {error}",
            UserWarning,
            stacklevel=6,
        )


def check_refit(refit: Any, names: Sequence[str]) -> None:
    """With several metrics, refit must say which one chooses."""
    if refit and not callable(refit) and refit not in names:
        raise InputError(
            f"with several metrics, refit must name the one that chooses; got {refit!r}.",
            f"one of {', '.join(map(repr, names))}, a callable, or False.",
        )


def check_names(estimator: Any, settings: Sequence[Params]) -> None:
    """Refuse a parameter that the estimator does not have, before anything is fitted."""
    if not hasattr(estimator, "get_params"):
        raise FoldwiseTypeError(f"{estimator!r} is no estimator: it has no get_params.")
    known = estimator.get_params(deep=True)
    for setting in settings:
        for name in setting:
            if name in known:
                continue
            owner = name.rpartition("__")[0]
            # a part that the setting itself replaces may have other parameters
            if not any(part in setting for part in owners(owner)):
                inside = [one for one in known if one.startswith(f"{owner}__")] if owner in known else list(known)
                near = get_close_matches(name, inside, n=3, cutoff=0.5) or sorted(inside)[:12]
                raise InputError(
                    f"Invalid parameter {name!r} for estimator {type(estimator).__name__}.",
                    f"it has {', '.join(near)}.",
                )


def owners(name: str) -> list[str]:
    """The parts that hold a parameter, from the innermost: a__b of a__b__c, and a."""
    found = []
    while name:
        found.append(name)
        name = name.rpartition("__")[0]
    return found


def holds_generator(value: Any) -> bool:
    """Whether a splitter or a strategy draws from a generator that remembers."""
    state = getattr(value, "random_state", None)
    return isinstance(state, np.random.RandomState | np.random.Generator)


def seed_of(random_state: Any) -> Any:
    """What a generator can be made of: scikit-learn's RandomState gives a number."""
    return int(random_state.randint(2**31)) if isinstance(random_state, np.random.RandomState) else random_state
