"""Open the study of a search: find it by name and training rows, and check that the search has not changed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from foldwise.errors import FoldwiseWarning, InputError
from foldwise.folds.protocol import FoldSession
from foldwise.folds.splits import Split
from foldwise.tuning.running_search import CheckedSearchPlan, seed_of
from foldwise.tuning.store.connection import TrialStore
from foldwise.tuning.store.digests import described, digest_of, digest_of_rows, digest_of_splits
from foldwise.tuning.store.study import Study, open_study

_told: set[tuple[str, str]] = set()  # stores and names, of which other training rows were reported once


def study_of_search(plan: CheckedSearchPlan, session: FoldSession, splits: Sequence[Split], groups: Any) -> Study:
    """Open or begin the study of a search on a table."""
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
        "cv": digest_of("reshuffled", described(search.cv)) if plan.reshuffle else digest_of_splits(splits),
        "scoring": digest_of(described([search.scoring, search.return_train_score, search.keep])),
        "strategy": digest_of(described(plan.strategy)),
    }
    description = {
        "estimator": repr(search.estimator),
        "metric": plan.chooser,
        "metrics": list(plan.metrics),
        "n_splits": len(splits),
        "strategy": type(plan.strategy).__name__,
    }
    rows = digest_of_rows(session.X, session.y, session.fit_params, groups)
    study, word = open_study(
        store, search.name, rows, fixed, description, lambda: seed_of(plan.seed), plan.space, plan.initial
    )
    if word and (store.location, search.name) not in _told:
        _told.add((store.location, search.name))
        warnings.warn(word, FoldwiseWarning, stacklevel=2)
    return study
