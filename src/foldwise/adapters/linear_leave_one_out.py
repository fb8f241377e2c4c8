"""Leave-one-out of linear and ridge models in closed form, from one model of all rows.

Notes
-----
Without row i, the prediction for it is y - r / (1 - h), where r is its residual and h its leverage in the model of all
rows: h = w/W + w·zᵀ(ZᵀZ + αI)⁻¹z for centered rows z with weights w that sum to W. The first term belongs to the
intercept. Leaving out the row multiplies the condition number by at most 1 / (1 - h), so rows that make it too large
are refitted, as are rows without which a class is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.adapters.linear_facts import LinearTable, TrainingFacts
from foldwise.adapters.linear_session import Solution, read_scores
from foldwise.arrays import Floats
from foldwise.folds.protocol import Labels, LeaveOneOutBlock, Need, Rows

LEAST_LEFT = 1e-9  # of 1 - h


def leave_one_out_blocks(
    settings: Sequence[Any],  # of least squares
    solution: Solution,
    table: LinearTable,
    facts: TrainingFacts,
    rows: Rows,
    left_out: Rows,
    need: Need,
) -> Iterator[LeaveOneOutBlock]:
    """Predict each of `rows[left_out]` with the models of all other rows; settings of a block have the same refits."""
    alphas, worst, intercepts = (
        np.array([getattr(one, name) for one in settings]) for name in ("alpha", "worst", "fit_intercept")
    )
    chosen = rows[left_out]
    X, Y = table.X[chosen], targets_of(table, facts, chosen)  # Y (m, rows)
    weights = np.ones(len(chosen)) if table.weights is None else table.weights[chosen]
    scores = solution.predict(X, slice(None))  # (settings, m, rows)
    refit = np.broadcast_to(must_be_refitted(table, facts, rows, chosen, weights), (len(settings), len(chosen))).copy()
    for intercept in set(intercepts.tolist()):
        some = np.flatnonzero(intercepts == intercept)
        spectrum = facts.spectrum(intercept)
        along = ((X - facts.x_mean if intercept else X) @ spectrum.axes) ** 2  # (rows, r)
        leverage = weights * (1.0 / facts.weight if intercept else 0.0) + weights * (
            (1.0 / (spectrum.values + alphas[some, None])) @ along.T
        )  # (settings, rows)
        left = 1.0 - leverage
        limit = facts.conditions(intercept, alphas[some]) / worst[some]
        poor = ~(left >= np.maximum(limit, LEAST_LEFT)[:, None]) | ~solution.usable[some, None]
        refit[some] |= poor
        scores[some] = Y - (Y - scores[some]) / np.where(poor, 1.0, left)[:, None]
    start = 0
    for stop in range(1, len(settings) + 1):
        if stop == len(settings) or not np.array_equal(refit[stop], refit[start]):
            answer = read_scores(scores[start:stop], facts, need)
            yield LeaveOneOutBlock(start, stop, answer, np.flatnonzero(refit[start]))
            start = stop


def targets_of(table: LinearTable, facts: TrainingFacts, rows: Rows) -> Floats:  # (m, rows)
    """The targets of some rows: quantities, or 1 for a class and -1 for the others."""
    Y = table.targets(rows)
    if facts.present is None:
        return Y.T
    return 2.0 * Y[:, facts.present[1:] if len(facts.present) == 2 else facts.present].T - 1.0


def must_be_refitted(
    table: LinearTable, facts: TrainingFacts, rows: Rows, chosen: Rows, weights: Floats
) -> NDArray[np.bool_]:  # (chosen,)
    """Rows without which a class is missing, or no weight is left."""
    found = ~(weights < facts.weight * (1 - LEAST_LEFT))
    if isinstance(table.target, Labels):
        counts = np.bincount(table.target.codes[rows], minlength=table.n_targets)
        found |= counts[table.target.codes[chosen]] == 1
    return found
