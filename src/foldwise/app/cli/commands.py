"""The commands and options of the command line with their help texts. The work of each command is in its own file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from foldwise.app.cli.early_checks import (
    check_budget,
    check_folds,
    check_jobs,
    check_metric,
    check_models,
    check_task,
)
from foldwise.app.cli.exit_codes import guarded
from foldwise.app.cli.extra_arguments import Program
from foldwise.app.cli.model_commands import compare, tune
from foldwise.app.cli.new_data_commands import check, refit
from foldwise.app.cli.shared_options import (
    FOLDS,
    INTEGER,
    SOURCES,
    AsJson,
    DropUnlabeled,
    FitFolder,
    GroupsOption,
    Jobs,
    Query,
    Quiet,
    RunFolder,
    Seed,
    Slices,
    TableFileArgument,
    TableFileOrFolder,
    TableSourceArgument,
    TaskName,
    TestFile,
    Time,
    WeightsOption,
)
from foldwise.app.cli.table_options import TableOptions, listed, with_table_options
from foldwise.app.cli.ui import workbench
from foldwise.app.cli.web_commands import serve

app = Program(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # help as plain text: drawing frames around it takes longer than all the rest
    pretty_exceptions_enable=False,
    help="Turn a table into a tuned, honestly evaluated and explained model.",
    epilog="Exit codes: 0 success, 1 internal error, 2 invalid input, 3 changes found (check), 130 interrupted, "
    "141 output closed by its reader.",
)


@app.command()
@with_table_options
@guarded
def fit(
    reading: TableOptions,
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="TABLE",
            help=f"{SOURCES} With --resume, TABLE may be omitted if it is a single file that was not moved and "
            "fits in memory.",
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict. Required for a new run.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time limit for the whole run, such as 60s, 5m or 1h. Default: 60s, or that of the run to resume."
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="Models to train, such as knn,naive_bayes, or import paths of scikit-learn estimators. Default: all "
            "models that suit the table."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Metric, such as roc_auc or mae. Default: log_loss, cost with --costs, rmse for a quantity."),
    ] = None,
    task: TaskName = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            help="CSV of costs. The first column names the actions, such as predicting a class. Each further column "
            "contains the costs for one true class."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Run folder to write. Default: TABLE-run, or TABLE-run-2 if that exists."),
    ] = None,
    seed: Seed = 0,
    groups: GroupsOption = None,
    time: Time = None,
    weights: WeightsOption = None,
    positive: Annotated[str | None, typer.Option(help="Class that counts as positive in ROC and other curves.")] = None,
    cv: Annotated[
        str | None,
        typer.Option(
            help=f"{FOLDS} With holdout, the final model is never trained on the held-out rows (25% by "
            "default) and is scored on them. Default: 3 to 10 folds, depending on the number of rows and the budget."
        ),
    ] = None,
    test: TestFile = None,
    coverage: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Predict an interval or a set of classes for each row, in addition to its value or class. For this "
            "share of new rows, such as 90%, the interval or set contains the true value or class.",
        ),
    ] = None,
    guarantee: Annotated[
        bool,
        typer.Option(
            "--guarantee",
            help="Guarantee the coverage. Some rows are set aside before the search and used only for calibration.",
        ),
    ] = False,
    slices: Slices = None,
    query: Query = None,
    drop_unlabeled: DropUnlabeled = False,
    no_rows: Annotated[
        bool,
        typer.Option(
            "--no-rows",
            help="Leave rows of data out of the report and the run folder. A model file with kNN or a radial SVM still "
            "contains rows.",
        ),
    ] = False,
    jobs: Jobs = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run folder.")] = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Continue a run that finished, was interrupted or was killed. --budget is the additional time. The "
            "other options are read from the folder.",
        ),
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train, tune and combine models for a table.

    The model and a report are written to a run folder, even if Ctrl-C stops the search early. Every score is recorded
    there as soon as it is known, so that --resume can continue a run even if it was killed.
    """
    names = None if models is None else listed(models)
    check_models(names)
    check_metric(metric, scorers=False)
    check_task(task)
    check_jobs(jobs)
    check_folds(cv, test=test is not None, in_time=time is not None)
    check_budget(budget)
    from foldwise.app.cli.fit import FitRequest, fit

    options: dict[str, Any] = {"target": target, "budget": budget, "models": names, "metric": metric, "costs": costs}
    options |= {"groups": groups, "time": time, "weights": weights, "positive": positive, "test": test}
    options |= {"drop_unlabeled": drop_unlabeled, "rows": not no_rows, "seed": seed, "n_jobs": jobs, "task": task}
    options |= {"cv": cv, "reading": reading.keywords() or None}
    options |= {"coverage": coverage, "guarantee": guarantee}
    options |= {"slices": None if slices is None else listed(slices)}
    given = {name: value for name, value in options.items() if value is not None}
    fit(FitRequest(table, given, out, resume, force, query), as_json=json, quiet=quiet)


