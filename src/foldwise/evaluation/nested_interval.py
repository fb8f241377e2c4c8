"""The nested cross-validation interval of Bates, Hastie and Tibshirani (2023).

Scores of folds depend on each other, so their plain variance is too small. Here each fold serves once as a test set for
a cross-validation of the other folds. The difference of the two errors shows how far cross-validation is off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.folds.splits import Split


@dataclass(frozen=True)
class NestedInterval:
    """The combined result of all repeats, in terms of losses."""

    error: float  # mean loss, corrected for the smaller training sets of cross-validation
    standard_error: float
    uncorrected: float  # mean loss of plain cross-validation on the same folds
    row_variance: float


def double_splits(folds: Sequence[NDArray[np.intp]]) -> Iterator[Split]:
    """Yield splits that leave out each pair of folds, then each fold alone."""
    for left_out in [*combinations(range(len(folds)), 2), *((k,) for k in range(len(folds)))]:
        train = np.concatenate([fold for k, fold in enumerate(folds) if k not in left_out])
        yield Split(np.sort(train), np.concatenate([folds[k] for k in left_out]))


@dataclass(frozen=True)
class Repeat:
    """The losses of one random division into folds."""

    inner: Floats  # (folds,) cross-validated loss of the rows without fold k
    squared_gaps: Floats  # (folds,) squared difference of the inner loss and the loss on fold k
    noise: Floats  # (folds,) part of it that comes from the finite size of fold k
    inner_losses: Floats  # all inner losses
    outer_losses: Floats  # (rows,) losses of plain cross-validation


def one_repeat(folds: Sequence[NDArray[np.intp]], losses: Sequence[Floats]) -> Repeat:
    """Summarize the losses on the `double_splits` of some folds."""
    n_folds = len(folds)
    pairs = list(combinations(range(n_folds), 2))
    inside: list[list[Floats]] = [[] for _ in folds]
    for (j, k), found in zip(pairs, losses, strict=False):
        inside[k].append(found[: len(folds[j])])  # losses on fold j of a model trained on neither fold
        inside[j].append(found[len(folds[j]) :])
    outside = losses[len(pairs) :]
    inner = [np.concatenate(parts) for parts in inside]
    means = np.array([one.mean() for one in inner])
    held = np.array([one.mean() for one in outside])
    noise = np.array([one.var(ddof=1) / len(one) for one in outside])
    return Repeat(means, (means - held) ** 2, noise, np.concatenate(inner), np.concatenate(outside))


def combined(repeats: Sequence[Repeat]) -> NestedInterval:
    """Combine all repeats to an estimate and its standard error."""
    n_folds, n_rows = len(repeats[0].inner), len(repeats[0].outer_losses)
    nested = float(np.mean([one.inner_losses.mean() for one in repeats]))
    plain = float(np.mean([one.outer_losses.mean() for one in repeats]))
    squared = float(np.mean([one.squared_gaps.mean() - one.noise.mean() for one in repeats]))
    row_variance = float(np.mean([one.outer_losses.var(ddof=1) for one in repeats]))
    plain_error = np.sqrt(row_variance / n_rows)
    # with few repeats the error may fall below that of independent rows, or exceed that of a single fold
    error = np.clip(np.sqrt(max(squared, 0.0) * (n_folds - 1) / n_folds), plain_error, np.sqrt(n_folds) * plain_error)
    # inner models were trained on (K-2)/K of the rows, plain ones on (K-1)/K, the final model on all
    bias = (1 + (n_folds - 2) / n_folds) * (nested - plain)
    return NestedInterval(nested - bias, float(error), plain, row_variance)
