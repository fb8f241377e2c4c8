"""Fits an ensemble: trains its members, selects among them, and fits the combiner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldwise.ensembles.blocks import CombinerData, CombinerRule, OutOfFold
from foldwise.ensembles.config import EnsembleConfig, draw_specs
from foldwise.ensembles.member_sessions import MemberSessions, needed, stack_answers
from foldwise.ensembles.protocol import FittedMembers, MemberPredictions, MemberSpec, TrainingData, splitter_of
from foldwise.ensembles.training import NO_MONITOR, MemberTrainer, predict_members
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split, freeze_splits


@dataclass(frozen=True)
class FittedEnsemble:
    """The fitted members and the rule that combines them."""

    fitted: FittedMembers
    rule: CombinerRule
    proba: bool


def fit_ensemble(config: EnsembleConfig, data: TrainingData) -> FittedEnsemble:
    """Train the members, select among them if the size does so, and fit the combiner."""
    specs = draw_specs(config, data)
    check_codes(config, specs)
    monitor = config.size.monitor(data, config) or NO_MONITOR
    train = data if monitor.train is None else data.take(monitor.train)
    if monitor.train is not None:
        specs = draw_specs(config, train)
    proba = config.wants_proba()
    fitted = config.dependency.train(train, specs, MemberTrainer(config.n_jobs, monitor, proba))
    if monitor.train is not None:
        fitted = in_whole_table(fitted, train, monitor.train)

    def out_of_fold(cv: Any) -> MemberPredictions:
        if config.plain and is_plain(specs):
            return predict_by_sessions(data, specs, cv, proba)
        return predict_by_retraining(config, data, len(fitted.members), cv, proba)

    if not config.size.chooses:
        return FittedEnsemble(
            fitted, config.combiner.learn(CombinerData(data, out_of_fold, fitted, config.seed)), proba
        )
    kept, weights = choose_members(config, data, out_of_fold)
    fitted = fitted.take(kept.tolist(), weights)
    info = CombinerData(data, lambda cv: out_of_fold(cv).take(kept, weights), fitted, config.seed)
    return FittedEnsemble(fitted, config.combiner.learn(info), proba)


def choose_members(config: EnsembleConfig, data: TrainingData, out_of_fold: OutOfFold) -> tuple[Any, Any]:
    """The indices of the selected members, and their weights."""
    weights = config.size.choose(out_of_fold(splitter_of(config.size)), data)
    kept = np.flatnonzero(weights > 0)
    return kept, weights[kept]


def in_whole_table(fitted: FittedMembers, data: TrainingData, rows: Rows) -> FittedMembers:
    """Members trained on some rows of a table, with specs in terms of the whole table."""
    specs = [replace(member.spec, rows=rows[member.spec.row_indices(data)]) for member in fitted.members]
    members = tuple(replace(member, spec=spec) for member, spec in zip(fitted.members, specs, strict=True))
    return replace(fitted, members=members)


def is_plain(specs: Sequence[MemberSpec]) -> bool:
    """Whether specs differ only in estimators and parameters."""
    parts = ("rows", "weights", "columns", "code")
    return all(getattr(spec, part) is None for spec in specs for part in parts)


def check_codes(config: EnsembleConfig, specs: Sequence[MemberSpec]) -> None:
    """Raise unless recoded classes are decoded, and only these."""
    if not specs:
        raise InputError(
            "diversity must create at least one member, but its vary method returned none.",
            "return at least one MemberSpec from vary.",
        )
    recoded = specs[0].code is not None
    if recoded and not config.combiner.decodes:
        raise InputError(
            f"{type(config.combiner).__name__} cannot combine members with recoded classes.", "use combiner='decode'."
        )
    if config.combiner.decodes and not recoded:
        raise InputError("combiner='decode' needs members with recoded classes.", "use diversity=OutputCodes().")


def predict_by_sessions(data: TrainingData, specs: Sequence[MemberSpec], cv: Any, proba: bool) -> MemberPredictions:
    """Out-of-fold predictions by the members' own fold sessions."""
    sessions = MemberSessions(data.X, data.y, data.weights, data.n_classes)
    splits = partition(cv, data)
    need = needed(data.n_classes, proba)
    parts = [sessions.inner_answers(specs, split.train, split.test, need) for split in splits]
    return join_splits([stack_answers(part, data.n_classes, proba) for part in parts], splits)


def predict_by_retraining(
    config: EnsembleConfig, data: TrainingData, n_members: int, cv: Any, proba: bool
) -> MemberPredictions:
    """Out-of-fold predictions of members that are trained on each split."""
    if not config.dependency.parallel:
        raise InputError(
            "out-of-fold predictions need independent members, but these members depend on each other.",
            "use dependency='independent', or a combiner without training, such as 'mean'.",
        )
    splits = partition(cv, data)
    parts = []
    for split in splits:
        train = data.take(split.train)
        specs = draw_specs(config, train)[:n_members]  # training may have stopped early
        fitted = config.dependency.train(train, specs, MemberTrainer(config.n_jobs, proba=proba))
        parts.append(predict_members(fitted, take_rows(data.X, split.test), train.n_classes, proba, config.n_jobs))
    return join_splits(parts, splits)


def partition(cv: Any, data: TrainingData) -> Sequence[Split]:
    """Splits in which every row is a test row once, with at most as many folds as the largest class has rows."""
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        cv = most_folds(5 if cv is None else int(cv), data)
    splits = freeze_splits(cv, data.X, data.y, n_rows=data.n_rows, classifier=data.n_classes > 0)
    times = np.bincount(np.concatenate([split.test for split in splits]), minlength=data.n_rows)
    if (times != 1).any():
        raise InputError(
            "every row must be a test row of exactly one split of cv, but row "
            f"{int(np.flatnonzero(times != 1)[0])} is a test row of {int(times[times != 1][0])} splits.",
            "use a splitter such as KFold or StratifiedKFold.",
        )
    return splits


def most_folds(folds: int, data: TrainingData) -> int:
    """The number of folds, reduced to the size of the largest class in small tables."""
    most = int(np.bincount(data.encoded).max()) if data.n_classes else data.n_rows
    if most < 2 <= folds:
        raise InputError(
            f"cross-validation is not possible, because no class has more than one row (n_samples = {data.n_rows}).",
            "pass more rows.",
        )
    return min(folds, most)


def join_splits(parts: Sequence[MemberPredictions], splits: Sequence[Split]) -> MemberPredictions:
    """The predictions for the test rows of all splits, in the order of rows."""
    order = np.argsort(np.concatenate([split.test for split in splits]))
    return replace(parts[0], answers=np.concatenate([part.answers for part in parts], axis=1)[:, order])
