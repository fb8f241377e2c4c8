"""Paths through subsets of columns: forward, backward or floating, until a size is reached or a test ends the path.

Scores come from a `SubsetScores`, which scores each subset once; nothing here knows estimators or rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from foldwise.arrays import Floats
from foldwise.evaluation.intervals import corrected_half_width
from foldwise.folds.sums.subsets import Subset

TIE = 1e-12  # relative to a mean score: smaller differences are rounding errors
ScoreSubsets = Callable[[Sequence[Subset]], Floats]  # the scores (subsets, splits)


@dataclass
class SubsetScores:
    """Scores of subsets on all splits, each computed once."""

    ask: ScoreSubsets
    known: dict[Subset, Floats] = field(default_factory=dict)  # (splits,)
    means: dict[Subset, float] = field(default_factory=dict)

    def look_up(self, subsets: Sequence[Subset]) -> None:
        """Make sure that the scores of these subsets are known."""
        new = [subset for subset in subsets if subset not in self.known]
        if new:
            scores = self.ask(new)
            self.known.update(zip(new, scores, strict=True))
            self.means.update(zip(new, np.mean(scores, axis=1).tolist(), strict=True))

    def beats(self, one: Subset, other: Subset) -> bool:
        """Whether the mean score of one subset is higher than that of another, by more than rounding."""
        return self.means[one] - self.means[other] > TIE * max(1.0, abs(self.means[other]))

    def best_of(self, subsets: Sequence[Subset]) -> int:
        """Return the index of the highest mean score; the first of equals."""
        best = 0
        for i, subset in enumerate(subsets):
            if self.beats(subset, subsets[best]):
                best = i
        return best


@dataclass(frozen=True)
class Step:
    """A column that was added or dropped, and the resulting subset; `taken` is False if the test rejected it."""

    action: str  # "start", "add" or "drop"
    column: int | None
    subset: Subset
    taken: bool = True


class StoppingRule(Protocol):
    """The rule that ends a path."""

    def done(self, size: int) -> bool:
        """Whether a subset of this size is the last one."""

    def allows(self, scored: SubsetScores, best: dict[int, Subset], subset: Subset, new: Subset) -> bool:
        """Whether the path may continue from a subset to the best neighboring one."""

    def choose(self, scored: SubsetScores, best: dict[int, Subset], last: Subset) -> Subset:
        """Return the subset to select, given the best known one of each size."""


@dataclass(frozen=True)
class SizeStop:
    """Ends at a number of columns."""

    n_features: int

    def done(self, size: int) -> bool:
        return size == self.n_features

    def allows(self, scored: SubsetScores, best: dict[int, Subset], subset: Subset, new: Subset) -> bool:
        return True

    def choose(self, scored: SubsetScores, best: dict[int, Subset], last: Subset) -> Subset:
        return best[self.n_features]


@dataclass(frozen=True)
class SignificanceStop:
    """Ends by the one-sided corrected resampled t-test (Nadeau and Bengio 2003) on the paired scores of all splits.

    A column is added if the larger subset is significantly better than the best known subset of the previous size. A
    column is dropped unless the smaller subset is significantly worse than the best known subset of any size. Compared
    with the previous step only, many small losses could add up unnoticed.
    """

    level: float
    test_share: float  # test rows divided by training rows
    n_columns: int
    forward: bool

    def done(self, size: int) -> bool:
        return size == (self.n_columns if self.forward else 1)

    def is_better(self, scored: SubsetScores, one: Subset, other: Subset) -> bool:
        """Whether one subset scores significantly above another."""
        gain = scored.known[one] - scored.known[other]
        # half the two-sided interval at 2·level - 1 is the one-sided interval at level
        wide = np.mean(gain) > corrected_half_width(gain, self.test_share, 2 * self.level - 1)
        return bool(wide) and scored.beats(one, other)

    def allows(self, scored: SubsetScores, best: dict[int, Subset], subset: Subset, new: Subset) -> bool:
        if self.forward:
            return not subset or self.is_better(scored, new, best[len(subset)])
        return not self.is_better(scored, self._top(scored, best), new)

    def _top(self, scored: SubsetScores, best: dict[int, Subset]) -> Subset:
        """Return the best subset; the smallest of equals."""
        subsets = [best[size] for size in sorted(best)]
        return subsets[scored.best_of(subsets)]

    def choose(self, scored: SubsetScores, best: dict[int, Subset], last: Subset) -> Subset:
        if self.forward:
            return best[len(last)]
        top = self._top(scored, best)
        return next(best[size] for size in sorted(best) if not self.is_better(scored, top, best[size]))


@dataclass(frozen=True)
class SelectionPath:
    """The steps of a selection, the best subset found of each size, and the one selected."""

    steps: tuple[Step, ...]
    best: dict[int, Subset]
    chosen: Subset


@dataclass(frozen=True)
class SelectionMethod:
    """The kind of path: forward from no column or backward from all, with or without steps back (floating)."""

    n_columns: int
    forward: bool
    floating: bool

    def walk(self, scored: SubsetScores, stop: StoppingRule) -> SelectionPath:
        """Take the best step until `stop`; if floating, step back as long as that beats the best known of its size.

        This is SFFS and SBFS (Pudil, Novovičová & Kittler 1994). The column just moved is not moved back. Each step
        back improves on all subsets of its size so far, so the path ends.
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
        """Return how many columns a step back could move, including the one just moved."""
        return len(current) if self.forward else self.n_columns - len(current)

    def _best_step(self, scored: SubsetScores, current: Subset, add: bool, but: int | None = None) -> Step:
        """Return the step to the subset with the highest mean score; the first column of equals."""
        here = set(current)
        columns = [j for j in range(self.n_columns) if (j not in here) == add and j != but]
        subsets = [tuple(sorted(here ^ {j})) for j in columns]
        scored.look_up(subsets)
        best = scored.best_of(subsets)
        return Step("add" if add else "drop", columns[best], subsets[best])

    def _take(self, scored: SubsetScores, step: Step, steps: list[Step], best: dict[int, Subset]) -> Subset:
        steps.append(step)
        size = len(step.subset)
        if size not in best or scored.beats(step.subset, best[size]):
            best[size] = step.subset
        return step.subset
