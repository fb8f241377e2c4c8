"""`reliability`: whether probabilities hold, bin by bin, and the expected calibration error: numbers and a picture."""

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
from foldwise.evaluation.pictures import axes

Floats = NDArray[np.float64]

BAR = 20  # characters that a printed share of 1 is wide


@dataclass(frozen=True)
class Bins:
    """Rows grouped by what was said of them; empty groups are left out."""

    low: Floats
    high: Floats
    rows: NDArray[np.intp]
    said: Floats  # the mean probability
    came: Floats  # how often it was so

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of said and came, weighted by rows."""
        return float(np.average(np.abs(self.said - self.came), weights=self.rows))


@dataclass(frozen=True, repr=False)
class Reliability:
    """What was said and what came, in bins of equal width and in bins of equal frequency."""

    width: Bins
    frequency: Bins
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
        """The bins as a polars frame: their ends, rows, what was said and what came."""
        import polars as pl

        chosen = self._bins(bins)
        names = ("low", "high", "rows", "said", "came")
        return pl.DataFrame({name: getattr(chosen, name) for name in names})

    def plot(self, ax: Any = None, bins: str = "width") -> Any:
        """Draw said against came into a matplotlib axes, a new one by default; gives the axes."""
        ax = axes(ax, (5.0, 5.0))
        chosen = self._bins(bins)
        ax.plot([0, 1], [0, 1], linestyle="--", linewidth=1, color="grey", label="said = came")
        ax.vlines(chosen.said, chosen.said, chosen.came, linewidth=1, alpha=0.5)
        sizes = 200 * np.sqrt(chosen.rows / chosen.rows.max())
        ax.scatter(chosen.said, chosen.came, s=sizes, alpha=0.6, label="a bin; its area grows with its rows")
        ax.plot(chosen.said, chosen.came, linewidth=1)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set_xlabel(f"said: probability of {self.event}")
        ax.set_ylabel("came: how often it was so")
        ax.set_title(f"expected calibration error {chosen.error:.3f}", fontsize="medium")
        ax.legend(loc="upper left", frameon=False)
        return ax

    def _bins(self, bins: str) -> Bins:
        chosen: Bins = getattr(self, one_of("bins", bins, ("width", "frequency")))
        return chosen

    def __str__(self) -> str:
        lines = [
            f"expected calibration error {self.ece:.4f} (equal frequency {self.ece_frequency:.4f}) of {self.event}",
            "",
            f"{'said':>6}  {'came':>6}  {'rows':>7}",
        ]
        for said, came, rows in zip(self.width.said, self.width.came, self.width.rows, strict=True):
            at, to = round(said * BAR), round(came * BAR)
            drawn = "".join("●" if i == to else "|" if i == at else "·" for i in range(BAR + 1))
            lines.append(f"{said:>6.3f}  {came:>6.3f}  {rows:>7}  {drawn}")
        return "\n".join(lines)

    __repr__ = __str__


def reliability(
    y: Any, proba: Any, bins: int = 10, *, classes: Sequence[Any] | None = None, of: Any = None
) -> Reliability:
    """How often what was said came true.

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
      said    came     rows
     0.100   0.333        3  ··|····●·············
     0.900   1.000        2  ··················|·●
    """
    whole_at_least("bins", bins, 1)
    said, came, event = event_of(y, proba, classes, of)
    edges = np.linspace(0.0, 1.0, bins + 1)
    quantiles = np.quantile(said, edges)
    return Reliability(binned(said, came, edges), binned(said, came, quantiles), event)


def event_of(y: Any, proba: Any, classes: Sequence[Any] | None, of: Any) -> tuple[Floats, Floats, str]:
    """The probability of an event in each row, whether it came, and its name."""
    given = np.asarray(proba, dtype=np.float64)
    if given.ndim == 1:
        given = np.column_stack([1 - given, given])
    if given.ndim != 2 or not len(given):
        raise InputError(f"probabilities must have one row a case, but their shape is {np.shape(proba)}.")
    check_proba(given)
    target = encode_target(y, len(given))
    names = names_of(target.classes) if classes is None else names_of(classes)
    if len(names) != given.shape[1]:
        raise InputError(
            f"there are {given.shape[1]} columns of probabilities for {len(names)} classes, {listing(names)}.",
            "pass the estimator's classes_ as classes.",
        )
    places = [find(name, names) for name in names_of(target.classes)]
    if None in places:
        lost = [name for name, place in zip(names_of(target.classes), places, strict=True) if place is None]
        raise InputError(f"the label {listing(lost)} is none of the classes {listing(names)}.")
    truth = np.array(places)[target.codes]
    if of is None and len(names) > 2:
        predicted = given.argmax(axis=1)
        return given.max(axis=1), (predicted == truth).astype(np.float64), "the predicted class"
    place = len(names) - 1 if of is None else find(of, names)
    if place is None:
        raise InputError(f"there is no class {of!r}.", f"the classes are {listing(names)}.")
    return given[:, place], (truth == place).astype(np.float64), str(names[place])


def binned(said: Floats, came: Floats, edges: Floats) -> Bins:
    """Rows in bins that are open below and closed above, as scikit-learn's `calibration_curve` cuts them."""
    places = np.searchsorted(edges[1:-1], said)
    n_bins = len(edges) - 1
    rows = np.bincount(places, minlength=n_bins)
    full = rows > 0
    sums = [np.bincount(places, weights=values, minlength=n_bins)[full] / rows[full] for values in (said, came)]
    return Bins(edges[:-1][full], edges[1:][full], rows[full], *sums)
