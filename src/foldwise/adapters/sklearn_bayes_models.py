"""The formulas of scikit-learn's naive Bayes classifiers, with an additional axis for settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray
from sklearn.preprocessing import binarize
from sklearn.utils.validation import check_non_negative, validate_data

from foldwise.adapters.support import is_number
from foldwise.arrays import Floats, Ints
from foldwise.data.cells import ChunkedCells, read_only
from foldwise.folds.protocol import Params, Rows
from foldwise.folds.sums import (
    BatchLogs,
    CategoricalTerms,
    CodedTable,
    GaussianTerms,
    JointScores,
    LinearTerms,
)
from foldwise.summaries.moments import moments_of
from foldwise.summaries.passes import ThreadShare

MOST_SLOTS = 1 << 20  # categories × classes × settings of a table
Slopes = tuple[Floats, Floats]  # (S, K, d), and the score of a row of zeros (S, K)
DISCRETE = frozenset({"alpha", "fit_prior", "class_prior", "force_alpha"})


class NeedsRefit(Exception):  # noqa: N818
    """The settings must be refitted."""


@dataclass(frozen=True)
class TrainingCounts:
    """The classes, weights and summary of a training set."""

    present: NDArray[np.intp]  # the indices of classes that occur
    y: Ints  # labels, as indices into `present`
    weights: Floats | None
    class_weight: Floats  # (K,)
    rows: Rows
    learned: Any = None


@dataclass(frozen=True)
class NBSettingBatch(BatchLogs):
    """Settings that are computed together, each with all its parameters; kept for all splits."""

    params: tuple[Params, ...]

    def __len__(self) -> int:
        return len(self.params)

    def some(self, indices: Sequence[int]) -> NBSettingBatch:
        return NBSettingBatch(tuple(self.params[i] for i in indices))

    @cached_property
    def alpha(self) -> Floats:  # (S,)
        return np.array([one["alpha"] for one in self.params], dtype=np.float64)

    @cached_property
    def priors(self) -> tuple[list[tuple[bool, Any]], NDArray[np.intp]]:
        """The distinct pairs of fit_prior and class_prior, and the index of the pair of each setting."""
        pairs = [(one["fit_prior"], one["class_prior"]) for one in self.params]
        distinct = {(fit, id(given)): (fit, given) for fit, given in pairs}
        index = {key: i for i, key in enumerate(distinct)}
        return list(distinct.values()), np.array([index[fit, id(given)] for fit, given in pairs])


class NaiveBayesFormulas(ABC):
    """The table and the formulas of one classifier."""

    lazy: frozenset[str]

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @abstractmethod
    def prepare(self, X: Any) -> bool:
        """Check the table like the classifier, and raise if it would; False if the table is left to a refit."""

    @abstractmethod
    def is_plain(self, params: Params) -> bool:
        """Whether the classifier accepts these parameters without a warning."""

    @abstractmethod
    def learn(self, facts: TrainingCounts) -> TrainingCounts:
        """The same with the summary of the training rows."""

    def knows(self, facts: TrainingCounts, test: Rows) -> bool:
        """Whether the model accepts the test rows."""
        return True

    @abstractmethod
    def scores(self, facts: TrainingCounts, batch: NBSettingBatch) -> JointScores:
        """The scores of the settings; raises NeedsRefit."""


class GaussianFormulas(NaiveBayesFormulas):
    """GaussianNB: moments, with `var_smoothing` × the largest variance of a column added to each variance."""

    lazy = frozenset({"priors", "var_smoothing"})

    def prepare(self, X: Any) -> bool:
        numbers = validate_data(self.estimator, X)
        if numbers.dtype.kind == "f" and numbers.dtype != np.float64:
            return False  # scikit-learn computes in single precision
        self.numbers = np.ascontiguousarray(numbers, dtype=np.float64)
        return True

    def is_plain(self, params: Params) -> bool:
        return is_number(params["var_smoothing"]) and is_prior(params["priors"])

    def learn(self, facts: TrainingCounts) -> TrainingCounts:
        x = np.ascontiguousarray(self.numbers[facts.rows])
        cells = ChunkedCells([str(j) for j in range(x.shape[1])], len(x), list(x.T), np.float64)
        share = ThreadShare(read_only(facts.y), facts.weights, len(facts.class_weight), 0, len(x))
        moments = moments_of(cells, share)
        whole = moments if facts.weights is None else moments_of(cells, replace(share, weights=None))
        pooled = whole.pooled()
        spread = float((pooled.m2 / pooled.weight).max())
        return replace(facts, learned=(moments.mean, moments.m2 / moments.weight, spread))

    def scores(self, facts: TrainingCounts, batch: NBSettingBatch) -> JointScores:
        mean, variance, spread = facts.learned
        smoothing = np.array([one["var_smoothing"] for one in batch.params], dtype=np.float64) * spread
        variances = variance[:, :, None] + smoothing
        if not (np.isfinite(variances).all() and (variances > 1e-300).all()):
            raise NeedsRefit
        log_norm = -0.5 * np.log(2.0 * np.pi * variances)
        log_prior = self.log_prior(facts.class_weight, batch.params)
        return JointScores((GaussianTerms(self.numbers, mean, 0.5 / variances, log_norm),), log_prior, by_prior=False)

    def log_prior(self, class_weight: Floats, params: Sequence[Params]) -> Floats:  # (K, S)
        shares = class_weight / class_weight.sum()
        return np.stack([np.log(check_prior(one["priors"], shares, True)) for one in params], axis=1)


class DiscreteFormulas(NaiveBayesFormulas):
    """The base of the other four: counts, smoothing by alpha, and priors."""

    lazy = DISCRETE

    def is_plain(self, params: Params) -> bool:
        flags = all(isinstance(params[name], bool) for name in ("fit_prior", "force_alpha"))
        return flags and self.is_alpha(params) and is_prior(params["class_prior"])

    def is_alpha(self, params: Params) -> bool:
        """Whether alpha is a number that scikit-learn accepts without a warning."""
        return is_number(params["alpha"]) and params["alpha"] >= (1e-300 if params["force_alpha"] else 1e-10)

    def log_prior(self, class_weight: Floats, batch: NBSettingBatch) -> Floats:  # (K, S)
        return batch.prior_logs.get(class_weight.tobytes(), lambda: self.new_log_prior(class_weight, batch))

    def new_log_prior(self, class_weight: Floats, batch: NBSettingBatch) -> Floats:  # (K, S)
        fitted = np.log(class_weight) - np.log(class_weight.sum())
        flat = np.full(len(fitted), -np.log(len(fitted)))
        priors, index = batch.priors
        columns = [
            (fitted if fit else flat) if given is None else np.log(check_prior(given, fitted, False))
            for fit, given in priors
        ]
        return np.array(columns).T.take(index, axis=1)


class CategoricalFormulas(DiscreteFormulas):
    """CategoricalNB: counts of categories, whose number follows from the largest code in the training rows."""

    def prepare(self, X: Any) -> bool:
        codes = validate_data(self.estimator, X, dtype="int", accept_sparse=False, ensure_all_finite=True)
        check_non_negative(codes, "CategoricalNB (input X)")
        least = np.array(1 if self.estimator.min_categories is None else self.estimator.min_categories)
        if least.dtype.kind != "i" or least.shape not in {(), (codes.shape[1],)} or (least < 1).any():
            return False  # it may be invalid
        self.least = np.broadcast_to(least, (codes.shape[1],))
        if codes.max(initial=0) >= MOST_SLOTS or self.least.max(initial=0) >= MOST_SLOTS:
            return False
        sizes = np.maximum(codes.max(axis=0) + 1, self.least).astype(np.int64)
        if sizes.sum() > MOST_SLOTS:
            return False
        self.codes, self.coded = codes, CodedTable.of(codes, sizes)
        self.column = self.coded.column
        return True

    def learn(self, facts: TrainingCounts) -> TrainingCounts:
        weight, held = self.coded.count(facts.rows, facts.y, facts.weights, len(facts.class_weight))
        if facts.weights is None:
            n_categories = np.empty(len(self.least), dtype=np.int64)
            count_categories(held, self.coded.base, self.coded.sizes, n_categories)
        else:  # rows of weight 0 count too
            n_categories = self.codes[facts.rows].max(axis=0) + 1
        return replace(facts, learned=(weight, np.maximum(n_categories, self.least)))

    def knows(self, facts: TrainingCounts, test: Rows) -> bool:
        n_categories = facts.learned[1]
        short = np.flatnonzero(n_categories < self.coded.sizes)
        return not (short.size and (self.codes[np.ix_(test, short)] >= n_categories[short]).any())

    def scores(self, facts: TrainingCounts, batch: NBSettingBatch) -> JointScores:
        weight, n_categories = facts.learned
        if weight.size * len(batch) > 1 << 26:
            raise NeedsRefit
        counted = np.add.reduceat(weight, self.coded.base)  # (d, K)
        totals = np.log(counted[:, :, None] + n_categories[:, None, None] * batch.alpha)  # (d, K, S)
        logs, line = batch.logs.of(weight, whole=facts.weights is None)
        table = np.empty((*weight.shape, len(batch)))
        divide_categories(logs, line, totals, self.column, table)
        return JointScores(
            (CategoricalTerms(self.coded, table),), self.log_prior(facts.class_weight, batch), by_prior=False
        )


class CountFormulas(DiscreteFormulas):
    """The base of classifiers of binary columns and counts: sums of cells by class, and scores linear in the cells."""

    may_be_negative = False

    def is_alpha(self, params: Params) -> bool:
        alpha = params["alpha"]
        if is_number(alpha):
            return super().is_alpha(params)
        if not isinstance(alpha, list | tuple | np.ndarray):
            return False
        values = np.asarray(alpha)
        usual = values.shape == (self.cells.shape[1],) and values.dtype.kind in "iuf"
        return bool(usual and (values >= (1e-300 if params["force_alpha"] else 1e-10)).all())

    def prepare(self, X: Any) -> bool:
        cells = validate_data(self.estimator, X, accept_sparse="csr")
        if not self.may_be_negative:
            check_non_negative(cells, "X")
        self.cells = self.marks(cells).astype(np.float64)
        return True

    def learn(self, facts: TrainingCounts) -> TrainingCounts:
        n, n_classes = len(facts.y), len(facts.class_weight)
        w = np.ones(n) if facts.weights is None else facts.weights
        marks = sp.csr_array((w, facts.y, np.arange(n + 1)), shape=(n, n_classes))
        sums = marks.T @ self.cells[facts.rows]
        return replace(facts, learned=np.asarray(sums if isinstance(sums, np.ndarray) else sums.todense()))

    def scores(self, facts: TrainingCounts, batch: NBSettingBatch) -> JointScores:
        slope, log_prior = self.finished(facts.learned, facts.class_weight, batch)
        return JointScores(
            (LinearTerms(self.cells, np.ascontiguousarray(slope.swapaxes(0, 1))),), log_prior, by_prior=False
        )

    def marks(self, cells: Any) -> Any:
        """The cells as the formulas use them."""
        return cells

    def finished(self, sums: Floats, class_weight: Floats, batch: NBSettingBatch) -> tuple[Floats, Floats]:
        """Slopes (S, K, d), and priors plus the score of a row of zeros (K, S)."""
        if sums.size * len(batch) > 1 << 26:
            raise NeedsRefit
        alphas = [np.broadcast_to(np.asarray(one["alpha"], np.float64), (sums.shape[1],)) for one in batch.params]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope, start = self.finish(sums, class_weight, np.stack(alphas)[:, None, :], batch.params)
        if not (np.isfinite(slope).all() and np.isfinite(start).all()):
            raise NeedsRefit
        log_prior = np.broadcast_to(start.T + self.prior(class_weight, batch), slope.shape[1::-1])
        return slope, np.ascontiguousarray(log_prior)

    def prior(self, class_weight: Floats, batch: NBSettingBatch) -> Any:
        return self.log_prior(class_weight, batch)

    def finish(self, sums: Floats, class_weight: Floats, alpha: Floats, params: Sequence[Params]) -> Slopes:
        """The slopes of all settings."""
        raise NotImplementedError


class MultinomialFormulas(CountFormulas):
    """MultinomialNB."""

    def finish(self, sums: Floats, class_weight: Floats, alpha: Floats, params: Sequence[Params]) -> Slopes:
        smoothed = sums + alpha
        return np.log(smoothed) - np.log(smoothed.sum(axis=2))[:, :, None], np.zeros(smoothed.shape[:2])


class ComplementFormulas(CountFormulas):
    """ComplementNB: the counts of all other classes; without a prior, because there are at least two classes."""

    lazy = DISCRETE | {"norm"}

    def is_plain(self, params: Params) -> bool:
        return super().is_plain(params) and isinstance(params["norm"], bool)

    def prior(self, class_weight: Floats, batch: NBSettingBatch) -> Any:
        self.log_prior(class_weight, batch)  # raises if the prior is invalid
        return 0.0

    def finish(self, sums: Floats, class_weight: Floats, alpha: Floats, params: Sequence[Params]) -> Slopes:
        others = sums.sum(axis=0) + alpha - sums
        logged = np.log(others / others.sum(axis=2, keepdims=True))
        norm = np.array([one["norm"] for one in params])[:, None, None]
        slope = np.where(norm, logged / logged.sum(axis=2, keepdims=True), -logged)
        return slope, np.zeros(slope.shape[:2])


class BernoulliFormulas(CountFormulas):
    """BernoulliNB: cells above the threshold `binarize`, with a term for the others too."""

    may_be_negative = True

    def marks(self, cells: Any) -> Any:
        threshold = self.estimator.binarize
        if threshold is None:
            return cells
        if not is_number(threshold):
            raise ValueError("binarize may be invalid")
        return binarize(cells, threshold=threshold)  # in the precision of the table

    def finish(self, sums: Floats, class_weight: Floats, alpha: Floats, params: Sequence[Params]) -> Slopes:
        under = class_weight[:, None] + alpha * 2
        on = np.log(sums + alpha) - np.log(under)
        off = np.log(1 - np.exp(on))
        return on - off, off.sum(axis=2)


FORMULAS: dict[str, type[NaiveBayesFormulas]] = {
    "GaussianNB": GaussianFormulas,
    "CategoricalNB": CategoricalFormulas,
    "MultinomialNB": MultinomialFormulas,
    "ComplementNB": ComplementFormulas,
    "BernoulliNB": BernoulliFormulas,
}


def is_prior(value: Any) -> bool:
    """Whether a value is None or a list of numbers; `check_prior` checks them against a training set."""
    if value is None:
        return True
    return isinstance(value, list | tuple | np.ndarray) and np.asarray(value).dtype.kind in "iuf"


def check_prior(value: Any, default: Floats, must_sum: bool) -> Floats:
    """The given prior or the default; raises NeedsRefit if the classifier would raise or warn."""
    if value is None:
        return default
    shares = np.asarray(value, dtype=np.float64)
    if shares.shape != default.shape or not (shares > 0).all() or not np.isfinite(shares).all():
        raise NeedsRefit
    if must_sum and not np.isclose(shares.sum(), 1.0):
        raise NeedsRefit
    return shares


@njit(nogil=True, cache=True)
def count_categories(held: Floats, base: Ints, sizes: Ints, n_categories: Ints) -> None:
    """One more than the largest category of each column that occurs."""
    for j in range(base.size):
        n = sizes[j]
        while n > 1 and not held[base[j] + n - 1].any():
            n -= 1
        n_categories[j] = n


@njit(nogil=True, cache=True)
def divide_categories(logs: Floats, line: Ints, under: Floats, column: Ints, table: Floats) -> None:
    """Write `logs[line[slot, c]]` (S) minus the logarithm of the column's total (d, K, S) to `table` (slots, K, S)."""
    n_classes, n_settings = table.shape[1:]
    for slot in range(table.shape[0]):
        for c in range(n_classes):
            out, above, below = table[slot, c], logs[line[slot, c]], under[column[slot], c]
            for s in range(n_settings):
                out[s] = above[s] - below[s]
