"""`RunSetup`: splits, models and limits, fixed before the search of a run begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from foldwise.app.config import FitConfig
from foldwise.app.engine_tables import LargeTable
from foldwise.app.model_plan import COMPANIONS, ModelPlan
from foldwise.app.search_state import SettingBatch, decode
from foldwise.app.splitting import make_splits
from foldwise.app.subsamples import RowSamples, with_fewer_tested
from foldwise.app.task import FitTask
from foldwise.app.timing import MORE_ROWS_SHARE, SHORT, USUAL_START, TimePlan, seconds_of
from foldwise.app.workers.executors import COMPILED
from foldwise.app.workers.jobs import FitAllRows, PredictSplit, WorkerData
from foldwise.errors import InputError
from foldwise.evaluation.metrics import Metric
from foldwise.folds.protocol import Params
from foldwise.folds.splits import Split
from foldwise.models.catalogue import models_for
from foldwise.models.column_roles import Outline
from foldwise.models.spec import ModelSpec
from foldwise.models.wide_tables import MOST_KEPT

BASELINES = ("mean", "median")  # of the catalog
MOST_CELLS = 1.2e7  # test rows × classes × columns × settings of a batch
LEAST_FIRST = 100  # rows of the first split that can show a model far ahead of the others
LEAST_CELLS_ROWS = 2_000  # a column costs at least as much as with so many rows


@dataclass(frozen=True)
class RunSetup:
    """The task of a run, its splits and its models."""

    config: FitConfig
    task: FitTask
    metric: Metric
    X: pl.DataFrame  # the columns that models see
    splits: list[Split]
    splitter: str  # the splits in words
    specs: Mapping[str, ModelSpec]
    plans: Mapping[str, ModelPlan]
    pipelines: Mapping[str, Any]
    skipped: tuple[tuple[ModelSpec, str], ...]  # models that cannot be trained here, and why
    time: TimePlan
    samples: RowSamples  # the training rows of each rung

    @classmethod
    def make(
        cls, config: FitConfig, task: FitTask, metric: Metric, n_workers: int, few_splits: bool | None = None
    ) -> RunSetup:
        """Make the splits and choose the models. A short run has few splits, and keeps them when it is resumed."""
        budget = seconds_of(config.budget)
        short = budget <= SHORT
        few = short if few_splits is None else few_splits
        splits, splitter = make_splits(task, config.seed, short=few, plan=config.fold_plan)
        splits, splitter = with_fewer_tested(splits, splitter, task.strata, config.seed, short=few)
        samples = RowSamples.of(task, splits, config.seed)
        every = models_for(task.outline, config.model_names)
        if config.model_names is None:  # the baseline needs no fits
            every = [one for one in every if one.name not in BASELINES]
        if not every:
            raise InputError("models must name at least one model.", "leave it out to train all that suit the table.")
        specs = {one.name: one for one in every if task.weights is None or one.takes_weights(task.outline)}
        if not specs:
            raise InputError(
                "none of the chosen models supports row weights.", "choose other models, or leave weights= out."
            )
        skipped = tuple((one, "does not support row weights") for one in every if one.name not in specs)
        X = task.table.X.select([name for name in task.table.X.columns if name in task.outline.roles])
        pipelines = {name: spec.pipeline(task.outline, config.seed) for name, spec in specs.items()}
        outlines = [replace(task.outline, n_rows=size) for size in samples.sizes]
        plans = {name: model_plan(one, pipelines[name], task, splits, outlines, short) for name, one in specs.items()}
        share = len(splits[0].train) / task.n_rows
        n_tested = sum(len(one.test) for one in splits)
        sizes = (task.n_rows, n_tested, task.n_outputs, X.width, len(splits), share)
        time = TimePlan(
            budget, n_workers, *sizes, more_rows=0.0 if task.large is None else more_rows(task.large, budget)
        )
        return cls(config, task, metric, X, splits, splitter, specs, plans, pipelines, skipped, time, samples)

    @property
    def decision_models(self) -> list[str]:
        """The models that give decision values instead of probabilities."""
        return [name for name, spec in self.specs.items() if spec.answers == "decision"]

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The scores of a perfect model, and of the baseline on the first split, where higher is better."""
        split, task, signed = self.splits[0], self.task, self.metric.signed
        if len(split.test) < LEAST_FIRST:
            return max(map(signed, self.metric.bounds)), -np.inf  # nothing is far ahead on so few rows
        baseline = signed(self.metric(task.y[split.test], task.constant(split.train, len(split.test)), None))
        return max(map(signed, self.metric.bounds)), baseline if np.isfinite(baseline) else -np.inf

    @property
    def worker_data(self) -> WorkerData:
        return WorkerData(self.X, self.task.y, self.splits, self.task.weights, self.pipelines)

    def params(self, batch: SettingBatch, setting: int) -> Params:
        """The hyperparameters of a setting."""
        return decode(batch.settings[setting], self.plans[batch.model].space)

    def predict_job(
        self, batch: SettingBatch, settings: range | list[int], split: int, rows: Any = None
    ) -> PredictSplit:
        """The job that predicts a split with some settings of a batch."""
        given = tuple(self.params(batch, i) for i in settings)
        rows = self.samples.train(split, batch.rung) if rows is None else rows
        return PredictSplit(batch.model, given, split, self.task.n_classes, self.specs[batch.model].answers, rows)

    def refit_seconds(self, batch: SettingBatch) -> float:
        """Seconds of a fit on all rows, by the fits on the splits without the longest of each worker."""
        n_settings = len(batch.settings) if self.specs[batch.model].shares else 1
        taken = sorted(batch.seconds.values())
        usual = taken[: max(1, len(taken) - self.time.n_workers)]
        return self.time.refit(float(np.median(usual)), n_settings)

    def refit_job(self, batch: SettingBatch, setting: int) -> FitAllRows:
        """The job that fits a setting again for the final model, on as many rows as its rung has."""
        return FitAllRows(batch.model, self.params(batch, setting), self.samples.refit(batch.rung))

    def large_files(self, batches: list[SettingBatch]) -> float:
        """How large the files of the models are, as a share of those of a forest with all of its trees."""
        large = [(one.settings[0], self.plans[one.model]) for one in batches if self.specs[one.model].large_files]
        return max((setting.get(str(plan.stages), plan.longest) / plan.longest for setting, plan in large), default=0.0)


