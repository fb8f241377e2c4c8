"""Compares a search with scikit-learn's: mean scores that differ only by rounding tie, on every CPU.

scikit-learn ranks mean scores bit for bit, and their last bits depend on the CPU. So ranks are compared after ties are
settled here, and where the choice matters scikit-learn's search chooses by `refit=first_best`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

TIE = 1e-10


def tied_ranks(scores: Any) -> Any:
    """1 + the number of clearly better scores; failed settings tie with the worst, as in scikit-learn."""
    scores = np.asarray(scores, dtype=float)
    if np.isnan(scores).all():
        return np.ones(len(scores), dtype=int)
    costs = -np.where(np.isnan(scores), np.nanmin(scores) - 1, scores)
    return (costs[None] < (costs - TIE * np.maximum(1.0, np.abs(costs)))[:, None]).sum(axis=1) + 1


def first_best(results: dict[str, Any]) -> int:
    """The first setting with the best score: for `refit=` of scikit-learn's searches."""
    return int(np.argmin(tied_ranks(results["mean_test_score"])))


def assert_same_ranks(found: dict[str, Any], expected: dict[str, Any], metric: str = "score") -> None:
    """Ranks are equal, except of settings whose mean scores agree within the tolerance."""
    np.testing.assert_array_equal(found[f"rank_test_{metric}"], tied_ranks(expected[f"mean_test_{metric}"]))


def assert_same_choice(ours: Any, theirs: Any, metric: str = "score") -> bool:
    """Both chose the same setting, or settings whose mean scores agree within the tolerance; True if the same."""
    scores = theirs.cv_results_[f"mean_test_{metric}"]
    assert tied_ranks(scores)[ours.best_index_] == tied_ranks(scores)[theirs.best_index_] == 1
    return bool(ours.best_index_ == theirs.best_index_)
