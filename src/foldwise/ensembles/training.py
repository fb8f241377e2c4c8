"""Fits members and computes their predictions, in parallel."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from foldwise.ensembles.blocks import Dependency
from foldwise.ensembles.members import Member, fit_member, is_checked, prepare_for_trees
from foldwise.ensembles.protocol import FittedMembers, MemberPredictions, MemberSpec, TrainingData

PREDICTION_CELLS = 1 << 23  # predictions of all members that are held at a time


class NoMonitor:
    """The monitor of training without early stopping; see `sizes.TrainingMonitor`."""

    train = None
    batch = sys.maxsize
    should_stop = False

    def add(self, members: Sequence[Any], weights: Sequence[float]) -> None:
        """Add members."""

    def best_size(self, n: int) -> int:
        """The number of members, of n, to keep."""
        return n

    def history(self) -> dict[str, Any]:
        return {}


NO_MONITOR = NoMonitor()


@dataclass(frozen=True)
class MemberTrainer:
    """Fits members in parallel."""

    n_jobs: int | None = None
    monitor: Any = NO_MONITOR
    proba: bool = True  # whether the combiner reads probabilities instead of labels

    def fit(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[Member]:
        """Fit one member per spec."""
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
    """Train members independently and in parallel, in batches if training may stop early.

    Examples
    --------
    >>> from foldwise import NaiveBayes
    >>> from foldwise.ensembles import Ensemble, Independent
    >>> model = Ensemble(NaiveBayes(), diversity="bootstrap", dependency=Independent(), n_jobs=2)
    """

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
    """Whether threads are enough to fit it in parallel: scikit-learn's trees and our own estimators."""
    return type(estimator).__module__.startswith(("sklearn.tree.", "foldwise."))


def predict_members(
    fitted: FittedMembers, X: Any, n_classes: int, proba: bool, n_jobs: int | None = None
) -> MemberPredictions:
    """The predictions of all members for some rows."""
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
