"""What can be asked on the command line, with its words of help; each command's work is in a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from foldwise.app.cli.exit_codes import guarded

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # help as plain text: drawing frames around it takes longer than all the rest
    pretty_exceptions_enable=False,
    help="From a table to a tuned, honestly evaluated, explained classifier.",
    epilog="Exit codes: 0 done, 2 what was given cannot be used, 130 interrupted, 1 a mistake of ours.",
)

TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help="A file: CSV, Parquet, ARFF, Excel, SQLite, …")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that fit wrote, or a model file.")]
Target = Annotated[str, typer.Option(help="The column to predict.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same folds, settings and draws.")]
Groups = Annotated[str | None, typer.Option(help="The column whose equal values stay in one fold.")]
Jobs = Annotated[int | None, typer.Option(help="How many workers; by default as many as there are cores.")]
Metric = Annotated[str | None, typer.Option(help="What models are chosen by: log_loss, accuracy, roc_auc, …")]


@app.command()
@guarded
def fit(
    table: TableFile,
    target: Target,
    budget: Annotated[str, typer.Option(help="Time from reading to report: 60s, 5m, 1h.")] = "60s",
    models: Annotated[str | None, typer.Option(help="Families to train, with commas between; by default all.")] = None,
    metric: Metric = None,
    costs: Annotated[
        Path | None, typer.Option(help="A CSV of costs: truths in the first line, an action a line.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write; by default TABLE-run, then TABLE-run-2, …")
    ] = None,
    seed: Seed = 0,
    groups: Groups = None,
    time: Annotated[str | None, typer.Option(help="The column that orders rows: tested are later ones.")] = None,
    weights: Annotated[str | None, typer.Option(help="The column that weighs rows.")] = None,
    positive: Annotated[str | None, typer.Option(help="The class that curves are about.")] = None,
    test: Annotated[
        Path | None, typer.Option(help="A separate table, on which the final model is scored once.")
    ] = None,
    drop_unlabeled: Annotated[
        bool, typer.Option("--drop-unlabeled", help="Leave out rows without a target, which are refused otherwise.")
    ] = False,
    no_rows: Annotated[bool, typer.Option("--no-rows", help="Keep rows of data out of report and folder.")] = False,
    jobs: Jobs = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a run folder that is there.")] = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train, tune and combine models of a table; write a folder with model and report.

    Ctrl-C keeps what is done, and still writes model and report.
    """
    from foldwise.app.cli.fit import fit

    names = None if models is None else listed(models)
    options: dict[str, Any] = {"target": target, "budget": budget, "models": names, "metric": metric, "costs": costs}
    options |= {"groups": groups, "time": time, "weights": weights, "positive": positive, "test": test}
    options |= {"drop_unlabeled": drop_unlabeled, "rows": not no_rows, "seed": seed, "n_jobs": jobs}
    fit(table, out, options, force=force, as_json=json, quiet=quiet)


@app.command()
@guarded
def predict(
    run: RunFolder,
    table: TableFile,
    out: Annotated[
        str, typer.Option("-o", "--out", help="A .csv, .tsv, .parquet or .jsonl file; - is the screen.")
    ] = "-",
    costs: Annotated[Path | None, typer.Option(help="Decide by these costs instead of those of the run.")] = None,
    keep: Annotated[str | None, typer.Option(help="Columns of TABLE to copy, with commas between.")] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table: class, probabilities, decision and its expected cost."""
    from foldwise.app.cli.predict import predict

    predict(run, table, out, costs=costs, keep=listed(keep or ""), as_json=json, quiet=quiet)


@app.command()
@guarded
def explain(
    run: RunFolder,
    table: TableFile,
    row: Annotated[int, typer.Option(help="Which row of TABLE, counted from 0.")],
    about: Annotated[
        str | None, typer.Option("--class", help="The class to explain; by default the likeliest.")
    ] = None,
    background: Annotated[
        Path | None, typer.Option(help="Training rows to compare with, if the run kept none.")
    ] = None,
    samples: Annotated[int | None, typer.Option(help="How many orders of columns to draw.")] = None,
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Say why the model predicts what it does for one row."""
    from foldwise.app.cli.explain import explain

    explain(run, table, row, about=about, background=background, n_samples=samples, seed=seed, as_json=json)


@app.command()
@guarded
def inspect(
    table: TableFile,
    target: Annotated[str | None, typer.Option(help="The column to predict; with it the table is audited.")] = None,
    json: AsJson = False,
) -> None:
    """Show how a table is read, what its columns are, and what to look at."""
    from foldwise.app.cli.inspect import inspect

    inspect(table, target, as_json=json)


@app.command()
@guarded
def compare(
    table: TableFile,
    target: Target,
    models: Annotated[str, typer.Option(help="Families to compare, with commas between.")],
    cv: Annotated[
        str | None, typer.Option(help="10: ten folds; 10x10: ten times ten; by default ten resamples.")
    ] = None,
    metric: Metric = None,
    groups: Groups = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare families with their usual settings on the same splits, by corrected tests."""
    from foldwise.app.cli.compare import ComparisonRequest, compare

    compare(ComparisonRequest(table, target, listed(models), cv, metric, groups, seed, jobs), as_json=json, quiet=quiet)


@app.command()
def version() -> None:
    """Say the version."""
    import foldwise

    typer.echo(f"foldwise {foldwise.__version__}")


@app.command()
@guarded
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that fit wrote.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where to write; by default in the folder.")] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the report of a run anew."""
    from foldwise.app.cli.report import report

    report(run, out, as_json=json, quiet=quiet)


def listed(names: str) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in names.split(",") if name.strip()]
