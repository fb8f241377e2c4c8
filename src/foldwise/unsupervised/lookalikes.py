"""`similar`: the rows that look most like a given one, and in which cells they differ from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import check_jobs, one_of, whole_at_least
from foldwise.data.frames import as_polars, frame_in, library_of, pandas_index, position_word
from foldwise.data.html import html_table
from foldwise.data.notes import counted, hanging
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.plotting import axes
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.search import NeighborIndex
from foldwise.neighbors.space import learn_space
from foldwise.summaries.passes import n_threads
from foldwise.unsupervised.encoded_rows import RowEncoder, cell_text, encode_table, left_out_words
from foldwise.unsupervised.mean_distances import column_gaps, column_spans

MOST_NAMED = 4  # differences in the text of one row


@dataclass(frozen=True)
class CellDifference:
    """One column in which two rows differ.

    Attributes
    ----------
    column : str
        Name of the column.
    value : object
        The cell of the given row; None if missing.
    other : object
        The cell of the similar row; None if missing.
    gap : float
        Difference divided by the range of the column; 1 for different categories, NaN if a cell is missing.

    Examples
    --------
    >>> from foldwise.unsupervised import CellDifference
    >>> print(CellDifference("age", 31, 35, 0.08))
    age 35 instead of 31
    """

    column: str
    value: Any
    other: Any
    gap: float

    def __str__(self) -> str:
        return f"{self.column} {cell_text(self.other)} instead of {cell_text(self.value)}"


@dataclass(frozen=True, repr=False, eq=False)
class SimilarRows:
    """The rows most similar to one row, as returned by `similar`, the most similar one first.

    Attributes
    ----------
    row : int or None
        Position of the given row (0 is the first row); None if it was not a row of the table.
    rows : ndarray of shape (n,)
        Positions of the similar rows.
    distances : ndarray of shape (n,)
        Their distances.
    columns : tuple of str
        The columns that were compared.
    gaps : ndarray of shape (n, n_columns)
        How much each similar row differs in each column, between 0 and 1; NaN if a cell is missing.
    differences : tuple of tuple of CellDifference
        For each similar row, the cells that differ, the largest difference first.
    left_out : mapping of str to str
        Columns that were not compared, each with the reason.
    library : str
        The library of the table, and so of the frame that `to_frame` returns: "polars", "pandas" or "pyarrow".
    index : pandas.Index or None
        The index of a pandas table, which the frame has too. None for other tables.

    Examples
    --------
    >>> from foldwise import read_table, similar
    >>> found = similar(read_table("examples/weather.csv", target="play"), row=0, n=2)
    >>> found.rows.tolist()
    [7, 2]
    >>> print(found.differences[0][0])
    temperature 72 instead of 85
    """

    row: int | None
    rows: NDArray[np.intp]
    distances: Floats
    columns: tuple[str, ...]
    gaps: Floats
    differences: tuple[tuple[CellDifference, ...], ...]
    left_out: Mapping[str, str]
    library: str = "polars"
    index: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> Any:
        """Return the similar rows as a frame.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            One row per similar row: row, distance, n_different, differences.
        """
        return frame_in(
            self.library,
            pl.DataFrame(
                {
                    "row": self.rows,
                    "distance": self.distances,
                    "n_different": pl.Series([len(one) for one in self.differences], dtype=pl.Int64),
                    "differences": pl.Series([words_of(one) for one in self.differences], dtype=pl.String),
                }
            ),
            None if self.index is None else self.index[self.rows],
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw how much each similar row differs in each column.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        shown = np.argsort(-np.nan_to_num(self.gaps).sum(axis=0), kind="stable")[:30]
        ax = axes(ax, (2.0 + 0.5 * len(shown), 1.5 + 0.35 * len(self.rows)))
        image = ax.imshow(self.gaps[:, shown], cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        ax.set_xticks(range(len(shown)), [self.columns[j] for j in shown], rotation=45, ha="right")
        ax.set_yticks(range(len(self.rows)), [f"row {row:,}" for row in self.rows])
        ax.figure.colorbar(image, ax=ax, label="Difference (share of the range)")
        return ax

    def _title(self) -> str:
        given = "the given row" if self.row is None else f"row {self.row:,}{position_word(self.index)}"
        return f"The {counted(len(self.rows), 'row')} most similar to {given}:"

    def __str__(self) -> str:
        lines = [
            hanging(f"row {row:,} (distance {distance:.3g}): ", words_of(one))
            for row, distance, one in zip(self.rows, self.distances, self.differences, strict=True)
        ]
        return "\n".join(filter(None, [self._title(), *lines, hanging("", left_out_words(self.left_out))]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = [
            (f"{row:,}", f"{distance:.3g}", words_of(one))
            for row, distance, one in zip(self.rows, self.distances, self.differences, strict=True)
        ]
        notes = tuple(filter(None, [left_out_words(self.left_out)]))
        return html_table(self._title(), ("row", "distance", "what differs"), cells, notes, align="rrl")


def similar(table: Any, row: Any, n: int = 10, *, distance: str = "gower", n_jobs: int | None = None) -> SimilarRows:
    """Find the rows that look most like a given one, and say in which cells they differ from it.

    Columns may be numbers, categories or dates, with missing cells. Identifiers, free text and constant columns are
    not compared and are named in the result.

    Parameters
    ----------
    table : frame, array or Table
        The rows to search.
    row : int, mapping or frame with one row
        The position of a row of the table (0 is the first row), or a new row as a mapping of column names to values or
        as a frame. A row of the table is not among its own results. Columns that a mapping does not name are missing
        cells.
    n : int, default 10
        Number of similar rows. If the table has fewer, all are returned.
    distance : {"gower", "heom"}, default "gower"
        Distance between rows.
    n_jobs : int, optional
        Number of threads. None uses all cores.

    Returns
    -------
    SimilarRows
        The similar rows with their distances and differences.

    Examples
    --------
    >>> from foldwise import read_table, similar
    >>> table = read_table("examples/weather.csv", target="play")
    >>> similar(table, {"outlook": "rainy", "temperature": 66, "windy": True}, n=1).rows.tolist()
    [5]
    """
    one_of("distance", distance, ("gower", "heom"))
    check_jobs(n_jobs)
    n = whole_at_least("n", n, 1)
    frame, encoder, rows = encode_table(table)
    index = index_of(row, frame.height, pandas_index(table))
    query_frame = frame[index] if index is not None else one_row(row, frame)
    query = encoder.encode(query_frame)
    n = min(n, frame.height - (index is not None))
    space = learn_space(DistanceSpec(distance), rows)
    leave_out = np.array([-1 if index is None else index], dtype=np.intp)
    distances, found = NeighborIndex(space, rows).nearest(query, n, leave_out, n_threads(n_jobs))
    gaps = column_gaps(query, rows.take(found[0]), column_spans(rows))
    differences = tuple(
        cell_differences(encoder, query_frame, frame, int(other), gap)
        for other, gap in zip(found[0], gaps, strict=True)
    )
    shown = (index, found[0], distances[0], encoder.names, gaps, differences, encoder.left_out)
    return SimilarRows(*shown, library_of(table), pandas_index(table))


def index_of(row: Any, n_rows: int, labels: Any = None) -> int | None:
    """Return the position of a row of the table; None if `row` is not an integer."""
    if not isinstance(row, int | np.integer) or isinstance(row, bool):
        return None
    if not -n_rows <= row < n_rows:
        hint = "rows are counted from 0."
        if position_word(labels):
            hint = "rows are counted from 0; for a label of the pandas index, pass row=X.index.get_loc(label)."
        raise InputError(f"row must be from 0 to {n_rows - 1:,}, got {row}.", hint)
    return int(row) % n_rows


def one_row(row: Any, frame: pl.DataFrame) -> pl.DataFrame:
    """Convert a row that was given as a mapping or as a frame to a frame with the types of the table."""
    if isinstance(row, Mapping):
        unknown = [name for name in row if name not in frame.columns]
        if unknown:
            raise InputError(
                f"row has the column {listing(unknown)}, which the table does not have.",
                f"choose among {listing(frame.columns)}.",
            )
        given = {name: row.get(name) for name in frame.columns}
    else:
        try:
            values = as_polars(row)
        except (InputError, TypeError, ValueError) as error:
            raise FoldwiseTypeError(
                f"row must be an index, a mapping or a frame with one row, got {type(row).__name__}.",
                "pass row=17 for the row with index 17.",
            ) from error
        if values.height != 1:
            raise InputError(f"row must be a single row, got {values.height:,} rows.", "pass a frame with one row.")
        given = {name: values[name][0] if name in values.columns else None for name in frame.columns}
    columns = []
    for name, value in given.items():
        try:
            columns.append(pl.Series(name, [value], dtype=wider(frame[name].dtype), strict=True))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"row has {value!r} in column {name!r}, which contains values of type {frame[name].dtype}."
            ) from error
    return pl.DataFrame(columns)


def wider(dtype: pl.DataType) -> Any:
    """Return the type for one new cell: a column of integers may meet a decimal, an enumeration a new level."""
    if dtype.is_integer():
        return pl.Float64
    return pl.String if isinstance(dtype, pl.Enum | pl.Categorical) else dtype


def cell_differences(
    encoder: RowEncoder, query: pl.DataFrame, frame: pl.DataFrame, other: int, gaps: Floats
) -> tuple[CellDifference, ...]:
    """List the cells in which a row of the table differs from the query, the largest difference first."""
    # a cell that is missing in one row only counts as different, after all others
    order = np.argsort(-np.nan_to_num(gaps, nan=-1.0), kind="stable")
    found = []
    for j in order:
        name = encoder.names[j]
        value, there = encoder.cell(query, 0, name), encoder.cell(frame, other, name)
        if gaps[j] > 0 or (value is None) != (there is None):
            found.append(CellDifference(name, value, there, float(gaps[j])))
    return tuple(found)


def words_of(differences: tuple[CellDifference, ...]) -> str:
    """Write the largest differences in one line."""
    named = ", ".join(map(str, differences[:MOST_NAMED]))
    more = len(differences) - MOST_NAMED
    return (named + (f" and {more:,} more" if more > 0 else "")) or "no difference"
