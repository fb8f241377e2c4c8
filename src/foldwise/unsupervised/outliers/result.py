"""`Outliers`: the rows that do not look like the others, with the cells that make them outliers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.frames import frame_in, position_word
from foldwise.data.html import html_table
from foldwise.data.notes import hanging
from foldwise.evaluation.plotting import axes
from foldwise.unsupervised.encoded_rows import cell_text

SHOWN = 20  # outliers that are printed


@dataclass(frozen=True)
class OutlierCell:
    """One cell that makes a row an outlier.

    Attributes
    ----------
    column : str
        Name of the column.
    value : object
        What the cell contains; None if it is missing.
    reason : str
        Why it is unusual, in words.
    p_value : float
        Probability of a cell at least as unusual in this column, under the model.

    Examples
    --------
    >>> from foldwise.unsupervised import OutlierCell
    >>> print(OutlierCell("height", 1712.0, "98% of the column lies between 150 and 191", 1e-9))
    height = 1712 (98% of the column lies between 150 and 191)
    """

    column: str
    value: Any
    reason: str
    p_value: float

    def __str__(self) -> str:
        return f"{self.column} = {cell_text(self.value)} ({self.reason})"


@dataclass(frozen=True)
class Outlier:
    """One row that does not look like the others.

    Attributes
    ----------
    row : int
        Position of the row; 0 is the first row.
    p_value : float
        Probability of a normal row that is at least as unusual.
    q_value : float
        The p-value corrected for the number of rows (Benjamini and Hochberg).
    cells : tuple of OutlierCell
        The cells that make it an outlier, the most unusual one first.

    Examples
    --------
    >>> from foldwise.unsupervised import Outlier
    >>> Outlier(17, 1e-8, 4e-6, ()).row
    17
    """

    row: int
    p_value: float
    q_value: float
    cells: tuple[OutlierCell, ...]


@dataclass(frozen=True, repr=False, eq=False)
class Outliers:
    """The outliers of a table, as returned by `find_outliers`; it can be iterated over.

    Attributes
    ----------
    p_values : ndarray of shape (n_rows,)
        Probability of a normal row that is at least as unusual as each row.
    q_values : ndarray of shape (n_rows,)
        The p-values corrected for the number of rows (Benjamini and Hochberg). Rows with at most `alpha` are outliers.
    scores : ndarray of shape (n_rows,)
        How unusual each row is, for ranking; higher is more unusual. Scores also rank rows with equal p-values.
    by_method : mapping of str to ndarray
        P-values of each method under its tail model.
    alpha : float
        Level of the correction.
    guaranteed : bool
        Whether p-values are conformal, from reference rows. Otherwise they come from a model of the tail.
    outliers : tuple of Outlier
        The outliers, the most unusual one first; empty if there are none.
    notes : tuple of str
        What to know about the result.
    left_out : mapping of str to str
        Columns that were not compared, each with the reason.
    library : str
        The library of the table, and so of the frame that `to_frame` returns: "polars", "pandas" or "pyarrow".
    index : pandas.Index or None
        The index of a pandas table, which the frame has too. None for other tables.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import find_outliers
    >>> X = np.random.default_rng(0).normal(170, 10, size=(300, 3))
    >>> X[17, 1] *= 10  # a decimal point was lost
    >>> found = find_outliers(X)
    >>> found.rows.tolist(), found.outliers[0].cells[0].column
    ([17], 'x1')
    """

    p_values: Floats
    q_values: Floats
    scores: Floats
    by_method: Mapping[str, Floats]
    alpha: float
    guaranteed: bool
    outliers: tuple[Outlier, ...]
    notes: tuple[str, ...]
    left_out: Mapping[str, str]
    library: str = "polars"
    index: Any = None

    @property
    def rows(self) -> NDArray[np.intp]:
        """The positions of the outliers (0 is the first row), the most unusual one first."""
        return np.array([one.row for one in self.outliers], dtype=np.intp)

    def __iter__(self) -> Iterator[Outlier]:
        return iter(self.outliers)

    def __len__(self) -> int:
        return len(self.outliers)

    def to_frame(self) -> Any:
        """Return all rows as a frame, the most unusual one first.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            One row per row of the table: row, outlier, p_value, q_value, score, reasons.
        """
        reasons = {one.row: "; ".join(map(str, one.cells)) for one in self.outliers}
        order = np.argsort(-self.scores, kind="stable")
        return frame_in(
            self.library,
            pl.DataFrame(
                {
                    "row": order,
                    "outlier": np.isin(order, self.rows),
                    "p_value": self.p_values[order],
                    "q_value": self.q_values[order],
                    "score": self.scores[order],
                    "reasons": pl.Series([reasons.get(int(row)) for row in order], dtype=pl.String),
                }
            ),
            None if self.index is None else self.index[order],
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the score of each row; outliers are marked.

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
        flagged = np.isin(np.arange(len(self.scores)), self.rows)
        usual = np.flatnonzero(~flagged)
        ax.scatter(usual, self.scores[usual], s=8, color="tab:gray", label="Usual rows")
        if flagged.any():
            ax.scatter(self.rows, self.scores[self.rows], s=30, color="tab:red", label="Outliers")
        for one in self.outliers[:SHOWN]:
            ax.annotate(f" {one.row}", (one.row, self.scores[one.row]), fontsize=8)
        ax.set_xlabel("Row")
        ax.set_ylabel("Score (higher is more unusual)")
        ax.legend(frameon=False)
        return ax

    def _title(self) -> str:
        n, rows = len(self.outliers), f"{len(self.p_values):,} rows"
        if not n:
            return f"No outliers among {rows} (level {self.alpha:.3g})."
        return f"{n:,} outlier{'s' * (n != 1)} among {rows} (level {self.alpha:.3g})."

    def __str__(self) -> str:
        lines = [self._title()]
        for one in self.outliers[:SHOWN]:
            why = "; ".join(map(str, one.cells))
            lines.append(hanging(f"row {one.row:,}{position_word(self.index)}: ", why or "unusual as a whole"))
        if len(self.outliers) > SHOWN:
            lines.append(f"… and {len(self.outliers) - SHOWN:,} more; to_frame() lists all.")
        return "\n".join([*lines, *(hanging("", note) for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = [
            (f"{one.row:,}", f"{one.p_value:.2g}", f"{one.q_value:.2g}", "; ".join(map(str, one.cells)))
            for one in self.outliers[:SHOWN]
        ]
        header = ("row", "p-value", "corrected", "why")
        return html_table(self._title(), header, cells, self.notes, align="rrrl")
