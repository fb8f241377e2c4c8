"""Scores, labels and probabilities of test rows for every class and setting, from the tables of a training set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from foldwise.arrays import Floats
from foldwise.folds.protocol import Rows
from foldwise.folds.sums.coding import CodedTable
from foldwise.folds.sums.kernels import add_look_ups, add_squares, choose, gaps_to_best, normalize
from foldwise.folds.sums.screening import screen
from foldwise.summaries.passes import windows

SCORE_CELLS = 1 << 15  # scores that are held at a time, so that they fit into the processor's cache


class ScoreTerms(Protocol):
    """The contribution of some columns to the scores of rows."""

    def add(self, rows: Rows, scores: Floats) -> None:
        """Add the contribution to `scores` (n, K, S)."""


@dataclass(frozen=True)
class CategoricalTerms:
    """Categorical columns: each cell contributes an entry of a table."""

    coded: CodedTable
    table: Floats  # (slots, K, S)

    def add(self, rows: Rows, scores: Floats) -> None:
        add_look_ups(self.coded.slots, rows, self.table, scores)


@dataclass(frozen=True)
class GaussianTerms:
    """Gaussian columns: each cell contributes log_norm - scale·(x - mean)², a missing one nothing."""

    numbers: Floats  # (n, d)
    mean: Floats  # (K, d)
    scale: Floats  # (K, d, S)
    log_norm: Floats  # (K, d, S)

    def add(self, rows: Rows, scores: Floats) -> None:
        add_squares(self.numbers, rows, self.mean, self.scale, self.log_norm, self.log_norm.sum(axis=1), scores)


@dataclass(frozen=True)
class LinearTerms:
    """Binary or count columns: each cell contributes its value times a slope."""

    cells: Any  # (n, d), an array or a CSR matrix
    slope: Floats  # (K, S, d)

    def add(self, rows: Rows, scores: Floats) -> None:
        n_classes, n_settings, n_columns = self.slope.shape
        sums = self.cells[rows] @ self.slope.reshape(-1, n_columns).T
        scores += sums.reshape(len(rows), n_classes, n_settings)


@dataclass(frozen=True)
class JointScores:
    """The sum of the contributions and the prior.

    Labels from categories alone are computed in single precision, and in double precision where they are close.
    """

    parts: tuple[ScoreTerms, ...]
    log_prior: Floats  # (K, S)
    by_prior: bool = True  # whether the prior decides if every class is impossible
    temperature: Floats | None = None  # (S,), by which log-probabilities are divided; None for 1

    def of(self, rows: Rows) -> Floats:  # (n, K, S)
        """The scores of some rows, without the prior."""
        scores = np.zeros((len(rows), *self.log_prior.shape))
        for part in self.parts:
            part.add(rows, scores)
        return scores

    def labels(self, rows: Rows) -> NDArray[np.int16]:  # (n, S)
        """The index of the most probable class for every row and setting."""
        labels = np.empty((len(rows), self.log_prior.shape[1]), dtype=np.int16)
        categories = self._only_categories
        if categories is None or not self._screen(categories, rows, labels):
            self._choose(rows, labels)
        return labels

    def log_proba(self, rows: Rows) -> Floats:  # (n, K, S)
        """Normalized log-probabilities: log Σ exp = largest + log1p(Σ exp of the differences of the others to it).

        log1p is exact for tiny arguments, which metrics of 1 - p need if p is almost 1.
        """
        n_classes, n_settings = self.log_prior.shape
        out = np.empty((len(rows), n_classes, n_settings))
        for a, b in windows(0, len(rows), self._chunk_rows):
            scores, best = self.of(rows[a:b]), np.empty((b - a, n_settings))
            gaps = np.empty((b - a, n_classes if n_classes != 2 else 1, n_settings))
            gaps_to_best(scores, self.log_prior, best, gaps)
            impossible = np.isneginf(best) if self.by_prior else None  # every class
            if self.temperature is not None:
                with np.errstate(invalid="ignore"):  # -inf minus -inf, in impossible rows
                    scores = (scores - best[:, None]) / self.temperature
                best = np.zeros_like(best)
                gaps /= self.temperature
            np.exp(gaps, out=gaps)
            rest = gaps[:, 0] if n_classes == 2 else gaps.sum(axis=1)
            np.log1p(rest, out=rest)
            normalize(scores, best, rest, self.by_prior, out[a:b])
            if impossible is not None and impossible.any():
                i, s = np.nonzero(impossible)
                out[a + i, :, s] = self._prior_log_proba[s]
        return out

    @property
    def _prior_log_proba(self) -> Floats:  # (S, K)
        """The log-probabilities if every class is impossible."""
        if self.temperature is None:
            return self.log_prior.T
        return np.asarray(log_softmax(self.log_prior.T / self.temperature[:, None], axis=1))

    @property
    def _only_categories(self) -> CategoricalTerms | None:
        """The only part, if it is categorical."""
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], CategoricalTerms) else None

    @property
    def _chunk_rows(self) -> int:
        return max(1, SCORE_CELLS // max(1, self.log_prior.size))

    def _choose(self, rows: Rows, labels: NDArray[np.int16]) -> None:
        for a, b in windows(0, len(rows), self._chunk_rows):
            choose(self.of(rows[a:b]), self.log_prior, self.by_prior, labels[a:b])

    def _screen(self, part: CategoricalTerms, rows: Rows, labels: NDArray[np.int16]) -> bool:
        """Labels from single-precision sums of differences between classes; rows close to a tie are summed by `of`.

        False if this is not possible because an entry is impossible, or not worthwhile because rows are few.
        """
        coded = part.coded
        n_classes, n_columns, n_packs = len(self.log_prior), len(coded.base), len(coded.first) - 1
        saved = len(rows) * (n_columns * n_classes - n_packs * (n_classes - 1))
        if saved < 4 * coded.pack_base[-1] * (n_classes - 1) * n_columns / n_packs:
            return False
        done, unsure = screen(part.table, self.log_prior, *coded.layout, coded.packed, rows, labels)
        if unsure.size:
            settled = np.empty((unsure.size, labels.shape[1]), dtype=np.int16)
            self._choose(rows[unsure], settled)
            labels[unsure] = settled
        return bool(done)
