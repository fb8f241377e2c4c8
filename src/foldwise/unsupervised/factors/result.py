"""`Factors`: which columns vary together, in words, as frames and as plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats
from foldwise.data.arguments import whole_at_least
from foldwise.data.frames import frame_in
from foldwise.data.html import html_table
from foldwise.data.notes import hanging
from foldwise.evaluation.plotting import axes
from foldwise.unsupervised.matrix import listed_columns

NAMED = 4  # columns named per factor and sign
SHARE_OF_LARGEST = 0.4  # a loading is named if it is at least so large, compared with the largest one
CHOSEN = "To choose their number, some cells were held out and predicted from the others."
METHODS = {  # one factor, several factors
    "pca": ("principal component", "principal components"),
    "nmf": ("nonnegative part", "nonnegative parts"),
    "svd": ("from text", "from text"),
}


@dataclass(frozen=True, repr=False, eq=False)
class Factors:
    """Factors of a table and how their number was chosen, as returned by `find_factors`.

    Attributes
    ----------
    method : str
        "pca", "nmf" or "svd".
    columns : tuple of str
        Names of the columns, categories or terms.
    loadings : ndarray of shape (n_columns, n_factors)
        How much each column belongs to each factor: correlations for "pca", shares that sum to 1 for "nmf", weights of
        terms for "svd".
    scores : ndarray of shape (n_rows, n_factors)
        How much each row has of each factor.
    explained : ndarray of shape (n_factors,)
        Share of the variance that each factor explains; for "nmf", its share of the sum of all factors.
    errors : ndarray of shape (n_repeats, n_tried + 1)
        Squared error of predicting held-out cells with 0, 1, 2, … factors, divided by the error of column means.
    is_chosen : bool
        Whether the number of factors was chosen by these errors rather than given by the caller.
    left_out : tuple of str
        Columns that were not used, each with the reason.
    library : str
        The library of the table, and so of the frame that `scores_frame` returns: "polars", "pandas" or "pyarrow".
    index : pandas.Index or None
        The index of a pandas table, which the frame has too. None for other tables.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import find_factors
    >>> print(find_factors(load_iris(as_frame=True).data).sentences[0])
    Factor 1 (73% of the variance): high petal length (cm) (+0.99), petal width (cm) (+0.96) and sepal length (cm)
    (+0.89); low sepal width (cm) (−0.46).
    """

    method: str
    columns: tuple[str, ...]
    loadings: Floats
    scores: Floats
    explained: Floats
    errors: Floats
    is_chosen: bool
    left_out: tuple[str, ...]
    library: str = "polars"
    index: Any = None

    @property
    def n_factors(self) -> int:
        """Number of factors; 0 if no factor predicts held-out cells."""
        return int(self.loadings.shape[1])

    @property
    def summary(self) -> str:
        """What was found, in a sentence."""
        if not self.n_factors:
            return "No factors: no column can be predicted from the others better than by its mean."
        kind = f"factor{'s' * (self.n_factors > 1)} ({METHODS[self.method][self.n_factors > 1]})"
        how = CHOSEN if self.is_chosen else "Their number was requested."
        explain = "explains" if self.n_factors == 1 else "explain"
        if self.n_factors == 1:
            how = how.replace("their number", "the number of factors").replace("Their number", "The number of factors")
        share = "" if self.method == "nmf" else f" {explain} {self.explained.sum():.0%} of the variance"
        return f"{self.n_factors} {kind}{share}. {how}{self._held_out()}"

    def _held_out(self) -> str:
        """How well factors predict cells that were held out, where this is known."""
        if self.n_factors >= self.errors.shape[1]:
            return ""
        explained = 1.0 - self.errors.mean(axis=0)[self.n_factors]
        these = "This factor explains" if self.n_factors == 1 else "These factors explain"
        last = " More factors were not tried." if self.n_factors == self.errors.shape[1] - 1 else ""
        return f" {these} {max(explained, 0.0):.1%} of the variance of held-out cells.{last}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence per factor: which columns load most on it, and with which sign."""
        return tuple(self._sentence(f) for f in range(self.n_factors))

    def _sentence(self, f: int) -> str:
        loading = self.loadings[:, f]
        order = np.argsort(-np.abs(loading), kind="stable")
        named = [i for i in order.tolist() if abs(loading[i]) >= SHARE_OF_LARGEST * abs(loading[order[0]])]
        parts = []
        for sign, word in ((1, "high"), (-1, "low")):
            some = [f"{self.columns[i]} ({signed(loading[i])})" for i in named if loading[i] * sign > 0]
            more = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
            if some:
                parts.append(f"{word} {joined(some[:NAMED], more)}")
        of = "of the sum of all factors" if self.method == "nmf" else "of the variance"
        return f"Factor {f + 1} ({self.explained[f]:.0%} {of}): {'; '.join(parts)}."

    def to_frame(self) -> pl.DataFrame:
        """Return the loadings as a frame.

        Returns
        -------
        polars.DataFrame
            One row per column of the table: `column`, then `factor 1`, `factor 2`, …
        """
        return pl.DataFrame({"column": list(self.columns), **factor_columns(self.loadings)})

    def scores_frame(self) -> Any:
        """Return the scores as a frame.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            One row per row of the table: `row`, then `factor 1`, `factor 2`, …
        """
        frame = pl.DataFrame({"row": np.arange(len(self.scores)), **factor_columns(self.scores)})
        return frame_in(self.library, frame, self.index)

    def plot(self, ax: Any = None, top: int = 20) -> Any:
        """Plot the loadings of the columns that load most; without factors, plot how their number was chosen.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.
        top : int, default 20
            Number of columns.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        whole_at_least("top", top, 1)
        if not self.n_factors:
            return self.plot_choice(ax)
        largest = np.abs(self.loadings).max(axis=1)
        shown = np.sort(np.argsort(-largest, kind="stable")[:top])
        ax = axes(ax, (3.5 + 0.6 * self.n_factors, 1.0 + 0.28 * max(len(shown), 4)))
        limit = float(largest.max()) or 1.0
        image = ax.imshow(self.loadings[shown], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
        ax.set_yticks(range(len(shown)), [self.columns[i] for i in shown])
        ax.set_xticks(range(self.n_factors), [str(f + 1) for f in range(self.n_factors)])
        ax.set_xlabel("Factor")
        ax.figure.colorbar(image, ax=ax, label="Loading")
        return ax

    def plot_choice(self, ax: Any = None) -> Any:
        """Plot the error of held-out cells for each number of factors.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        ax = axes(ax)
        mean = self.errors.mean(axis=0)
        tried = np.arange(len(mean))
        ax.fill_between(tried, self.errors.min(axis=0), self.errors.max(axis=0), alpha=0.2, linewidth=0)
        ax.plot(tried, mean, marker="o", markersize=3, label=f"Mean of {len(self.errors)} random divisions")
        if self.n_factors < len(mean):
            circle = {"markersize": 9, "fillstyle": "none", "color": "black"}
            ax.plot(self.n_factors, mean[self.n_factors], "o", label=f"{self.n_factors} factors", **circle)
        ax.set_xlabel("Number of factors")
        ax.set_ylabel("Error of held-out cells (column means: 1)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(loc="best", edgecolor="none")
        return ax

    def _notes(self) -> list[str]:
        return [f"Columns left out: {listed_columns(self.left_out)}."] if self.left_out else []

    def __repr__(self) -> str:
        lines = [hanging("- ", sentence) for sentence in self.sentences]
        return "\n".join([hanging("", self.summary), *lines, *(hanging("", one) for one in self._notes())])

    def _repr_html_(self) -> str:
        rows = [sentence.partition(": ")[::2] for sentence in self.sentences]
        return html_table(self.summary, ("factor", "columns"), rows, self._notes(), align="ll")


def factor_columns(values: Floats) -> dict[str, Floats]:
    """One named column per factor."""
    return {f"factor {f + 1}": values[:, f] for f in range(values.shape[1])}


def signed(value: float) -> str:
    """Write a number with its sign and two decimals."""
    return f"{value:+.2f}".replace("-", "−")


def joined(words: list[str], more: str) -> str:
    """Join words by commas and a final "and"."""
    if more or len(words) < 2:
        return ", ".join(words) + more
    return f"{', '.join(words[:-1])} and {words[-1]}"
