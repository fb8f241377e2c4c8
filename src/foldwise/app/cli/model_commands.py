"""The commands for models that the user chooses, and their options: `compare` and `tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwise.app.cli.early_checks import (
    check_budget,
    check_folds,
    check_jobs,
    check_metric,
    check_models,
    check_strategy,
    check_task,
)
from foldwise.app.cli.exit_codes import guarded
from foldwise.app.cli.shared_options import (
    FOLDS,
    INTEGER,
    AsJson,
    DropUnlabeled,
    GroupsOption,
    Jobs,
    Quiet,
    ScoreName,
    Seed,
    TableFileArgument,
    TargetOption,
    TaskName,
    Time,
    WeightsOption,
)
from foldwise.app.cli.table_options import TableOptions, listed, with_table_options


@with_table_options
@guarded
def compare(
    reading: TableOptions,
    table: TableFileArgument,
    target: TargetOption,
    models: Annotated[str, typer.Option(help="Models to compare, such as knn,naive_bayes.")],
    cv: Annotated[str | None, typer.Option(help=f"{FOLDS} Default: ten random splits.")] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Separate test table. Models are trained on TABLE and scored once on the test table."),
    ] = None,
    metric: ScoreName = None,
    task: TaskName = None,
    groups: GroupsOption = None,
    time: Time = None,
    weights: WeightsOption = None,
    drop_unlabeled: DropUnlabeled = False,
    seed: Annotated[int, typer.Option(**INTEGER, help="Random seed of splits and models.")] = 0,
    jobs: Jobs = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare models with default settings on the same splits."""
    check_models(listed(models))
    check_metric(metric, scorers=True)
    check_task(task)
    check_jobs(jobs)
    check_folds(cv, in_time=time is not None)
    from foldwise.app.cli.compare import ComparisonRequest, compare
    from foldwise.app.cli.table_task import SpecialColumns

    special = SpecialColumns(groups, time, weights, drop_unlabeled)
    request = ComparisonRequest(table, reading, target, listed(models), cv, metric, seed, jobs, task, test, special)
    compare(request, as_json=json, quiet=quiet)


@with_table_options
@guarded
def tune(
    reading: TableOptions,
    table: TableFileArgument,
    target: TargetOption,
    model: Annotated[str, typer.Option(help="Model to tune, such as rbf_svm.")],
    strategy: Annotated[
        str,
        typer.Option(
            help="Search strategy: grid, design, random, bayesian, evolutionary, gradient, tpe or cma-es. The last two "
            "need Optuna."
        ),
    ] = "bayesian",
    trials: Annotated[int | None, typer.Option(**INTEGER, help="Number of settings to try. Default: 50.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time limit instead of --trials, such as 60s, 5m or 1h.")] = None,
    metric: ScoreName = None,
    task: TaskName = None,
    groups: GroupsOption = None,
    time: Time = None,
    weights: WeightsOption = None,
    drop_unlabeled: DropUnlabeled = False,
    cv: Annotated[
        str | None,
        typer.Option(
            help=f"Outer splits for the estimate. {FOLDS} Default: 5 folds. In each outer training set, five inner "
            "folds select the setting."
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Separate test table. The tuned model is scored on it once.")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Model file to write.")] = None,
    settings: Annotated[Path | None, typer.Option(help="CSV file to write, with all settings and scores.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Picture file to write: .png, .svg or .pdf. Needs matplotlib.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="HTML report to write, with the pictures of the search.")] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tune one model and estimate its performance on new data.

    The estimate comes from nested cross-validation: the search is repeated inside each outer fold. With --budget, all
    searches get the same time, so they may try different numbers of settings.
    """
    check_models([model])
    check_metric(metric, scorers=True)
    check_task(task)
    check_strategy(strategy)
    check_jobs(jobs)
    check_folds(cv, in_time=time is not None)
    check_budget(budget)
    from foldwise.app.cli.table_task import SpecialColumns
    from foldwise.app.cli.tune import TuneRequest, tune

    files = (out, settings, plot, report)
    chosen = (model, strategy, trials, budget, metric, seed, jobs)
    request = TuneRequest(
        table, reading, target, *chosen, *files, task, cv, test, SpecialColumns(groups, time, weights, drop_unlabeled)
    )
    tune(request, as_json=json, quiet=quiet)
