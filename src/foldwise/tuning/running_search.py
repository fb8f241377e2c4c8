"""A running search: the checked plan, and the rounds in which a strategy proposes settings that are then scored."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.failures import report_failures, with_error_score
from foldwise.evaluation.fit_lines import FitPrinter
from foldwise.evaluation.intervals import share_tested
from foldwise.evaluation.metrics.protocol import SearchMetric
from foldwise.folds.engine import EvaluationTask, Outcome, ScoringPlan, evaluate
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession, Labels, Params, Rows
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split, among, freeze_splits
from foldwise.folds.tolerance import first_best, tie_unit
from foldwise.tuning.dimensions import Space
from foldwise.tuning.parameter_names import check_names
from foldwise.tuning.racing import FoldRace, Racing, proposing
from foldwise.tuning.reshuffling import reshuffled
from foldwise.tuning.results import format_results, joined
from foldwise.tuning.row_race import RowRace
from foldwise.tuning.seeds import holds_generator, seed_of
from foldwise.tuning.smooth_losses import SearchData
from foldwise.tuning.strategies.grid import Grid
from foldwise.tuning.strategies.protocol import (
    BatchStrategy,
    DataStrategy,
    Strategy,
    Trial,
    as_running,
    is_tried,
    scored_trial,
    trial_generator,
)
from foldwise.tuning.study_protocol import StudyProtocol

DEFAULT_TRIALS = 50  # of strategies that could go on for ever
Splitting = Callable[[int], Sequence[Split]]  # of a trial with this number
MOST_TIMED = 8  # settings that are scored together in a search with a timeout
STOPPING = 0.1  # seconds that it takes to stop worker processes
MOST_STOPPING = 0.02  # as a share of the timeout


class ShortTimeoutError(InputError):
    """No setting was scored within the timeout of a search."""


@dataclass(frozen=True)
class CheckedSearchPlan:
    """The space, strategy and metrics of a search, checked before anything is fitted."""

    search: Any  # the search estimator with its parameters: cv, refit, error_score, n_jobs …
    space: Space
    strategy: Strategy
    metrics: dict[str, SearchMetric]
    scorers: dict[str, Any]
    several: bool
    seed: Any = None  # of the strategy's generators
    n_trials: int | None = None
    timeout: float | None = None  # seconds
    initial: Sequence[Params] = ()  # settings that are tried first
    reshuffle: bool = False  # whether each trial has splits of its own
    began: float | None = None  # when `fit` was called, by time.monotonic; None if the time counts from `start`
    memo: dict[str, Any] = field(default_factory=dict)  # the grid, the settings last checked, where studies come from

    def start(
        self,
        session: FoldSession,
        splits: Sequence[Split],
        again: Splitting | None = None,
        study: StudyProtocol | None = None,
    ) -> RunningSearch:
        """Start the search on a session and its splits. `again` makes the splits of a trial, if each has its own."""
        return RunningSearch(self.bound(session, splits), session, splits, again if self.reshuffle else None, study)

    @cached_property
    def racing(self) -> Racing | None:
        """The race of the settings, if the search has one."""
        return self.strategy if isinstance(self.strategy, Racing) else None

    @cached_property
    def _looker(self) -> DataStrategy | None:
        """The strategy that proposes settings, if it looks at data."""
        strategy = proposing(self.strategy)
        return strategy if isinstance(strategy, DataStrategy) else None

    def bound(self, session: FoldSession, splits: Sequence[Split]) -> CheckedSearchPlan:
        """The plan, whose strategy knows the rows of these splits if it looks at data."""
        if self._looker is None:
            return self
        racing, looker = self.racing, self._looker
        table = (session.X, session.y, splits, session.fit_params)
        bound = looker.bind(SearchData(self.search.estimator, *table, self.initial, self.timeout, self.search.n_jobs))
        return replace(self, strategy=bound if racing is None else replace(racing, strategy=bound))

    def start_on(self, session: FoldSession, rows: Rows, groups: Any = None) -> RunningSearch:
        """Start the search that `fit` on these rows alone would run, on a session of the whole table."""
        cv = self.search.cv
        if holds_generator(cv) or holds_generator(self.strategy):  # each outer fold starts with a generator of its own
            search = copy.copy(self.search)
            search.cv, strategy = copy.deepcopy((cv, self.strategy))
            return replace(self, search=search, strategy=strategy).start_plain(session, rows, groups)
        return self.start_plain(session, rows, groups)

    def start_plain(self, session: FoldSession, rows: Rows, groups: Any) -> RunningSearch:
        cv = self.search.cv
        # scikit-learn's splitters only count rows and compare labels, so no rows need to be copied
        counts_only = cv is None or isinstance(cv, int) or type(cv).__module__.startswith("sklearn.")
        X = np.empty((len(rows), 0)) if counts_only else take_rows(session.X, rows)
        encoded = counts_only and isinstance(session.target, Labels)
        y = session.target.short[rows] if encoded else take_rows(session.y, rows)  # type: ignore[union-attr]
        all_groups, groups = groups, None if groups is None else take_rows(groups, rows)

        def splits(number: int) -> Sequence[Split]:
            return among(self.splits(X, y, groups, len(rows), number), rows)

        inside = self.splits(X, y, groups, len(rows))
        return self.start(session, among(inside, rows), splits, self.study(session, inside, all_groups, rows))

    def study(
        self, session: FoldSession, splits: Sequence[Split], groups: Any = None, rows: Rows | None = None
    ) -> StudyProtocol | None:
        """Open the study of the search on some rows of the table of a session; None without a store."""
        if self.search.store is None:
            return None
        from foldwise.tuning.store.opening import StudySource  # which loads SQLAlchemy

        source = self.memo.get("studies")
        if source is None or source[0] is not session:
            source = self.memo["studies"] = (session, StudySource.of(self, session, groups))
        found: StudyProtocol = source[1].study(splits, rows)
        return found

    def deadline(self, timeout: float) -> float:
        """The time of `time.monotonic` at which the search ends, with what it takes to stop worker processes."""
        # imports and the session count, too: on the first call they take a quarter of a second
        began = time.monotonic() if self.began is None else self.began
        return began + timeout - min(STOPPING, MOST_STOPPING * timeout)

    def close(self) -> None:
        """Close the store, if the search has opened it."""
        if "studies" in self.memo and isinstance(self.search.store, str | Path):
            self.memo["studies"][1].store.close()

    def evaluate(self, searches: Sequence[RunningSearch], keeper: Any = None, **options: Any) -> list[Outcome]:
        """Evaluate the questions of searches on one session; in those with a store, only what is not stored."""
        work = self.work if keeper is None else replace(self.work, recorder=keeper)
        options = {"n_jobs": self.search.n_jobs, "audit": self.search.audit, **options}
        first = searches[0]
        if first.study is not None:
            return first.study.evaluate(searches, work, options)
        questions = [one.question for one in searches if one.question is not None]
        return evaluate(first.session, questions, work, observers=[one.printer() for one in searches], **options)

    def splits(self, X: Any, y: Any, groups: Any, n_rows: int, number: int | None = None) -> Sequence[Split]:
        """Return the splits of the search, or those of a trial if each has its own."""
        cv = self.search.cv
        if number is not None:
            cv = reshuffled(cv, y, self.fixed_seed, number, classifier=self._classifies)
        return freeze_splits(cv, X, y, groups, n_rows=n_rows, classifier=self._classifies)

    @cached_property
    def fixed_seed(self) -> int:
        return seed_of(self.seed)

    @cached_property
    def _classifies(self) -> bool:
        return bool(is_classifier(self.search.estimator))

    @cached_property
    def most_trials(self) -> float:
        """The number of trials at which the search ends."""
        if self.n_trials is not None:
            return self.n_trials
        return DEFAULT_TRIALS if isinstance(self.strategy, BatchStrategy) else math.inf

    @property
    def is_one_grid(self) -> bool:
        """Whether all settings are proposed at once, as those of a grid."""
        return isinstance(self.strategy, Grid) and not self.initial and self.n_trials is None

    def next_settings(
        self, trials: Callable[[], list[Trial]], n_trials: int, seed: Callable[[], int]
    ) -> Sequence[Params]:
        """Return the settings to score next. Those of a grid are created once, as sessions recognize them."""
        if self.is_one_grid:
            if n_trials:
                return []
            if "grid" not in self.memo:
                self.memo["grid"] = self.propose([], 0)
            grid: Sequence[Params] = self.memo["grid"]
            return grid
        known = trials()
        found: list[Params] = [one for one in self.initial if not is_tried(one, known)] if not n_trials else []
        at_once = self.strategy.batch if isinstance(self.strategy, BatchStrategy) else 1
        batch = min(at_once, MOST_TIMED if self.timeout else math.inf)
        while len(found) < batch and n_trials + len(found) < self.most_trials:
            proposed = self.propose([*known, *map(as_running, found)], seed())
            if not proposed:
                break
            found += proposed
        return found[: int(min(self.most_trials - n_trials, len(found)))]

    def propose(self, trials: Sequence[Trial], seed: int) -> Sequence[Params]:
        """Return what the strategy proposes."""
        settings = self.strategy.propose(self.space, trials, trial_generator(seed, len(trials))) or []
        if isinstance(settings, Mapping) or not all(isinstance(one, Mapping) for one in settings):
            raise FoldwiseTypeError(
                f"propose must return a list of settings, each a dict, but the strategy returned {settings!r}.",
                "return [{...}], or [] when the search is over.",
            )
        return settings

    @property
    def work(self) -> ScoringPlan:
        """The metrics to compute."""
        return ScoringPlan(self.metrics, on_train=self.search.return_train_score)

    @property
    def chooser(self) -> str:
        """The name of the metric that selects the best setting."""
        if not self.several:
            return "score"
        return next(iter(self.metrics)) if callable(self.search.refit) else str(self.search.refit)


class RunningSearch:
    """The rounds of one search: evaluate `question` and `tell` its outcome until it is None; then read `results`."""

    def __init__(
        self,
        plan: CheckedSearchPlan,
        session: FoldSession,
        splits: Sequence[Split],
        again: Splitting | None = None,
        study: StudyProtocol | None = None,
    ) -> None:
        self.plan, self.session, self.splits, self.again, self.study = plan, session, splits, again, study
        self.waiting: list[Params] = []  # proposed, each to be scored on splits of its own
        self.race: FoldRace | RowRace | None = None
        self.settings: list[Params] = []
        self.outcomes: list[Outcome] = []
        self._shares: list[NDArray[np.float64]] = []  # of the training rows, per round and setting
        self._models_before = 0  # scored with fewer rows, before they were scored again
        self.question: EvaluationTask | None = None
        self.deadline = None if plan.timeout is None else plan.deadline(plan.timeout)
        self._next()

    def _next(self) -> None:
        if self.expired:
            self.question = None
            return
        if self.waiting:
            self._ask_alone()
            return
        settings = self._next_settings()
        if not settings and not self.settings:
            raise InputError(
                "the search has no setting to try: the space is empty, or the strategy proposed nothing.",
                "give each parameter at least one value.",
            )
        if settings and self.plan.memo.get("checked") is not settings:
            check_names(self.plan.search.estimator, settings)
            self.plan.memo["checked"] = settings
        if settings and self.again is not None:
            self.waiting = list(settings)
            self._ask_alone()
        elif settings and self.plan.racing is not None:
            self.race = self._race_of(self.plan.racing, settings)
            self.question = self.race.question
        else:
            self.question = EvaluationTask(settings, self.splits) if settings else None

    def _race_of(self, racing: Racing, settings: Sequence[Params]) -> FoldRace | RowRace:
        if racing.resource == "rows":
            return RowRace(settings, self.splits, self.session, self._seed)
        return FoldRace(racing, settings, self.splits, self._best_scores(), share_tested(self.splits))

    def _next_settings(self) -> Sequence[Params]:
        """The settings that the study has stored, in whole batches, or else new ones."""
        n_trials = len(self.settings)
        if self.study is None:
            return self.plan.next_settings(self.trials, n_trials, lambda: self._seed)
        if n_trials >= self.plan.most_trials or (n_trials and self.plan.is_one_grid):
            return []
        return self.study.proposed(n_trials, lambda: self.plan.next_settings(self.trials, n_trials, lambda: self._seed))

    def _ask_alone(self) -> None:
        """Ask for one setting on splits of its own."""
        assert self.again is not None
        self.question = EvaluationTask([self.waiting.pop(0)], self.again(len(self.settings)))

    def _best_scores(self) -> NDArray[np.float64] | None:
        """The scores of the best setting so far that was scored on all splits."""
        values = self.chosen_scores if self.settings else np.empty((0, 0))
        whole = values[np.isfinite(values).all(axis=1)]
        return whole[first_best(whole.mean(axis=1))] if len(whole) else None

    @property
    def expired(self) -> bool:
        """Whether the time of the search is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @cached_property
    def _seed(self) -> int:
        return seed_of(self.plan.seed) if self.study is None else self.study.seed

    def tell(self, outcome: Outcome) -> None:
        """Record the outcome of the question, and go on to the next."""
        assert self.question is not None
        settings, shares = self.question.settings, None
        if self.race is not None:
            if outcome.n_settings_done is None:
                self.race.tell(outcome, self.plan.chooser)
                self.question = None if self.expired else self.race.question
                if self.question is not None:
                    return
            if self.race.outcome is not None:
                settings, outcome = self.race.settings, self.race.result()
            shares, self._models_before = self.race.shares, self._models_before + self.race.models_before
            self.race = None
        error_score = self.plan.search.error_score
        if outcome.n_settings_done is not None:
            settings = settings[: outcome.n_settings_done]
            outcome = outcome.first(len(settings))
            if not settings and not self.settings:
                raise ShortTimeoutError(
                    f"no setting was scored within timeout={self.plan.timeout:.3g} s.", "pass a longer one, or None."
                )

        def where(i: int, number: int) -> str:
            return f"setting {dict(settings[i])} on split {number}"

        report_failures(outcome, outcome.unscored, where, error_score, stacklevel=7)
        test = with_error_score(outcome.scores, outcome.failures, outcome.unscored, error_score)
        train = with_error_score(outcome.train_scores, outcome.failures, outcome.train_unscored, error_score)
        self.settings += settings
        self._shares.append(np.ones(len(settings)) if shares is None else shares[: len(settings)])
        self.outcomes.append(replace(outcome, scores=test, train_scores=train))
        self._next()

    def printer(self) -> FitPrinter | None:
        """Return what prints a line about each fit of the question; None if `verbose` is below 2."""
        search, question = self.plan.search, self.question
        if question is None or search.verbose < 2:
            return None
        known = {id(split): number for number, split in enumerate(self.splits)}
        numbers = [known.get(id(split), number) for number, split in enumerate(question.splits)]
        return FitPrinter(question.settings, numbers, len(self.splits), search.verbose, search.error_score)

    def trials(self) -> list[Trial]:
        """Return all settings scored so far; a grid never reads them."""
        if not self.settings:
            return []
        triples = zip(self.settings, self.chosen_scores, self.ran, strict=True)
        return [scored_trial(one, some[ran]) for one, some, ran in triples]

    @property
    def ran(self) -> NDArray[np.bool_]:
        """Which settings were scored on which splits: all, unless they raced."""
        return np.concatenate(
            [np.ones(one.seconds.shape, bool) if one.ran is None else one.ran for one in self.outcomes]
        )

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of the training rows that the scores of each setting come from: 1, unless it was dropped."""
        return np.concatenate(self._shares)

    @property
    def chosen_scores(self) -> NDArray[np.float64]:
        """The scores by the metric that selects: (settings, splits)."""
        scores = joined([one.scores for one in self.outcomes])
        named = [name for name in (self.plan.chooser, self.plan.search.refit) if name in scores]
        return scores[named[0]] if named else next(iter(scores.values()))

    @property
    def results(self) -> dict[str, Any]:
        """`cv_results_` of all rounds."""
        seconds = np.concatenate([one.seconds for one in self.outcomes])
        test = joined([one.scores for one in self.outcomes])
        train = joined([one.train_scores for one in self.outcomes])
        raced = any(one.ran is not None for one in self.outcomes)
        unit = tie_unit(self.session.target, self.splits[0].train)
        return format_results(self.settings, seconds, test, train, self.ran if raced else None, self.shares, unit)

    @property
    def several(self) -> bool:
        """Whether there are several metrics; that a scorer returns a dict is known only after it was called."""
        return self.plan.several or list(self.outcomes[0].scores) != ["score"]

    @property
    def fits_done(self) -> int:
        return sum(one.fits for one in self.outcomes)

    @property
    def models_scored(self) -> int:
        return int(self.ran.sum()) + self._models_before

    def best_index(self, results: dict[str, Any]) -> int:
        """Return the index of the selected setting: the first of rank 1, or that of a callable `refit`."""
        refit = self.plan.search.refit
        if callable(refit):
            index = refit(results)
            if not isinstance(index, int | np.integer):
                raise TypeError("best_index_ returned is not an integer")
            if not 0 <= index < len(results["params"]):
                raise IndexError(
                    f"best_index_ index out of range: refit returned {index}, but there are {len(results['params'])} "
                    "settings"
                )
            return int(index)
        if self.several:
            check_refit(refit, list(self.outcomes[0].scores))
        return int(results[f"rank_test_{refit if self.several else 'score'}"].argmin())


def run(running: RunningSearch, *, keeper: Any = None, progress: Progress | None = None) -> None:
    """Run all rounds of one search."""
    plan = running.plan
    while running.question is not None:
        [outcome] = plan.evaluate([running], keeper, progress=progress, deadline=running.deadline)
        running.tell(outcome)
        watch = plan.search.watch
        if watch is not None and running.race is None:
            watch(running.trials())


def check_refit(refit: Any, names: Sequence[str]) -> None:
    """Raise an error if `refit` does not name one of several metrics."""
    if refit and not callable(refit) and refit not in names:
        raise InputError(
            f"with several metrics, refit must name the metric to select by, got {refit!r}.",
            f"pass one of {listing(names)}, a callable, or False.",
        )
