"""`fit`: from a table and a budget to a model, an honest estimate and a report.

The steps of a run are listed here and nowhere else: check the table, search settings of every model on the same folds,
select and combine, fit the final model on all rows, and collect the facts of the report.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from statistics import fmean, stdev
from threading import Thread
from typing import TYPE_CHECKING, Any

from foldwise.app.config import FitConfig
from foldwise.app.coverage import coverage_level, set_aside
from foldwise.app.interrupts import finish_despite_interrupt
from foldwise.app.progress import RunProgress, Watch
from foldwise.app.recording.record import RunRecord
from foldwise.app.search import Search
from foldwise.app.search_state import SettingBatch
from foldwise.app.setup import RunSetup
from foldwise.app.target_column import with_target
from foldwise.app.task import FitTask, make_task
from foldwise.app.timing import Clock, seconds_of
from foldwise.app.workers.executors import Executor, count_workers, open_executor
from foldwise.data.frames import library_of
from foldwise.errors import InputError
from foldwise.evaluation.metrics import Metric, class_metric, value_metric
from foldwise.evaluation.tables import number
from foldwise.models.spec import ModelSpec

if TYPE_CHECKING:
    from foldwise.app.result import Run

# what the end of a run needs: loaded by a thread while models are fitted in other processes
LATER = ("foldwise.app.final_model", "foldwise.app.result", "skops.io")


def fit(
    table: Any = None,
    y: Any = None,
    *,
    target: str | None = None,
    budget: float | str | None = None,
    models: str | Iterable[str | ModelSpec] | None = None,
    metric: str | None = None,
    costs: Any = None,
    groups: str | None = None,
    time: str | None = None,
    weights: str | None = None,
    positive: Any = None,
    test: Any = None,
    drop_unlabeled: bool = False,
    rows: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    task: str | None = None,
    cv: str | int | None = None,
    coverage: float | str | None = None,
    guarantee: bool = False,
    slices: str | Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Run:
    """Train, tune, combine and honestly evaluate models within a time budget.

    The models predict the classes of the target, or its value if it is a quantity: numbers with decimals, or more than
    20 different numbers. The final model is a weighted mean of the best few settings, each fitted again on all rows.
    Its estimate is honest: the whole selection is repeated without the rows of each fold and scored on them.

    Parameters
    ----------
    table : path, frame, array or Table
        The data, with one row per example. With `resume`, a single file may be left out.
    y : array-like of shape (n_rows,), default=None
        The target, if the table does not contain it, as in scikit-learn's `fit(X, y)`.
    target : str
        The column to predict. With y, its name; by default that of y, or "target".
    budget : float or str, default=None
        Time limit for the whole run, in seconds or as "60s", "5m" or "1h". By default 60 seconds, or as long as the
        first session of a run that is resumed.
    models : list of str or ModelSpec, default=None
        Names of models in the catalog, or import paths of scikit-learn estimators. By default all models that suit
        the table.
    metric : str, default=None
        The metric that settings are chosen by. For classes: "log_loss" (the default), "brier_score", "accuracy",
        "balanced_accuracy", "roc_auc", "f1", or "cost" (the default if costs are given). For a quantity: "rmse" (the
        default), "mae", "r2", "mean_poisson_deviance" and others.
    costs : CostMatrix, dict, frame or path, default=None
        The cost of each action under each true class.
    groups : str, default=None
        Group column. Rows of the same group are never split between training and test.
    time : str, default=None
        Time column. Models are tested only on rows later than those they were trained on.
    weights : str, default=None
        Column of row weights.
    positive : class label, default=None
        The class that ROC and other curves describe.
    test : path, frame or Table, default=None
        Separate test table. The final model is scored on it once.
    drop_unlabeled : bool, default=False
        Whether to drop rows without a class. By default they are an error. If the target is a quantity, rows without
        a value are always dropped.
    rows : bool, default=True
        Whether rows of data may appear in the report and in the run folder.
    seed : int, default=0
        Random seed of folds and settings.
    n_jobs : int, default=None
        Number of worker processes. By default one per core.
    task : {"classification", "regression"}, default=None
        Whether to predict classes or a quantity. By default it is inferred from the target.
    cv : int or str, default=None
        Number of folds, or "5x10" for ten folds repeated five times. "holdout" sets a quarter of the rows aside, on
        which the final model is scored once, and "holdout:0.3" another share. By default the number of rows decides.
    coverage : float or str, default=None
        Share of new rows whose interval, or set of classes, must contain the truth, such as 0.9 or "90%". By default
        there are no intervals and sets.
    guarantee : bool, default=False
        Whether to set rows aside before the search, so that the coverage is guaranteed. The model then learns from
        fewer rows.
    slices : str or list of str, default=None
        Columns that divide the held-out rows into slices, such as "sex,age". The report shows every
        metric by slice, and which slices differ from the rest.
    out : path, default=None
        Run folder to write. Every trial is recorded in it as soon as it ends, so that the run can be resumed even if
        it is killed. By default nothing is written, and `Run.save` writes the result.
    resume : path, default=None
        Run folder of an earlier run to continue. Its options are used again, and its table must have the same rows.
        Nothing that was evaluated is evaluated again.

    Returns
    -------
    Run
        The fitted model with its honest estimate, the leaderboard, and the report.

    Examples
    --------
    >>> import foldwise
    >>> run = foldwise.fit("examples/weather.csv", target="play", budget=4, models=["naive_bayes", "decision_tree"])
    >>> run.model.predict(run.task.table.X[:2]).shape
    (2,)
    """
    library = library_of(table)
    if y is not None:
        table, target = with_target(table, y, target)
    names: Any = models
    if models is not None and not isinstance(models, str):
        names = tuple(models) if isinstance(models, Iterable) else (models,)
    columns = (groups, time, weights)
    listed_slices = slices if slices is None or isinstance(slices, str) else list(slices)
    given = (names, metric, costs, *columns, positive, test, drop_unlabeled, rows, seed, n_jobs, task, cv)
    config = FitConfig(
        *(target, 60.0 if budget is None else budget, *given, coverage, guarantee, listed_slices), y_apart=y is not None
    )
    if out is not None and resume is not None:
        raise InputError(
            "resume= cannot be combined with out=, because a resumed run stays in its folder.", "omit out=."
        )
    if resume is not None:
        with RunRecord.resume(resume, table, config, budget) as record:
            run = recorded(record)
    elif out is not None:
        with RunRecord.begin(out, table, config) as record:
            run = recorded(record)
    else:
        run = run_fit(table, config)
    return replace(run, library=library)


def recorded(record: RunRecord, **options: Any) -> Run:
    """Run `fit` in a run folder, and write the result to it. `options` are those of `run_fit`."""
    run = run_fit(record.table, record.config, record=record, **options)
    with finish_despite_interrupt():
        record.save(run)
    return run


def run_fit(
    table: Any,
    config: FitConfig,
    *,
    executor: Executor | None = None,
    clock: Clock | None = None,
    watch: Watch | None = None,
    command: str | None = None,
    record: RunRecord | None = None,
) -> Run:
    """Run `fit` with a configuration.

    Parameters
    ----------
    table : path, frame or Table
        The data.
    config : FitConfig
        The arguments of `fit`.
    executor : Executor, default=None
        Opened by the caller to load libraries early. It is closed at the end.
    clock : Clock, default=None
        Started by the caller, to include the time before this call.
    watch : callable, default=None
        Called with a `RunProgress` several times a second.
    command : str, default=None
        The command line that repeats the run.
    record : RunRecord, default=None
        The run folder in which everything is recorded, and from which an earlier run is continued.

    Returns
    -------
    Run
        The result.
    """
    n_workers = count_workers(config.n_jobs)
    executor = executor or open_executor(n_workers)  # workers load libraries while the table is read
    try:
        clock = clock or Clock(seconds_of(config.budget))
        tell = ProgressReporter(
            clock, executor, [*([] if watch is None else [watch]), *([] if record is None else [record.show])]
        )
        tell.enter("reading")
        if record is not None:  # loaded while the table is read
            Thread(target=import_module, args=["foldwise.app.recording.trials"], daemon=True).start()
        columns: dict[str, Any] = {"groups": config.groups, "time": config.time, "weights": config.weights}
        others: dict[str, Any] = {
            "costs": config.costs,
            "positive": config.positive,
            "test": config.source_of(config.test),
        }
        others |= {"task": config.task, "seed": config.seed, "budget": clock.budget}
        others |= {"held_out": None if config.fold_plan is None else config.fold_plan.held_out}
        with nullcontext() if record is None else record.reading():
            task = make_task(
                config.source_of(table), config.target, **columns, **others, drop_unlabeled=config.drop_unlabeled
            )
        if config.guarantee:
            task = set_aside(task, coverage_level(config.coverage), config.seed)
        if config.slices is not None:
            from foldwise.app.slice_facts import check_slices  # loads libraries that other runs may not need yet

            check_slices(config.slices, task)
        metric = metric_of(config.metric, task)
        tell.enter("checking the data")
        setup = RunSetup.make(config, task, metric, n_workers, None if record is None else record.few_splits)
        is_resumed = record is not None and record.is_resumed
        setup.time.check(clock.elapsed, 0.0 if is_resumed else min(plan.seconds for plan in setup.plans.values()))
        executor.give(setup.worker_data)
        trials = None if record is None else record.open_trials(setup, clock)
        tell.search = search = Search(setup, executor, clock, trials)
        tell.enter("trying models")
        Thread(target=lambda: [import_module(name) for name in LATER], daemon=True).start()
        search.run(tell)
        setup = search.setup
        with finish_despite_interrupt(search.interrupted):
            from foldwise.app.final_model import fit_members, select_members
            from foldwise.app.result import FitResult, Run

            tell.enter("selecting")
            selection = select_members(setup, search.state, search.predictions, clock)
            tell.enter("fitting the final model")
            final = fit_members(setup, search.state, search.predictions, selection, executor, clock, tell)
            if task.large is not None:
                from foldwise.app.enlarging.members import train_on_more_rows

                tell.enter("training on more rows")
                final = train_on_more_rows(setup, final, clock, interrupted=search.interrupted)
            tell.enter("writing the report")
            sessions = sessions_of(search)
            call = config.python_call(table) if record is None else record.call
            how = (search.interrupted, command, call)
            result = FitResult(setup, search.state, search.predictions, final, *how, sessions)
            return Run.of(result, clock)
    finally:
        executor.close()


def metric_of(name: str | None, task: FitTask) -> Metric:
    """Look up the metric of a run, and check whether it is defined for the target."""
    if not task.is_quantity:
        return class_metric(name, task.classes, task.costs, task.positive)
    metric = value_metric(name)
    metric.check_target(task.y)
    return metric


def sessions_of(search: Search) -> list[dict[str, Any]]:
    """The history of a recorded run; empty without a record."""
    if search.record is None:
        return []
    from foldwise.app.history import history

    return history(search.record, search.state, interrupted=search.interrupted)


def estimate_so_far(batch: SettingBatch, setup: RunSetup) -> str:
    """The estimate of the setting that is best on the first fold, from the folds scored since, which did not choose it.

    The interval is that of a mean of folds. It firms up as more folds are scored.
    """
    chosen = max(range(len(batch.settings)), key=lambda i: (not math.isnan(batch.scores[0][i]), batch.scores[0][i]))
    scores = [of[chosen] for split, of in batch.scores.items() if split and not math.isnan(of[chosen])]
    if len(scores) < 2:
        return ""
    half = 2 * stdev(scores) / math.sqrt(len(scores))
    value = number(setup.metric.signed(fmean(scores)))
    return f"{setup.metric.title} {value} ± {number(half)} ({len(scores)} of {len(setup.splits) - 1} folds)"


class ProgressReporter:
    """Reports the progress of a run to the caller."""

    def __init__(self, clock: Clock, executor: Executor, watchers: Sequence[Watch]) -> None:
        self.clock, self.executor, self.watchers = clock, executor, watchers
        self.search: Search | None = None

    def enter(self, phase: str) -> None:
        """Begin a phase and report it."""
        self.clock.enter(phase)
        self()

    def __call__(self) -> None:
        if not self.watchers:
            return
        now = self.progress()
        for watch in self.watchers:
            watch(now)

    def progress(self) -> RunProgress:
        """What the run is doing now."""
        clock, doing = self.clock, [job.model for job in self.executor.running]
        if self.search is None:
            return RunProgress(clock.phase, clock.elapsed, clock.budget)
        state, setup = self.search.state, self.search.setup
        titles = {name: spec.title for name, spec in setup.specs.items()}
        doing = [titles.get(name, name) for name in doing]
        if clock.phase == "trying models":
            doing += [f"{titles.get(name, name)} (compiling)" for name in self.search.compiling]
        best, estimate = "", ""
        scored = [one for one in state.batches if one.first > float("-inf")]
        if scored:
            top = max(scored, key=lambda one: one.first)
            best = f"{setup.specs[top.model].title} ({setup.metric.title} {number(setup.metric.signed(top.first))})"
            estimate = estimate_so_far(top, setup)
        counts = (state.n_models, state.n_settings)
        return RunProgress(clock.phase, clock.elapsed, clock.budget, *counts, best, tuple(doing), estimate)
