"""The commands for new data with a finished run, and their options: `check` and `refit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwise.app.cli.exit_codes import guarded
from foldwise.app.cli.shared_options import INTEGER, AsJson, FitFolder, Quiet, Slices, TableFileArgument
from foldwise.app.cli.table_options import TableOptions, listed, with_table_options


@with_table_options
@guarded
def check(
    reading: TableOptions,
    run: FitFolder,
    table: TableFileArgument,
    labels: Annotated[str | None, typer.Option(help="Column of true classes or values, if they are known.")] = None,
    slices: Slices = None,
    report: Annotated[Path | None, typer.Option("-o", "--report", help="HTML page to write.")] = None,
    seed: Annotated[int, typer.Option(**INTEGER, help="Random seed of the sample of rows that are predicted.")] = 0,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check how new rows differ from the training rows of a model.

    The training table is not needed, because the model file contains summaries of its columns. The columns of the new
    rows are compared with these summaries. Those that changed are ranked by their effect on the predictions. The
    expected score on the new rows is shown, and with --labels also the actual one.

    A column has changed if p is below 0.05, after correction for the number of tests, and the change is large: a
    population stability index (PSI) of at least 0.1, a Kolmogorov-Smirnov distance (KS) of at least 0.05, or a
    difference of at least 5 percentage points in the share of missing cells.

    The exit code is 3 if a column has changed or is missing, if cells of a column are no longer numbers or dates, or if
    labels show that the model is worse than its estimate.
    """
    from foldwise.app.cli.check import CheckRequest, check

    names = None if slices is None else listed(slices)
    check(CheckRequest(run, table, reading, labels, names, report, seed), as_json=json, quiet=quiet)


@with_table_options
@guarded
def refit(
    reading: TableOptions,
    run: FitFolder,
    table: TableFileArgument,
    old: Annotated[
        Path | None,
        typer.Option("--with", help="Table of old rows to learn from as well, such as the training table of the run."),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Add the new rows to what the model has learned. The old rows are not needed. For naive Bayes, "
            "linear regression and ridge regression only.",
        ),
    ] = False,
    forget: Annotated[
        Path | None, typer.Option(help="Table of rows that the model has learned and must forget. Implies --update.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Folder to write. Default: TABLE-refit, or TABLE-refit-2 if that exists."),
    ] = None,
    seed: Annotated[int, typer.Option(**INTEGER, help="Random seed of the folds.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run folder.")] = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit the model of a run again on new rows.

    The members of the model keep their settings, weights and calibration. There is no new search. The old and the new
    model are compared on the same held-out rows. The new model and a report are written to a new folder.
    """
    from foldwise.app.cli.refit import RefitRequest, refit

    refit(RefitRequest(run, table, reading, old, update, forget, out, seed, force), as_json=json, quiet=quiet)
