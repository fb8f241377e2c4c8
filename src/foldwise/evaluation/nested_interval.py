"""The nested interval of Bates, Hastie and Tibshirani (2023) for the error of cross-validation.

Scores of folds depend on each other, so their plain spread is too small. Here each fold is once a true test for the
cross-validation of the others: how far the two are apart says how far cross-validation is off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.splits import Split

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NestedInterval:
    """What the repeats say together, in terms of losses."""

    error: float  # the mean loss, the lack of training rows corrected
    standard_error: float
    naive: float  # of plain cross-validation on the same folds
    row_variance: float


def double_splits(folds: Sequence[NDArray[np.intp]]) -> Iterator[Split]:
    """Every pair of folds left out together, then every fold left out alone."""
    for left_out in [*combinations(range(len(folds)), 2), *((k,) for k in range(len(folds)))]:
        train = np.concatenate([fold for k, fold in enumerate(folds) if k not in left_out])
        yield Split(np.sort(train), np.concatenate([folds[k] for k in left_out]))


@dataclass(frozen=True)
class Repeat:
    """One random division into folds: mean losses inside and on the fold left out."""

    inner: Floats  # (folds,) the cross-validated loss of the rows without fold k
    apart: Floats  # (folds,) squared: inner loss minus the loss on fold k
    noise: Floats  # (folds,) what the finite size of fold k adds to that
    inner_losses: Floats  # all of them
    outer_losses: Floats  # (rows,) of plain cross-validation


def one_repeat(folds: Sequence[NDArray[np.intp]], losses: Sequence[Floats]) -> Repeat:
    """What the losses on `double_splits` of these folds say."""
    n_folds = len(folds)
    pairs = list(combinations(range(n_folds), 2))
    inside: list[list[Floats]] = [[] for _ in folds]
    for (j, k), found in zip(pairs, losses, strict=False):
        inside[k].append(found[: len(folds[j])])  # fold j, tested by a model that has seen neither
        inside[j].append(found[len(folds[j]) :])
    outside = losses[len(pairs) :]
    inner = [np.concatenate(parts) for parts in inside]
    means = np.array([one.mean() for one in inner])
    held = np.array([one.mean() for one in outside])
    noise = np.array([one.var(ddof=1) / len(one) for one in outside])
    return Repeat(means, (means - held) ** 2, noise, np.concatenate(inner), np.concatenate(outside))


def combined(repeats: Sequence[Repeat]) -> NestedInterval:
    """The estimate and its standard error from all repeats."""
    n_folds, n_rows = len(repeats[0].inner), len(repeats[0].outer_losses)
    nested = float(np.mean([one.inner_losses.mean() for one in repeats]))
    plain = float(np.mean([one.outer_losses.mean() for one in repeats]))
    squared = float(np.mean([one.apart.mean() - one.noise.mean() for one in repeats]))
    row_variance = float(np.mean([one.outer_losses.var(ddof=1) for one in repeats]))
    naive = np.sqrt(row_variance / n_rows)
    # a few repeats may say less than independent rows would, or more than one fold alone
    error = np.clip(np.sqrt(max(squared, 0.0) * (n_folds - 1) / n_folds), naive, np.sqrt(n_folds) * naive)
    # models inside have seen a share of (K-2)/K of the rows, plain ones (K-1)/K, the model in use all
    bias = (1 + (n_folds - 2) / n_folds) * (nested - plain)
    return NestedInterval(nested - bias, float(error), plain, row_variance)
