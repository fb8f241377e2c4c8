"""Paths through subsets of columns: forward, backward, and floating, until a number is reached or a test says stop.

What subsets are worth is asked of a `SubsetScores`, which never asks twice; nothing here knows estimators or rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.evaluation.intervals import corrected_half_width
from foldwise.folds.sums.subsets import Subset

Floats = NDArray[np.float64]
TIE = 1e-12  # of a mean score: equal columns in other places give equal sums but for rounding
Ask = Callable[[Sequence[Subset]], Floats]  # the scores (subsets, splits)


@dataclass
class SubsetScores:
    """Subsets with their scores on all splits; what was asked once is known."""

    ask: Ask
    known: dict[Subset, Floats] = field(default_factory=dict)  # (splits,)
    means: dict[Subset, float] = field(default_factory=dict)

    def look_up(self, subsets: Sequence[Subset]) -> None:
        """Have the scores of these subsets."""
        new = [subset for subset in subsets if subset not in self.known]
        if new:
            scores = self.ask(new)
            self.known.update(zip(new, scores, strict=True))
            self.means.update(zip(new, np.mean(scores, axis=1).tolist(), strict=True))

    def beats(self, one: Subset, other: Subset) -> bool:
        """Whether the mean of one subset is higher than that of another, by more than rounding."""
        return self.means[one] - self.means[other] > TIE * max(1.0, abs(self.means[other]))

    def best_of(self, subsets: Sequence[Subset]) -> int:
        """The place of the highest mean; of equals, the first."""
        best = 0
        for place, subset in enumerate(subsets):
            if self.beats(subset, subsets[best]):
                best = place
        return best


@dataclass(frozen=True)
class Step:
    """A column that was added or dropped, or would have been, and the subset that makes."""

    action: str  # "start", "add" or "drop"
    column: int | None
    subset: Subset
    taken: bool = True


class Stop(Protocol):
    """When a path ends."""

    def done(self, size: int) -> bool:
        """Whether a subset of this size is the last one."""

    def allows(self, scored: SubsetScores, best: dict[int, Subset], subset: Subset, new: Subset) -> bool:
        """Whether the path may go on from a subset to the best one beside it."""

    def choose(self, scored: SubsetScores, best: dict[int, Subset], last: Subset) -> Subset:
        """The subset to select, from the best known ones of each size."""


@dataclass(frozen=True)
class AtNumber:
    """Ends at a number of columns."""

    n_features: int

    def done(self, size: int) -> bool:
        return size == self.n_features

    def allows(self, scored: SubsetScores, best: dict[int, Subset], subset: Subset, new: Subset) -> bool:
        return True

    def choose(self, scored: SubsetScores, best: dict[int, Subset], last: Subset) -> Subset:
        return best[self.n_features]


@dataclass(frozen=True)
class ByTest:
    """Ends where the corrected resampled t-test (Nadeau and Bengio) on the paired scores of all splits says so.

    One-sided. A column is added if the larger subset is better than the best known of the size before, at `level`. One
    is dropped unless the smaller subset is worse, at `level`, than the best known of all: measured against the step
    before, many small losses could add up unseen.
    """

    level: float
    test_share: float  # test rows to training rows
    n_columns: int
    forward: bool

    def done(self, size: int) -> bool:
        return size == (self.n_columns if self.forward else 1)

    def is_better(self, scored: SubsetScores, one: Subset, other: Subset) -> bool:
        """Whether one subset scores significantly above another."""
        gain = scored.known[one] - scored.known[other]
        # half of the two-sided interval of 2·level - 1 reaches as far as the one-sided one of level
        wide = np.mean(gain) > corrected_half_width(gain, self.test_share, 2 * self.level - 1)
        return bool(wide) and scored.beats(one, other)

    def allows(self, scored: SubsetScores, best: dict[int, Subset], subset: Subset, new: Subset) -> bool:
        if self.forward:
            return not subset or self.is_better(scored, new, best[len(subset)])
        return not self.is_better(scored, self._top(scored, best), new)

    def _top(self, scored: SubsetScores, best: dict[int, Subset]) -> Subset:
        """The best of all; of equals the smallest."""
        subsets = [best[size] for size in sorted(best)]
        return subsets[scored.best_of(subsets)]

    def choose(self, scored: SubsetScores, best: dict[int, Subset], last: Subset) -> Subset:
        if self.forward:
            return best[len(last)]
        top = self._top(scored, best)
        return next(best[size] for size in sorted(best) if not self.is_better(scored, top, best[size]))


@dataclass(frozen=True)
class SelectionPath:
    """The steps of a selection, the best subset met of each size, and the one selected."""

    steps: tuple[Step, ...]
    best: dict[int, Subset]
    chosen: Subset


@dataclass(frozen=True)
class SelectionMethod:
    """How a path goes: forward from no column or backward from all, with steps back (floating) or without."""

    n_columns: int
    forward: bool
    floating: bool

    def walk(self, scored: SubsetScores, stop: Stop) -> SelectionPath:
        """Take the best step until `stop`; floating, step back as long as that beats the best known of its size.

        That is SFFS and SBFS (Pudil, Novovičová & Kittler 1994). The column just moved is not moved back. Each step
        back improves on all subsets of its size so far, so there is an end.
        """
        current: Subset = () if self.forward else tuple(range(self.n_columns))
        steps: list[Step] = []
        best: dict[int, Subset] = {}
        if current:
            scored.look_up([current])
            best[len(current)] = current
            steps.append(Step("start", None, current))
        while not stop.done(len(current)):
            step = self._best_step(scored, current, self.forward)
            if not stop.allows(scored, best, current, step.subset):
                steps.append(Step(step.action, step.column, step.subset, taken=False))
                break
            current = self._take(scored, step, steps, best)
            moved = step.column
            while self.floating and self._movable(current) > 1:
                back = self._best_step(scored, current, not self.forward, but=moved)
                if not scored.beats(back.subset, best[len(back.subset)]):
                    break
                current = self._take(scored, back, steps, best)
        return SelectionPath(tuple(steps), best, stop.choose(scored, best, current))

    def _movable(self, current: Subset) -> int:
        """How many columns a step back could move, the one just moved included."""
        return len(current) if self.forward else self.n_columns - len(current)

    def _best_step(self, scored: SubsetScores, current: Subset, add: bool, but: int | None = None) -> Step:
        """The step to the subset of the highest mean; of equals that of the first column."""
        here = set(current)
        columns = [j for j in range(self.n_columns) if (j not in here) == add and j != but]
        subsets = [tuple(sorted(here ^ {j})) for j in columns]
        scored.look_up(subsets)
        place = scored.best_of(subsets)
        return Step("add" if add else "drop", columns[place], subsets[place])

    def _take(self, scored: SubsetScores, step: Step, steps: list[Step], best: dict[int, Subset]) -> Subset:
        steps.append(step)
        size = len(step.subset)
        if size not in best or scored.beats(step.subset, best[size]):
            best[size] = step.subset
        return step.subset
