"""Open the study of a search: find it by name and training rows, and check that the search has not changed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from foldwise.errors import FoldwiseWarning, InputError
from foldwise.folds.protocol import FoldSession, Params, Rows
from foldwise.folds.splits import Split
from foldwise.tuning.running_search import CheckedSearchPlan
from foldwise.tuning.seeds import seed_of
from foldwise.tuning.store.connection import TrialStore
from foldwise.tuning.store.digests import RowHashes, described, digest_of, digest_of_splits
from foldwise.tuning.store.encoding import encode_settings
from foldwise.tuning.store.study import Study, open_study

_told: set[tuple[str, str]] = set()  # stores and names, of which other training rows were reported once


@dataclass(frozen=True)
class StudySource:
    """What the studies of a search on selections of rows of one table have in common."""

    plan: CheckedSearchPlan
    store: TrialStore
    rows: RowHashes
    fixed: dict[str, str]  # digests of what must not change, by name
    description: dict[str, Any]

    @classmethod
    def of(cls, plan: CheckedSearchPlan, session: FoldSession, groups: Any) -> StudySource:
        """Open the store of a search, and hash the rows of its table."""
        search = plan.search
        if not isinstance(search.name, str) or not search.name:
            raise InputError(f"a search with a store must have a name, got {search.name!r}.", "pass name='my search'.")
        if plan.reshuffle and not isinstance(plan.seed, int):
            raise InputError(
                f"a search with a store and reshuffle=True must have a random_state, got {plan.seed!r}.",
                "pass random_state=0.",
            )
        store = search.store if isinstance(search.store, TrialStore) else TrialStore(search.store)
        space = [*plan.space] if not isinstance(plan.space, dict) else plan.space
        fixed = {
            "estimator": digest_of(described(search.estimator)),
            "space": digest_of(described(space)),
            "cv": digest_of("reshuffled", described(search.cv)) if plan.reshuffle else "",
            "scoring": digest_of(described([search.scoring, search.return_train_score])),
            "strategy": digest_of(described(plan.strategy)),
        }
        description = {
            "estimator": repr(search.estimator),
            "metric": plan.chooser,
            "metrics": list(plan.metrics),
            "strategy": type(plan.strategy).__name__,
        }
        hashes = RowHashes.of(session.X, session.y, session.fit_params, groups)
        return cls(plan, store, hashes, fixed, description)

    @cached_property
    def grid(self) -> tuple[Sequence[Params], str] | None:
        """All settings of a grid, and their JSON; None for strategies that propose settings one after the other."""
        plan = self.plan
        if not plan.is_one_grid:
            return None
        settings = plan.next_settings(list, 0, lambda: 0)
        return (settings, encode_settings(settings, plan.space, plan.initial)) if settings else None

    def study(self, splits: Sequence[Split], rows: Rows | None = None) -> Study:
        """Open or begin the study of some rows. The splits are those of a table of these rows only."""
        plan, name = self.plan, self.plan.search.name
        fixed = {**self.fixed, "cv": self.fixed["cv"] or digest_of_splits(splits)}
        description = {**self.description, "n_splits": len(splits)}
        of_rows = self.rows.digest(rows)
        study, word = open_study(
            self.store,
            name,
            of_rows,
            fixed,
            description,
            lambda: seed_of(plan.seed),
            plan.space,
            plan.initial,
            self.grid,
        )
        if word and (self.store.location, name) not in _told:
            _told.add((self.store.location, name))
            warnings.warn(word, FoldwiseWarning, stacklevel=2)
        return study
