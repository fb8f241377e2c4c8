"""The splitter of a fold plan, such as "10x10" for ten times ten folds: shuffled, and stratified for classes."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan


def planned_splitter(plan: FoldPlan, grouped: bool, seed: Any, *, quantity: bool = False) -> Any:
    """Return the splitter of scikit-learn for a plan."""
    make: Any
    if plan.held_out is not None:
        make = GroupShuffleSplit if grouped else ShuffleSplit if quantity else StratifiedShuffleSplit
        return make(1, test_size=plan.held_out, random_state=seed)
    if grouped:
        if plan.repeats > 1:
            raise InputError(
                f"with groups, folds cannot be repeated here, got {plan.repeats}x{plan.folds}.",
                f"pass cv={plan.folds}.",
            )
        make = GroupKFold if quantity else StratifiedGroupKFold
        return make(plan.folds, shuffle=True, random_state=seed)
    if plan.repeats > 1:
        make = RepeatedKFold if quantity else RepeatedStratifiedKFold
        return make(n_splits=plan.folds, n_repeats=plan.repeats, random_state=seed)
    return (KFold if quantity else StratifiedKFold)(plan.folds, shuffle=True, random_state=seed)
