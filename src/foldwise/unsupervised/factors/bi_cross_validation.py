"""Chooses the number of factors by bi-cross-validation: some rows of some columns are predicted from all others.

With the held-out block A and the blocks beside it, the table is [[A, B], [C, D]]. Factors are fitted to D alone. The
rows of A get their scores from B, its columns their loadings from C, and A is predicted from both. So more factors do
not automatically predict better, and without factors the prediction is the column mean.

Reference: Owen & Perry, Annals of Applied Statistics 3 (2009) 564-594.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.decomposition import NMF, non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from foldwise.arrays import Floats

MANY_COLUMNS = 200
SMALL = 300  # least dimension of a block up to which its Gram matrix is decomposed
NOTHING = 1e-6  # a singular value below this share of the largest one is rounding error of a Gram matrix
NMF_STEPS = 200
LEAST_SHARE, MOST_SHARE = 0.02, 0.1  # of the explained variance that no further factor is added for


@dataclass(frozen=True, eq=False)
class HeldOutBlock:
    """One held-out block and the blocks beside it."""

    a: Floats
    b: Floats
    c: Floats
    d: Floats
    known: NDArray[np.bool_]  # cells of `a` that are not missing


PredictBlock = Callable[[HeldOutBlock, int, int], Iterator[Floats]]
"""Yields the predictions of `a` by 1, 2, …, factors; arguments are the block, the most factors and a seed."""


def held_out_errors(
    values: Floats,
    known: NDArray[np.bool_],
    sources: NDArray[np.int64],
    predict: PredictBlock,
    most: int,
    *,
    center: bool,
    repeats: int,
    rng: np.random.Generator,
) -> Floats:  # (repeats, most + 1)
    """Mean squared error of held-out cells, relative to that of column means, for 0, 1, …, `most` factors.

    Indicators of one column are held out together: the others would give each of them away. `center` subtracts the
    column means of the rows that are not held out; the means of all rows would depend on the held-out cells.
    """
    n = len(values)
    columns = np.unique(sources)
    n_parts = parts_of_columns(len(columns))
    errors = np.empty((repeats, most + 1))
    for r in range(repeats):
        row_part = rng.permutation(n) % 2
        column_part = np.empty(sources.max() + 1, dtype=np.int64)
        column_part[columns] = rng.permutation(len(columns)) % n_parts
        sums = np.zeros(most + 1)
        for i in range(2):
            rows = row_part == i
            moved = values - values[~rows].mean(axis=0) if center else values
            for j in range(n_parts):
                held = column_part[sources] == j
                block = HeldOutBlock(
                    moved[np.ix_(rows, held)], moved[np.ix_(rows, ~held)], moved[np.ix_(~rows, held)],
                    moved[np.ix_(~rows, ~held)], known[np.ix_(rows, held)],
                )  # fmt: skip
                sums += block_errors(block, predict, most, int(rng.integers(1 << 31)))
        errors[r] = sums / sums[0] if sums[0] > 0 else 1.0
    return errors


def parts_of_columns(n_columns: int) -> int:
    """Number of parts of the columns: with few columns, most must stay, so that several factors can be seen."""
    return 2 if n_columns > MANY_COLUMNS else min(n_columns, 5)


def most_factors(n_rows: int, sources: NDArray[np.int64], limit: int) -> int:
    """The most factors that every block allows."""
    n_columns = len(np.unique(sources))
    kept = n_columns - -(-n_columns // parts_of_columns(n_columns))
    return max(0, min(limit, n_rows // 2 - 1, kept))


def block_errors(block: HeldOutBlock, predict: PredictBlock, most: int, seed: int) -> Floats:
    """Sums of squared errors of one block for 0, 1, …, `most` factors."""
    errors = np.empty(most + 1)
    errors[0] = squares(block, np.broadcast_to(block.c.mean(axis=0), block.a.shape))
    last = errors[0]
    predictions = predict(block, most, seed)
    for k in range(1, most + 1):
        predicted = next(predictions, None)
        if predicted is not None:
            last = squares(block, predicted)
        errors[k] = last  # a block without further factors predicts as before
    return errors


def squares(block: HeldOutBlock, predicted: Floats) -> float:
    """Sum of squared errors over cells that are not missing."""
    return float(np.square(block.a - predicted, where=block.known, out=np.zeros(block.a.shape)).sum())


def by_decomposition(block: HeldOutBlock, most: int, seed: int) -> Iterator[Floats]:
    """Predict by singular vectors: A is estimated as B D⁺ C, with the pseudoinverse of rank k."""
    u, s, vt = leading_vectors(block.d, most, seed)
    scores, loadings = block.b @ vt.T, u.T @ block.c
    predicted = np.zeros(block.a.shape)
    for k in range(int((s > s[0] * NOTHING).sum()) if s.size else 0):
        predicted = predicted + np.outer(scores[:, k] / s[k], loadings[k])
        yield predicted


def leading_vectors(d: Floats, most: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """The singular vectors of the `most` largest singular values, by the smaller of the two Gram matrices."""
    least = min(d.shape)
    if least > SMALL:
        u, s, vt = randomized_svd(d, most, random_state=seed)
        return u, s, vt
    is_tall = d.shape[0] >= d.shape[1]
    squared, vectors = eigh(d.T @ d if is_tall else d @ d.T, subset_by_index=(max(0, least - most), least - 1))
    s = np.sqrt(squared[::-1].clip(0.0))
    vectors = vectors[:, ::-1]
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > (s[0] if s.size else 0.0) * NOTHING)
    if is_tall:
        return (d @ vectors) * inverse, s, vectors.T
    return vectors, s, ((d.T @ vectors) * inverse).T


def by_nonnegative_parts(block: HeldOutBlock, most: int, seed: int) -> Iterator[Floats]:
    """Predict by nonnegative factors of D: scores of B and loadings of C are nonnegative least squares."""
    for k in range(1, min(most, *block.d.shape) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a few more steps hardly change the error
            model = NMF(k, init="nndsvda", max_iter=NMF_STEPS, random_state=seed)
            left = model.fit_transform(block.d)
            scores = model.transform(block.b)
            loadings, _, _ = non_negative_factorization(
                block.c.T, H=left.T, n_components=k, init="custom", update_H=False, max_iter=NMF_STEPS
            )
        yield scores @ loadings.T


def choose_number(errors: Floats, n_columns: int) -> int:
    """The smallest number of factors that predicts nearly as well as the best number.

    "Nearly" is the standard error of the difference, or one column's share of what the best number explains, whichever
    is larger. With few columns and many rows the error is almost flat beyond the true number, so the minimum alone is
    too large.
    """
    mean = errors.mean(axis=0)
    best = int(mean.argmin())
    gaps = errors - errors[:, [best]]
    spread = gaps.std(axis=0, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.zeros(len(mean))
    share = min(max(1.0 / n_columns, LEAST_SHARE), MOST_SHARE)
    return int((mean <= mean[best] + np.maximum(spread, share * (1.0 - mean[best])) + 1e-12).argmax())
