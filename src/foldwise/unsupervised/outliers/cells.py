"""How surprising each cell is: within its column, and given the other cells of its row.

A number is compared with its column and with its linear prediction from the other columns. A category is compared with
its predicted probability. Predictions for a row come from a model that did not see the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf

from foldwise.arrays import Floats
from foldwise.neighbors.encoding import EncodedRows
from foldwise.unsupervised.outliers.tails import ScoreTail, fit_tail

MOST_PREDICTORS = 400  # columns and levels; with more, cells are compared with their column alone
MOST_LEVELS = 30  # of a category that predicts and is predicted
CLIP = 3.0  # robust standard deviations: an outlying cell must not spoil the predictions of the others
QUARTILES = 1.349  # interquartile range of the standard normal distribution


@dataclass(frozen=True, eq=False)
class CellScales:
    """Median and robust standard deviation of each number, and the categories that take part in predictions."""

    centers: Floats
    scales: Floats
    categories: tuple[int, ...]
    n_levels: tuple[int, ...]

    def standardized(self, rows: EncodedRows) -> Floats:
        """Return numbers in robust standard deviations from the median; NaN where missing."""
        return np.asarray((rows.numbers - self.centers) / self.scales)

    def predictors(self, rows: EncodedRows) -> Floats:
        """Return clipped numbers, 0 where missing, then one indicator per level of each category."""
        numbers = np.nan_to_num(np.clip(self.standardized(rows), -CLIP, CLIP))
        parts = [numbers]
        for j, n in zip(self.categories, self.n_levels, strict=True):
            parts.append((rows.codes[:, [j]] == np.arange(n)).astype(np.float64))
        return np.concatenate(parts, axis=1)

    @property
    def size(self) -> int:
        """Number of predictors."""
        return len(self.centers) + sum(self.n_levels)


def learn_scales(rows: EncodedRows) -> CellScales:
    """Learn median and robust standard deviation of each number; constant columns have scale 1."""
    n = rows.numbers.shape[1]
    centers, scales = np.zeros(n), np.ones(n)
    for j in range(n):
        cells = rows.numbers[:, j]
        present = cells[~np.isnan(cells)]
        if not present.size:
            continue
        low, centers[j], high = np.quantile(present, (0.25, 0.5, 0.75))
        spread = (high - low) / QUARTILES or float(present.std())
        scales[j] = spread if spread > 0 and np.isfinite(spread) else 1.0
    chosen = tuple(j for j, n_levels in enumerate(rows.n_levels) if 2 <= n_levels <= MOST_LEVELS)
    return CellScales(centers, scales, chosen, tuple(rows.n_levels[j] for j in chosen))


@dataclass(frozen=True, eq=False)
class CellPredictor:
    """Linear predictions of every column from the others, by the inverse of a shrunken covariance matrix."""

    scales: CellScales
    mean: Floats
    precision: Floats

    def predict(self, rows: EncodedRows) -> tuple[Floats, list[Floats]]:
        """Predict standardized numbers (n, n_numbers) and, per predicted category, its indicators (n, n_levels)."""
        z = self.scales.predictors(rows) - self.mean
        n = len(self.scales.centers)
        numbers = z[:, :n] - (z @ self.precision)[:, :n] / self.precision.diagonal()[:n] + self.mean[:n]
        categories, first = [], n
        for size in self.scales.n_levels:
            # the levels of one category are predicted together, from the other columns only
            block = slice(first, first + size)
            rest = z @ self.precision[:, block] - z[:, block] @ self.precision[block, block]
            categories.append(self.mean[block] - np.linalg.solve(self.precision[block, block], rest.T).T)
            first += size
        return numbers, categories


def fit_predictor(scales: CellScales, rows: EncodedRows) -> CellPredictor:
    """Estimate the covariance of the predictors, shrunken as Ledoit and Wolf propose, and invert it."""
    z = scales.predictors(rows)
    mean = z.mean(axis=0)
    spread = np.maximum(z.std(axis=0), 1e-6)
    shrunken = ledoit_wolf((z - mean) / spread, assume_centered=True)[0] + 1e-6 * np.eye(z.shape[1])
    return CellPredictor(scales, mean, np.linalg.inv(shrunken) / np.outer(spread, spread))


@dataclass(frozen=True, eq=False)
class CellDeviations:
    """How far cells lie from their column and from their prediction.

    Attributes
    ----------
    own : ndarray of shape (n_rows, n_numbers)
        Standardized numbers.
    residuals : ndarray of shape (n_rows, n_numbers) or None
        Standardized numbers minus their predictions; None if nothing was predicted.
    misses : ndarray of shape (n_rows, n_predicted_categories)
        1 minus the predicted probability of the category of each cell.
    """

    own: Floats
    residuals: Floats | None
    misses: Floats


def deviations(scales: CellScales, rows: EncodedRows, predictor: CellPredictor | None) -> CellDeviations:
    """Compare the cells of rows with their column and with their predictions."""
    own = scales.standardized(rows)
    if predictor is None:
        return CellDeviations(own, None, np.empty((rows.n_rows, 0)))
    numbers, categories = predictor.predict(rows)
    misses = np.full((rows.n_rows, len(categories)), np.nan)
    for i, (j, predicted) in enumerate(zip(scales.categories, categories, strict=True)):
        codes = rows.codes[:, j]
        known = codes >= 0
        misses[known, i] = 1.0 - predicted[known, codes[known]]
    return CellDeviations(own, own - numbers, misses)


@dataclass(frozen=True, eq=False)
class CellModel:
    """The tails of all deviations, and the models that compute them for new rows."""

    scales: CellScales
    predictor: CellPredictor | None
    tails: tuple[tuple[ScoreTail, ...], ...]  # per number: own high, own low, residual high, residual low
    category_tails: tuple[ScoreTail, ...]  # per predicted category
    own_deviations: CellDeviations  # of the training rows, held out

    def p_values(self, found: CellDeviations, n_categories: int) -> Floats:
        """Return one p-value per cell (n_rows, n_numbers + n_categories), corrected for the tests of the cell."""
        n_rows, n_numbers = found.own.shape
        p: Floats = np.ones((n_rows, n_numbers + n_categories))
        for j, tails in enumerate(self.tails):
            scores = [found.own[:, j], -found.own[:, j]]
            if found.residuals is not None:
                scores += [found.residuals[:, j], -found.residuals[:, j]]
            tested = [tail.p_values(values) for tail, values in zip(tails, scores, strict=True)]
            p[:, j] = np.minimum(1.0, len(tested) * np.min(tested, axis=0))
        if self.predictor is not None:
            for i, (j, tail) in enumerate(zip(self.scales.categories, self.category_tails, strict=True)):
                p[:, n_numbers + j] = tail.p_values(found.misses[:, i])
        return p


def fit_cells(rows: EncodedRows, folds: list[NDArray[np.intp]]) -> CellModel:
    """Fit the tails of all deviations. Each fold is compared with predictions learned from the other rows."""
    scales = learn_scales(rows)
    if scales.size > MOST_PREDICTORS:
        scales = CellScales(scales.centers, scales.scales, (), ())
    predicts = 2 <= scales.size <= MOST_PREDICTORS and rows.n_rows >= 20
    predictor = fit_predictor(scales, rows) if predicts else None
    found = deviations(scales, rows, predictor)
    if predicts:
        assert found.residuals is not None
        for fold in folds:
            others = np.setdiff1d(np.arange(rows.n_rows), fold)
            held_out = deviations(scales, rows.take(fold), fit_predictor(scales, rows.take(others)))
            assert held_out.residuals is not None
            found.residuals[fold], found.misses[fold] = held_out.residuals, held_out.misses
    tails = []
    for j in range(found.own.shape[1]):
        scores = [found.own[:, j], -found.own[:, j]]
        if found.residuals is not None:
            scores += [found.residuals[:, j], -found.residuals[:, j]]
        tails.append(tuple(fit_tail(values) for values in scores))
    category_tails = tuple(fit_tail(found.misses[:, i]) for i in range(found.misses.shape[1]))
    return CellModel(scales, predictor, tuple(tails), category_tails, found)
