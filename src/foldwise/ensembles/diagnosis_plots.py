"""The plots of a diagnosis, which are the same for classifiers and regressors but for what is on their axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import polars as pl

from foldwise.evaluation.plotting import axes


class DiagnosisPlots(ABC):
    """Plots of the pairs of members, and of the error by number of members."""

    pairs: pl.DataFrame
    curve: pl.DataFrame
    # the column and the label of an axis
    _likeness: ClassVar[tuple[str, str]]
    _pair_error: ClassVar[tuple[str, str]]
    _error: ClassVar[tuple[str, str]]

    @property
    @abstractmethod
    def _error_of_all(self) -> float:
        """The error of the whole ensemble."""

    def plot(self, ax: Any = None) -> Any:
        """Plot the diversity of members: how alike the members of each pair are, and their mean error.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default new axes.

        Returns
        -------
        matplotlib Axes
            The axes with the plot.
        """
        (x, x_label), (y, y_label), ax = self._likeness, self._pair_error, axes(ax)
        ax.scatter(self.pairs[x].to_numpy(), self.pairs[y].to_numpy(), s=16, alpha=0.6)
        ax.set(xlabel=f"{x_label} (lower is more diverse)", ylabel=y_label, title="Diversity of the members")
        return ax

    def plot_curve(self, ax: Any = None) -> Any:
        """Plot the error against the number of members.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default new axes.

        Returns
        -------
        matplotlib Axes
            The axes with the plot.
        """
        (column, label), ax = self._error, axes(ax)
        ax.plot(self.curve["size"].to_numpy(), self.curve[column].to_numpy(), marker=".")
        ax.axhline(self._error_of_all, linewidth=1, linestyle="--", color="gray", label="all members")
        ax.set(xlabel="number of members", ylabel=label, title="Error by number of members")
        ax.legend()
        return ax