@app.command()
@with_table_options
@guarded
def predict(
    reading: TableOptions,
    run: RunFolder,
    table: TableSourceArgument,
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            help="Output file: .csv, .tsv, .parquet or .jsonl. Use - for standard output. With --to-table, the address "
            "of the database to write to.",
        ),
    ] = "-",
    costs: Annotated[
        Path | None, typer.Option(help="CSV of costs to decide by, instead of the costs of the run.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Columns of TABLE to copy to the output, separated by commas. Quote a name that has a comma. From CSV "
            "to CSV, cells are copied unchanged, except in columns that the model uses: there $5.00 becomes 5.0."
        ),
    ] = None,
    query: Query = None,
    to_table: Annotated[
        str | None,
        typer.Option(
            "--to-table",
            help="Write to this new table of a PostgreSQL database instead of a file. The database is that of --out "
            "(postgresql://user@host/database) or, without --out, that of TABLE.",
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write text unchanged, even if a spreadsheet would execute it as a formula.")
    ] = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict the target for each row of a table.

    The output contains the predicted class, one probability per class, the decision and its expected cost. Without
    costs, the decision is the predicted class and the expected cost is the probability of an error. For a quantity, the
    output contains the predicted value. If fit had --coverage, the ends of the interval or the set of classes are
    added. With a folder written by explore, the output contains the cluster of each row.
    """
    from foldwise.app.cli.predict import predict

    words = {"costs": costs, "keep": listed(keep or ""), "raw": raw, "query": query, "to_table": to_table}
    predict(run, table, reading, out, words, as_json=json, quiet=quiet)


app.command()(check)
app.command()(refit)


@app.command()
@guarded
def export(
    run: FitFolder,
    to: Annotated[str, typer.Option(help="Output format: sql or onnx.")] = "sql",
    dialect: Annotated[
        str | None,
        typer.Option(
            help="SQL dialect: duckdb, postgres, sqlite, spark, bigquery, snowflake or mysql. Default: duckdb."
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(help="Name of the table in the database, such as customers or sales.customers. Default: rows."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="File to write. Default: RUN.sql or RUN.onnx.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Columns to return with the predictions, separated by commas. Default: all columns of the model."
        ),
    ] = None,
    missing_text: Annotated[
        str | None,
        typer.Option("--missing-text", help="Text of a missing cell in an ONNX graph. Default: the empty text."),
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a model as an SQL query or an ONNX graph.

    With the query, a database predicts its own rows, without Python. A second file contains a check: a query that
    predicts stored rows and counts those whose predictions differ from Python's. Before an ONNX graph is written, its
    predictions for stored rows are compared with Python's. --dialect, --table and --keep are for SQL only, and
    --missing-text is for ONNX only.
    """
    from foldwise.app.cli.export import export

    kept = None if keep is None else listed(keep)
    words = {"dialect": dialect, "table": table, "keep": kept, "missing_text": missing_text}
    export(run, to, out, words, as_json=json, quiet=quiet)


@app.command()
@with_table_options
@guarded
def explain(
    reading: TableOptions,
    run: FitFolder,
    table: TableFileArgument,
    row: Annotated[
        list[int],
        typer.Option(**INTEGER, help="Index of the row in TABLE, starting at 0. Repeat the option for several rows."),
    ],
    about: Annotated[
        str | None, typer.Option("--class", help="Class to explain. Default: the most probable class.")
    ] = None,
    background: Annotated[
        Path | None, typer.Option(help="Table of training rows to compare with, if the run folder has none.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            **INTEGER,
            help="Number of column orders to sample for the Shapley values. By default, the number is "
            "chosen so that the model predicts about 60,000 rows.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(**INTEGER, help="Random seed of the sampled column orders.")] = 0,
    json: AsJson = False,
) -> None:
    """Explain the prediction for a row, column by column."""
    from foldwise.app.cli.explain import explain

    explain(*(run, table, reading, row), about=about, background=background, n_samples=samples, seed=seed, as_json=json)


@app.command()
@with_table_options
@guarded
def inspect(
    reading: TableOptions,
    table: TableFileOrFolder,
    target: Annotated[
        str | None, typer.Option(help="Column to predict. If given, the table is also checked for problems.")
    ] = None,
    write_config: Annotated[
        Path | None,
        typer.Option(help="TOML file to write. It records how the table was read. Edit it and pass it as --config."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing configuration file.")] = False,
    json: AsJson = False,
) -> None:
    """Show how a table is read and, with --target, its problems.

    If TABLE is a folder, each table in it is described in one line: every file, every sheet of a workbook and every
    table of a database.
    """
    from foldwise.app.cli.inspect import inspect

    inspect(table, reading, target, write_config, force=force, as_json=json)


app.command()(compare)
app.command()(tune)


@app.command()
@with_table_options
@guarded
def explore(
    reading: TableOptions,
    table: TableFileArgument,
    budget: Annotated[str, typer.Option(help="Time limit for the whole run, such as 60s, 5m or 1h.")] = "60s",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Folder to write. Default: TABLE-explore, or TABLE-explore-2 if that exists."),
    ] = None,
    seed: Annotated[int, typer.Option(**INTEGER, help="Random seed for samples, k-means starts and resampling.")] = 0,
    no_rows: Annotated[bool, typer.Option("--no-rows", help="Leave rows of data out of the report.")] = False,
    jobs: Jobs = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder.")] = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Explore a table that has no target.

    Finds clusters, outliers, rules, factors, and central and influential rows, and draws a map. The report and the
    cluster of each row are written to a folder, even if Ctrl-C stops the run early. If there are clusters, the folder
    also contains a model that assigns new rows to them.
    """
    check_jobs(jobs)
    check_budget(budget)
    from foldwise.app.cli.explore import explore

    options: dict[str, Any] = {"budget": budget, "rows": not no_rows, "seed": seed, "n_jobs": jobs}
    explore(table, reading, out, options, force=force, as_json=json, quiet=quiet)


@app.command()
@guarded
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder written by fit, refit or explore.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Report file to write. Default: report.html in the run folder.")
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the report of a run again, from its stored results."""
    from foldwise.app.cli.report import report

    report(run, out, as_json=json, quiet=quiet)


app.command("ui")(workbench)
app.command()(serve)


def show_version(wanted: bool) -> None:
    """Print the version and stop, if `--version` was given."""
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Turn a table into a tuned, honestly evaluated and explained model."""


@app.command()
def version() -> None:
    """Show the version."""
    import foldwise

    typer.echo(f"foldwise {foldwise.__version__}")
