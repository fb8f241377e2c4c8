"""`LearningCurve` and `ValidationCurve`: scores by the number of training rows, or by the values of one parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.evaluation.intervals import corrected_ends
from foldwise.evaluation.plotting import axes, printed_curve, score_label
from foldwise.evaluation.tables import cut, interval_text, number

LOG_SCALE = 50.0  # a wider range of values is drawn on a logarithmic scale


@dataclass(frozen=True, repr=False)
class Curve:
    """Scores on training and test rows of each split, one model per tick of the curve."""

    train_scores: Floats  # (ticks, splits)
    test_scores: Floats  # (ticks, splits)
    test_share: float  # test rows to training rows of whole splits, which says how much splits overlap
    metric: str
    level: float
    bounds: tuple[float, float]  # lowest and highest possible score

    @property
    def ticks(self) -> Sequence[Any]:
        """The values on the x axis."""
        raise NotImplementedError

    @property
    def axis(self) -> str:
        """The name of the x axis."""
        raise NotImplementedError

    @property
    def axis_label(self) -> str:
        """The label of the x axis in plots."""
        raise NotImplementedError

    @property
    def train_means(self) -> Floats:  # (ticks,)
        """Mean training scores."""
        return np.asarray(self.train_scores.mean(axis=1))

    @property
    def means(self) -> Floats:  # (ticks,)
        """Mean test scores."""
        return np.asarray(self.test_scores.mean(axis=1))

    @property
    def low(self) -> Floats:  # (ticks,)
        """Lower limits of the intervals of the mean test scores (corrected resampled t)."""
        return corrected_ends(self.test_scores, self.test_share, self.level, self.bounds)[0]

    @property
    def high(self) -> Floats:  # (ticks,)
        """Upper limits of the intervals."""
        return corrected_ends(self.test_scores, self.test_share, self.level, self.bounds)[1]

    def to_frame(self) -> Any:
        """Return the curve as a polars frame.

        Returns
        -------
        polars.DataFrame
            One row per tick: mean training and test scores, and the limits of the interval of the test score.
        """
        import polars as pl

        ticks = self.ticks if are_numbers(self.ticks) else [str(tick) for tick in self.ticks]
        columns = {"train": self.train_means, "test": self.means, "low": self.low, "high": self.high}
        return pl.DataFrame({self.axis: np.asarray(ticks), **columns})

    def plot(self, ax: Any = None) -> Any:
        """Plot mean training and test scores, with intervals of the test scores.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        ax = axes(ax)
        tests = f"Test rows (mean of {self.test_scores.shape[1]} splits)"
        between = f"{self.level:.0%} interval"
        trains = "Training rows"
        if are_numbers(self.ticks):
            order = np.argsort(np.asarray(self.ticks, dtype=float))
            x = np.asarray(self.ticks, dtype=float)[order]
            if np.isfinite(self.low).any():
                ax.fill_between(x, self.low[order], self.high[order], alpha=0.2, linewidth=0, color="C0", label=between)
            style: dict[str, Any] = {"marker": "o", "markersize": 3}
            ax.plot(x, self.means[order], color="C0", label=tests, **style)
            ax.plot(x, self.train_means[order], color="C1", linestyle="--", label=trains, **style)
            if x[0] > 0 and x[-1] > LOG_SCALE * x[0]:
                ax.set_xscale("log")
        else:  # values without an order are not connected by a line
            x = np.arange(len(self.ticks), dtype=float)
            if np.isfinite(self.low).any():
                ax.vlines(x, self.low, self.high, color="C0", linewidth=6, alpha=0.2, label=between)
            ax.plot(x, self.means, "o", color="C0", label=tests)
            ax.plot(x, self.train_means, "_", color="C1", markersize=14, label=trains)
            ax.set_xticks(x, [cut(str(tick)) for tick in self.ticks])
            ax.margins(x=0.2, y=0.35)  # room for the legend
        ax.set_xlabel(self.axis_label)
        ax.set_ylabel(score_label(self.metric))
        ax.legend(loc="best", frameon=False)
        return ax

    def __str__(self) -> str:
        names = [cut(f"{tick:g}" if isinstance(tick, float) else str(tick)) for tick in self.ticks]
        ends = np.column_stack([self.low, self.means, self.high])
        heads = [cut(self.axis), "train", "test", f"{self.level:.0%} interval"]
        cells = [
            [name, number(train), number(mean), interval_text(low, high)]
            for name, train, (low, mean, high) in zip(names, self.train_means, ends.tolist(), strict=True)
        ]
        title = f"{self.metric} on {self.test_scores.shape[1]} splits"
        return "\n".join([title, "", *printed_curve(heads, cells, ends)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class LearningCurve(Curve):
    """Scores by the number of training rows.

    Attributes
    ----------
    train_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the training rows.
    test_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the test rows.
    test_share : float
        Test rows divided by training rows of the whole splits.
    metric : str
        Name of the metric.
    level : float
        Level of the intervals.
    bounds : tuple of float
        The lowest and highest possible score.
    train_sizes : ndarray of shape (n_sizes,)
        Numbers of training rows.
    times : tuple of two ndarrays of shape (n_sizes, n_splits), or None
        Seconds of the fits and of the scores, if `return_times` was given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, learning_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learning_curve(NaiveBayes(), X, y, train_sizes=[0.5, 1.0], shuffle=True, random_state=0)
    >>> curve.to_frame().columns
    ['train_size', 'train', 'test', 'low', 'high']
    """

    train_sizes: NDArray[np.int64]
    times: tuple[Floats, Floats] | None = None

    def __iter__(self) -> Iterator[NDArray[Any]]:  # unpacks like the result of scikit-learn's learning_curve
        return iter((self.train_sizes, self.train_scores, self.test_scores, *(self.times or ())))

    @property
    def ticks(self) -> Sequence[Any]:
        return list(self.train_sizes.tolist())

    @property
    def axis(self) -> str:
        return "train_size"

    @property
    def axis_label(self) -> str:
        return "Training rows"


@dataclass(frozen=True, repr=False)
class ValidationCurve(Curve):
    """Scores by the values of one parameter.

    Attributes
    ----------
    train_scores : ndarray of shape (n_values, n_splits)
        Scores on the training rows.
    test_scores : ndarray of shape (n_values, n_splits)
        Scores on the test rows.
    test_share : float
        Test rows divided by training rows.
    metric : str
        Name of the metric.
    level : float
        Level of the intervals.
    bounds : tuple of float
        The lowest and highest possible score.
    param_name : str
        The parameter.
    param_range : tuple
        Its values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import KNNClassifier, validation_curve
    >>> curve = validation_curve(KNNClassifier(), *load_iris(return_X_y=True), "n_neighbors", [1, 10, 80])
    >>> curve.to_frame()["n_neighbors"].to_list()
    [1, 10, 80]
    """

    param_name: str
    param_range: tuple[Any, ...]

    def __iter__(self) -> Iterator[NDArray[Any]]:  # unpacks like the result of scikit-learn's validation_curve
        return iter((self.train_scores, self.test_scores))

    @property
    def ticks(self) -> Sequence[Any]:
        return self.param_range

    @property
    def axis(self) -> str:
        return self.param_name

    @property
    def axis_label(self) -> str:
        return f"Value of {self.param_name}"


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether all values are numbers, but not booleans."""
    return all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)
