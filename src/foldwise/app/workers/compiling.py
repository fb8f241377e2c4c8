"""Compile our kernels for this machine: once, beside a search rather than within it.

numba compiles a kernel where it is first called and keeps the result on disk. Twenty seconds of that in the first run
on a new machine would be most of a small budget, so a process of its own calls them all on a small table while the
search tries other models. What it has finished stays finished, also when the run ends before it does.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import numpy as np
import polars as pl

from foldwise.app.model_plan import different
from foldwise.app.selection import choose_weights
from foldwise.app.splitting import make_splits
from foldwise.app.task import FitTask, make_task
from foldwise.app.workers.compiled_stamp import note_compiled, state
from foldwise.app.workers.executors import COMPILED
from foldwise.app.workers.jobs import FitAllRows, PredictSplit, WorkerData
from foldwise.evaluation.metrics import class_metric
from foldwise.folds.protocol import Params
from foldwise.models.catalogue import spec_of
from foldwise.models.feature_selection import SelectInformative
from foldwise.tuning.space import SearchSpace

N_ROWS = 120
N_SETTINGS = 20  # of a model: among them every way that its kernels are called


def compile_all(pipe: int) -> None:
    """Call all that is compiled, and write the name of each model to a pipe when it is ready."""
    warnings.simplefilter("ignore")
    with os.fdopen(pipe, "w", buffering=1) as out:
        since = state()
        compile_choosing()
        task, quantity = small_task(), small_task(quantity=True)
        for name in COMPILED:
            compile_model(name, task)
            if spec_of(name).takes(quantity.outline):
                compile_model(name, quantity)
            out.write(f"{name}\n")
        note_compiled(since)


def compile_choosing() -> None:
    """What the run itself calls when it chooses members."""
    rng = np.random.default_rng(0)
    stack = rng.dirichlet(np.ones(2), size=(3, N_ROWS)).astype(np.float32)
    codes = rng.integers(0, 2, N_ROWS)
    for metric in ("log_loss", "roc_auc"):
        choose_weights(stack, codes, None, class_metric(metric, np.arange(2)))


def compile_model(name: str, task: FitTask) -> None:
    """Fits and predictions of a model, as a worker does them."""
    X, spec = task.table.X, spec_of(name).suited(task.outline.task)
    splits, _ = make_splits(task, 0)
    data = WorkerData(X, task.y, splits, None, {name: spec.pipeline(task.outline)})
    fitted = FitAllRows(name, {}).run(data)
    (fitted.predict if task.is_quantity else fitted.predict_proba)(X)
    for settings in some_settings(name, task):
        for split in (0, 1):
            PredictSplit(name, settings, split, task.n_classes, spec.answers).run(data)


def some_settings(name: str, task: FitTask) -> Iterator[tuple[Params, ...]]:
    """Settings of all kinds, then one with columns selected."""
    drawn = different(SearchSpace.of(spec_of(name).space(task.outline)), N_SETTINGS, np.random.default_rng(0))
    if task.is_quantity:
        yield tuple(drawn)
        return
    yield tuple({**one, "select": "passthrough"} for one in drawn)
    yield ({"select": SelectInformative(tuple(task.table.X.columns))},)


def small_task(*, quantity: bool = False) -> FitTask:
    """Numbers, some of them missing, and categories; the target has two classes, or is a quantity."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    columns = {
        "number": rng.normal(size=N_ROWS) + y,
        "gaps": np.where(rng.random(N_ROWS) < 0.1, np.nan, rng.normal(size=N_ROWS)),
        "whole": rng.integers(0, 50, N_ROWS),
        "few": rng.choice(["a", "b", "c"], N_ROWS),
        "many": rng.choice([f"level {i}" for i in range(20)], N_ROWS),
        "target": rng.normal(size=N_ROWS) if quantity else np.where(y == 1, "yes", "no"),
    }
    return make_task(pl.DataFrame(columns, nan_to_null=True), "target")
