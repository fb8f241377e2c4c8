"""Principal components, nonnegative parts and factors of text: what is decomposed, and how."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.unsupervised.matrix import TableMatrix
from foldwise.unsupervised.texts import word_weights

NMF_STEPS = 1000


@dataclass(frozen=True, eq=False)
class FactorInput:
    """What is decomposed: a matrix of rows and columns, and which of its cells are known."""

    values: Floats  # (n, p)
    known: NDArray[np.bool_]  # (n, p)
    names: tuple[str, ...]
    sources: NDArray[np.int64]  # (p,): columns of one source are held out together


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Loadings of the columns, scores of the rows, and the share of the variance of each factor."""

    loadings: Floats  # (p, k)
    scores: Floats  # (n, k)
    explained: Floats  # (k,)


def pca_input(matrix: TableMatrix) -> FactorInput:
    """Standardized columns; missing cells are 0, the mean, and do not count as held-out cells."""
    return FactorInput(matrix.standardized(), matrix.known, matrix.names, matrix.sources)


def nmf_input(matrix: TableMatrix) -> FactorInput:
    """Columns that are not negative, each divided by its root mean square."""
    for k, name in enumerate(matrix.names):
        column = matrix.raw[:, k]
        if np.isnan(column).any():
            raise InputError(
                f"method='nmf' needs a table without missing cells, but column {name!r} is missing in row "
                f"{int(np.isnan(column).argmax())}.",
                "fill the missing cells, or use method='pca', which replaces them with the column mean.",
            )
        if (column < 0).any():
            raise InputError(
                f"method='nmf' needs numbers of at least 0, but {name!r} is {column.min():g} in row "
                f"{int(column.argmin())}.",
                "use method='pca', or leave the column out.",
            )
    greatest = matrix.raw.max(axis=0)
    values = matrix.raw / np.where(greatest > 0, greatest, 1.0)
    values /= np.sqrt(np.square(values).mean(axis=0))
    return FactorInput(values, matrix.known, matrix.names, matrix.sources)


def text_input(frame: pl.DataFrame, columns: tuple[str, ...]) -> FactorInput:
    """Words of text columns, weighted by TF-IDF; one column per word."""
    values, words = word_weights(frame, columns, "factors")
    return FactorInput(values, np.ones(values.shape, dtype=bool), words, np.arange(values.shape[1]))


def decompose(data: FactorInput, method: str, k: int, seed: int) -> Decomposition:
    """Fit `k` factors to all rows."""
    n, p = data.values.shape
    if k == 0:
        return Decomposition(np.zeros((p, 0)), np.zeros((n, 0)), np.zeros(0))
    if method == "nmf":
        return nonnegative(data.values, k, seed)
    if method == "svd":
        return of_text(data.values, k, seed)
    return principal(data, k, seed)


def principal(data: FactorInput, k: int, seed: int) -> Decomposition:
    """Loadings are correlations of columns and components."""
    model = PCA(k, random_state=seed)
    scores = model.fit_transform(data.values)
    deviation = np.sqrt(model.explained_variance_)
    spread = data.values.std(axis=0, ddof=1)
    loadings = model.components_.T * deviation / np.where(spread > 0, spread, 1.0)[:, None]
    return oriented(loadings, scores, model.explained_variance_ratio_)


def of_text(values: Floats, k: int, seed: int) -> Decomposition:
    """Loadings are the weights of terms in the singular vectors. Without centering, the first would be the mean."""
    model = TruncatedSVD(k, random_state=seed)
    scores = model.fit_transform(values - values.mean(axis=0))
    return oriented(model.components_.T, scores, model.explained_variance_ratio_)


def nonnegative(values: Floats, k: int, seed: int) -> Decomposition:
    """Loadings sum to 1 per factor. Factors are sorted by the share of the table that they make up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model: Any = NMF(k, init="nndsvda", max_iter=NMF_STEPS, random_state=seed)
        scores = model.fit_transform(values)
    sums = model.components_.sum(axis=1)
    sums = np.where(sums > 0, sums, 1.0)
    scores, loadings = scores * sums, (model.components_ / sums[:, None]).T
    weight = scores.sum(axis=0)
    order = np.argsort(-weight, kind="stable")
    return Decomposition(loadings[:, order], scores[:, order], weight[order] / max(weight.sum(), 1e-300))


def oriented(loadings: Floats, scores: Floats, explained: Floats) -> Decomposition:
    """Turn factors so that the sum of their loadings is positive; the sign of a component is arbitrary."""
    sign = np.where(loadings.sum(axis=0) < 0, -1.0, 1.0)
    return Decomposition(loadings * sign, scores * sign, np.asarray(explained))
