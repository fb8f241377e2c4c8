"""`RefitResult`: a model that was fitted again, and how it compares with the old one."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.folder_result import FolderResult
from foldwise.app.plain_values import plain
from foldwise.app.run_folder import MODEL
from foldwise.data.html import html_table
from foldwise.data.notes import counted
from foldwise.evaluation.tables import WIDTH, interval_text, number, p_equation
from foldwise.storage import save_model
from foldwise.storage.model_file import versions

FORMAT = 1
ALPHA = 0.05

Side = tuple[float, float | None, float | None]  # value, low, high
FAVORED = "If the old model was trained on some of them, the comparison favors it."


@dataclass(frozen=True, eq=False, repr=False)
class RefitResult(FolderResult):
    """A model that was fitted again. Use `refit` to get one.

    Attributes
    ----------
    title : str
        Name of the table.
    target : str
        The column that the model predicts.
    metric, metric_title : str
        Name and title of the metric of the run.
    greater_is_better : bool
        False for errors, losses and costs.
    n_rows, n_old_rows, n_forgotten : int
        New rows, rows of the old table, and rows that were forgotten.
    is_update : bool
        Whether the facts of the old model were updated without its rows.
    n_folds : int
        Folds of the new rows.
    old, new : tuple of float
        Score of each model on the held-out new rows, and its 95% interval.
    difference, interval, p : float
        Mean difference of the fold scores, positive if the new model is better; its 95% interval and p-value.
    fold_scores : tuple of (float, float)
        Scores of the old and the new model on each fold.
    model : estimator
        The new model, fitted on all rows.
    sample : polars.DataFrame
        One row, for the names and types of columns.
    metadata : mapping
        What is stored with the model.
    had_coverage : bool
        Whether the old model had prediction intervals or sets. The new one has none.
    """

    title: str
    target: str
    metric: str
    metric_title: str
    greater_is_better: bool
    n_rows: int
    n_old_rows: int
    n_forgotten: int
    is_update: bool
    n_folds: int
    old: Side
    new: Side
    difference: float
    interval: tuple[float, float]
    p: float
    fold_scores: tuple[tuple[float, float], ...]
    model: Blend | ValueBlend
    sample: pl.DataFrame
    metadata: Mapping[str, Any]
    had_coverage: bool = False

    @property
    def verdict(self) -> str:
        """Whether the new model is "better", "worse" or "tied"."""
        if not self.p < ALPHA:
            return "tied"
        return "better" if self.difference > 0 else "worse"

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """The same as `to_dict`."""
        return self.to_dict()

    def sentences(self) -> list[str]:
        """The result in a few sentences.

        Returns
        -------
        list of str
            The verdict first.
        """
        compared = "is statistically tied with" if self.verdict == "tied" else f"scored {self.verdict} than"
        low, high = self.interval
        rows = f"The new model learned from {counted(self.n_rows, 'new row')}"
        rows += f" and {counted(self.n_old_rows, 'old row')}" if self.n_old_rows else ""
        rows += ", in addition to what the old model had learned" if self.is_update else ""
        rows += f", and forgot {counted(self.n_forgotten, 'row')}" if self.n_forgotten else ""
        if not self.greater_is_better:  # differences are improvements
            change, low, high = -self.difference, -high, -low
        else:
            change = self.difference
        best = "higher" if self.greater_is_better else "lower"
        folds = f"In each of {self.n_folds} folds, a copy of the "
        folds += (
            "old model learned the new rows except those that it predicted. If the old model had already learned some "
            "of these, both scores are too good."
            if self.is_update
            else "new model was trained without the rows that it predicted."
        )
        found = [
            f"The new model {compared} the old one on these rows ({self.metric_title} {number(self.new[0])} against "
            f"{number(self.old[0])}, {p_equation(self.p)}).",
            *([] if self.verdict == "better" or self.is_update else [FAVORED]),
            folds,
            f"Mean difference over the folds, new minus old: {number(change)} (95% interval {number(low)} "
            f"to {number(high)}). For the {self.metric_title}, {best} is better.",
        ]
        found.append(f"{rows}.")
        if self.had_coverage:
            what = "prediction sets" if isinstance(self.model, Blend) else "prediction intervals"
            found.append(
                f"The {what} of the run are not carried over, because they were calibrated for the old model. Only fit "
                "calibrates new ones."
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be written as JSON.

        Returns
        -------
        dict
            "verdict", "old", "new", "difference", "p", "folds" and more, in format 1.
        """
        names = ("value", "low", "high")
        facts = {
            "format": FORMAT,
            "kind": "refit",
            "title": self.title,
            "target": self.target,
            "metric": self.metric,
            "metric_title": self.metric_title,
            "greater_is_better": self.greater_is_better,
            "rows": self.n_rows,
            "old_rows": self.n_old_rows,
            "forgotten_rows": self.n_forgotten,
            "update": self.is_update,
            "verdict": self.verdict,
            "sentences": self.sentences(),
            "old": dict(zip(names, self.old, strict=True)),
            "new": dict(zip(names, self.new, strict=True)),
            "difference": {"value": self.difference, "low": self.interval[0], "high": self.interval[1], "p": self.p},
            "folds": [{"old": old, "new": new} for old, new in self.fold_scores],
            "made": {"versions": versions()},
        }
        return plain(facts)  # type: ignore[no-any-return]

    def _write_model(self, inside: Path) -> None:
        value, low, high = self.new
        text = f"{number(value)}" + ("" if low is None or high is None else f" ({interval_text(low, high)})")
        estimate = {"value": value, "low": low, "high": high, "title": self.metric_title, "text": text}
        estimate |= {"greater_is_better": self.greater_is_better, "search_score": None}
        estimate |= {"method": f"cross-validation of the refit, {self.n_folds} folds of the new rows"}
        metadata = {**self.metadata, "estimate": plain(estimate)}
        save_model(inside / MODEL, self.model, self.sample, target=self.target, metadata=metadata)

    def __repr__(self) -> str:
        return "\n".join(textwrap.fill(one, WIDTH) for one in self.sentences())

    def _repr_html_(self) -> str:
        rows = [
            [name, number(side[0]), "" if side[1] is None or side[2] is None else interval_text(side[1], side[2])]
            for name, side in (("old model", self.old), ("new model", self.new))
        ]
        return html_table(self.sentences()[0], ["", self.metric_title, "95% interval"], rows, self.sentences()[1:])
