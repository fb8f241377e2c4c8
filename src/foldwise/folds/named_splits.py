"""Splits by name: "10" for ten folds, "10x10" for ten times ten folds."""

from __future__ import annotations

import re
from typing import Any

from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from foldwise.errors import InputError


def folds_of(cv: str) -> tuple[int, int]:
    """Read the number of repeats and of folds.

    >>> folds_of("10x10"), folds_of("5")
    ((10, 10), (1, 5))
    """
    found = re.fullmatch(r"\s*(?:(\d+)\s*[x×]\s*)?(\d+)\s*", cv)
    repeats, folds = (int(found[1] or 1), int(found[2])) if found else (0, 0)
    if repeats < 1 or folds < 2:
        raise InputError(
            f"cv must be a number of folds, at least 2, or repeats x folds, got {cv!r}.", "pass 10 or 10x10."
        )
    return repeats, folds


def splitter(folds: tuple[int, int] | None, grouped: bool, seed: Any, *, quantity: bool = False) -> Any:
    """Return the splitter of repeats and folds, shuffled, and stratified for classes; None for None."""
    if folds is None:
        return None
    repeats, n_folds = folds
    if grouped:
        if repeats > 1:
            raise InputError("grouped folds cannot be repeated.", f"pass {n_folds} folds without repeats.")
        if quantity:
            return GroupKFold(n_folds, shuffle=True, random_state=seed)
        return StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    if quantity:
        if repeats == 1:
            return KFold(n_folds, shuffle=True, random_state=seed)
        return RepeatedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
    if repeats == 1:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
