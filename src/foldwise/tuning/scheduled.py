"""Searches that schedule their rounds in `_run_search`: subclasses, successive halving, and searches with callbacks.

`_run_search(evaluate_candidates)` is scikit-learn's method for own search classes. Each call of `evaluate_candidates`
is one round on the session of the search.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from foldwise.errors import InputError
from foldwise.evaluation.out_of_fold import recorder_for
from foldwise.folds.engine import EvaluationTask
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession, Params
from foldwise.folds.rows import count_rows
from foldwise.folds.scoring_protocol import PlannedSearch
from foldwise.folds.splits import Split, freeze_splits
from foldwise.tuning.callbacks import ObservedSession, has_callbacks
from foldwise.tuning.parameter_names import check_names
from foldwise.tuning.running_search import CheckedSearchPlan, RunningSearch, check_refit, run
from foldwise.tuning.strategies.protocol import BatchStrategy

NOT_KEPT = "the rounds of the search are scored on different rows"


@dataclass(frozen=True)
class SplitInput:
    """The table and the further arguments that splitters are called with."""

    X: Any
    y: Any
    params: dict[str, Any]

    def splits(self, cv: Any) -> Sequence[Split]:
        """Return the splits of a splitter."""
        pairs = list(cv.split(self.X, self.y, **self.params))
        return freeze_splits(pairs, self.X, self.y, n_rows=count_rows(self.X))


class ScheduledSearch(RunningSearch):
    """A running search whose rounds are chosen by `_run_search`."""

    def __init__(self, plan: CheckedSearchPlan, session: FoldSession, source: SplitInput, keep: str) -> None:
        self.source, self.keep, self.more = source, keep, defaultdict[str, list[Any]](list)
        self.why = ""  # not all predictions are kept
        splits = source.splits(plan.search._checked_cv_orig)
        super().__init__(plan.bound(session, splits), session, splits)

    def _next(self) -> None:
        self.question = None

    def evaluate_candidates(
        self,
        candidate_params: Iterable[Params],
        cv: Any = None,
        more_results: Mapping[str, Sequence[Any]] | None = None,
        callback_ctx: Any = None,
    ) -> dict[str, Any]:
        """Score settings on the splits of a splitter, by default that of the search; return all results so far."""
        search, settings = self.plan.search, list(candidate_params)
        own = cv is None or cv is search._checked_cv_orig
        splits = self.splits if own else self.source.splits(cv)
        if not settings:
            raise InputError("No fits were performed: there was no setting to score.", "pass at least one setting.")
        if len(splits) != len(self.splits):
            raise InputError(
                f"every round must have the same number of splits ({len(self.splits)}), got {len(splits)}.",
                "pass a cv with this number of splits.",
            )
        check_names(search.estimator, settings)
        if isinstance(self.session, ObservedSession) and callback_ctx is not None:
            self.session.create_tasks(callback_ctx, settings, splits)
        announce(search, len(settings), len(splits))
        self.question = EvaluationTask(settings, splits)
        keeper, why = None, NOT_KEPT
        if own:
            keeper, why = recorder_for(
                self.keep, self.session, self.plan.metrics, self.plan.chooser, len(settings), splits
            )
        self.why = self.why or why
        run(self, keeper=keeper, progress=Progress(always=bool(search.verbose)))
        for name, values in (more_results or {}).items():
            self.more[name] += values
        self.__dict__.pop("results", None)
        return self.results

    def run(self, root: Any) -> None:
        """Run all rounds: those of `_run_search`, or with callbacks those of the strategy."""
        search = self.plan.search
        search.n_splits_ = len(self.splits)
        if not isinstance(search, PlannedSearch):
            takes_context = "callback_ctx" in signature(search._run_search).parameters
            search._run_search(self.evaluate_candidates, **({"callback_ctx": root} if takes_context else {}))
            return
        settings = self._proposed()
        known = None if isinstance(self.plan.strategy, BatchStrategy) else len(settings) * len(self.splits)
        context = root.subcontext(task_name="search", max_subtasks=known, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=search)
        while settings:
            self.evaluate_candidates(settings, callback_ctx=context)
            settings = self._proposed()
        context.call_on_fit_task_end(estimator=search)

    def _proposed(self) -> Sequence[Params]:
        return [] if self.expired else self.plan.next_settings(self.trials, len(self.settings), lambda: self._seed)

    @cached_property  # formatted once per round, as formatting warns of scores that are not finite
    def results(self) -> dict[str, Any]:
        return {name: np.asarray(values) for name, values in self.more.items()} | super().results

    def best_index(self, results: dict[str, Any]) -> int:
        search = self.plan.search
        if self.several:
            check_refit(search.refit, list(self.outcomes[0].scores))
        return int(search._select_best_index(search.refit, search.refit if self.several else "score", results))


def schedules_itself(search: Any) -> bool:
    """Whether a search must be run as a `ScheduledSearch`."""
    return has_callbacks(search) or not isinstance(search, PlannedSearch)


def check_schedule(search: Any, source: SplitInput) -> None:
    """Set the splitter that `_run_search` may use, and let a search class of scikit-learn check its parameters."""
    search._checked_cv_orig = check_cv(search.cv, source.y, classifier=is_classifier(search.estimator))
    search._check_input_parameters(X=source.X, y=source.y, split_params=source.params)


def announce(search: Any, n_settings: int, n_splits: int) -> None:
    """Print the number of fits, as scikit-learn's searches do."""
    if search.verbose > 0:
        n_fits = n_settings * n_splits
        print(f"Fitting {n_splits} folds for each of {n_settings} candidates, totalling {n_fits} fits")
