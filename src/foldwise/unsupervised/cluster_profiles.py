"""`ClusterDescriptions`: sizes, prototypes, distinguishing columns and rules of the groups of a table, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.data.html import html_table
from foldwise.data.notes import counted, hanging
from foldwise.evaluation.plotting import axes
from foldwise.evaluation.tables import p_equation
from foldwise.unsupervised.encoded_rows import left_out_words

SHOWN = 4  # columns named per group


@dataclass(frozen=True)
class ColumnContrast:
    """How one column sets a group apart from all other rows.

    Attributes
    ----------
    column : str
        Name of the column.
    effect : float
        Effect size. For numbers, the difference of means in standard deviations (Cohen's d). For categories, Cohen's h
        of the level that differs most. About 0.2 is small, 0.5 medium and 0.8 large.
    words : str
        The difference in words.
    p_value : float or None
        P-value of the column against groups that were formed without it, corrected over columns (Holm); None if no
        such groups were formed.

    Examples
    --------
    >>> from foldwise.unsupervised import ColumnContrast
    >>> print(ColumnContrast("age", 1.8, "61.2 on average, 38.5 elsewhere", None))
    age: 61.2 on average, 38.5 elsewhere
    """

    column: str
    effect: float
    words: str
    p_value: float | None

    def __str__(self) -> str:
        return f"{self.column}: {self.words}"


@dataclass(frozen=True)
class ClusterProfile:
    """Description of one group of rows.

    Attributes
    ----------
    label : object
        Label of the group.
    size : int
        Number of its rows.
    share : float
        Their share of all rows.
    prototypes : tuple of int
        Its most central rows; the first one is the medoid.
    contrasts : tuple of ColumnContrast
        All columns, the one that sets the group apart most first.
    rule : str
        The rule that covers most rows of the group; empty if no rule was found.
    rule_recall : float
        Share of the rows of the group that satisfy the rule, among the rows it was learned from; NaN without a rule.
    rule_precision : float
        Of the rows that satisfy the rule, the share that belongs to the group; NaN without a rule.

    Examples
    --------
    >>> from foldwise.unsupervised import ClusterProfile
    >>> ClusterProfile(0, 30, 0.3, (17,), (), "age > 50", 0.9, 0.95).rule
    'age > 50'
    """

    label: Any
    size: int
    share: float
    prototypes: tuple[int, ...]
    contrasts: tuple[ColumnContrast, ...]
    rule: str
    rule_recall: float
    rule_precision: float


@dataclass(frozen=True, repr=False)
class ClusterDescriptions:
    """Descriptions of all groups, the largest one first, as returned by `describe_clusters`; can be iterated over.

    Attributes
    ----------
    profiles : tuple of ClusterProfile
        One description per group.
    n_rows : int
        Number of rows of the table.
    n_unassigned : int
        Rows without a group.
    left_out : mapping of str to str
        Columns that were not compared, each with the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import describe_clusters
    >>> X = np.array([[0.0], [0.2], [0.4], [0.3], [5.0], [5.1], [5.5]])
    >>> found = describe_clusters(X, [0, 0, 0, 0, 1, 1, 1])
    >>> [profile.size for profile in found]
    [4, 3]
    """

    profiles: tuple[ClusterProfile, ...]
    n_rows: int
    n_unassigned: int
    left_out: Mapping[str, str]

    def __iter__(self) -> Iterator[ClusterProfile]:
        return iter(self.profiles)

    def __len__(self) -> int:
        return len(self.profiles)

    def to_frame(self) -> pl.DataFrame:
        """Return the distinguishing columns of all groups as a frame.

        Returns
        -------
        polars.DataFrame
            One row per group and column: group, size, column, effect, p_value, words.
        """
        rows = [
            (str(one.label), one.size, c.column, c.effect, c.p_value, c.words) for one in self for c in one.contrasts
        ]
        schema = {"group": pl.String, "size": pl.Int64, "column": pl.String, "effect": pl.Float64}
        return pl.DataFrame(rows, schema=schema | {"p_value": pl.Float64, "words": pl.String}, orient="row")

    def plot(self, ax: Any = None) -> Any:
        """Draw the effect sizes of the columns that set groups apart most.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        frame = self.to_frame()
        strongest = frame.group_by("column").agg(pl.col("effect").abs().max()).sort("effect", "column", descending=True)
        columns = strongest["column"].head(20).to_list()
        effects = np.array(
            [[next(c.effect for c in one.contrasts if c.column == name) for one in self] for name in columns]
        ).reshape(len(columns), len(self))
        ax = axes(ax, (2.5 + 0.8 * len(self), 1.5 + 0.3 * len(columns)))
        limit = max(1.0, float(np.abs(effects).max(initial=0.0)))
        image = ax.imshow(effects, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
        ax.set_xticks(range(len(self)), [f"group {one.label}" for one in self])
        ax.set_yticks(range(len(columns)), columns)
        ax.figure.colorbar(image, ax=ax, label="Effect size")
        return ax

    def __str__(self) -> str:
        lines = []
        for one in self:
            lines.append(
                f"Group {one.label}: {counted(one.size, 'row')} ({one.share:.0%}), prototype row {one.prototypes[0]:,}"
            )
            if one.rule:
                lines.append(f"  rule: {one.rule} (covers {one.rule_recall:.0%} of the group)")
            for contrast in one.contrasts[:SHOWN]:
                p = "" if contrast.p_value is None else f" ({p_equation(contrast.p_value)})"
                lines.append(f"  {contrast}{p}")
        return "\n".join([*lines, *(hanging("", note) for note in self._notes())])

    __repr__ = __str__

    def _notes(self) -> list[str]:
        n = self.n_unassigned
        unassigned = "1 row belongs to no group." if n == 1 else f"{n:,} rows belong to no group."
        return list(filter(None, [unassigned if n else "", left_out_words(self.left_out)]))

    def _repr_html_(self) -> str:
        cells = [
            (str(one.label), f"{one.size:,}", one.rule, "; ".join(map(str, one.contrasts[:SHOWN]))) for one in self
        ]
        title = f"{counted(len(self), 'group')} of {counted(self.n_rows, 'row')}"
        return html_table(title, ("group", "rows", "rule", "what sets it apart"), cells, self._notes(), align="lrll")
