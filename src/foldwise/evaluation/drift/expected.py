"""The score to expect on new rows without labels, from predicted probabilities and held-out training rows.

Under its own probabilities, a model expects a score for each row: the mean over classes of the score that the class
would give. Held-out training rows show by how much real scores differed from that, for rows that the model was more or
less sure of. Their mean difference is added, bin by bin, so that a model that is too sure of itself does not promise
too much. For a quantity, the held-out errors by bins of the predicted value take the place of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.evaluation.drift.profiles import damaged_profile
from foldwise.evaluation.estimates import StudentSpread
from foldwise.evaluation.metrics.metric import Metric

ROWS_PER_BIN, MOST_BINS = 50, 10
DRAWS = 200  # of labels, for metrics that are not means over rows
LEAST_MEAN = 1e-300


@dataclass(frozen=True)
class ExpectedScore:
    """A score that is expected on new rows.

    Attributes
    ----------
    metric, title : str
        Name and title of the metric.
    value, low, high : float
        The expected score, and the 95% interval for the score that labels would show.
    """

    metric: str
    title: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ScoreReference:
    """Held-out training rows by bins: how much real scores differed from those expected by the model.

    Attributes
    ----------
    metric : str
        Name of the metric.
    edges : ndarray
        Edges between bins of the expected score, or of the predicted value of a quantity.
    rows : ndarray
        Rows of each bin.
    gap, variance : ndarray
        Mean and variance of the real minus the expected score of a row.
    """

    metric: str
    edges: Floats
    rows: Floats
    gap: Floats
    variance: Floats

    @classmethod
    def of_rows(cls, metric: Metric, truth: NDArray[Any], predicted: Floats) -> ScoreReference:
        """Summarize held-out rows."""
        expected, _ = expected_rows(metric, predicted)
        differences = metric.by_row(truth, predicted) - expected
        key = expected if predicted.ndim == 2 else predicted
        n_bins = int(np.clip(len(key) // ROWS_PER_BIN, 1, MOST_BINS))
        edges = np.unique(np.quantile(key, np.linspace(0, 1, n_bins + 1)[1:-1]))
        codes = np.searchsorted(edges, key, side="left")
        kept = np.unique(codes)  # ties can leave a bin empty
        edges, codes = edges[kept[1:] - 1], np.searchsorted(kept, codes)
        rows = np.bincount(codes).astype(np.float64)
        gap = np.bincount(codes, differences) / rows
        variance = np.bincount(codes, (differences - gap[codes]) ** 2) / np.maximum(rows - 1, 1)
        return cls(metric.name, edges, rows, gap, variance)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a model file."""
        parts = {name: getattr(self, name).tolist() for name in ("edges", "rows", "gap", "variance")}
        return {"metric": self.metric, **parts}

    @classmethod
    def of_dict(cls, given: Any) -> ScoreReference:
        """Read it from a model file. Raise if it is not one."""
        try:
            parts = [np.array(given[name], dtype=np.float64) for name in ("edges", "rows", "gap", "variance")]
            found = cls(str(given["metric"]), *parts)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged_profile() from error
        shapes = {found.rows.shape, found.gap.shape, found.variance.shape, (len(found.edges) + 1,)}
        if len(shapes) > 1 or not all(np.isfinite(part).all() for part in parts) or not (found.rows > 0).all():
            raise damaged_profile()
        return found

    def expect(self, metric: Metric, predicted: Floats) -> ExpectedScore:
        """Expect the score of new rows, and the interval in which it will lie once labels are known."""
        expected, spread = expected_rows(metric, predicted)
        key = expected if predicted.ndim == 2 else predicted
        share = np.bincount(np.searchsorted(self.edges, key, side="left"), minlength=len(self.rows)) / len(key)
        mean = float(expected.mean() + share @ self.gap)
        # the noise of labels, and the uncertainty of the gaps: both come from finitely many rows. A model that is too
        # sure of itself also expects too little noise, so that of held-out rows counts if it is larger
        noise = max(float(spread.mean()), float(share @ self.variance)) / len(key)
        error = float(np.sqrt(noise + (share**2) @ (self.variance / self.rows)))
        freedom = max(1.0, float(self.rows.sum()) - len(self.rows))
        low, high = StudentSpread(error, freedom).between(mean, 0.95)
        if metric.root:
            mean, low, high = (float(np.sqrt(max(one, LEAST_MEAN))) for one in (mean, low, high))
        low, high = np.clip((low, high), *metric.bounds).tolist()
        return ExpectedScore(metric.name, metric.title, float(np.clip(mean, *metric.bounds)), low, high)


def expected_rows(metric: Metric, predicted: Floats) -> tuple[Floats, Floats]:  # both (rows,)
    """Mean and variance of the score of each row if labels come from the predicted probabilities; 0 for a quantity."""
    n_rows = len(predicted)
    if predicted.ndim == 1:
        return np.zeros(n_rows), np.zeros(n_rows)
    n_classes = predicted.shape[1]
    by_class = np.stack([metric.by_row(np.full(n_rows, k, dtype=np.int64), predicted) for k in range(n_classes)], 1)
    mean = (predicted * by_class).sum(axis=1)
    return mean, np.asarray((predicted * (by_class - mean[:, None]) ** 2).sum(axis=1))


def simulated_score(metric: Metric, proba: Floats, rng: np.random.Generator) -> ExpectedScore | None:
    """Expect a score that is not a mean over rows, such as an area under a curve, by drawing labels."""
    cumulative = proba.cumsum(axis=1)
    drawn = []
    for _ in range(DRAWS):
        labels = (rng.uniform(size=(len(proba), 1)) * cumulative[:, -1:] > cumulative).sum(axis=1)
        drawn.append(metric(np.minimum(labels, proba.shape[1] - 1), proba))
    found = np.array(drawn)[np.isfinite(drawn)]
    if len(found) < DRAWS // 2:
        return None
    low, high = np.quantile(found, [0.025, 0.975]).tolist()
    return ExpectedScore(metric.name, metric.title, float(found.mean()), low, high)
