"""New splits for each trial, so that a search does not adapt its settings to one division into folds."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.multiclass import type_of_target

from foldwise.errors import InputError


def reshuffled(cv: Any, y: Any, seed: int, number: int, *, classifier: bool) -> Any:
    """Return the splitter of a trial: the same kind of splits with a seed of its own."""
    state = int(np.random.default_rng([seed, number]).integers(2**31))
    if cv is None or isinstance(cv, int):
        n_splits = 5 if cv is None else cv
        classes = classifier and type_of_target(y) in ("binary", "multiclass")
        return (StratifiedKFold if classes else KFold)(n_splits, shuffle=True, random_state=state)
    if not hasattr(cv, "random_state") or getattr(cv, "shuffle", True) is False:
        raise InputError(
            f"with reshuffle=True, cv must be a number of folds or a splitter that shuffles, got {cv!r}.",
            "pass cv=5, or a splitter with shuffle=True.",
        )
    other = copy.copy(cv)
    other.random_state = state
    return other
