"""`frequent_itemsets`: which items occur together in many rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.arguments import above_zero, whole_at_least
from foldwise.errors import InputError
from foldwise.evaluation.plotting import axes
from foldwise.evaluation.tables import TextTable
from foldwise.unsupervised.associations.eclat import SetTree, find_frequent
from foldwise.unsupervised.associations.items import plan_items, read_rows

SHOWN = 10
LABEL = 60  # characters of the names of a set in print and in pictures


@dataclass(frozen=True, repr=False, eq=False)
class FrequentItemsets:
    """Sets of items that occur together in many rows, as returned by `frequent_itemsets`.

    Attributes
    ----------
    items : tuple of str
        Names of all items.
    tree : SetTree
        The sets as a tree, each with the number of rows that contain it.
    n_rows : int
        Number of rows.
    min_support : float
        Smallest share of rows that contain a set.
    left_out : tuple of str
        Columns without items, each with the reason.

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise import frequent_itemsets
    >>> baskets = pl.DataFrame({"bread": [1, 1, 0, 1], "butter": [1, 1, 0, 0], "milk": [0, 1, 1, 1]})
    >>> found = frequent_itemsets(baskets, min_support=0.5)
    >>> found.to_frame().filter(pl.col("items").list.len() > 1)["items"].to_list()
    [['bread', 'butter'], ['bread', 'milk']]
    """

    items: tuple[str, ...]
    tree: SetTree
    n_rows: int
    min_support: float
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tree.item)

    @cached_property
    def members(self) -> NDArray[np.int64]:  # (n_sets, longest)
        """Indices of the items of each set in ascending order, followed by -1 where a set is shorter."""
        last = len(self.items)
        members = self.tree.members()
        ascending = np.sort(np.where(members < 0, last, members), axis=1)
        return np.where(ascending == last, -1, ascending)

    def to_frame(self) -> pl.DataFrame:
        """Return the sets as a frame, the most frequent ones first.

        Returns
        -------
        polars.DataFrame
            One row per set: `items`, a list of names; `support`, the share of rows; `rows`, their number.
        """
        count = self.tree.count
        length = (self.members >= 0).sum(axis=1)
        order = np.lexsort((*self.members.T[::-1], length, -count)) if len(self) else np.zeros(0, dtype=np.intp)
        members, length = self.members[order], length[order]
        names = pl.Series(self.items, dtype=pl.String).gather(members[members >= 0])
        set_of = np.repeat(np.arange(len(order)), length)
        lists = pl.DataFrame({"set": set_of, "items": names}).group_by("set", maintain_order=True).agg("items")
        return pl.DataFrame(
            {"items": lists["items"], "support": count[order] / max(self.n_rows, 1), "rows": count[order]}
        )

    def plot(self, ax: Any = None, top: int = 15) -> Any:
        """Plot the support of the most frequent sets of at least two items.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.
        top : int, default 15
            Number of sets.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        names, support = self._top(whole_at_least("top", top, 1))
        ax = axes(ax, (7.0, 0.8 + 0.3 * max(len(names), 3)))
        ax.barh(range(len(names)), support)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel("Share of rows")
        return ax

    def _top(self, n: int) -> tuple[list[str], list[float]]:
        frame = self.to_frame().filter(pl.col("items").list.len() > 1).head(n)
        return [shortened(", ".join(items)) for items in frame["items"].to_list()], frame["support"].to_list()

    def _title(self) -> str:
        sets = f"{len(self):,} itemset{'s' * (len(self) != 1)}"
        return f"{sets} in at least {self.min_support:.3g} of {self.n_rows:,} rows"

    def __repr__(self) -> str:
        names, support = self._top(SHOWN)
        rows = [[name, f"{share:.3f}"] for name, share in zip(names, support, strict=True)]
        several = int((self.to_frame()["items"].list.len() > 1).sum())
        shown = "all" if several == len(rows) else f"the {len(rows)} most frequent of {several:,}"
        table = f"\n\n{TextTable(['items', 'support'], rows, longest=LABEL)}" if rows else ""
        table = f", below {shown} with at least two items{table}" if rows else table
        return self._title() + table

    def _repr_html_(self) -> str:
        names, support = self._top(SHOWN)
        rows = [[name, f"{share:.3f}"] for name, share in zip(names, support, strict=True)]
        return TextTable(["items", "support"], rows).html(self._title())


def frequent_itemsets(
    table: Any,
    *,
    min_support: float = 0.1,
    max_length: int | None = None,
    bins: int = 3,
    max_itemsets: int = 5_000_000,
) -> FrequentItemsets:
    """Find all sets of items that occur together in many rows.

    A table of booleans, or of zeros and ones, is read as baskets: an item is a column, and a row contains it where the
    cell is true. In any other table, an item is a value of a column, or a range of a numeric column. A missing cell
    contains no item.

    Parameters
    ----------
    table : data frame, Table, array or list of lists
        The rows. Identifiers, texts and dates are left out. Baskets may also be lists of the names of their items.
    min_support : float, default 0.1
        Smallest share of rows that contain a set.
    max_length : int, optional
        Largest number of items in a set. There is no limit by default.
    bins : int, default 3
        Number of ranges of a numeric column, of about equal numbers of rows. Columns with at most five different
        numbers have one item per number.
    max_itemsets : int, default 5,000,000
        An error is raised if more sets are found.

    Returns
    -------
    FrequentItemsets
        The sets with their support.

    Notes
    -----
    Eclat on bitsets: Zaki, IEEE Transactions on Knowledge and Data Engineering 12 (2000) 372-390.

    Examples
    --------
    >>> from foldwise import frequent_itemsets, read_table
    >>> found = frequent_itemsets(read_table("examples/weather.csv"), min_support=0.4)
    >>> found.to_frame()["items"].to_list()[:3]
    [['play = yes'], ['windy = False'], ['75 < humidity ≤ 90']]
    """
    check_share("min_support", min_support)
    whole_at_least("bins", bins, 2)
    longest = None if max_length is None else whole_at_least("max_length", max_length, 1)
    most = whole_at_least("max_itemsets", max_itemsets, 1)
    frame = read_rows(table, 1, "frequent itemsets")
    min_count = least_rows(min_support, frame.height)
    items = plan_items(frame, min_count, bins).encode(frame)
    tree = find_frequent(items.bits, min_count, frame.width if longest is None else longest, most)
    if not tree.is_complete:
        raise InputError(
            f"more than {most:,} itemsets occur in at least {min_support:g} of the rows.",
            "raise min_support, or set max_length=3.",
        )
    return FrequentItemsets(items.names, tree, frame.height, float(min_support), items.left_out)


def least_rows(share: float, n_rows: int) -> int:
    """Return the least number of rows that is at least a share of all rows, within rounding."""
    return max(1, math.ceil(share * n_rows - 1e-9))


def check_share(name: str, value: Any) -> float:
    """Return a number that must be above 0 and at most 1."""
    share = above_zero(name, value)
    if share > 1:
        raise InputError(f"{name} must be above 0 and at most 1, got {value!r}.", "pass a share, such as 0.1.")
    return share


def shortened(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"
