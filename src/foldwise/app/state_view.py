"""What follows from the state of a search: rankings, expected seconds, and which models have been tried."""

from __future__ import annotations

import math
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from foldwise.app.search_state import SearchState, SettingBatch
from foldwise.app.timing import FASTEST_MACHINE, SLOWEST_MACHINE

if TYPE_CHECKING:
    from foldwise.app.schedule import Schedule

# a batch is far ahead if its loss on the first split is less than that of the best finished one, by at least these
# shares of that loss and of the baseline's: the latter so that noise near a loss of 0 does not count
FAR_AHEAD, FAR_AHEAD_OF_BASELINE = 0.1, 0.05
REMEMBERED = 60  # the best batches on the first split, which may still go on


def ranking(state: SearchState) -> list[SettingBatch]:
    """Rank the batches that may continue by their score on the first split."""
    return sorted((one for one in state.batches if 0 in one.scores and not one.stopped), key=lambda one: -one.first)


def far_ahead(state: SearchState, perfect: float, baseline: float) -> SettingBatch | None:
    """The unfinished batch that is far better on the first split than every finished one, if there is one."""
    finished = max((one.first for one in state.finished), default=-math.inf)
    unfinished = [one for one in state.batches if not one.complete(state.n_splits) and one.stopped != "failed"]
    best = max(unfinished, key=lambda one: one.first, default=None)
    if best is None or not all(map(math.isfinite, (finished, best.first, perfect))):  # without bounds there is no scale
        return None
    least = max(FAR_AHEAD * (perfect - finished), FAR_AHEAD_OF_BASELINE * (perfect - baseline))
    return best if best.first - finished >= least > 0 else None


class StateView:
    """Values derived from a state, each computed once."""

    def __init__(self, schedule: Schedule, state: SearchState) -> None:
        self.schedule, self.models, self.n_workers = schedule, schedule.models, schedule.n_workers
        self.state, self.n_splits = state, state.n_splits

    @cached_property
    def batches(self) -> dict[str, list[SettingBatch]]:
        found: dict[str, list[SettingBatch]] = {name: [] for name in self.models}
        for one in self.state.batches:
            found[one.model].append(one)
        return found

    def measured(self, model: str, rung: int = 0) -> list[float]:
        """The seconds that jobs of a model took on a rung.

        The first job of each worker loads and prepares more than the others, so it counts only if there is no other.
        """
        taken = [s for one in self.batches[model] if one.rung == rung for s in one.seconds.values()]
        return taken[self.n_workers :] or taken

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Expected seconds of a batch on one split of the lowest rung: as measured, or predicted for this machine."""
        measured = {name: self.measured(name) for name in self.models}
        plans = self.models.items()
        ratios = [min(measured[n]) / plan.seconds for n, plan in plans if measured[n] and not plan.shared]
        speed = min(SLOWEST_MACHINE, max(FASTEST_MACHINE, median(ratios or [1.0])))
        return {n: median(measured[n][-8:]) if measured[n] else plan.seconds * speed for n, plan in plans}

    def cost(self, model: str, rung: int) -> float:
        """Expected seconds of a batch on one split of a rung: as measured there or on the highest rung below."""
        for known in range(rung, 0, -1):
            measured = self.measured(model, known)
            if measured:
                growth = self.models[model].growth
                return median(measured[-8:]) * growth[rung] / growth[known]
        return self.seconds[model] * self.models[model].growth[rung]

    @cached_property
    def ranked(self) -> list[SettingBatch]:
        return ranking(self.state)

    @property
    def unopened(self) -> list[str]:
        """Models that had no batch yet, the cheapest first."""
        return sorted((name for name, some in self.batches.items() if not some), key=self.seconds.__getitem__)

    @property
    def n_opened(self) -> int:
        """How many models have a batch."""
        return sum(map(bool, self.batches.values()))

    @property
    def finishing(self) -> bool:
        """Whether some batch is on its way through all splits."""
        return any(len(one.started_splits) > 1 and not one.stopped for one in self.state.batches)

    @cached_property
    def n_finished(self) -> int:
        """How many models have a finished batch."""
        return len({one.model for one in self.state.finished})

    def unfinished(self, batch: SettingBatch) -> bool:
        """Whether a batch has splits to go."""
        return not batch.stopped and len(batch.started_splits) < self.n_splits

    def next_split(self, batch: SettingBatch) -> int:
        return next(k for k in range(self.n_splits) if k not in batch.started_splits)

    def rest(self, batch: SettingBatch) -> float:
        """Expected seconds for the splits that a batch has not been evaluated on, if all workers share them."""
        return self.cost(batch.model, batch.rung) * self.rounds(self.n_splits - len(batch.started_splits))

    def rounds(self, n_jobs: int) -> int:
        """How many jobs one worker does, if all share them."""
        return -(-max(0, n_jobs) // self.n_workers)
