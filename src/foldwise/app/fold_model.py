"""The model of one fold, fitted again, to explain its held-out predictions by the very model that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.predictions import FoldPredictions
from foldwise.app.selection import MemberSelection
from foldwise.app.setup import RunSetup
from foldwise.app.workers.jobs import FitSplit

EACH = 2  # wrong predictions that a fold should have, to serve as examples
MOST_COLUMNS = 500  # with more, no explanation would be ready in time

MemberKey = tuple[int, int, int]  # fold, number of a batch, setting


@dataclass(frozen=True)
class FoldModel:
    """What predicted the rows of a fold: members, weights and calibration chosen and fitted without them."""

    fold: int
    model: Blend | ValueBlend


def explained_fold(selection: MemberSelection) -> int:
    """The fold that examples come from: it has mistakes, and its members are quick to fit. Later folds first."""
    honest, tested = selection.honest, selection.tested
    truth = tested.truth[honest.index]
    if honest.predicted.ndim == 1:  # the largest error of all is worth an explanation
        worst = honest.index[np.abs(honest.predicted - truth).argmax()]
        return int(tested.fold[worst])
    wrong = honest.predicted.argmax(axis=1) != truth

    def order(fold: int) -> tuple[int, float, int]:
        n_wrong = int(wrong[tested.fold[honest.index] == fold].sum())
        seconds = sum(selection.among.every[i].seconds for i in members_of(selection, fold))
        return -min(n_wrong, EACH), seconds, -fold

    return min(honest.folds, key=order)


def members_of(selection: MemberSelection, fold: int) -> list[int]:
    """The indices of the candidates that predict a fold."""
    return np.flatnonzero(selection.honest.chosen[fold].weights).tolist()


def fold_jobs(setup: RunSetup, selection: MemberSelection) -> dict[MemberKey, FitSplit]:
    """Fit the members of one fold on its training rows; nothing where examples are not shown or not explained."""
    if not setup.config.rows or setup.X.width > MOST_COLUMNS:
        return {}
    fold = explained_fold(selection)
    members = [selection.among.every[i] for i in members_of(selection, fold)]
    return {
        (fold, one.batch.number, one.setting): FitSplit(
            one.model, setup.params(one.batch, one.setting), fold, setup.samples.train(fold, one.batch.rung)
        )
        for one in members
    }


def fold_model(
    selection: MemberSelection, predictions: FoldPredictions, fitted: Mapping[MemberKey, Any]
) -> FoldModel | None:
    """Combine the fitted members of a fold as the selection without it did; None where one is missing."""
    fold = explained_fold(selection)
    chosen, index = selection.honest.chosen[fold], members_of(selection, fold)
    members = [selection.among.every[i] for i in index]
    keys = [(fold, one.batch.number, one.setting) for one in members]
    if not all(key in fitted for key in keys):
        return None
    models, weights = [fitted[key] for key in keys], [float(chosen.weights[i]) for i in index]
    maps = [predictions.calibration(one.batch, one.setting, without=fold) for one in members]
    return FoldModel(fold, predictions.blend(models, weights, maps, chosen.calibration))
