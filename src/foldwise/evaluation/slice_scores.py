"""`SliceScores`: the scores of slices of a table, as a frame, a picture, text and plain values."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import polars as pl

from foldwise.data.arguments import one_of
from foldwise.data.html import html_table
from foldwise.evaluation.plotting import axes
from foldwise.evaluation.tables import WIDTH, TextTable, capitalized, interval_text, number, p_equation, p_text

LEAST_OF_CLASS = 5  # rows of each class, for metrics that are computed by class
SliceVerdict = Literal["better", "worse", "differs", "not clear", "not tested"]
LONGEST_NAME = 30


@dataclass(frozen=True)
class SliceScore:
    """The score of one slice by one metric, and how it differs from the rest of the rows.

    Attributes
    ----------
    column : str
        The column that the rows are cut by.
    label : str
        The category or the range of numbers.
    metric, title : str
        Name and title of the metric; "calibration" is the mean of observed minus predicted.
    n_rows : int
        Rows of the slice.
    value, low, high : float or None
        The score with its interval. None if it is not defined.
    rest : float or None
        The score of all other rows.
    difference, difference_low, difference_high : float or None
        The score minus that of the rest, with its interval. None if there are too few rows for a test.
    p, p_corrected : float or None
        The p-value of the difference, and the same after Holm's correction over all tests of the result.
    verdict : {"better", "worse", "differs", "not clear", "not tested"}
        The slice against the rest. Calibration only "differs".
    predicted, observed : float or None
        For calibration, what is compared.
    """

    column: str
    label: str
    metric: str
    title: str
    n_rows: int
    value: float | None
    low: float | None
    high: float | None
    rest: float | None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    verdict: SliceVerdict = "not tested"
    predicted: float | None = None
    observed: float | None = None
    direction: SliceVerdict = field(default="not clear", repr=False)  # the verdict, if the test is clear

    @property
    def is_clear(self) -> bool:
        """Whether the slice differs from the rest after correction."""
        return self.verdict in ("better", "worse", "differs")


@dataclass(frozen=True, repr=False)
class SliceScores:
    """The scores of all slices by all metrics. Use `score_slices` to get one.

    Attributes
    ----------
    scores : tuple of SliceScore
        One entry per slice and metric.
    overall : mapping of str to float
        The score of all rows, by the name of the metric.
    edges : mapping of str to list
        The edges between bins, for columns of numbers and dates.
    n_rows : int
        Number of rows.
    least_rows : int
        A slice with fewer rows gets no verdict.
    level : float
        Level of intervals and verdicts.
    n_tests : int
        The number of tests that p-values are corrected for. The two slices of a column share one.
    least_groups : int
        With groups, a slice that contains fewer of them gets no verdict. 0 without groups.
    calibration : str
        What observed minus predicted is, in words.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from foldwise import score_slices
    >>> y, predicted = np.arange(80.0), np.arange(80.0) + np.tile([0.5, -3.0], 40)
    >>> found = score_slices(y, predicted, pl.DataFrame({"site": ["a", "b"] * 40}), metrics=["mae"])
    >>> found
    80 rows, mean absolute error 1.750 overall
    <BLANKLINE>
    slice    rows  mean absolute error  observed − predicted
    site: a    40       0.500 (better)      -0.500 (differs)
    site: b    40        3.000 (worse)       3.000 (differs)
    <BLANKLINE>
    Verdicts compare a slice with all other rows, after Holm's correction over 2
    tests at the 5% level. A verdict needs at least 30 rows in the slice and 30
    other rows. Observed − predicted: the mean true value minus the mean prediction.
    """

    scores: tuple[SliceScore, ...]
    overall: Mapping[str, float]
    edges: Mapping[str, list[Any]]
    n_rows: int
    least_rows: int
    level: float
    n_tests: int = 0
    least_groups: int = 0
    calibration: str = ""

    @property
    def clear(self) -> list[SliceScore]:
        """The scores that differ from the rest after correction, the smallest p-value first."""
        return sorted((one for one in self.scores if one.is_clear), key=lambda one: one.p or 0.0)

    def to_frame(self) -> pl.DataFrame:
        """Return the scores as a frame.

        Returns
        -------
        polars.DataFrame
            One row per slice and metric.
        """
        names = [name for name in SliceScore.__dataclass_fields__ if name not in ("title", "direction")]
        texts = ("column", "label", "metric", "verdict")
        types: dict[str, Any] = {name: pl.String if name in texts else pl.Float64 for name in names}
        types["n_rows"] = pl.Int64
        rows = [{name: getattr(one, name) for name in names} for one in self.scores]
        return pl.DataFrame(rows, schema=types).rename({"label": "slice", "n_rows": "rows"})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be written as JSON.

        Returns
        -------
        dict
            "rows", "level", "least_rows", "tests", "overall", "edges", and "scores" with one entry per slice and
            metric.
        """
        scores = [{name: value for name, value in asdict(one).items() if name != "direction"} for one in self.scores]
        return {
            "rows": self.n_rows,
            "level": self.level,
            "least_rows": self.least_rows,
            "tests": self.n_tests,
            "overall": dict(self.overall),
            "edges": {name: list(edges) for name, edges in self.edges.items()},
            "words": [*self.sentences(), self.note()],
            "scores": scores,
        }

    def sentences(self) -> list[str]:
        """One sentence for each clear difference.

        Returns
        -------
        list of str
            The sentences, the smallest p-value first.
        """
        found = []
        for one in self.clear:
            ends = "" if one.low is None or one.high is None else f" ({interval_text(one.low, one.high)})"
            words = {"better": "better than", "worse": "worse than", "differs": "compared with"}[one.verdict]
            found.append(
                f"{one.column} = {one.label} ({one.n_rows:,} rows): {one.title} {number(one.value)}{ends}, {words} "
                f"{number(one.rest)} in the other rows ({p_equation(one.p_corrected or 0.0)})."
            )
        return found

    def note(self) -> str:
        """Say how verdicts were reached, and what calibration is.

        Returns
        -------
        str
            A few sentences.
        """
        tests = f"{self.n_tests} test{'s' * (self.n_tests != 1)}"
        level = f"{1 - self.level:.0%} level"
        words = f"Verdicts compare a slice with all other rows, after Holm's correction over {tests} at the {level}."
        needs = f"A verdict needs at least {self.least_rows} rows in the slice and {self.least_rows} other rows."
        if self.least_groups:
            needs += f" Both must come from at least {self.least_groups} groups."
        if any(one.verdict == "not tested" and one.n_rows >= self.least_rows for one in self.scores):
            needs += f" For metrics that are computed by class, both need at least {LEAST_OF_CLASS} rows of each class."
        if self.calibration:
            needs += f" Observed − predicted: {self.calibration}."
        return f"{words if self.n_tests else 'No slice was tested.'} {needs}"

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Plot one metric of all slices with intervals.

        Parameters
        ----------
        metric : str, default None
            Name of the metric; None means the first.
        ax : matplotlib.axes.Axes, default None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. Slices that differ from the rest are filled.
        """
        chosen = one_of("metric", metric or next(iter(self.overall)), tuple(self.overall))
        shown = [one for one in self.scores if one.metric == chosen and one.value is not None]
        ax = axes(ax, (7.0, 1.2 + 0.32 * len(shown)))
        for at, one in enumerate(shown):
            color = "C3" if one.verdict == "worse" else "C0" if one.is_clear else "0.6"
            if one.low is not None and one.high is not None:
                ax.plot([one.low, one.high], [at, at], color=color, linewidth=1.5)
            ax.plot([one.value], [at], "o", color=color, fillstyle="full" if one.is_clear else "none")
        ax.axvline(self.overall[chosen], linestyle="--", linewidth=1, color="0.5", label="All rows")
        ax.set_yticks(range(len(shown)), [f"{one.column}: {one.label} ({one.n_rows:,})" for one in shown])
        ax.invert_yaxis()
        ax.set_xlabel(capitalized(shown[0].title if shown else chosen))
        ax.legend(loc="best", frameon=False)
        return ax

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        titles = {one.metric: one.title for one in self.scores}
        rows: dict[tuple[str, str], list[str]] = {}
        for one in self.scores:
            row = rows.setdefault((one.column, one.label), [f"{one.column}: {one.label}", f"{one.n_rows:,}"])
            verdict = f" ({one.verdict})" if one.is_clear or one.verdict == "not tested" else ""
            row.append(f"{number(one.value)}{verdict}".strip())
        return ["slice", "rows", *titles.values()], list(rows.values())

    def __repr__(self) -> str:
        heads, rows = self._cells()
        longest = min(LONGEST_NAME, max([20, *(len(row[0]) for row in rows)]))
        name = next(iter(self.overall))
        title = next((one.title for one in self.scores if one.metric == name), name)
        note = (
            self.note() if self.clear or not self.n_tests else f"No slice differs clearly from the rest. {self.note()}"
        )
        first = f"{self.n_rows:,} rows, {title} {number(self.overall[name])} overall"
        return f"{first}\n\n{TextTable(heads, rows, longest)}\n\n{textwrap.fill(note, WIDTH)}"

    def _repr_html_(self) -> str:
        rows = [
            [
                f"{one.column}: {one.label}",
                one.title,
                f"{one.n_rows:,}",
                number(one.value),
                "" if one.low is None or one.high is None else interval_text(one.low, one.high),
                number(one.rest),
                p_text(one.p_corrected),
                one.verdict,
            ]
            for one in self.scores
        ]
        heads = ["slice", "metric", "rows", "score", f"{self.level:.0%} interval", "rest", "corrected p", "verdict"]
        return html_table("Scores by slice", heads, rows, [*self.sentences(), self.note()], "llrrrrrl")
