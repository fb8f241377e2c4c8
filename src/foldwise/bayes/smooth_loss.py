"""The out-of-fold log loss of `NaiveBayes` as a smooth function of smoothing, priors, column weights and temperature.

The facts of each training set are learned once, because they do not depend on hyperparameters. A log-likelihood is a
sum of table entries, so its derivative is the sum of their derivatives. The same scorers add them up: they read tables
of slopes instead of tables of logarithms.

Notes
-----
With scores s(c), temperature T and logits z(c) = s(c) / T, the logits have these derivatives by logarithms:

- priors ∝ exp(θ): dz(c) / dθ(k) = [c = k] / T, up to a constant that the softmax cancels;
- temperature: dz(c) / d log T = -z(c);
- weight of a column: dz(c) / d log w_j = w_j log P(x_j | c) / T;
- alpha: d log((N + α)/(M + αs)) / d log α = α/(N + α) - αs/(M + αs), with s slots;
- var_floor: a variance v at its floor is proportional to it, so d log N(x; μ, v) / d log var_floor is
  (x - μ)²/(2v) - 1/2 there, and 0 for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import clone

from foldwise.arrays import Floats
from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.checks import check_priors
from foldwise.bayes.entry_params import entry_of, with_entry
from foldwise.bayes.families import Setting
from foldwise.bayes.families.base import ShareTable
from foldwise.bayes.families.bernoulli_multinomial import CountedLikelihood
from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood
from foldwise.bayes.families.gaussian import GaussianLikelihood, finish_settings
from foldwise.bayes.families.protocol import AnyView, ClassTotals
from foldwise.bayes.families.text import TextLikelihood
from foldwise.bayes.finished import FinishedModel, blocks_in_use
from foldwise.bayes.presence import WithPresence, presence_shares
from foldwise.bayes.weighting import NoContribution, WeightedLikelihood, scale_tables
from foldwise.data.arguments import column_index
from foldwise.errors import InputError
from foldwise.evaluation.metrics.probabilities import LARGEST_LOG_LOSS
from foldwise.tuning.smooth_losses import FoldTables, codes_among

FLOORED = {"kde", "gamma", "poisson", "binomial"}  # families whose floors have no slopes here
SMOOTHING = ("alpha", "var_floor")


class NaiveBayesLoss:
    """The mean log loss over splits."""

    def __init__(self, estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.folds = [NaiveBayesFold.of(estimator, fold, names) for fold in folds]
        families = {block.family for fold in self.folds for block in fold.model._blocks}
        if "var_floor" in names and families & FLOORED:
            raise InputError(
                f"gradient search of var_floor does not support columns of the family {min(families & FLOORED)!r}.",
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
    priors: Any  # as given to the estimator
    view: AnyView  # of the test rows
    codes: NDArray[np.intp]  # their classes; -1 if a class is missing from the training rows

    @classmethod
    def of(cls, estimator: Any, fold: FoldTables, names: Sequence[str]) -> NaiveBayesFold:
        """Learn the facts of the training rows."""
        model, priors = clone(estimator), estimator.priors
        if any((entry_of(name) or name)[0] == "priors" for name in names):
            model.set_params(priors="empirical")  # a mapping may not name all classes without the values to come
        model.fit(fold.X_train, fold.y_train, **fold.fit_params)
        return cls(model, priors, model._view(fold.X_test, reset=False), codes_among(model.classes_, fold.y_test))

    def loss_and_gradient(self, values: Mapping[str, float], names: Sequence[str]) -> list[float]:
        """Compute the test loss and its derivatives, in the order of the names."""
        model = self._finish(values)
        scores, _ = model.score(self.view, 1)
        impossible = np.isneginf(scores.max(axis=1))
        scores[impossible] = model.log_prior
        logits = (scores - scores.max(axis=1, keepdims=True)) / model.setting.temperature
        log_p = log_softmax(logits, axis=1)
        rows = np.arange(len(scores))
        losses = np.where(self.codes < 0, LARGEST_LOG_LOSS, -log_p[rows, self.codes])
        constant = losses >= LARGEST_LOG_LOSS
        answers = [float(losses.clip(max=LARGEST_LOG_LOSS).mean())]
        for name in names:
            slopes = self._logit_slopes(model, name, logits, impossible)  # (n, K)
            p = np.exp(log_p)
            change = np.multiply(p, slopes, out=np.zeros_like(p), where=p > 0).sum(axis=1)
            change -= np.where(constant, 0.0, slopes[rows, self.codes])
            answers.append(float(np.where(constant, 0.0, change).mean()))
        return answers

    def _finish(self, values: Mapping[str, float]) -> FinishedModel:
        """The model with other values of smooth parameters."""
        old, names = self.model._finished, self.model.schema_.names
        plain = {name: value for name, value in values.items() if entry_of(name) is None}
        weights, log_prior = [old.setting.weight(j) for j in range(len(names))], old.log_prior
        priors: Any = self.priors
        for name, value in values.items():
            parameter, key = entry_of(name) or (name, "")
            if parameter == "column_weights":
                weights[column_index(parameter, key, names)] = value
            elif parameter == "priors":
                priors = with_entry(parameter, priors, key, value)
        if priors is not self.priors:
            log_prior = check_priors(priors, self.model.classes_, self.model.class_count_)
        setting = replace(old.setting, **plain, column_weights=tuple(weights))
        return FinishedModel.of(self.model.facts_, self.model._blocks, self.model.schema_.columns, setting, log_prior)

    def _logit_slopes(self, model: FinishedModel, name: str, logits: Floats, impossible: Any) -> Floats:  # (n, K)
        """The derivatives of the logits by the logarithm of one parameter."""
        parameter, key = entry_of(name) or (name, "")
        if parameter == "temperature":
            return -logits
        if parameter == "priors":
            chosen = [str(label) == key for label in self.model.classes_.tolist()]
            return np.broadcast_to(np.array(chosen) / model.setting.temperature, logits.shape)
        changed = self._slopes(model, name) if parameter in SMOOTHING else self._column(model, parameter, key)
        slopes, _ = changed.score(self.view, 1)
        slopes[impossible] = 0.0  # the prior is predicted
        return slopes / model.setting.temperature

    def _slopes(self, model: FinishedModel, name: str) -> FinishedModel:
        """A model whose scores are the derivatives of the scores of another model."""
        facts, kept = self.model.facts_, []
        used = blocks_in_use(facts, self.model._blocks, model.setting)
        for block, likelihood, (_, summary) in zip(model.blocks, model.likelihoods, used, strict=True):
            slope = slope_of(likelihood, name, model.setting, summary, facts.totals)
            if slope is not None:
                kept.append((block, slope))
        return only(model, kept)

    def _column(self, model: FinishedModel, parameter: str, key: str) -> FinishedModel:
        """A model whose scores are the weighted log-likelihoods of one column."""
        j, facts = column_index(parameter, key, self.model.schema_.names), self.model.facts_
        pairs = zip(model.blocks, model.likelihoods, strict=True)
        found = next((pair for pair in pairs if j in pair[0].columns), None)
        if found is None:
            return only(model, [])  # the column is not in use
        block, likelihood = found
        weights = np.array([model.setting.weight(j) * (own == j) for own in block.columns])
        inner = likelihood.inner if isinstance(likelihood, WeightedLikelihood) else likelihood
        scaled = scale_tables(inner, weights)
        if scaled is not None:
            return only(model, [(block, scaled)])
        setting = replace(model.setting, columns=(j,))
        columns, nothing = self.model.schema_.columns, np.zeros_like(model.log_prior)
        return FinishedModel.of(facts, self.model._blocks, columns, setting, nothing)


def only(model: FinishedModel, kept: Sequence[tuple[FamilyBlock, Any]]) -> FinishedModel:
    """A model of some likelihoods, without the prior."""
    blocks, likelihoods = tuple(block for block, _ in kept), tuple(likelihood for _, likelihood in kept)
    return replace(model, log_prior=np.zeros_like(model.log_prior), blocks=blocks, likelihoods=likelihoods)


def slope_of(likelihood: Any, name: str, setting: Setting, summary: Any, totals: ClassTotals) -> Any:
    """A likelihood whose logarithms are derivatives by the logarithm of a parameter; None if all are 0."""
    if isinstance(likelihood, WeightedLikelihood):
        inner = slope_of(likelihood.inner, name, setting, summary, totals)
        return None if inner is None else replace(likelihood, inner=inner)
    if isinstance(likelihood, GaussianLikelihood):
        return floor_slopes(likelihood, setting, summary) if name == "var_floor" else None
    if isinstance(likelihood, WithPresence):
        inner = slope_of(likelihood.inner, name, setting, summary, totals)
        if name != "alpha":
            return inner
        own: Any = NoContribution() if inner is None else inner
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
