"""`rank_rows`: which rows of a table are most central, most influential and most typical of their group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of, whole_at_least
from foldwise.data.frames import as_series, frame_in, library_of, pandas_index, position_word
from foldwise.data.html import html_table
from foldwise.data.levels import is_missing
from foldwise.data.notes import hanging
from foldwise.errors import InputError
from foldwise.evaluation.plotting import axes
from foldwise.neighbors.encoding import EncodedRows
from foldwise.unsupervised.encoded_rows import encode_table, left_out_words
from foldwise.unsupervised.mean_distances import distance_sums, sample_rows

MOST_LEVELS = 30  # of a category that counts for the leverage
SHOWN = 5


@dataclass(frozen=True, repr=False, eq=False)
class RowRanking:
    """How central, influential and typical each row is, as returned by `rank_rows`.

    Attributes
    ----------
    distances : ndarray of shape (n_rows,)
        Mean distance to the other rows. The row with the smallest is the most central one.
    leverages : ndarray of shape (n_rows,)
        Leverage, between 0 and 1: how much a row could move a linear model of any target. The mean is the number of
        independent columns, plus 1 for the intercept, divided by the number of rows.
    typicality : ndarray of shape (n_rows,) or None
        Between -1 and 1: high for rows near their own group and far from others (silhouette), NaN for rows without a
        group. None without groups.
    groups : tuple or None
        The group of each row; None without groups.
    left_out : mapping of str to str
        Columns that were not compared, each with the reason.
    library : str
        The library of the table, and so of the frame that `to_frame` returns: "polars", "pandas" or "pyarrow".
    index : pandas.Index or None
        The index of a pandas table, which the frame has too. None for other tables.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import rank_rows
    >>> ranking = rank_rows(np.array([[0.0], [1.0], [2.0], [3.0], [9.0]]))
    >>> ranking.most_central(1), ranking.most_influential(1)
    ([2], [4])
    """

    distances: Floats
    leverages: Floats
    typicality: Floats | None
    groups: tuple[Any, ...] | None
    left_out: Mapping[str, str]
    library: str = "polars"
    index: Any = None

    def most_central(self, n: int = 5) -> list[int]:
        """Return the rows with the smallest mean distance to the others.

        Parameters
        ----------
        n : int, default 5
            Number of rows.

        Returns
        -------
        list of int
            Positions of rows (0 is the first row), the most central one first.
        """
        return np.argsort(self.distances, kind="stable")[:n].tolist()  # type: ignore[no-any-return]

    def most_influential(self, n: int = 5) -> list[int]:
        """Return the rows with the highest leverage.

        Parameters
        ----------
        n : int, default 5
            Number of rows.

        Returns
        -------
        list of int
            Positions of rows (0 is the first row), the most influential one first.
        """
        return np.argsort(-self.leverages, kind="stable")[:n].tolist()  # type: ignore[no-any-return]

    def most_typical(self, n: int = 5) -> dict[Any, list[int]]:
        """Return the most typical rows of each group.

        Parameters
        ----------
        n : int, default 5
            Number of rows per group.

        Returns
        -------
        dict of list of int
            Positions of rows (0 is the first row) by group, the most typical one first; empty without groups.
        """
        if self.typicality is None or self.groups is None:
            return {}
        order = np.argsort(-np.nan_to_num(self.typicality, nan=-np.inf), kind="stable")
        found: dict[Any, list[int]] = {}
        for row in order.tolist():
            if not np.isnan(self.typicality[row]):
                found.setdefault(self.groups[row], []).append(row)
        return {group: rows[:n] for group, rows in sorted(found.items(), key=lambda item: str(item[0]))}

    def to_frame(self) -> Any:
        """Return the figures of each row as a frame, in the order of the table.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyarrow.Table
            One row per row of the table: row, mean_distance, leverage, and with groups also group and typicality.
        """
        columns: dict[str, Any] = {
            "row": np.arange(len(self.distances)),
            "mean_distance": self.distances,
            "leverage": self.leverages,
        }
        if self.groups is not None:
            columns["group"] = as_series("group", np.array(self.groups, dtype=object))
            columns["typicality"] = self.typicality
        return frame_in(self.library, pl.DataFrame(columns), self.index)

    def plot(self, ax: Any = None) -> Any:
        """Draw mean distance and leverage of each row, with the extreme rows named.

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
        ax.scatter(self.distances, self.leverages, s=10, color="tab:gray")
        for rows, color, label in (
            (self.most_central(SHOWN), "tab:blue", "Most central"),
            (self.most_influential(SHOWN), "tab:red", "Most influential"),
        ):
            ax.scatter(self.distances[rows], self.leverages[rows], s=30, color=color, label=label)
            for row in rows:
                ax.annotate(f" {row}", (self.distances[row], self.leverages[row]), fontsize=8)
        ax.set_xlabel("Mean distance to the other rows")
        ax.set_ylabel("Leverage")
        ax.legend(frameon=False)
        return ax

    def _lines(self) -> list[tuple[str, str]]:
        lines = [("Most central", self.most_central(SHOWN)), ("Most influential", self.most_influential(SHOWN))]
        lines += [(f"Most typical of {group}", rows) for group, rows in self.most_typical(SHOWN).items()]
        return [(name, ", ".join(f"{row:,}" for row in rows)) for name, rows in lines]

    def __str__(self) -> str:
        which = position_word(self.index)
        lines = [f"{name}: {'row' if ',' not in rows else 'rows'} {rows}{which}" for name, rows in self._lines()]
        return "\n".join(filter(None, [*lines, hanging("", left_out_words(self.left_out))]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title, notes = f"Ranking of {len(self.distances):,} rows", filter(None, [left_out_words(self.left_out)])
        return html_table(title, ("", "rows"), self._lines(), tuple(notes), align="ll")


def rank_rows(
    table: Any, groups: Any = None, *, distance: str = "gower", max_rows: int = 5000, random_state: int = 0
) -> RowRanking:
    """Rank rows by how central, how influential and how typical of their group they are.

    Parameters
    ----------
    table : frame, array or Table
        The rows. Identifiers, free text and constant columns are not compared and are named in the result.
    groups : array-like of shape (n_rows,), optional
        The group of each row, such as the labels of a clustering. Rows with the label -1 or a missing label belong to
        no group.
    distance : {"gower", "heom"}, default "gower"
        Distance between rows.
    max_rows : int, default 5000
        Rows that each row is compared with. In larger tables they are drawn at random.
    random_state : int, default 0
        Seed of that draw.

    Returns
    -------
    RowRanking
        The figures of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import rank_rows
    >>> X = np.array([[0.0], [0.2], [0.4], [5.0], [5.1], [5.5]])
    >>> rank_rows(X, groups=[0, 0, 0, 1, 1, 1]).most_typical(1)
    {0: [1], 1: [4]}

    Notes
    -----
    The leverage of a row is the diagonal of the hat matrix Z (ZᵀZ)⁺ Zᵀ, where Z holds a column of ones, the numbers
    and one indicator per category, with means for missing cells. Typicality is the silhouette (b - a) / max(a, b): a is
    the mean distance to the other rows of the own group, b the smallest mean distance to another group.
    """
    one_of("distance", distance, ("gower", "heom"))
    max_rows, seed = whole_at_least("max_rows", max_rows, 2), whole_at_least("random_state", random_state, 0)
    _, encoder, rows = encode_table(table)
    chosen = sample_rows(rows.n_rows, max_rows, seed)
    labels = None if groups is None else checked_groups(groups, rows.n_rows)
    names = [] if labels is None else sorted({label for label in labels if label is not None}, key=str)
    members = np.zeros((len(chosen), 1 + len(names)))
    members[:, 0] = 1.0
    codes = np.full(rows.n_rows, -1, dtype=np.intp)
    if labels is not None:
        index = {name: g for g, name in enumerate(names)}
        codes = np.array([-1 if label is None else index[label] for label in labels], dtype=np.intp)
        known = np.flatnonzero(codes[chosen] >= 0)
        members[known, 1 + codes[chosen][known]] = 1.0
    sums = distance_sums(rows, chosen, members, distance)
    in_sample = np.isin(np.arange(rows.n_rows), chosen)
    distances = sums[:, 0] / np.maximum(len(chosen) - in_sample, 1)
    typicality = None if labels is None else silhouettes(sums[:, 1:], members[:, 1:].sum(axis=0), codes, in_sample)
    named = None if labels is None else tuple(labels)
    return RowRanking(
        distances, leverages(rows), typicality, named, encoder.left_out, library_of(table), pandas_index(table)
    )


def checked_groups(groups: Any, n_rows: int, argument: str = "groups") -> list[Any]:
    """Return the group of each row; None for rows without a group."""
    labels = as_series(argument, groups).to_list()
    if len(labels) != n_rows:
        raise InputError(f"{argument} must have one value per row ({n_rows:,}), got {len(labels):,}.")
    return [None if is_missing(label) or label == -1 else label for label in labels]


def silhouettes(sums: Floats, sizes: Floats, codes: NDArray[np.intp], in_sample: NDArray[np.bool_]) -> Floats:
    """Compute silhouettes from sums of distances to each group; 0 for a group of one row, NaN without a group."""
    out = np.full(len(codes), np.nan)
    rows = np.flatnonzero(codes >= 0)
    own = codes[rows]
    others = sizes[own] - in_sample[rows]
    a = sums[rows, own] / np.maximum(others, 1)
    means = sums[rows] / np.maximum(sizes, 1)
    means[np.arange(len(rows)), own] = np.inf
    means[:, sizes == 0] = np.inf
    b = means.min(axis=1, initial=np.inf)
    with np.errstate(invalid="ignore"):
        values = np.where(np.isfinite(b), (b - a) / np.maximum(np.maximum(a, b), 1e-300), 1.0 - a)
    out[rows] = np.where(others > 0, values, 0.0)
    return out


def leverages(rows: EncodedRows) -> Floats:
    """Compute the diagonal of the hat matrix of numbers and categories, with an intercept."""
    numbers = rows.numbers.copy()
    for j in range(numbers.shape[1]):
        missing = np.isnan(numbers[:, j])
        numbers[missing, j] = numbers[~missing, j].mean() if not missing.all() else 0.0
    parts = [numbers]
    for j, n_levels in enumerate(rows.n_levels):
        if n_levels <= MOST_LEVELS:
            codes = rows.codes[:, [j]]
            known = codes >= 0
            flags = (codes == np.arange(n_levels)).astype(np.float64)
            parts.append(np.where(known, flags, flags[known[:, 0]].mean(axis=0) if known.any() else 0.0))
    z = np.concatenate(parts, axis=1)
    z = z - z.mean(axis=0)
    z /= np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
    u, s, _ = np.linalg.svd(z, full_matrices=False)
    kept = s > s.max(initial=0.0) * max(z.shape) * np.finfo(np.float64).eps
    return np.asarray(np.minimum(1.0, 1.0 / rows.n_rows + np.square(u[:, kept]).sum(axis=1)))
