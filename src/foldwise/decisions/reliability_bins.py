"""`reliability`: predicted probabilities against observed frequencies, and the expected calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of, whole_at_least
from foldwise.data.html import html_table
from foldwise.data.schema import listing
from foldwise.data.target import encode_target
from foldwise.errors import InputError
from foldwise.evaluation.calibration_bins import ReliabilityBins, binned, equal_widths
from foldwise.evaluation.decision import check_proba
from foldwise.evaluation.label_names import find, names_of
from foldwise.evaluation.plotting import axes

BAR = 20  # width in characters of a printed frequency of 1


@dataclass(frozen=True, repr=False)
class Reliability:
    """A calibration curve: predicted probabilities and observed frequencies, bin by bin.

    Attributes
    ----------
    width : ReliabilityBins
        Bins of equal width.
    frequency : ReliabilityBins
        Bins with about the same number of rows.
    event : str
        Whose probability is shown, such as "class yes" or "the predicted class".

    Examples
    --------
    >>> from foldwise import reliability
    >>> found = reliability([0, 0, 1, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9], bins=2)
    >>> round(found.ece, 2), found.to_frame().shape
    (0.18, (2, 5))
    """

    width: ReliabilityBins
    frequency: ReliabilityBins
    event: str

    @property
    def ece(self) -> float:
        """Expected calibration error with bins of equal width."""
        return self.width.error

    @property
    def ece_frequency(self) -> float:
        """Expected calibration error with bins of equal frequency."""
        return self.frequency.error

    def to_frame(self, bins: str = "width") -> Any:
        """Return the bins as a polars frame.

        Parameters
        ----------
        bins : {"width", "frequency"}, default "width"
            Bins of equal width, or with about the same number of rows.

        Returns
        -------
        polars.DataFrame
            The limits, rows, predicted probability and observed frequency of each bin.
        """
        import polars as pl

        chosen = self._bins(bins)
        names = ("low", "high", "rows", "predicted", "observed")
        return pl.DataFrame({name: getattr(chosen, name) for name in names})

    def plot(self, ax: Any = None, bins: str = "width") -> Any:
        """Plot the calibration curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default None
            Axes to draw on; None creates a new figure.
        bins : {"width", "frequency"}, default "width"
            Bins of equal width, or with about the same number of rows.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        ax = axes(ax, (5.0, 5.0))
        chosen = self._bins(bins)
        ax.plot([0, 1], [0, 1], linestyle="--", linewidth=1, color="0.5", label="Perfectly calibrated")
        ax.vlines(chosen.predicted, chosen.predicted, chosen.observed, linewidth=1, alpha=0.5)
        sizes = 200 * np.sqrt(chosen.rows / chosen.rows.max())
        ax.scatter(chosen.predicted, chosen.observed, s=sizes, alpha=0.6, label="Bin (larger if it has more rows)")
        ax.plot(chosen.predicted, chosen.observed, linewidth=1)
        ax.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal")
        ax.set_xlabel(f"Mean predicted probability of {self.event}")
        ax.set_ylabel(f"Observed frequency of {self.event}")
        ax.set_title(f"Expected calibration error {chosen.error:.3f}", fontsize="medium")
        ax.legend(loc="best", frameon=False, markerscale=0.5)
        return ax

    def _bins(self, bins: str) -> ReliabilityBins:
        chosen: ReliabilityBins = getattr(self, one_of("bins", bins, ("width", "frequency")))
        return chosen

    def __str__(self) -> str:
        lines = [
            f"predicted probability of {self.event}",
            f"expected calibration error {self.ece:.4f} (bins of equal frequency: {self.ece_frequency:.4f})",
            "",
            f"{'predicted':>9}  {'observed':>8}  {'rows':>7}",
        ]
        for predicted, observed, rows in zip(self.width.predicted, self.width.observed, self.width.rows, strict=True):
            at, to = round(predicted * BAR), round(observed * BAR)
            drawn = "".join("●" if i == to else "|" if i == at else "·" for i in range(BAR + 1))
            lines.append(f"{predicted:>9.3f}  {observed:>8.3f}  {rows:>7}  {drawn}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        bins = zip(self.width.predicted, self.width.observed, self.width.rows, strict=True)
        rows = [[f"{predicted:.3f}", f"{observed:.3f}", f"{n:,}"] for predicted, observed, n in bins]
        error = f"expected calibration error {self.ece:.4f} (bins of equal frequency: {self.ece_frequency:.4f})"
        title = f"Predicted probability of {self.event}"
        return html_table(title, ["predicted", "observed", "rows"], rows, [error], align="rrr")


def reliability(
    y: Any, proba: Any, bins: int = 10, *, classes: Sequence[Any] | None = None, of: Any = None
) -> Reliability:
    """Compare predicted probabilities with observed frequencies, bin by bin.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The true class of each row.
    proba : array-like of shape (n_rows, n_classes) or (n_rows,)
        Probabilities as `predict_proba` returns them. For two classes, those of the second class are enough.
    bins : int, default 10
        Number of bins. A probability on the border of two bins belongs to the lower one.
    classes : sequence, default None
        The class of each column of `proba`; None means the sorted labels of y.
    of : label, default None
        The class whose probability is examined. None means the second of two classes; with more classes, the predicted
        class of each row.

    Returns
    -------
    Reliability
        The bins and the expected calibration error.

    Examples
    --------
    >>> from foldwise import reliability
    >>> print(reliability([0, 0, 1, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9], bins=2))
    predicted probability of class 1
    expected calibration error 0.1800 (bins of equal frequency: 0.1800)
    <BLANKLINE>
    predicted  observed     rows
        0.100     0.333        3  ··|····●·············
        0.900     1.000        2  ··················|·●
    """
    whole_at_least("bins", bins, 1)
    predicted, observed, event = event_of(y, proba, classes, of)
    edges = equal_widths(bins)
    quantiles = np.quantile(predicted, edges)
    return Reliability(binned(predicted, observed, edges), binned(predicted, observed, quantiles), event)


def event_of(y: Any, proba: Any, classes: Sequence[Any] | None, of: Any) -> tuple[Floats, Floats, str]:
    """Return the predicted probability of an event in each row, whether it occurred, and its name."""
    given = np.asarray(proba, dtype=np.float64)
    if given.ndim == 1:
        if given.size and not (given.min() >= 0 and given.max() <= 1):
            raise InputError(
                f"proba must lie between 0 and 1, got values from {given.min():.3g} to {given.max():.3g}.",
                "pass the output of predict_proba, not decision values or log-probabilities.",
            )
        given = np.column_stack([1 - given, given])
    if given.ndim != 2 or not len(given):
        raise InputError(
            f"proba must have the shape (n_rows,) or (n_rows, n_classes) with at least one row, got {np.shape(proba)}."
        )
    check_proba(given)
    target = encode_target(y, len(given), rows="proba")
    names = names_of(target.classes) if classes is None else names_of(classes)
    if len(names) != given.shape[1]:
        raise InputError(
            f"proba has {given.shape[1]} columns, but there are {len(names)} classes: {listing(names)}.",
            "pass the estimator's classes_ as classes.",
        )
    indices = [find(name, names) for name in names_of(target.classes)]
    if None in indices:
        unknown = [name for name, index in zip(names_of(target.classes), indices, strict=True) if index is None]
        raise InputError(
            f"y contains {listing(unknown)}, but the classes are {listing(names)}.",
            "pass the estimator's classes_ as classes.",
        )
    truth = np.array(indices)[target.codes]
    if of is None and len(names) > 2:
        predicted = given.argmax(axis=1)
        return given.max(axis=1), (predicted == truth).astype(np.float64), "the predicted class"
    index = len(names) - 1 if of is None else find(of, names)
    if index is None:
        raise InputError(f"of must be one of the classes, got {of!r}.", f"choose among {listing(names)}.")
    return given[:, index], (truth == index).astype(np.float64), f"class {names[index]}"
