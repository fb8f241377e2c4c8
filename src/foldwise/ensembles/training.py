"""Fits members and collects their predictions, on as many workers as asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from foldwise.ensembles.members import Member, fit_member, is_checked, prepare_for_trees
from foldwise.ensembles.protocol import Dependency, FittedMembers, MemberPredictions, MemberSpec, TrainingData

PREDICTION_CELLS = 1 << 23  # predictions of all members that are held at once


class NoMonitor:
    """Training that is not stopped early; see `sizes.TrainingMonitor`."""

    train = None
    batch = sys.maxsize
    should_stop = False

    def add(self, members: Sequence[Any], weights: Sequence[float]) -> None:
        """Take more members into account."""

    def best_size(self, n: int) -> int:
        """How many of n members to keep."""
        return n

    def history(self) -> dict[str, Any]:
        return {}


NO_MONITOR = NoMonitor()


@dataclass(frozen=True)
class MemberTrainer:
    """How members are fitted."""

    n_jobs: int | None = None
    monitor: Any = NO_MONITOR
    proba: bool = True  # whether the combiner reads probabilities, or labels

    def fit(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[Member]:
        """One member per spec, in order."""
        X = prepare_for_trees(data.X, (spec.estimator for spec in specs))
        data = replace(data, X=X, checked=is_checked(X))
        if effective_n_jobs(self.n_jobs) == 1:
            return [fit_member(spec, data) for spec in specs]
        threads = all(releases_gil(spec.estimator) for spec in specs)
        pool = Parallel(self.n_jobs, prefer="threads" if threads else None)
        found: list[Member] = pool(delayed(fit_member)(spec, data) for spec in specs)
        return found


@dataclass(repr=False, eq=False)
class Independent(Dependency):
    """Each member by itself, in parallel. If training may stop early, a batch at a time."""

    parallel: ClassVar[bool] = True

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: MemberTrainer) -> FittedMembers:
        monitor = trainer.monitor
        members: list[Member] = []
        while len(members) < len(specs) and not monitor.should_stop:
            batch = trainer.fit(specs[len(members) : len(members) + monitor.batch], data)
            members += batch
            monitor.add(batch, [1.0] * len(batch))
        return FittedMembers(tuple(members), np.ones(len(members)), monitor.history())


def releases_gil(estimator: Any) -> bool:
    """Whether threads are enough for it: compiled fits, scikit-learn's trees and our own estimators."""
    return type(estimator).__module__.startswith(("sklearn.tree.", "foldwise."))


def predict_members(
    fitted: FittedMembers, X: Any, n_classes: int, proba: bool, n_jobs: int | None = None
) -> MemberPredictions:
    """The predictions of all members for rows."""
    given = prepare_for_trees(X, (member.model for member in fitted.members))
    checked = is_checked(given)
    if effective_n_jobs(n_jobs) == 1:
        answers = [member.predict(given, proba, checked) for member in fitted.members]
    else:
        pool = Parallel(n_jobs, prefer="threads")
        answers = pool(delayed(member.predict)(given, proba, checked) for member in fitted.members)
    codes = [member.spec.code for member in fitted.members]
    code = np.array(codes) if n_classes and codes[0] is not None else None
    return MemberPredictions(np.array(answers), fitted.weights, n_classes, code)
