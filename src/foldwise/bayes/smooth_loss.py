"""The out-of-fold log loss of `NaiveBayes` as a smooth function of alpha and var_floor.

The facts of each training set are learned once, because they do not depend on hyperparameters. A log-likelihood is a
sum of table entries, so its derivative is the sum of their derivatives. The same scorers add them up: they read tables
of slopes instead of tables of logarithms.

Notes
-----
d log((N + α)/(M + αs)) / d log α = α/(N + α) - αs/(M + αs), with s slots. A variance at its floor is proportional to
var_floor, so d log N(x; μ, v) / d log var_floor = (x - μ)²/(2v) - 1/2 there, and 0 for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import clone

from foldwise.bayes.assignment import in_use
from foldwise.bayes.families import Setting
from foldwise.bayes.families.base import SPARSE_ROWS, ShareTable
from foldwise.bayes.families.bernoulli_multinomial import CountedLikelihood
from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood
from foldwise.bayes.families.gaussian import GaussianLikelihood, finish_settings
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Scorer
from foldwise.bayes.families.text import TextLikelihood
from foldwise.bayes.finished import FinishedModel
from foldwise.bayes.presence import WithPresence, presence_shares
from foldwise.errors import InputError
from foldwise.summaries.number_kernels import Floats
from foldwise.tuning.smooth_losses import LARGEST_LOSS, FoldTables, codes_among

SMOOTH = frozenset({"alpha", "var_floor"})
FLOORED = {"kde", "gamma", "poisson", "binomial"}  # families whose floors have no slopes here


class NaiveBayesLoss:
    """The mean log loss over splits."""

    def __init__(self, estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.folds = [NaiveBayesFold.of(estimator, fold) for fold in folds]
        families = {block.family for fold in self.folds for block in fold.model._blocks}
        if "var_floor" in names and families & FLOORED:
            raise InputError(
                f"the loss is smooth in var_floor only without columns of the family {min(families & FLOORED)!r}.",
                "use gaussian columns, or strategy='bayesian' or 'random'.",
            )

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        """Compute the loss and its derivatives by the logarithms of the parameters."""
        answers = [fold.loss_and_gradient(values, self.names) for fold in self.folds]
        loss, *slopes = np.mean(answers, axis=0).tolist()
        return loss, dict(zip(self.names, slopes, strict=True))


@dataclass(frozen=True)
class NaiveBayesFold:
    """One split: a model fitted to the training rows, and the test rows."""

    model: Any
    view: AnyView  # of the test rows
    codes: NDArray[np.intp]  # their classes; -1 if a class is missing from the training rows

    @classmethod
    def of(cls, estimator: Any, fold: FoldTables) -> NaiveBayesFold:
        """Learn the facts of the training rows."""
        model = clone(estimator).fit(fold.X_train, fold.y_train, **fold.fit_params)
        return cls(model, model._view(fold.X_test, reset=False), codes_among(model.classes_, fold.y_test))

    def loss_and_gradient(self, values: Mapping[str, float], names: Sequence[str]) -> list[float]:
        """Compute the test loss and its derivatives, in the order of the names."""
        old = self.model._finished
        setting = replace(old.setting, **values)
        model = FinishedModel.of(
            self.model.facts_, self.model._blocks, self.model.schema_.columns, setting, old.log_prior
        )
        scores, _ = model.score(self.view, 1)
        impossible = np.isneginf(scores.max(axis=1))
        scores[impossible] = model.log_prior
        log_p = log_softmax(scores, axis=1)
        rows = np.arange(len(scores))
        losses = np.where(self.codes < 0, LARGEST_LOSS, -log_p[rows, self.codes])
        constant = impossible | (losses >= LARGEST_LOSS)
        answers = [float(losses.clip(max=LARGEST_LOSS).mean())]
        for name in names:
            slopes, _ = self._slopes(model, name).score(self.view, 1)  # (n, K), of the scores
            change = (np.exp(log_p) * slopes).sum(axis=1) - slopes[rows, self.codes]
            answers.append(float(np.where(constant, 0.0, change).mean()))
        return answers

    def _slopes(self, model: FinishedModel, name: str) -> FinishedModel:
        """A model whose scores are the derivatives of the scores of another model."""
        facts, kept = self.model.facts_, []
        used = [in_use(*pair, model.setting) for pair in zip(self.model._blocks, facts.summaries, strict=True)]
        summaries = [summary for block, summary in used if block.columns]
        for block, likelihood, summary in zip(model.blocks, model.likelihoods, summaries, strict=True):
            slope = slope_of(likelihood, name, model.setting, summary, facts.totals)
            if slope is not None:
                kept.append((block, slope))
        blocks, slopes = tuple(one for one, _ in kept), tuple(one for _, one in kept)
        return replace(model, log_prior=np.zeros_like(model.log_prior), blocks=blocks, likelihoods=slopes)


def slope_of(likelihood: Any, name: str, setting: Setting, summary: Any, totals: ClassTotals) -> Any:
    """A likelihood whose logarithms are derivatives by the logarithm of a parameter; None if all are 0."""
    if isinstance(likelihood, GaussianLikelihood):
        return floor_slopes(likelihood, setting, summary) if name == "var_floor" else None
    if isinstance(likelihood, WithPresence):
        inner = slope_of(likelihood.inner, name, setting, summary, totals)
        if name != "alpha":
            return inner
        own: Any = NoSlope() if inner is None else inner
        return replace(likelihood, inner=own, shares=likelihood.shares.slopes(setting.alpha))
    if name != "alpha":
        return None
    if isinstance(likelihood, CategoricalLikelihood | BinnedLikelihood | TextLikelihood):
        tables = tuple(replace(one, shares=one.shares.slopes(setting.alpha)) for one in likelihood.tables)
        if isinstance(likelihood, TextLikelihood) and setting.missing == "category":
            presence = presence_shares(summary.present, totals, setting).slopes(setting.alpha).log
            return replace(likelihood, tables=tables, presence=presence)
        return replace(likelihood, tables=tables)
    if isinstance(likelihood, CountedLikelihood):
        shares: ShareTable = likelihood.shares.slopes(setting.alpha)
        return replace(likelihood, shares=shares)  # type: ignore[type-var]
    return None


def floor_slopes(likelihood: GaussianLikelihood, setting: Setting, summary: Any) -> GaussianLikelihood | None:
    """The derivatives by log var_floor: a variance has one if the floor has raised it."""
    _, scale, _ = finish_settings(summary, [setting, replace(setting, var_floor=0.0)])
    raised = scale[:, :, 0] < scale[:, :, 1]  # (K, d)
    if not raised.any():
        return None
    slope: Floats = np.where(raised, -likelihood.scale, 0.0)
    return replace(likelihood, scale=slope, log_norm=np.where(raised, -0.5, 0.0))


@dataclass(frozen=True)
class NoSlope:
    """Stands for a likelihood that does not depend on a parameter."""

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        return Scorer(SPARSE_ROWS, lambda start, stop, scores: None)
