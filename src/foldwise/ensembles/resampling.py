"""The bootstrap: how far any statistic of any table would move in another sample, and a model's bias and variance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone, is_classifier

from foldwise.data.arguments import one_of, whole_at_least
from foldwise.data.target import encode_target, number_target
from foldwise.ensembles.protocol import Floats
from foldwise.errors import InputError
from foldwise.folds.rows import count_rows, take_rows


@dataclass(frozen=True)
class BootstrapResult:
    """A statistic with its bootstrap distribution."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    distribution: Floats  # its values in all samples

    @property
    def variance(self) -> float:
        return self.standard_error**2


def bootstrap(
    statistic: Callable[..., Any],
    *data: Any,
    samples: int = 999,
    level: float = 0.95,
    method: str = "BCa",
    random_state: Any = None,
) -> BootstrapResult:
    """The variance and the interval of a statistic, from samples of the rows with replacement.

    `data` is any table or column; of several, the same rows are drawn from each. `method` is that of
    `scipy.stats.bootstrap`, which does the work: "BCa", "percentile" or "basic".

    >>> import numpy as np
    >>> found = bootstrap(np.mean, np.arange(100.0), random_state=0)
    >>> round(found.value, 1), round(found.standard_error, 1)
    (49.5, 2.9)
    """
    if not data:
        raise InputError("there is nothing to draw from.", "pass a column or a table after the statistic.")
    one_of("method", method, ["BCa", "percentile", "basic"])
    whole_at_least("samples", samples, 2)
    sizes = {count_rows(one) for one in data}
    if len(sizes) > 1 or min(sizes) < 2:
        raise InputError(f"all data must have the same rows, two at least, but they have {sorted(sizes)}.")

    def value(rows: Any) -> float:
        indices = np.asarray(rows).astype(np.intp)
        return float(statistic(*(take_rows(one, indices) for one in data)))

    n = sizes.pop()
    rows = np.arange(n)
    source = "rng" if "rng" in signature(stats.bootstrap).parameters else "random_state"  # its name before scipy 1.15
    options: dict[str, Any] = {"method": method, source: np.random.default_rng(random_state)}
    found = stats.bootstrap((rows,), value, n_resamples=samples, confidence_level=level, vectorized=False, **options)
    low, high = float(found.confidence_interval.low), float(found.confidence_interval.high)
    return BootstrapResult(
        value(rows), float(found.standard_error), (low, high), np.asarray(found.bootstrap_distribution)
    )


@dataclass(frozen=True)
class BiasVariance:
    """Errors of a model on rows its training sample did not hold, split in two."""

    error: float
    bias: float
    variance: float
    rows: int  # that were left out of some sample


def bias_variance(estimator: Any, X: Any, y: Any, *, samples: int = 50, random_state: Any = 0) -> BiasVariance:
    """Bias and variance by bootstrap: each row is predicted by the models whose samples lack it.

    Of numbers: the squared error is bias (that of the mean prediction, squared, with the noise of y) plus variance. Of
    classes (Domingos 2000): bias is the error of the prediction most often given, variance how often another is.
    """
    whole_at_least("samples", samples, 2)
    n = count_rows(X)
    rng = np.random.default_rng(random_state)
    classes = is_classifier(estimator)
    truth: Any = encode_target(y, n) if classes else number_target(y, n)
    predicted = np.full((samples, n), np.nan)
    for i in range(samples):
        rows = rng.integers(0, n, n)
        out = np.setdiff1d(np.arange(n), rows)
        model = clone(estimator).fit(take_rows(X, rows), take_rows(np.asarray(y), rows))
        found = model.predict(take_rows(X, out))
        predicted[i, out] = np.searchsorted(truth.classes, found) if classes else found
    often = (~np.isnan(predicted)).sum(axis=0) >= 2
    predicted = predicted[:, often]
    if classes:
        codes = truth.codes[often]
        votes = np.stack([(predicted == c).sum(axis=0) for c in range(len(truth.classes))])
        main = votes.argmax(axis=0)
        times = votes.sum(axis=0)
        error = 1 - votes[codes, np.arange(len(codes))] / times
        varied = 1 - votes[main, np.arange(len(codes))] / times
        return BiasVariance(float(error.mean()), float((main != codes).mean()), float(varied.mean()), int(often.sum()))
    numbers = truth[often]
    middle = np.nanmean(predicted, axis=0)
    bias, variance = (middle - numbers) ** 2, np.nanvar(predicted, axis=0)
    error = np.nanmean((predicted - numbers) ** 2, axis=0)
    return BiasVariance(float(error.mean()), float(bias.mean()), float(variance.mean()), int(often.sum()))
