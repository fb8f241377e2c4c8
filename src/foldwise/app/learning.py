"""How much better the final model may be than those that were tested, because it learns from all rows.

The models of folds learn from a part of the rows, so their score is a little too bad. How much, the members show that
are fitted once more on half the training rows of one fold: what the second half was worth there is one doubling of the
rows, and from a fold's rows to all of them it is a part of a doubling. Each doubling is worth less than the one before,
so this is rather too much: it is not added to the estimate, but intervals reach so much further to the better side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.choice import blend, mapped
from foldwise.app.measures import Codes, Floats, Measure
from foldwise.app.workers.jobs import Ask
from foldwise.decisions.calibration.scores import ClassScores

if TYPE_CHECKING:
    from foldwise.app.run import Found, Session

HALF = (1.5, 3.0)  # a fold's rows to its half: groups may be too uneven to be halved


@dataclass(frozen=True)
class Learning:
    """The same rows by the final weights, of members that learned from a fold's rows and from half of them."""

    codes: Codes
    weights: Floats | None
    of_all: Floats
    of_half: Floats
    doublings: float  # from the fold's rows to all, if from the half to the fold's is one

    def gain(self, measure: Measure) -> float:
        """What learning from all rows may add to a score; below 0 where less is better."""
        of_all, of_half = (
            measure.better(measure(self.codes, one, self.weights)) for one in (self.of_all, self.of_half)
        )
        gain = self.doublings * (of_all - of_half)
        return measure.better(float(gain)) if gain > 0 and np.isfinite(gain) else 0.0


def halving_jobs(session: Session, found: Found) -> list[tuple[Any, Any]]:
    """The members on half the training rows of a fold. In the order of time none: earlier folds learned from less."""
    rows = None if session.task.moments is not None else halved(session, found)
    if rows is None:
        return []
    fold, n_classes = found.stack.scored[-1], session.task.n_classes
    members = [(i, found.kept[i]) for i in np.flatnonzero(found.chosen.weights).tolist()]
    return [
        (("half", i), Ask(one.family.spec.name, (one.params,), fold, n_classes, one.family.decision, rows))
        for i, one in members
    ]


def halved(session: Session, found: Found) -> NDArray[np.intp] | None:
    """Half the training rows of the fold; None where they cannot be halved."""
    train = session.splits[found.stack.scored[-1]].train
    rows = half_of(train, session.task.codes, session.task.groups, session.seed)
    return rows if HALF[0] <= len(train) / max(1, len(rows)) <= HALF[1] else None


def half_of(train: NDArray[np.intp], codes: Codes, groups: NDArray[np.intp] | None, seed: int) -> NDArray[np.intp]:
    """Half of the rows of each class; or whole groups, until they have about half of the rows."""
    rng = np.random.default_rng(seed)
    if groups is None:
        mixed = rng.permutation(train)
        kinds = [mixed[codes[mixed] == k] for k in np.unique(codes[mixed])]
        return np.sort(np.concatenate([rows[: -(-len(rows) // 2)] for rows in kinds]))
    there, sizes = np.unique(groups[train], return_counts=True)
    order = rng.permutation(len(there))
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.asarray(train[np.isin(groups[train], there[order[before < 0.5 * len(train)]])])


def learning_of(session: Session, found: Found, maps: Mapping[int, Any]) -> Learning | None:
    """What the halves say of the members in `maps`, which hold what turns their decision values into probabilities."""
    rows = halved(session, found)
    told = {i: session.halves[id(found.kept[i])] for i in maps if id(found.kept[i]) in session.halves}
    said = {i: one.scores[0] for i, one in told.items() if one.scores is not None and not np.isnan(one.scores).any()}
    if rows is None or not said:
        return None
    fold = found.stack.scored[-1]
    places, train = found.stack.of_fold(fold), session.splits[fold].train
    share = found.chosen.weights[list(said)]

    def proba(values: NDArray[np.float32], to: Any) -> Floats:
        known = values if to is None else np.exp(to.log_proba(ClassScores(values.astype(np.float64), False)))
        return session.keeper.floored(known)

    def together(stack: list[Floats]) -> Floats:
        return mapped(found.chosen.map, blend(np.stack(stack), share / share.sum()))

    kept = {i: found.kept[i] for i in said}
    return Learning(
        found.stack.codes[places],
        found.stack.weighing(places),
        together([proba(one.entry.said(one.setting, fold), maps[i]) for i, one in kept.items()]),
        together([proba(said[i], maps[i]) for i in kept]),
        float(np.log2(session.task.n_rows / len(train)) / np.log2(len(train) / len(rows))),
    )
