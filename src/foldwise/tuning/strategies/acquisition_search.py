"""Find the row with the highest acquisition: many candidates, then gradients and exchange moves in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from foldwise.arrays import Floats
from foldwise.tuning.strategies.acquisitions import Acquisition
from foldwise.tuning.strategies.gaussian_process import ProcessPosterior
from foldwise.tuning.strategies.unit_encoding import UnitEncoding

STEPS = np.array([0.2, 0.05, 0.01])  # of the changes of good rows
MOST_EXCHANGED = 16  # levels of a column that are tried at once


@dataclass(frozen=True)
class SearchEffort:
    """How thoroughly the best row is looked for."""

    candidates: int = 512
    nearby: int = 240
    starts: int = 4
    rounds: int = 3  # gradients, then exchange moves
    gradient_steps: int = 20


def candidate_rows(encoding: UnitEncoding, good: Floats, effort: SearchEffort, rng: np.random.Generator) -> Floats:
    """Rows that fill the space evenly, and changes of good rows."""
    n = max(len(encoding.columns), 1)
    even = qmc.Sobol(n, rng=rng).random_base2(int(np.ceil(np.log2(effort.candidates))))[:, : len(encoding.columns)]
    if not len(good):
        return encoding.snapped(even)
    parents = good[rng.integers(len(good), size=effort.nearby)]
    # few columns are changed at once where there are many
    changed = rng.random(parents.shape) < np.maximum(rng.random((len(parents), 1)), 1 / n)
    moved = parents + rng.normal(size=parents.shape) * rng.choice(STEPS, size=(len(parents), 1))
    free = np.array([not column.ordered for column in encoding.columns], dtype=bool)
    few = np.array([column.levels is not None and len(column.levels) <= 8 for column in encoding.columns], dtype=bool)
    again = free | (few & (rng.random(parents.shape) < 0.5))
    moved = np.where(again, rng.random(parents.shape), reflected_rows(moved))
    return encoding.snapped(np.concatenate([even, np.where(changed, moved, parents)]))


def reflected_rows(rows: Floats) -> Floats:
    """Rows whose numbers are brought back between 0 and 1."""
    folded = np.abs(rows) % 2
    return np.where(folded > 1, 2 - folded, folded)


@dataclass(frozen=True)
class AcquisitionSearch:
    """The search for the row with the highest acquisition."""

    posterior: ProcessPosterior
    acquisition: Acquisition
    effort: SearchEffort

    @property
    def encoding(self) -> UnitEncoding:
        return self.posterior.encoding

    def values(self, rows: Floats) -> Floats:
        """The acquisition of rows."""
        mean, deviation = self.posterior.predict(rows, self.encoding.active(rows))
        return self.acquisition(mean, deviation)[0]

    def best_rows(self, candidates: Floats) -> Floats:
        """Improved rows and candidates, the best first."""
        values = self.values(candidates)
        order = np.argsort(-values, kind="stable")
        improved = [self.improved(row, value) for row, value in self.starts(candidates[order], values[order])]
        rows = np.array([row for row, _ in improved])
        gains = np.array([value for _, value in improved])
        return np.concatenate([rows[np.argsort(-gains, kind="stable")], candidates[order]])

    def starts(self, rows: Floats, values: Floats) -> list[tuple[Floats, float]]:
        """The best rows that are not close to a better one."""
        found: list[int] = []
        for i in range(min(len(rows), 100)):
            if all(np.abs(rows[i] - rows[j]).max() > 0.05 for j in found):
                found.append(i)
            if len(found) == self.effort.starts:
                break
        return [(rows[i], float(values[i])) for i in found]

    def improved(self, row: Floats, value: float) -> tuple[Floats, float]:
        """A row after gradient steps and exchange moves."""
        for _ in range(self.effort.rounds):
            row, value = self.climbed(row, value)
            moved, higher = self.exchanged(row, value)
            if higher <= value + 1e-9:
                break
            row, value = moved, higher
        return row, value

    def climbed(self, row: Floats, value: float) -> tuple[Floats, float]:
        """A row after L-BFGS-B on its active columns without levels."""
        active = self.encoding.active(row[None, :])[0]
        free = np.array(
            [on and one.levels is None and one.ordered for on, one in zip(active, self.encoding.columns, strict=True)]
        )
        if not free.any():
            return row, value

        def objective(numbers: Floats) -> tuple[float, Floats]:
            moved = row.copy()
            moved[free] = numbers
            mean, deviation, by_mean, by_deviation = self.posterior.predict_with_slopes(moved, active)
            gain, slope_mean, slope_deviation = self.acquisition(np.array([mean]), np.array([deviation]))
            slopes = slope_mean[0] * by_mean + slope_deviation[0] * by_deviation
            return -float(gain[0]), -slopes[free]

        options: Any = {"maxiter": self.effort.gradient_steps}
        limits = [(0.0, 1.0)] * int(free.sum())
        found = minimize(objective, row[free], method="L-BFGS-B", jac=True, bounds=limits, options=options)
        if not -found.fun > value:
            return row, value
        moved = row.copy()
        moved[free] = found.x
        return moved, -float(found.fun)

    def exchanged(self, row: Floats, value: float) -> tuple[Floats, float]:
        """The best row that differs in one column with levels; the row itself if none is better."""
        moves = []
        for i in self.encoding.discrete:
            levels = self.encoding.columns[i].levels
            assert levels is not None
            if len(levels) > MOST_EXCHANGED:  # the closest ones, and some that are far
                near = np.argsort(np.abs(levels - row[i]), kind="stable")[: MOST_EXCHANGED // 2 + 1]
                far = np.linspace(0, len(levels) - 1, MOST_EXCHANGED // 2).astype(int)
                levels = levels[np.union1d(near, far)]
            others = levels[np.abs(levels - row[i]) > 1e-9]
            changed = np.repeat(row[None, :], len(others), axis=0)
            changed[:, i] = others
            moves.append(changed)
        if not sum(map(len, moves)):
            return row, value
        rows = np.concatenate(moves)
        values = self.values(rows)
        best = int(np.argmax(values))
        return (rows[best], float(values[best])) if values[best] > value else (row, value)
