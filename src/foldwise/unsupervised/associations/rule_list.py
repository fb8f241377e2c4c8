"""`AssociationRules`: tested rules in words, as a frame and as a plot."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from foldwise.data.arguments import whole_at_least
from foldwise.data.html import html_table
from foldwise.data.notes import hanging
from foldwise.evaluation.plotting import axes
from foldwise.unsupervised.associations.itemsets import SHOWN, shortened
from foldwise.unsupervised.matrix import listed_columns

NUMBERS = (
    "support", "confidence", "base_rate", "lift", "p_value", "q_value", "found_confidence", "found_lift",
)  # fmt: skip
HEADS = ("support", "confidence", "lift", "q-value")


@dataclass(frozen=True)
class AssociationRule:
    """A rule: rows that contain all items of the antecedent tend to contain the consequent.

    All figures but the last two are measured on held-out rows.

    Attributes
    ----------
    antecedent : tuple of str
        Names of the items on the left side.
    consequent : str
        Name of the item on the right side.
    support : float
        Share of rows that contain both sides.
    confidence : float
        Share of the rows with the antecedent that contain the consequent.
    base_rate : float
        Share of rows that contain the consequent.
    lift : float
        Confidence divided by base rate.
    p_value : float
        P-value of Fisher's exact test: the probability of a rule at least as strong if the antecedent, or one item of
        it, made no difference to the consequent.
    q_value : float
        The p-value corrected for the number of rules tested (Benjamini and Hochberg).
    found_confidence : float
        The confidence on the rows where the rule was found. It is optimistic on average.
    found_lift : float
        The lift on those rows.

    Examples
    --------
    >>> from foldwise.unsupervised import AssociationRule
    >>> rule = AssociationRule(("bread", "jam"), "butter", 0.1, 0.8, 0.4, 2.0, 0.001, 0.01, 0.82, 2.1)
    >>> print(rule)
    bread, jam → butter
    """

    antecedent: tuple[str, ...]
    consequent: str
    support: float
    confidence: float
    base_rate: float
    lift: float
    p_value: float
    q_value: float
    found_confidence: float
    found_lift: float

    def __str__(self) -> str:
        return f"{', '.join(self.antecedent)} → {self.consequent}"


@dataclass(frozen=True, repr=False)
class AssociationRules:
    """Rules that were tested on held-out rows, as returned by `association_rules`.

    Attributes
    ----------
    rules : tuple of AssociationRule
        All rules that were tested; confirmed ones first, then by lift.
    level : float
        False discovery rate at which rules are confirmed.
    min_support : float
        Smallest share of rows that contain an itemset.
    n_candidates : int
        Number of rules found. If there were too many, only those were tested whose support exceeds the support expected
        by chance most.
    n_rows : int
        Number of rows of the table.
    n_test_rows : int
        Number of held-out rows.
    left_out : tuple of str
        Columns without items, each with the reason.

    Examples
    --------
    >>> from foldwise import association_rules, read_table
    >>> found = association_rules(read_table("examples/loans.csv"))
    >>> len(found.confirmed) <= len(found.rules)
    True
    """

    rules: tuple[AssociationRule, ...]
    level: float
    min_support: float
    n_candidates: int
    n_rows: int
    n_test_rows: int
    left_out: tuple[str, ...]

    @property
    def confirmed(self) -> tuple[AssociationRule, ...]:
        """The rules that hold on held-out rows after correction."""
        return tuple(rule for rule in self.rules if rule.q_value <= self.level)

    @property
    def summary(self) -> str:
        """What was found, in a sentence or two."""
        n = len(self.rules)
        if not n:
            return "No rules: no items occur together both often enough and more often than by chance."
        confirmed = len(self.confirmed)
        if not confirmed:
            return f"None of the {n:,} rules tested was confirmed on {self.n_test_rows:,} held-out rows."
        return (
            f"{confirmed:,} of the {n:,} rules tested {'was' if confirmed == 1 else 'were'} confirmed on "
            f"{self.n_test_rows:,} held-out rows. At most {self.level:.0%} of confirmed rules are expected to be wrong."
        )

    def to_frame(self) -> pl.DataFrame:
        """Return the rules as a frame.

        Returns
        -------
        polars.DataFrame
            One row per rule: `antecedent`, a list of names, `consequent`, the figures of `AssociationRule`, and
            whether the rule is `confirmed`.
        """
        types: dict[str, Any] = {
            "antecedent": pl.List(pl.String),
            "consequent": pl.String,
            **dict.fromkeys(NUMBERS, pl.Float64),
        }
        rows = [asdict(rule) for rule in self.rules]
        frame = pl.DataFrame(rows, schema=types)
        return frame.with_columns((pl.col("q_value") <= self.level).alias("confirmed"))

    def plot(self, ax: Any = None, top: int = 12) -> Any:
        """Plot the share of rows with the consequent: among all rows, and among those with the antecedent.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.
        top : int, default 12
            Number of confirmed rules.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        shown = self.confirmed[: whole_at_least("top", top, 1)]
        ax = axes(ax, (8.0, 1.2 + 0.32 * max(len(shown), 3)))
        lines = range(len(shown))
        base, confidence = [rule.base_rate for rule in shown], [rule.confidence for rule in shown]
        ax.hlines(lines, base, confidence, linewidth=2, alpha=0.4)
        ax.plot(base, lines, "o", fillstyle="none", color="gray", label="All rows")
        ax.plot(confidence, lines, "o", label="Rows with the antecedent")
        ax.set_yticks(lines, [shortened(str(rule)) for rule in shown])
        ax.invert_yaxis()
        ax.set_xlim(-0.02, 1.02)
        ax.set_xlabel("Share of held-out rows with the consequent")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, edgecolor="none")
        return ax

    def _rows(self) -> list[list[str]]:
        return [
            [f"{rule.support:.3f}", f"{rule.confidence:.3f}", f"{rule.lift:.2f}", f"{rule.q_value:.1g}", str(rule)]
            for rule in self.confirmed[:SHOWN]
        ]

    def _notes(self) -> list[str]:
        notes = [f"Columns left out: {listed_columns(self.left_out)}."] if self.left_out else []
        more = len(self.confirmed) - SHOWN
        if more > 0:
            notes = [f"{more:,} more confirmed rule{'s' * (more != 1)}: see to_frame().", *notes]
        return notes

    def __repr__(self) -> str:
        lines = [hanging("  ".join(cell.rjust(len(head)) for head, cell in zip(HEADS, row[:-1], strict=True)) + "  ",
                         row[-1]) for row in self._rows()]  # fmt: skip
        table = "\n".join(["  ".join((*HEADS, "rule")), *lines]) if lines else ""
        notes = "\n".join(hanging("", one) for one in self._notes())
        return "\n\n".join(part for part in (hanging("", self.summary), table, notes) if part)

    def _repr_html_(self) -> str:
        return html_table(self.summary, (*HEADS, "rule"), self._rows(), self._notes(), align="rrrrl")
