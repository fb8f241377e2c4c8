"""How much better the final model may be than those that were tested, because it learns from all rows.

The models of folds learn from a part of the rows, so their score is a little too bad. How much, the members show that
are fitted once more on half the training rows of one fold: what the second half was worth there is one doubling of the
rows, and from a fold's rows to all of them it is a part of a doubling. Each doubling is worth less than the one before,
so this is rather too much: it is not added to the estimate, but intervals reach so much further to the better side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.choice import blend, mapped
from foldwise.app.measures import Measure
from foldwise.app.workers.jobs import Ask

if TYPE_CHECKING:
    from foldwise.app.run import Found, Session


def halving_jobs(session: Session, found: Found) -> list[tuple[Any, Any]]:
    """The members on half the training rows of a fold. In the order of time none: earlier folds learned from less."""
    if session.task.moments is not None:
        return []
    fold = found.stack.scored[-1]
    rows = half_of(session.splits[fold].train, session.task.groups, session.seed)
    n_classes = session.task.n_classes
    members = [(i, found.kept[i]) for i in np.flatnonzero(found.chosen.weights).tolist()]
    return [
        (("half", i), Ask(one.family.spec.name, (one.params,), fold, n_classes, one.family.decision, rows))
        for i, one in members
    ]


def half_of(train: NDArray[np.intp], groups: NDArray[np.intp] | None, seed: int) -> NDArray[np.intp]:
    """Half of the rows, or all rows of half the groups."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return np.sort(rng.permutation(train)[: -(-len(train) // 2)])
    there = rng.permutation(np.unique(groups[train]))
    return np.asarray(train[np.isin(groups[train], there[: -(-len(there) // 2)])])


def gain_of(session: Session, found: Found, measure: Measure) -> float:
    """What learning from all rows may add to a score; below 0 where less is better. 0 where nothing tells."""
    members = [(i, session.halves.get(id(found.kept[i]))) for i in np.flatnonzero(found.chosen.weights).tolist()]
    told = {i: one.scores[0] for i, one in members if one is not None and one.scores is not None}
    told = {i: said for i, said in told.items() if not np.isnan(said).any()}
    if not told:
        return 0.0
    fold = found.stack.scored[-1]
    places, share = found.stack.of_fold(fold), found.chosen.weights[list(told)]
    candidates = [found.kept[i] for i in told]
    of_all = np.stack([one.proba[places] for one in candidates])
    of_half = np.stack(
        [
            session.keeper.proba_of(said, one.entry, one.setting, fold)
            for one, said in zip(candidates, told.values(), strict=True)
        ]
    )

    def score(stack: NDArray[Any]) -> float:
        proba = mapped(found.chosen.map, blend(stack, share / share.sum()))
        return measure.better(measure(found.stack.codes[places], proba, found.stack.weighing(places)))

    n_all, train = session.task.n_rows, session.splits[fold].train
    doublings = np.log2(n_all / len(train)) / np.log2(
        len(train) / len(half_of(train, session.task.groups, session.seed))
    )
    gain = float(doublings * (score(of_all) - score(of_half)))
    return measure.better(gain) if gain > 0 else 0.0