def more_rows(large: LargeTable, budget: float) -> float:
    """Seconds to train the final model on more rows than the sample has."""
    return MORE_ROWS_SHARE * max(0.0, budget - large.seconds - USUAL_START)


def model_plan(
    spec: ModelSpec, pipeline: Any, task: FitTask, splits: list[Split], outlines: Sequence[Outline], short: bool
) -> ModelPlan:
    """Describe a model to the schedule. There is an outline of the table for each rung."""
    seconds = [spec.seconds(one) for one in outlines]
    longest = int(pipeline.get_params().get(spec.stages) or 1) if spec.stages else 1
    first, space = spec.first_settings(task.outline, short=short), spec.space(task.outline)
    share, start = first[0].get(str(spec.stages), longest) / longest, spec.cost.start
    seconds = [start + share * (each - start) for each in seconds]
    n_columns = min(len(task.outline.roles), MOST_KEPT)
    cells = max(len(splits[0].test), LEAST_CELLS_ROWS) * task.n_outputs * n_columns
    return ModelPlan(
        spec.name,
        seconds[0],
        space,
        tuple(first),
        defaults={name: value for name, value in pipeline.get_params().items() if name in space},
        shared=tuple(f"model__{name}" for name in spec.shares),
        n_companions=int(np.clip(MOST_CELLS / cells, 3, COMPANIONS)),
        stages=spec.stages,
        longest=longest,
        fixed={name: value for name, value in first[0].items() if name not in space},
        compiled=spec.name in COMPILED,
        growth=tuple(each / seconds[0] for each in seconds),
        # boosting needs rows: where columns outnumber them, a linear model is the first choice
        general=spec.general if task.n_rows >= len(task.outline.roles) or spec.general == "linear" else "",
    )
