"""`TableMap`: rows as points in the plane, with a figure of distortion, colored by any column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats
from foldwise.data.frames import as_series, frame_in
from foldwise.data.html import html_table
from foldwise.data.notes import hanging
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.plotting import axes
from foldwise.unsupervised.matrix import is_numeric, listed_columns

METHODS = {"pca": "principal components", "mds": "multidimensional scaling", "umap": "UMAP"}
MOST_COLORS = 10
FEW_NUMBERS = 5  # numbers with at most so many different values are colored as categories
WORDS = ((0.95, "nearly always"), (0.85, "mostly"), (0.7, "often, but not always,"), (-np.inf, "often not"))


@dataclass(frozen=True, repr=False, eq=False)
class TableMap:
    """A map of the rows of a table, as returned by `map_table`.

    Attributes
    ----------
    points : ndarray of shape (n_rows, 2)
        Position of each row.
    method : str
        "pca", "mds" or "umap".
    distance : str
        "euclidean" or "gower": the distance between rows by which distortion is measured.
    trustworthiness : float
        1 if all neighbors on the map are neighbors in the table, about 0.5 for a random map.
    continuity : float
        1 if all neighbors in the table are neighbors on the map, about 0.5 for a random map.
    n_neighbors : int
        Number of neighbors by which both are computed.
    n_measured : int
        Number of rows by which both are computed.
    tried : dict of str to tuple of float
        Trustworthiness and continuity of each method that was tried.
    axis_names : tuple of str
        Names of the two axes.
    table : polars.DataFrame
        The table, for colors.
    left_out : tuple of str
        Columns that do not influence the map, each with the reason.
    library : str
        The library of the table, and so of the frame that `to_frame` returns: "polars", "pandas" or "pyarrow".
    index : pandas.Index or None
        The index of a pandas table, which the frame has too. None for other tables.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import map_table
    >>> found = map_table(load_iris(as_frame=True).frame, method="pca")
    >>> found.points.shape, round(found.trustworthiness, 2)
    ((150, 2), 0.98)
    """

    points: Floats
    method: str
    distance: str
    trustworthiness: float
    continuity: float
    n_neighbors: int
    n_measured: int
    tried: dict[str, tuple[float, float]]
    axis_names: tuple[str, str]
    table: pl.DataFrame
    left_out: tuple[str, ...]
    library: str = "polars"
    index: Any = None

    @property
    def summary(self) -> str:
        """What the map is, and how far it can be trusted."""
        sample = "" if self.n_measured == len(self.points) else f" (distortion measured on {self.n_measured:,} of them)"
        return (
            f"Map of {len(self.points):,} rows by {METHODS[self.method]}{sample}. Rows that are close on the map are "
            f"{in_words(self.trustworthiness)} close in the table (trustworthiness {self.trustworthiness:.2f}). Rows "
            f"that are close in the table are {in_words(self.continuity)} close on the map (continuity "
            f"{self.continuity:.2f})."
        )

    def to_frame(self) -> Any:
        """Return the points as a frame.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            One row per row of the table: `row`, `x`, `y`.
        """
        x, y = self.points.T
        return frame_in(self.library, pl.DataFrame({"row": np.arange(len(x)), "x": x, "y": y}), self.index)

    def plot(self, ax: Any = None, color: Any = None) -> Any:
        """Plot the map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.
        color : str or array-like of shape (n_rows,), optional
            Name of a column of the table, or one value per row, such as the numbers of clusters.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        values = None if color is None else self._colors(color)
        ax = axes(ax, (6.4, 5.0))
        size = float(np.clip(4000 / len(self.points), 3, 30))
        if values is None:
            ax.scatter(*self.points.T, s=size, alpha=0.7, linewidths=0)
        elif is_numeric(values) and values.drop_nulls().n_unique() > FEW_NUMBERS:
            self._plot_numbers(ax, values, size)
        else:
            self._plot_categories(ax, values.cast(pl.String), size)
        ax.set_xlabel(self.axis_names[0])
        ax.set_ylabel(self.axis_names[1])
        if self.method != "pca":
            ax.set_xticks([])
            ax.set_yticks([])
        figures = f"trustworthiness {self.trustworthiness:.2f}, continuity {self.continuity:.2f}"
        ax.set_title(f"{METHODS[self.method][0].upper()}{METHODS[self.method][1:]}: {figures}", fontsize="medium")
        return ax

    def _colors(self, color: Any) -> pl.Series:
        if isinstance(color, str):
            if color not in self.table.columns:
                raise InputError(
                    f"color={color!r} is not a column of the table.", f"choose among {listing(self.table.columns)}."
                )
            return self.table[color]
        values = as_series("color", color)
        if len(values) != len(self.points):
            raise InputError(
                f"color must have one value per row, that is {len(self.points):,}, got {len(values):,}.",
                "pass the name of a column, or one value per row.",
            )
        return values

    def _plot_numbers(self, ax: Any, values: pl.Series, size: float) -> None:
        numbers = values.cast(pl.Float64).to_numpy()
        known = np.isfinite(numbers)
        ax.scatter(*self.points[~known].T, s=size, color="lightgray", linewidths=0)
        drawn = ax.scatter(*self.points[known].T, s=size, c=numbers[known], alpha=0.8, linewidths=0)
        ax.figure.colorbar(drawn, ax=ax, label=values.name)

    def _plot_categories(self, ax: Any, values: pl.Series, size: float) -> None:
        counts = values.drop_nulls().value_counts(sort=True, name="rows").sort("rows", descending=True)
        levels = sorted(counts[values.name].head(MOST_COLORS).to_list())
        rest = ~values.is_in(levels).fill_null(False).to_numpy()
        if rest.any():
            ax.scatter(*self.points[rest].T, s=size, color="lightgray", linewidths=0, label="other or missing")
        for level in levels:
            rows = (values == level).fill_null(False).to_numpy()
            ax.scatter(*self.points[rows].T, s=size, alpha=0.8, linewidths=0, label=level)
        ax.legend(title=values.name, loc="best", edgecolor="none", markerscale=max(1.0, 20 / size) ** 0.5)

    def _notes(self) -> list[str]:
        others = [
            f"{METHODS[name]}: trustworthiness {t:.2f}, continuity {c:.2f}"
            for name, (t, c) in self.tried.items()
            if name != self.method
        ]
        notes = [f"Also tried: {'; '.join(others)}."] if others else []
        return [*notes, *([f"Columns left out: {listed_columns(self.left_out)}."] if self.left_out else [])]

    def __repr__(self) -> str:
        return "\n".join(hanging("", one) for one in [self.summary, *self._notes()])

    def _repr_html_(self) -> str:
        rows = [[METHODS[name], f"{t:.3f}", f"{c:.3f}"] for name, (t, c) in self.tried.items()]
        return html_table(self.summary, ("map", "trustworthiness", "continuity"), rows, self._notes())


def in_words(share: float) -> str:
    """Say in words how often neighbors stay neighbors."""
    return next(words for least, words in WORDS if share >= least)
