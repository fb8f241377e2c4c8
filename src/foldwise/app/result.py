"""`FitResult`: all that a run found. `Run`: what `fit` returns, with its report and its folder."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.examples import example_facts
from foldwise.app.facts import make_facts, procedure_estimate
from foldwise.app.leaderboard import leaderboard
from foldwise.app.run_folder import BACKGROUND, FACTS, MODEL, REPORT, check_writable
from foldwise.app.task import FitTask
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.tables import number
from foldwise.report import render
from foldwise.storage import save_model

if TYPE_CHECKING:
    from foldwise.app.blend import Blend
    from foldwise.app.final_model import FinalModel
    from foldwise.app.predictions import FoldPredictions
    from foldwise.app.search_state import SearchState
    from foldwise.app.setup import RunSetup
    from foldwise.app.timing import Clock

BACKGROUND_ROWS = 200
SHOWN_MODELS = 8


@dataclass(frozen=True, eq=False)
class FitResult:
    """All that a run found: what the leaderboard, the facts of the report and the stored model are made of."""

    setup: RunSetup
    search: SearchState
    predictions: FoldPredictions
    final: FinalModel
    interrupted: bool
    command: str | None  # the command line that repeats the run
    call: str  # the same in Python


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What came of `fit`.

    Attributes
    ----------
    estimate : the honest estimate of the whole procedure on new rows, by the metric that chose, with its interval
    model : the final classifier, fitted on all rows: `predict`, `predict_proba`, `classes_`
    facts : everything the report shows, as plain values
    task : the table and what was asked of it
    """

    estimate: Estimate
    model: Blend
    facts: dict[str, Any]
    task: FitTask
    background: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def of(cls, result: FitResult, clock: Clock) -> Run:
        """Make the facts of a result, in the time that the clock leaves."""
        setup, final, rows = result.setup, result.final, result.setup.config.rows
        rng = np.random.default_rng(setup.config.seed)
        background = setup.X[rng.permutation(setup.X.height)[:BACKGROUND_ROWS]]
        lines = leaderboard(result)
        spare = setup.time.spare(clock.elapsed, final.large_files, final.n_bytes)
        examples = example_facts(result, background, seconds=spare) if rows else []
        facts = make_facts(result, lines, examples, clock.times())
        estimate = procedure_estimate(result, setup.metric)
        return cls(estimate, final.model, facts, setup.task, background if rows else background[:0])

    @property
    def leaderboard(self) -> pl.DataFrame:
        """One row per model, the best first, the baseline last."""
        shown = {"tied": "tied with the best", "p": "p", "weight": "weight", "n_settings": "settings tried"}
        shown |= {"seconds": "seconds", "status": "status"}
        lines = []
        for line in self.facts["leaderboard"]:
            known = line["estimate"] or {}
            figures = {"estimate": known.get("value"), **{key: known.get(key) for key in ("low", "high", "naive")}}
            lines.append({"model": line["model"], **figures, **{name: line[key] for key, name in shown.items()}})
        return pl.DataFrame(lines, infer_schema_length=None)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        return self.model.predict(self._columns(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probabilities of the classes."""
        return self.model.predict_proba(self._columns(X))

    def _columns(self, X: Any) -> pl.DataFrame:
        from foldwise.storage.table_check import kinds_of, match_columns

        return match_columns(X, kinds_of(self._sample)).X

    @property
    def _sample(self) -> pl.DataFrame:
        used = [name for name in self.task.table.X.columns if name in self.task.outline.roles]
        return self.task.table.X.select(used)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one HTML file."""
        file = Path(path)
        file.write_text(render(self.facts), encoding="utf-8")
        return file

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write model, report and facts into a folder; all of it or nothing.

        A folder that is there is replaced only with `force`, and only if it is empty or holds a run.
        """
        target = Path(folder)
        check_writable(target, force)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
            inside = Path(temporary) / target.name
            inside.mkdir()
            self._write(inside)
            if target.exists():
                shutil.rmtree(target)
            os.replace(inside, target)
        return target

    def _write(self, inside: Path) -> None:
        estimate = self.facts["headline"]["estimate"]
        metadata = {
            "target": self.task.table.target,
            "costs": self.facts["task"]["costs"],
            "positive": self.facts["task"]["positive"],
            "estimate": estimate,
            "rows": self.task.n_rows,
        }
        save_model(inside / MODEL, self.model, self._sample, target=self.task.table.target, metadata=metadata)
        (inside / FACTS).write_text(json.dumps(self.facts, ensure_ascii=False, indent=1), encoding="utf-8")
        self.report(inside / REPORT)
        if self.background.height:
            self.background.write_parquet(inside / BACKGROUND)

    def __repr__(self) -> str:
        facts = self.facts
        task, head = facts["task"], facts["headline"]
        shown = [(task["metric_title"], head["estimate"], head["baseline"]["value"])]
        shown += [(one["title"], one["estimate"], one["baseline"]) for one in head["others"]]
        lines = [
            f"{facts['title']}: {task['n_rows']:,} rows, {task['n_columns']} column{'s' * (task['n_columns'] != 1)}, "
            f"{len(task['classes'])} classes of {task['target']!r}",
            "",
            *(
                f"  {short_title(title)} {estimate['text']}  baseline {number(baseline)}"
                for title, estimate, baseline in shown
            ),
            *test_lines(head["test"]),
            "",
            f"  {'model':<31} {task['metric_title']:>9}  {'95 % interval':<18} tied  weight",
        ]
        rated = [one for one in facts["leaderboard"] if one["estimate"]]
        for one in [*rated[:-1][:SHOWN_MODELS], rated[-1]]:
            estimate = one["estimate"]
            between = f"{number(estimate['low'])} to {number(estimate['high'])}"
            tied, weight = "yes" if one["tied"] else "", f"{one['weight']:.2f}" if one["weight"] else ""
            lines.append(f"  {one['title'][:31]:<31} {number(estimate['value']):>9}  {between:<18} {tied:<4}  {weight}")
        made, final = facts["made"], facts["final"]
        lines += [
            "",
            f"  {made['n_models']:,} models of {made['n_settings']:,} settings in {made['seconds']:.0f} s",
            f"  final model: {final['description']}, fitted again on all {final['n_rows']:,} rows",
            *warned(facts["audit"]["warnings"]),
        ]
        return "\n".join(lines)


def short_title(title: str) -> str:
    """The title of a metric in a column of 25 characters, without how it averages over classes.

    >>> short_title("area under the ROC curve, mean over classes")
    'area under the ROC curve '
    """
    return f"{title.split(',')[0]:<25}"


def warned(warnings: list[str]) -> list[str]:
    """What to beware of, as the report says it."""
    lines = [
        line for words in warnings for line in textwrap.wrap(words, 76, initial_indent="- ", subsequent_indent="  ")
    ]
    return ["", "  beware", *(f"  {line}" for line in lines)] if lines else []


def test_lines(test: dict[str, Any] | None) -> list[str]:
    """The scores on a separate test."""
    if test is None:
        return []
    scores = (
        f"  {short_title(one['title'])} {'–' if one['value'] is None else number(one['value'])}"
        for one in test["scores"]
    )
    return ["", f"  on the separate test, {test['n_rows']:,} rows", *scores]
