"""The verdict of a run: whether its models are clearly better than the baseline, by the corrected resampled t-test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foldwise.app.estimates import paired_test
from foldwise.app.leaderboard import LEVEL, LeaderboardRow
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.tables import number, p_equation

if TYPE_CHECKING:
    from foldwise.app.result import FitResult

BASELINE = "the baseline, which predicts the class frequencies"
MEAN_BASELINE = "the baseline, which predicts the mean"


@dataclass(frozen=True)
class Verdict:
    """Whether the final model and the best single model are clearly better than the baseline."""

    final: bool
    best: bool
    p: float | None  # of the final model against the baseline
    words: str


def verdict(result: FitResult, lines: list[LeaderboardRow], estimate: Estimate, base: Estimate) -> Verdict:
    """Compare with the baseline by the corrected resampled t-test.

    The selection of the final model is repeated for each fold, so its p-value needs no further correction. The best
    of several models was selected by the very scores that are tested, so its p-value is adjusted for all of them.
    """
    setup, selection = result.setup, result.final.selection
    metric, frequencies = setup.metric, lines[-1]
    assert frequencies.honest is not None
    test = paired_test(selection.honest, frequencies.honest, selection.tested, metric, setup.splits)
    p = float(test.p) if test is not None and np.isfinite(test.p) else None

    def clearly(better: bool, p: float | None) -> bool:
        return better and p is not None and p <= LEVEL

    constant = MEAN_BASELINE if setup.task.is_quantity else BASELINE
    better = metric.signed(estimate.value) > metric.signed(base.value)
    final = clearly(better, p)
    best = clearly(leads(lines, result), frequencies.p)
    tested = f" ({verdict_p(p)})" if better or p is None else ""
    scores = f"{number(estimate.value)}, that of the baseline {number(base.value)}{tested}."
    values = f"Its {metric.title} is {scores}"
    if final and best:
        words = f"The final model is clearly better than {constant}. {values}"
    elif final:
        words = (
            f"The final model is clearly better than {constant}. {values} No single model is clearly better than "
            "the baseline, once the p-values are adjusted for the number of models."
        )
    elif best:
        words = (
            f"The final model is not clearly better than {constant}. {values} On its own, {lines[0].title} is clearly "
            "better."
        )
    else:
        words = f"No model is clearly better than {constant}. The {metric.title} of the final model is {scores}"
    return Verdict(final, best, p, words)


def leads(lines: list[LeaderboardRow], result: FitResult) -> bool:
    """Whether the first model scores better than the baseline."""
    first, base = lines[0].estimate, lines[-1].estimate
    signed = result.setup.metric.signed
    return first is not None and base is not None and signed(first.value) > signed(base.value)


def verdict_p(p: float | None) -> str:
    """Format a p-value as the words of a report.

    >>> verdict_p(0.0001), verdict_p(0.0423), verdict_p(None)
    ('p\\xa0<\\xa00.001', 'p\\xa0=\\xa00.042', 'too few rows for a test')
    """
    if p is None:
        return "too few rows for a test"
    return p_equation(p).replace(" ", "\u00a0")  # on one line
