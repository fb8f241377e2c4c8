"""`cv_results_` with the same keys, averages and ranks as in scikit-learn's searches."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Params
from foldwise.folds.tolerance import ranks


def format_results(
    settings: Sequence[Params],
    seconds: NDArray[np.float64],
    test: dict[str, NDArray[np.float64]],
    train: dict[str, NDArray[np.float64]],
    ran: NDArray[np.bool_] | None = None,
    shares: NDArray[np.float64] | None = None,
    unit: float = 1.0,
) -> dict[str, Any]:
    """Convert scores (settings, splits) by metric to `cv_results_`; the time of a block is divided equally.

    Settings that raced were scored on the splits where `ran` is true, and averaged over these; or with the `shares` of
    the training rows. `unit` is that of ties among scores.
    """
    results: dict[str, Any] = {}
    results["mean_fit_time"], results["std_fit_time"] = mean_and_std(seconds)
    results["mean_score_time"], results["std_score_time"] = np.zeros((2, len(seconds)))
    for name in dict.fromkeys(chain.from_iterable(settings)):
        results[f"param_{name}"] = masked_column(settings, name)
    results["params"] = [dict(setting) for setting in settings]
    for kind, scores in (("test", test), ("train", train)):
        for metric, values in scores.items():
            key = f"{kind}_{metric}"
            results |= {f"split{i}_{key}": values[:, i] for i in range(values.shape[1])}
            means, results[f"std_{key}"] = mean_and_std(values) if ran is None else mean_and_std_of(values, ran)
            results[f"mean_{key}"] = means
            if not np.isfinite(means).all():
                warnings.warn(f"One or more of the {kind} scores are non-finite: {means}", UserWarning, stacklevel=5)
            if kind == "test":
                results[f"rank_{key}"] = ranks(means, unit) if ran is None else ranks_of_raced(means, ran, shares, unit)
    if ran is not None:
        results["n_splits_scored"] = ran.sum(axis=1)
    if shares is not None and (shares < 1).any():
        results["train_share"] = shares
    return results


def joined(parts: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Join the scores of several rounds."""
    if not parts:
        return {}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def mean_and_std(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average each setting over all splits. The last bits of a mean depend on the CPU, so `ranks` has a tolerance."""
    means = values.mean(axis=1)
    return means, np.sqrt(((values - means[:, None]) ** 2).mean(axis=1))


def mean_and_std_of(
    values: NDArray[np.float64], ran: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average each setting over the splits that it was scored on."""
    pairs = [mean_and_std(one[None, some]) for one, some in zip(values, ran, strict=True)]
    means, deviations = zip(*pairs, strict=True)
    return np.concatenate(means), np.concatenate(deviations)


def ranks_of_raced(
    means: NDArray[np.float64],
    ran: NDArray[np.bool_],
    shares: NDArray[np.float64] | None = None,
    unit: float = 1.0,
) -> NDArray[np.int32]:
    """Rank settings that were scored on all splits and rows first, then those that were dropped earlier."""
    whole = ran.sum(axis=1) == ran.sum(axis=1).max()
    if shares is not None:
        whole &= shares == shares[whole].max()
    found = np.empty(len(means), dtype=np.int32)
    found[whole] = ranks(means[whole], unit)
    found[~whole] = ranks(means[~whole], unit) + whole.sum()
    return found


def masked_column(settings: Sequence[Params], name: str) -> Any:
    """Return the values of one parameter, masked where a setting does not contain it."""
    named = [setting[name] for setting in settings if name in setting]
    try:
        found = np.array(named)
        dtype = found.dtype if found.ndim == 1 and found.dtype.kind != "U" else np.dtype(object)
    except ValueError:  # values of different lengths
        dtype = np.dtype(object)
    if len(named) == len(settings) and dtype.kind != "O":
        return np.ma.MaskedArray(found, mask=np.zeros(len(settings), dtype=bool))
    column = np.ma.MaskedArray(np.empty(len(settings), dtype=dtype), mask=True)
    for i, setting in enumerate(settings):
        if name in setting:
            column[i] = setting[name]
    return column
