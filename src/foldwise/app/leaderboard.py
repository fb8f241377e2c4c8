"""The leaderboard: honest estimates of all models, and which are statistically tied with the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from foldwise.app.estimates import fold_scores, honest_estimate, paired_test, score_of
from foldwise.app.search_state import SettingBatch
from foldwise.app.selection import HonestPredictions, baseline, honest_model
from foldwise.arrays import Floats
from foldwise.evaluation.comparing.paired import holm
from foldwise.evaluation.estimates import Estimate

if TYPE_CHECKING:
    from foldwise.app.result import FitResult

LEVEL = 0.05
CHOSEN = "for each fold, the setting and the calibration are chosen again without the rows of that fold"
CHOSEN_VALUES = "for each fold, the setting is chosen again without the rows of that fold"
SHARES = "predicts the class frequencies of the training rows"
MEAN = "predicts the mean of the training rows"


@dataclass(frozen=True)
class LeaderboardRow:
    """One model on the leaderboard, or the baseline."""

    name: str
    title: str
    status: str = "ok"
    why: str = ""
    honest: HonestPredictions | None = None
    estimate: Estimate | None = None
    folds: Floats | None = None  # scores of the folds
    best: tuple[SettingBatch, int] | None = None  # the setting that all folds choose
    p: float | None = None
    tied: bool = False
    weight: float = 0.0  # in the final model


def leaderboard(result: FitResult) -> list[LeaderboardRow]:
    """Rank the models. Those that did not finish come next, the baseline last."""
    setup, state, predictions, final = result.setup, result.search, result.predictions, result.final
    metric, selection = setup.metric, final.selection
    tested, quantity = selection.tested, setup.task.is_quantity

    def rated(
        row: LeaderboardRow, honest: HonestPredictions, search_score: float | None, method: str
    ) -> LeaderboardRow:
        groups = setup.task.groups
        estimate = honest_estimate(honest, tested, metric, search_score=search_score, groups=groups, method=method)
        return replace(row, honest=honest, estimate=estimate, folds=fold_scores(honest, tested, metric))

    finished, rest = [], []
    for name, spec in setup.specs.items():
        row = LeaderboardRow(name, spec.title)
        done = [one for one in state.finished if one.model == name]
        if not done:
            status, why = state.unfinished_reason(name)
            rest.append(replace(row, status=status, why=why))
            continue
        found = honest_model(tested, done, predictions)
        search_score = score_of(found.optimistic, tested, metric)
        weight = sum(w for i, w in final.weights.items() if selection.candidates[i].model == name)
        row = replace(row, best=(found.batch, found.setting), weight=weight)
        finished.append(rated(row, found.honest, search_score, CHOSEN_VALUES if quantity else CHOSEN))
    rest += [LeaderboardRow(spec.name, spec.title, "failed", why) for spec, why in setup.skipped]
    finished.sort(key=lambda row: -metric.signed(row.estimate.value))  # type: ignore[union-attr]
    title = "baseline (mean)" if quantity else "baseline (class frequencies)"
    constant = baseline(tested, predictions)
    base = rated(LeaderboardRow("baseline", title), constant, None, MEAN if quantity else SHARES)
    *models, base = with_ties([with_test(row, finished[0], result) for row in [*finished, base]])
    return [*models, *rest, base]


def with_test(row: LeaderboardRow, best: LeaderboardRow, result: FitResult) -> LeaderboardRow:
    """Add the p-value of the corrected test against the best model."""
    if row is best:
        return row
    assert row.honest is not None
    assert best.honest is not None
    setup, tested = result.setup, result.final.selection.tested
    test = paired_test(best.honest, row.honest, tested, setup.metric, setup.splits)
    return replace(row, p=None if test is None or not np.isfinite(test.p) else float(test.p))


def with_ties(rows: list[LeaderboardRow]) -> list[LeaderboardRow]:
    """Adjust the p-values for multiple comparisons (Holm), and mark the models tied with the first."""
    known = [i for i, row in enumerate(rows) if row.p is not None]
    adjusted = dict(zip(known, holm([rows[i].p or 0.0 for i in known]).tolist(), strict=True)) if known else {}
    return [replace(row, p=adjusted.get(i), tied=i == 0 or adjusted.get(i, 0.0) > LEVEL) for i, row in enumerate(rows)]
