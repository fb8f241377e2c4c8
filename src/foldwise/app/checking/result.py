"""`CheckResult`: what changed since training, as text, a frame, plain values and one HTML page."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.checking.unreadable import UnreadableCells
from foldwise.app.plain_values import plain
from foldwise.app.run_folder import write_whole
from foldwise.data.html import html_table
from foldwise.data.notes import counted
from foldwise.data.schema import listing, nearest_name
from foldwise.evaluation.drift.expected import ExpectedScore
from foldwise.evaluation.drift.shifts import ALPHA, LEAST_KS, LEAST_PSI, ColumnShift
from foldwise.evaluation.slice_scores import SliceScores
from foldwise.evaluation.tables import WIDTH, TextTable, interval_text, number, p_equation, p_text
from foldwise.report import render
from foldwise.storage.model_file import versions

FORMAT = 1
SHOWN_COLUMNS = 12  # in text
SHOWN_UNSEEN = 3
STATES = {"changed": "changes found", "not changed": "no changes found"}


@dataclass(frozen=True)
class RealizedScore:
    """The actual score of labeled new rows.

    Attributes
    ----------
    metric, title : str
        Name and title of the metric.
    greater_is_better : bool
        False for errors, losses and costs.
    n_rows : int
        Rows with a label.
    value, low, high : float
        The score with its 95% interval.
    within : bool or None
        Whether it lies in the interval that was expected without labels.
    promise, promise_low, promise_high : float or None
        The estimate of the run. Only the metric of the run has one.
    p, p_corrected : float or None
        p-value of being worse than the estimate, and the same after correction together with the columns.
    """

    metric: str
    title: str
    greater_is_better: bool
    n_rows: int
    value: float
    low: float | None
    high: float | None
    within: bool | None = None
    promise: float | None = None
    promise_low: float | None = None
    promise_high: float | None = None
    p: float | None = None
    p_corrected: float | None = None

    @property
    def is_worse(self) -> bool:
        """Whether the score is worse than the estimate of the run, after correction."""
        return self.p_corrected is not None and self.p_corrected < ALPHA


@dataclass(frozen=True, repr=False)
class CheckResult:
    """What changed in new rows since training. Use `check` to get one.

    Attributes
    ----------
    title : str
        Name of the table.
    target : str
        The column that the model predicts.
    n_rows : int
        New rows.
    n_predicted : int
        Rows of the random sample that was predicted.
    columns : tuple of ColumnShift
        One per column of the model, those that changed first.
    missing_columns : tuple of str
        Columns of the model that the table lacks. Then nothing is predicted.
    extra_columns : tuple of str
        Columns that the model does not use.
    predictions : ColumnShift or None
        The distribution of predictions, compared with that of held-out training rows. None if the model cannot predict
        the rows, or if it predicts few different values for them, as a single tree does.
    expected : tuple of ExpectedScore
        Scores to expect on these rows, from predicted probabilities.
    realized : tuple of RealizedScore
        Real scores, if there are labels; that of the run's metric first.
    slices : SliceScores or None
        Scores by slice, if slices were requested.
    notes : tuple of str
        What else was noticed.
    unreadable_columns : tuple of UnreadableCells
        Columns with cells of another kind than in training, such as text among numbers. Then nothing is predicted, and
        such cells count as missing.
    """

    title: str
    target: str
    n_rows: int
    n_predicted: int
    columns: tuple[ColumnShift, ...]
    missing_columns: tuple[str, ...]
    extra_columns: tuple[str, ...]
    predictions: ColumnShift | None
    expected: tuple[ExpectedScore, ...]
    realized: tuple[RealizedScore, ...]
    slices: SliceScores | None
    notes: tuple[str, ...]
    unreadable_columns: tuple[UnreadableCells, ...] = ()

    @property
    def changed_columns(self) -> list[str]:
        """The columns that changed, the most influential first."""
        return [one.column for one in self.columns if one.changed]

    @property
    def is_worse(self) -> bool:
        """Whether labels show that the model is worse than its estimate."""
        return any(one.is_worse for one in self.realized)

    @property
    def changed(self) -> bool:
        """Whether columns changed, are missing or cannot be read, or the model is worse than its estimate."""
        return bool(self.changed_columns or self.missing_columns or self.unreadable_columns or self.is_worse)

    @property
    def predictions_differ(self) -> bool:
        """Whether predictions differ from those of held-out training rows by more than chance, and by much."""
        shift = self.predictions
        return shift is not None and shift.is_large and shift.p_corrected < ALPHA

    @property
    def state(self) -> str:
        """The result in a few words: "changed", "not changed", or what there is between them."""
        if self.changed_columns or self.missing_columns or self.unreadable_columns:
            return "changed"
        if self.is_worse:
            return "columns not changed, the model is worse"
        return "columns not changed, predictions differ" if self.predictions_differ else "not changed"

    def sentences(self) -> list[str]:
        """The result in a few sentences.

        Returns
        -------
        list of str
            The most important first.
        """
        found = []
        if self.missing_columns:
            word = "column" if len(self.missing_columns) == 1 else "columns"
            found.append(
                f"The table lacks the {word} {listing(self.missing_columns)}, so the model cannot predict its rows."
            )
            found += renamed_sentences(self.missing_columns, self.extra_columns)
        found += [one.sentence() for one in self.unreadable_columns]
        if self.unreadable_columns:
            found.append(
                "The model cannot predict such rows, so no scores and no effects are shown. In the comparison of "
                "columns, these cells count as missing."
            )
        columns = counted(len(self.columns), "other column" if self.missing_columns else "column")
        if self.changed_columns:
            found.append(f"{len(self.changed_columns)} of the {columns} changed: {listing(self.changed_columns)}.")
        else:
            found.append(
                f"{'Apart from these cells, none' if self.unreadable_columns else 'None'} of the {columns} changed."
            )
        found += [unseen_words(one) for one in self.columns if one.unseen]
        if self.predictions_differ and not self.changed_columns and self.predictions is not None:
            found.append(
                "Predictions differ from those of held-out training rows (PSI "
                f"{number(self.predictions.psi)}), although no column changed. This is normal if the table contains "
                "training rows, which a model can memorize. Otherwise, it suggests that combinations of columns "
                "changed."
            )
        found += self._score_sentences()
        return [*found, *self.notes]

    def _score_sentences(self) -> list[str]:
        found = []
        for one in self.expected[:1]:
            low, high = number(one.low), number(one.high)
            found.append(f"Expected {one.title} on these rows: {number(one.value)} (95% interval {low} to {high}).")
        for real in self.realized[:1]:
            words = f"The actual {real.title} is {number(real.value)}"
            if real.low is not None and real.high is not None:
                words += f" (95% interval {interval_text(real.low, real.high)})"
            if real.promise is not None:
                words += f". {promise_words(real, real.promise)}"
            found.append(f"{words}.")
            ends = {number(end) for one in self.expected if one.title == real.title for end in (one.low, one.high)}
            if real.within is False and number(real.value) not in ends:  # outside by less than is shown
                found.append(self._outside_words(real))
        return found

    def _outside_words(self, real: RealizedScore) -> str:
        """Explain an actual score that lies outside the interval that was expected without labels."""
        relation = f"the relation between the columns and the target {self.target!r} may have changed"
        expected = next(one for one in self.expected if one.metric == real.metric)
        interval = interval_text(expected.low, expected.high)
        if (real.value > expected.value) != real.greater_is_better:
            return f"For these rows, a better score was expected ({interval}), so {relation}."
        return (
            f"For these rows, a worse score was expected ({interval}). A better one is normal for training rows, which "
            f"a model can memorize. If these are other rows, {relation}."
        )

    def rule(self) -> str:
        """Say what counts as a change.

        Returns
        -------
        str
            A few sentences.
        """
        return (
            f"A column has changed if p is below {ALPHA:g}, after Holm's correction for the number of tests, and the "
            f"change is large: PSI of at least {LEAST_PSI:g}, KS of at least {LEAST_KS:g}, or a difference of at least "
            f"{100 * LEAST_KS:.0f} percentage points in the share of missing cells. PSI: population stability "
            "index. KS: Kolmogorov–Smirnov distance. JS: Jensen–Shannon distance. All three are 0 if the "
            f"distribution is the same.{self._effect_rule()}{self._texts_rule()}"
        )

    def _effect_rule(self) -> str:
        """Say what an effect is, unless the model cannot predict the rows."""
        if self.missing_columns or self.unreadable_columns:
            return ""
        return " Effect: how much predictions would change if the column were distributed as in training."

    def _texts_rule(self) -> str:
        """Say what is compared of free texts, if there are any."""
        names = [one.column for one in self.columns if one.kind == "length"]
        if not names:
            return ""
        return f" Of the texts in {listing(names)}, only the number of characters is compared, not the words."

    def to_frame(self) -> pl.DataFrame:
        """Return the columns of the table as a frame.

        Returns
        -------
        polars.DataFrame
            One row per column, those that changed first.
        """
        names = [name for name in ColumnShift.__dataclass_fields__ if name != "unseen"]
        types: dict[str, Any] = dict.fromkeys(names, pl.Float64)
        types |= {"column": pl.String, "kind": pl.String, "n_rows": pl.Int64, "n_unseen": pl.Int64}
        types |= {"changed": pl.Boolean}
        return pl.DataFrame([{name: getattr(one, name) for name in names} for one in self.columns], schema=types)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be written as JSON, and that the page is made of.

        Returns
        -------
        dict
            "changed", "sentences", "columns", "expected", "realized", "slices" and more, in format 1.
        """
        facts = {
            "format": FORMAT,
            "kind": "check",
            "title": self.title,
            "target": self.target,
            "changed": self.changed,
            "state": self.state,
            "changed_columns": self.changed_columns,
            "missing_columns": self.missing_columns,
            "unreadable_columns": [asdict(one) for one in self.unreadable_columns],
            "extra_columns": self.extra_columns,
            "rows": self.n_rows,
            "rows_predicted": self.n_predicted,
            "sentences": self.sentences(),
            "rule": self.rule(),
            "columns": [asdict(one) for one in self.columns],
            "predictions": None if self.predictions is None else asdict(self.predictions),
            "expected": [asdict(one) for one in self.expected],
            "realized": [{**asdict(one), "worse": one.is_worse} for one in self.realized],
            "predictions_differ": self.predictions_differ,
            "slices": None if self.slices is None else self.slices.to_dict(),
            "made": {"versions": versions()},
        }
        return plain(facts)  # type: ignore[no-any-return]

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML file.

        Parameters
        ----------
        path : path
            The file to write. It appears only when it is complete.

        Returns
        -------
        Path
            The same path.
        """
        file = Path(path)
        write_whole(file, render(self.to_dict()))
        return file

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.column,
                number(one.psi),
                number(one.ks),
                number(one.js),
                f"{one.missing_before:.1%} → {one.missing_now:.1%}",
                p_text(one.p_corrected),
                number(one.effect),
                "changed" if one.changed else "",
            ]
            for one in self.columns
        ]

    def __repr__(self) -> str:
        first = f"{self.title}: {counted(self.n_rows, 'row')}, {STATES.get(self.state, self.state)}"
        lines = [first, "", *(textwrap.fill(one, WIDTH, break_on_hyphens=False) for one in self.sentences())]
        rows = self._rows()
        shown = max(SHOWN_COLUMNS, len(self.changed_columns))
        if rows:
            lines += ["", str(TextTable(HEADS, rows[:shown]))]
        if len(rows) > shown:
            lines.append(f"… and {counted(len(rows) - shown, 'more column')} that did not change")
        lines += ["", textwrap.fill(self.rule(), WIDTH)]
        if self.slices is not None:
            lines += ["", repr(self.slices)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = list(HEADS)
        return html_table(self.sentences()[0], heads, self._rows(), [*self.sentences()[1:], self.rule()])


def promise_words(real: RealizedScore, promise: float) -> str:
    """Compare an actual score with the estimate of the run."""
    sign = 1 if real.greater_is_better else -1
    if not real.is_worse and sign * real.value >= sign * promise:
        return f"That is at least as good as the estimate made when the model was trained, which was {number(promise)}"
    p = "" if real.p_corrected is None else f" (corrected {p_equation(real.p_corrected)})"
    worse = "worse" if real.is_worse else "not clearly worse"
    return f"That is {worse} than the estimate made when the model was trained, which was {number(promise)}{p}"


def renamed_sentences(missing: Sequence[str], extra: Sequence[str]) -> list[str]:
    """Ask whether missing columns are there under a similar name.

    >>> renamed_sentences(["class"], ["Class"])
    ["It has 'Class': if that is 'class' under another name, rename it."]
    """
    near = [(nearest_name(extra, name), name) for name in missing]
    return [f"It has {other!r}: if that is {name!r} under another name, rename it." for other, name in near if other]


HEADS = ("column", "PSI", "KS", "JS", "missing", "p", "effect", "")


def unseen_words(shift: ColumnShift) -> str:
    """Name the categories of a column that did not occur in training."""
    named = [name for name, _ in shift.unseen[:SHOWN_UNSEEN]]
    cells = f"{counted(shift.n_unseen, 'cell')} of {shift.column!r} {'contains' if shift.n_unseen == 1 else 'contain'}"
    return (
        f"{cells} a category that did not occur in training: "
        f"{listing(named, SHOWN_UNSEEN)}{' and others' if len(shift.unseen) > SHOWN_UNSEEN else ''}."
    )
