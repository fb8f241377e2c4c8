"""Bootstrap estimates: standard error and interval of a statistic, and bias and variance of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone, is_classifier

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of, whole_at_least
from foldwise.data.target import encode_target, number_target
from foldwise.errors import InputError
from foldwise.folds.rows import count_rows, take_rows


@dataclass(frozen=True)
class BootstrapResult:
    """A statistic with its bootstrap distribution.

    Attributes
    ----------
    value : float
        The statistic of the data.
    standard_error : float
        The standard deviation of the statistic over the samples.
    interval : tuple of float
        The lower and upper end of the confidence interval.
    distribution : array
        The statistic of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import bootstrap
    >>> found = bootstrap(np.median, np.arange(50.0), samples=200, random_state=0)
    >>> found.value, len(found.distribution)
    (24.5, 200)
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    distribution: Floats

    @property
    def variance(self) -> float:
        """The square of the standard error."""
        return self.standard_error**2


def bootstrap(
    statistic: Callable[..., Any],
    *data: Any,
    samples: int = 999,
    level: float = 0.95,
    method: str = "BCa",
    random_state: Any = None,
) -> BootstrapResult:
    """Estimate the standard error and a confidence interval of a statistic by resampling rows with replacement.

    Parameters
    ----------
    statistic : callable
        A function of the data that returns a number.
    *data : arrays or tables
        The data; the same rows are drawn from each.
    samples : int, default=999
        The number of samples.
    level : float, default=0.95
        The confidence level of the interval.
    method : {"BCa", "percentile", "basic"}, default="BCa"
        The interval, as in `scipy.stats.bootstrap`.
    random_state : int, Generator or None, default=None
        The seed of the samples.

    Returns
    -------
    BootstrapResult
        The statistic with its standard error, interval and distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import bootstrap
    >>> found = bootstrap(np.mean, np.arange(100.0), random_state=0)
    >>> round(found.value, 1), round(found.standard_error, 1)
    (49.5, 2.9)
    """
    if not data:
        raise InputError("bootstrap needs data.", "pass an array or a table after the statistic.")
    one_of("method", method, ["BCa", "percentile", "basic"])
    whole_at_least("samples", samples, 2)
    sizes = {count_rows(one) for one in data}
    if len(sizes) > 1 or min(sizes) < 2:
        raise InputError(
            f"all data must have the same number of rows, at least 2, got {', '.join(map(str, sorted(sizes)))}."
        )

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
    """The error of a model on rows outside its training sample, with its bias and variance.

    Attributes
    ----------
    error : float
        The mean squared error, or the error rate of a classifier.
    bias : float
        The squared error, or error rate, of the mean or most frequent prediction.
    variance : float
        The variance of predictions, or how often they differ from the most frequent one.
    rows : int
        How many rows were left out of at least two samples.

    Examples
    --------
    >>> BiasVariance(error=0.12, bias=0.08, variance=0.06, rows=150).bias
    0.08
    """

    error: float
    bias: float
    variance: float
    rows: int


def bias_variance(estimator: Any, X: Any, y: Any, *, samples: int = 50, random_state: Any = 0) -> BiasVariance:
    """Estimate bias and variance of a model by the bootstrap: each row is predicted by models not trained on it.

    Parameters
    ----------
    estimator : classifier or regressor
        The model.
    X, y : table and target
        The rows.
    samples : int, default=50
        The number of bootstrap samples.
    random_state : int, Generator or None, default=0
        The seed of the samples.

    Returns
    -------
    BiasVariance
        Error, bias and variance, averaged over rows.

    Notes
    -----
    For a regression, error = bias + variance; the bias is squared and includes the noise of y. For classes, the bias is
    the error rate of the most frequent prediction, and the variance is how often other classes are predicted.

    References
    ----------
    P. Domingos (2000). A unified bias-variance decomposition. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import bias_variance
    >>> stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    >>> found = bias_variance(stump, *load_iris(return_X_y=True), samples=10)
    >>> found.bias > found.variance
    True
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
