"""The setting that an estimator has by default: whether a space contains it, and whether it is as good as the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.evaluation.comparing.paired import corrected_t_test
from foldwise.evaluation.intervals import share_tested
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space, same
from foldwise.tuning.running_search import RunningSearch
from foldwise.tuning.space import SearchSpace


def default_setting(estimator: Any, space: Space) -> Params | None:
    """The setting that the estimator has by default, if the space contains it."""
    known, given = SearchSpace.of(space), estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    for number, branch in enumerate(known.branches):
        if all(name in given for name in branch):
            setting: dict[str, Any] = {}
            for name, _ in known.active(number, setting):
                setting[name] = given[name]
            if setting and known.in_branch(number, setting):
                return setting
    return None


def default_indices(search: Any) -> list[int]:
    """The indices of the tried settings that equal the defaults."""
    given = search.estimator.get_params(deep=True)
    settings = search.cv_results_["params"]
    return [i for i, one in enumerate(settings) if one and all(n in given and same(given[n], one[n]) for n in one)]


def default_words(search: Any, best: str) -> str:
    """Say that the best setting is the default, or statistically tied with it; empty if neither holds."""
    if search.best_index_ in default_indices(search):
        return f"{best[:1].upper()}{best[1:]} is the default setting."
    return f"The default setting is statistically tied with {best}." if search.default_tied_ else ""


def default_is_tied(search: Any, running: RunningSearch) -> bool | None:
    """Whether the defaults are statistically tied with the best setting; None if they were not tried."""
    same_as = default_indices(search)
    if not same_as:
        return None
    if search.best_index_ in same_as:
        return True
    scores = running.chosen_scores
    if running.shares[same_as[0]] < running.shares[search.best_index_]:  # dropped, like settings that missed folds
        return False
    gaps = scores[search.best_index_] - scores[same_as[0]]
    if not np.isfinite(gaps).all() or len(gaps) < 2:
        return False
    return bool(corrected_t_test(gaps, share_tested(running.splits)).p >= 0.05)
