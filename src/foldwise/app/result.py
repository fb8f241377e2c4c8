"""`FitResult`: the internal result of a run. `Run`: what `fit` returns, with its report and run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.blend import ValueBlend
from foldwise.app.coverage import CoverageRule
from foldwise.app.coverage_facts import coverage_facts, coverage_rule
from foldwise.app.examples import example_facts
from foldwise.app.facts import make_facts
from foldwise.app.folder_result import FolderResult
from foldwise.app.headline_facts import procedure_estimate
from foldwise.app.held_out import held_out_frame
from foldwise.app.leaderboard import leaderboard
from foldwise.app.reference import reference_facts
from foldwise.app.run_folder import BACKGROUND, HELD_OUT, MODEL
from foldwise.app.task import FitTask
from foldwise.data.frames import frame_in
from foldwise.errors import InputError
from foldwise.evaluation.estimates import Estimate
from foldwise.report.summary import summary_html, summary_text
from foldwise.storage import StoredModel, save_model
from foldwise.storage.model_file import model_in_memory
from foldwise.storage.stored_model import HoldsModel

if TYPE_CHECKING:
    from foldwise.app.blend import Blend
    from foldwise.app.final_model import FinalModel
    from foldwise.app.predictions import FoldPredictions
    from foldwise.app.search_state import SearchState
    from foldwise.app.setup import RunSetup
    from foldwise.app.timing import Clock

BACKGROUND_ROWS = 200


@dataclass(frozen=True, eq=False)
class FitResult:
    """The internal result of a run, from which leaderboard, report and stored model are made."""

    setup: RunSetup
    search: SearchState
    predictions: FoldPredictions
    final: FinalModel
    interrupted: bool
    command: str | None  # the command line that repeats the run
    call: str  # the same in Python
    history: Sequence[Mapping[str, Any]] = ()  # the sessions of a recorded run

    @cached_property
    def test_predictions(self) -> NDArray[np.float64]:
        """The predictions of the final model for the rows of a separate test table."""
        test, model = self.setup.task.test, self.final.model
        assert test is not None
        X = test.X.select(self.setup.X.columns)
        found = model.predict(X) if isinstance(model, ValueBlend) else model.predict_proba(X)
        return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Run(FolderResult, HoldsModel):
    """The result of `fit`: a fitted model, its honest estimate, and a report.

    Attributes
    ----------
    estimate : Estimate
        The honest estimate of the final model on new data, with its 95% interval. It is corrected for the selection
        of models, settings and weights.
    model : estimator
        The final model, fitted on all rows: a classifier, or a regressor for a quantity.
    facts : dict
        Everything the report shows, as plain values that can be written as JSON.
    task : FitTask
        The checked table, target and options of the run.
    background : polars.DataFrame
        A sample of training rows, with which `explain` compares a row. Empty with `rows=False`.
    coverage : CoverageRule or None
        How intervals or sets follow from predictions. None if no coverage was requested.
    reference : dict
        Summaries of the training columns and of held-out predictions, with which `check` compares new rows.
    predicted_rows : polars.DataFrame
        The rows of `held_out`.
    library : str
        The library of the table, and so of the frame `held_out`: "polars", "pandas" or "pyarrow".

    Examples
    --------
    >>> import foldwise
    >>> run = foldwise.fit("examples/weather.csv", target="play", budget=4, models=["naive_bayes"])
    >>> run.leaderboard["model"].to_list()
    ['naive_bayes', 'baseline']
    >>> run.predict(run.task.table.X).shape
    (14,)
    """

    estimate: Estimate
    model: Blend | ValueBlend
    facts: dict[str, Any]
    task: FitTask
    background: pl.DataFrame = field(default_factory=pl.DataFrame)
    coverage: CoverageRule | None = None
    reference: dict[str, Any] = field(default_factory=dict)
    predicted_rows: pl.DataFrame = field(default_factory=pl.DataFrame)
    library: str = "polars"

    @classmethod
    def of(cls, result: FitResult, clock: Clock) -> Run:
        """Compute the facts of a result in the time that is left.

        Parameters
        ----------
        result : FitResult
            The internal result of the run.
        clock : Clock
            The clock of the run.

        Returns
        -------
        Run
            The result for users.
        """
        setup, final, rows = result.setup, result.final, result.setup.config.rows
        rng = np.random.default_rng(setup.config.seed)
        sample = rng.permutation(setup.X.height)[:BACKGROUND_ROWS]
        background = setup.X.select(final.model.used_columns(setup.X.columns))[sample]
        lines = leaderboard(result)
        spare = setup.time.spare(clock.elapsed, final.large_files, final.n_bytes)
        examples = example_facts(result, seconds=spare) if rows else []
        rule = coverage_rule(result)
        facts = make_facts(result, lines, examples, clock.times(), coverage_facts(result, rule))
        estimate = procedure_estimate(result, setup.metric)
        reference = reference_facts(result, (facts["slices"] or {}).get("edges", {}))
        kept = background if rows else background[:0]
        return cls(estimate, final.model, facts, setup.task, kept, rule, reference, held_out_frame(result))

    @property
    def held_out(self) -> Any:
        """Predictions of rows by models that did not see them, from which the honest estimate is computed.

        Returns
        -------
        frame of the library of the table
            One row per held-out row: row, fold, truth, weight, and the predicted value or one probability per class.
        """
        return frame_in(self.library, self.predicted_rows)

    @property
    def leaderboard(self) -> pl.DataFrame:
        """The models as a frame, the best first and the baseline last."""
        shown = {"tied": "tied with the best", "p": "p", "weight": "weight", "n_settings": "settings tried"}
        shown |= {"seconds": "seconds", "status": "status"}
        lines = []
        for line in self.facts["leaderboard"]:
            known = line["estimate"] or {}
            figures = {
                "estimate": known.get("value"),
                **{key: known.get(key) for key in ("low", "high", "search_score")},
            }
            lines.append({"model": line["model"], **figures, **{name: line[key] for key, name in shown.items()}})
        return pl.DataFrame(lines, infer_schema_length=None)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row, or its value if the target is a quantity.

        Parameters
        ----------
        X : frame
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predicted classes or values.
        """
        return self.model.predict(self._columns(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : frame
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            One column per class, in the order of `model.classes_`.
        """
        if self.task.is_quantity:
            raise InputError("a quantity has no class probabilities.", "use predict.")
        return self.model.predict_proba(self._columns(X))

    def predict_interval(self, X: Any) -> NDArray[np.float64]:
        """Predict an interval for the value of each row, with the coverage that `fit` was asked for.

        Parameters
        ----------
        X : frame
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            The low and the high end of each interval.
        """
        if not self.task.is_quantity:
            raise InputError("classes have no intervals.", "use predict_set.")
        return self._rule().intervals(np.asarray(self.predict(X), dtype=np.float64))

    def predict_set(self, X: Any) -> NDArray[np.bool_]:
        """Predict a set of classes for each row, with the coverage that `fit` was asked for.

        Parameters
        ----------
        X : frame
            Rows with the columns of the training table.

        Returns
        -------
        ndarray of bool of shape (n_rows, n_classes)
            Whether each class, in the order of `model.classes_`, belongs to the set.
        """
        if self.task.is_quantity:
            raise InputError("a quantity has no sets of classes.", "use predict_interval.")
        return self._rule().sets(self.predict_proba(X))

    def _rule(self) -> CoverageRule:
        if self.coverage is None:
            raise InputError("the run has no intervals and no sets.", "pass coverage=0.9 to fit.")
        return self.coverage

    def _columns(self, X: Any) -> pl.DataFrame:
        from foldwise.storage.table_check import kinds_of, match_columns

        return match_columns(X, kinds_of(self._sample)).X

    @property
    def _sample(self) -> pl.DataFrame:
        used = [name for name in self.task.table.X.columns if name in self.task.outline.roles]
        return self.task.table.X.select(used)

    def stored(self) -> StoredModel:
        """Return the model with its columns and metadata, as if the run had been saved and its model opened.

        Returns
        -------
        StoredModel
            The model, which checks tables before it predicts.
        """
        metadata = {
            "target": self.task.table.target,
            "costs": self.facts["task"]["costs"],
            "positive": self.facts["task"]["positive"],
            "estimate": self.facts["headline"]["estimate"],
            "rows": self.task.n_rows,
            "reading": dict(self.task.table.reading),
            "coverage": None if self.coverage is None else self.coverage.to_metadata(),
            "reference": self.reference or None,
            "special": dict(self.task.named or {}),
        }
        return model_in_memory(self.model, self._sample, self.task.table.target, metadata)

    def _write_model(self, inside: Path) -> None:
        save_model(inside / MODEL, self.stored())
        if self.background.height:
            self.background.write_parquet(inside / BACKGROUND)
        if self.predicted_rows.height:
            self.predicted_rows.write_parquet(inside / HELD_OUT)

    def __repr__(self) -> str:
        return summary_text(self.facts)

    def _repr_html_(self) -> str:
        return summary_html(self.facts)
