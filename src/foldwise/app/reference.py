"""The reference of a model file: small summaries of training columns and of held-out predictions, for `check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.drift.expected import ScoreReference
from foldwise.evaluation.drift.profiles import (
    ColumnProfile,
    damaged_profile,
    profile_column,
    profile_table,
    profiles_of,
)
from foldwise.evaluation.metrics import Metric, class_metric, cost_metric, value_metric
from foldwise.storage import StoredModel

if TYPE_CHECKING:
    from foldwise.app.result import FitResult

FORMAT = 1
MOST_CELLS, LEAST_ROWS = 3_000_000, 1_000  # that profiles are made of: a sample of rows takes a fraction of a second
MOST_ROWS = 100_000
MOST_COLUMNS = 5_000
CLASS_METRICS = ("log_loss", "accuracy", "brier_score")
VALUE_METRICS = ("root_mean_squared_error", "mean_absolute_error")
PREDICTIONS = "predictions"


@dataclass(frozen=True)
class RunReference:
    """What a model file knows about its training table and about predictions of held-out rows.

    Attributes
    ----------
    columns : mapping of str to ColumnProfile
        Summaries of the columns that the model uses.
    predictions : ColumnProfile
        Held-out predictions: the probability of the positive class of two, the largest probability of more classes, or
        the value of a quantity.
    scores : tuple of ScoreReference
        By metric, how real scores of held-out rows differ from those that the model expects.
    metric : str
        The metric of the run.
    edges : mapping
        Edges of slices, if the run had some.
    """

    columns: Mapping[str, ColumnProfile]
    predictions: ColumnProfile
    scores: tuple[ScoreReference, ...]
    metric: str
    edges: Mapping[str, list[float]]

    @classmethod
    def of(cls, model: StoredModel) -> RunReference:
        """Read the reference of a model file."""
        given = model.metadata.get("reference")
        if given is None:
            raise InputError(
                "the model file contains no summaries of its training table.",
                "pass a folder written by fit or refit, or the model file in it.",
            )
        try:
            if given["format"] != FORMAT:
                raise InputError(
                    f"the summaries in the model file must be in format {FORMAT}, got {given['format']!r}.",
                    "upgrade Foldwise, or fit the model again.",
                )
            scores = tuple(map(ScoreReference.of_dict, given["scores"]))
            edges = {str(name): [float(one) for one in cuts] for name, cuts in (given.get("edges") or {}).items()}
            predictions = ColumnProfile.of_dict(given["predictions"])
            return cls(profiles_of(given["columns"]), predictions, scores, str(given["metric"]), edges)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise damaged_profile() from error


def reference_facts(result: FitResult, edges: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Summarize the training table and the held-out predictions of a run."""
    setup, selection = result.setup, result.final.selection
    task = setup.task
    used = [name for name in task.table.X.columns if name in task.outline.roles]
    index = selection.honest.index
    truth, predicted = selection.tested.truth[index], selection.honest.predicted
    metrics = row_metrics(setup.metric, task.classes, task.costs)
    return make_reference(
        task.table.X.select(used),
        truth,
        predicted,
        metrics,
        setup.metric.name,
        positive=task.positive,
        seed=setup.config.seed,
        private=not setup.config.rows,
        edges=edges,
    )


def make_reference(
    X: pl.DataFrame,
    truth: NDArray[Any],
    predicted: Floats,
    metrics: list[Metric],
    metric: str,
    *,
    positive: int | None = None,
    seed: int = 0,
    private: bool = False,
    edges: Mapping[str, list[Any]] | None = None,
) -> dict[str, Any]:
    """Summarize training columns, and held-out predictions with their truth, as plain values."""
    X = X[:, :MOST_COLUMNS]
    most = int(np.clip(MOST_CELLS // max(1, X.width), LEAST_ROWS, MOST_ROWS))
    if X.height > most:
        X = X[np.sort(np.random.default_rng(seed).choice(X.height, most, replace=False)).tolist()]
    shown = pl.Series(PREDICTIONS, shown_prediction(predicted, positive))
    return {
        "format": FORMAT,
        "metric": metric,
        "columns": [one.to_dict() for one in profile_table(X, private=private)],
        "predictions": profile_column(shown, private=private).to_dict(),
        "scores": [ScoreReference.of_rows(one, truth, predicted).to_dict() for one in metrics],
        "edges": dict(edges or {}),
    }


def row_metrics(metric: Metric, classes: NDArray[Any], costs: CostMatrix | None) -> list[Metric]:
    """The metrics that can be expected without labels: means over rows, that of the run first."""
    if not len(classes):
        every = [metric, *map(value_metric, VALUE_METRICS)]
    else:
        every = [metric, *(class_metric(name, classes) for name in CLASS_METRICS)]
        every += [] if costs is None else [cost_metric(costs, classes)]
    found = {one.name: one for one in every if one.row_scores is not None}
    return list(found.values())


def shown_prediction(predicted: Floats, positive: int | None) -> Floats:
    """One number per row that describes a prediction."""
    if predicted.ndim == 1:
        return predicted
    if predicted.shape[1] == 2:
        return np.asarray(predicted[:, 1 if positive is None else positive])
    return np.asarray(predicted.max(axis=1))
