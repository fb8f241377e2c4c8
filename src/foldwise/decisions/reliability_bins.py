"""`reliability`: predicted against observed shares, bin by bin, and the expected calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import one_of, whole_at_least
from foldwise.data.schema import listing
from foldwise.data.target import encode_target
from foldwise.errors import InputError
from foldwise.evaluation.cost import check_proba, find, names_of
from foldwise.evaluation.plotting import axes

Floats = NDArray[np.float64]

BAR = 20  # characters that a printed share of 1 is wide


@dataclass(frozen=True)
class ReliabilityBins:
    """Rows grouped by their predicted probability; empty groups are left out."""

    low: Floats
    high: Floats
    rows: NDArray[np.intp]
    predicted: Floats  # the mean probability
    observed: Floats  # the share of rows in which the event happened

    @property
    def error(self) -> float:
        """The expected calibration error: the mean gap of predicted and observed, weighted by rows."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.rows))


@dataclass(frozen=True, repr=False)
class Reliability:
    """Predicted and observed shares, in bins of equal width and in bins of equal frequency."""

    width: ReliabilityBins
    frequency: ReliabilityBins
    event: str

    @property
    def ece(self) -> float:
        """The expected calibration error by bins of equal width."""
        return self.width.error

    @property
    def ece_frequency(self) -> float:
        """The expected calibration error by bins of equal frequency."""
        return self.frequency.error

    def to_frame(self, bins: str = "width") -> Any:
        """The bins as a polars frame: their ends, rows, predicted and observed shares."""
        import polars as pl

        chosen = self._bins(bins)
        names = ("low", "high", "rows", "predicted", "observed")
        return pl.DataFrame({name: getattr(chosen, name) for name in names})

    def plot(self, ax: Any = None, bins: str = "width") -> Any:
        """Plot observed against predicted shares on matplotlib axes, new ones by default; return the axes."""
        ax = axes(ax, (5.0, 5.0))
        chosen = self._bins(bins)
        ax.plot([0, 1], [0, 1], linestyle="--", linewidth=1, color="gray", label="perfectly calibrated")
        ax.vlines(chosen.predicted, chosen.predicted, chosen.observed, linewidth=1, alpha=0.5)
        sizes = 200 * np.sqrt(chosen.rows / chosen.rows.max())
        ax.scatter(chosen.predicted, chosen.observed, s=sizes, alpha=0.6, label="one bin; larger with more rows")
        ax.plot(chosen.predicted, chosen.observed, linewidth=1)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set_xlabel(f"predicted probability of {self.event}")
        ax.set_ylabel("observed share")
        ax.set_title(f"expected calibration error {chosen.error:.3f}", fontsize="medium")
        ax.legend(loc="upper left", frameon=False)
        return ax

    def _bins(self, bins: str) -> ReliabilityBins:
        chosen: ReliabilityBins = getattr(self, one_of("bins", bins, ("width", "frequency")))
        return chosen

    def __str__(self) -> str:
        lines = [
            f"expected calibration error {self.ece:.4f} (equal frequency {self.ece_frequency:.4f}) of {self.event}",
            "",
            f"{'predicted':>9}  {'observed':>8}  {'rows':>7}",
        ]
        for predicted, observed, rows in zip(self.width.predicted, self.width.observed, self.width.rows, strict=True):
            at, to = round(predicted * BAR), round(observed * BAR)
            drawn = "".join("●" if i == to else "|" if i == at else "·" for i in range(BAR + 1))
            lines.append(f"{predicted:>9.3f}  {observed:>8.3f}  {rows:>7}  {drawn}")
        return "\n".join(lines)

    __repr__ = __str__


def reliability(
    y: Any, proba: Any, bins: int = 10, *, classes: Sequence[Any] | None = None, of: Any = None
) -> Reliability:
    """Compare predicted probabilities with observed shares, bin by bin.

    Parameters
    ----------
    y : the true labels
    proba : probabilities (rows, classes) as `predict_proba` gives them, or of two classes those of the second
    bins : how many; a probability on a border lies in the bin below it
    classes : the labels of the columns; the sorted labels of y by default
    of : the class whose probability is looked at; by default, of two classes the second, of more the predicted one

    Examples
    --------
    >>> from foldwise import reliability
    >>> print(reliability([0, 0, 1, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9], bins=2))
    expected calibration error 0.1800 (equal frequency 0.1800) of 1
    <BLANKLINE>
    predicted  observed     rows
        0.100     0.333        3  ··|····●·············
        0.900     1.000        2  ··················|·●
    """
    whole_at_least("bins", bins, 1)
    predicted, observed, event = event_of(y, proba, classes, of)
    edges = np.linspace(0.0, 1.0, bins + 1)
    quantiles = np.quantile(predicted, edges)
    return Reliability(binned(predicted, observed, edges), binned(predicted, observed, quantiles), event)


def event_of(y: Any, proba: Any, classes: Sequence[Any] | None, of: Any) -> tuple[Floats, Floats, str]:
    """The probability of an event in each row, whether it happened, and its name."""
    given = np.asarray(proba, dtype=np.float64)
    if given.ndim == 1:
        given = np.column_stack([1 - given, given])
    if given.ndim != 2 or not len(given):
        raise InputError(f"probabilities must have one row per case, but their shape is {np.shape(proba)}.")
    check_proba(given)
    target = encode_target(y, len(given))
    names = names_of(target.classes) if classes is None else names_of(classes)
    if len(names) != given.shape[1]:
        raise InputError(
            f"there are {given.shape[1]} columns of probabilities for {len(names)} classes, {listing(names)}.",
            "pass the estimator's classes_ as classes.",
        )
    indices = [find(name, names) for name in names_of(target.classes)]
    if None in indices:
        unknown = [name for name, index in zip(names_of(target.classes), indices, strict=True) if index is None]
        raise InputError(f"the label {listing(unknown)} is not one of the classes {listing(names)}.")
    truth = np.array(indices)[target.codes]
    if of is None and len(names) > 2:
        predicted = given.argmax(axis=1)
        return given.max(axis=1), (predicted == truth).astype(np.float64), "the predicted class"
    index = len(names) - 1 if of is None else find(of, names)
    if index is None:
        raise InputError(f"there is no class {of!r}.", f"the classes are {listing(names)}.")
    return given[:, index], (truth == index).astype(np.float64), str(names[index])


def binned(predicted: Floats, observed: Floats, edges: Floats) -> ReliabilityBins:
    """Rows in bins that are open below and closed above, as scikit-learn's `calibration_curve` cuts them."""
    indices = np.searchsorted(edges[1:-1], predicted)
    n_bins = len(edges) - 1
    rows = np.bincount(indices, minlength=n_bins)
    full = rows > 0
    sums = [
        np.bincount(indices, weights=values, minlength=n_bins)[full] / rows[full] for values in (predicted, observed)
    ]
    return ReliabilityBins(edges[:-1][full], edges[1:][full], rows[full], *sums)
