"""Options and arguments that several commands share, with their help texts. Those of tables are in `table_options`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def whole_number(text: str) -> int:
    """Read an integer, and say so in plain words if it is not one."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"must be an integer, got {text!r}.") from None


INTEGER: dict[str, Any] = {"parser": whole_number, "metavar": "<int>"}
FOLDS = (
    "Number of folds, such as 10; repeats x folds, such as 10x10; or holdout for a single split (holdout:0.3 tests 30% "
    "of the rows)."
)
TestFile = Annotated[Path | None, typer.Option(help="Separate test table. The final model is scored on it once.")]
FILES = "Table file: CSV, Parquet, Feather, JSON Lines, ARFF, Excel, SQLite or DuckDB"
SOURCES = f"{FILES}; a folder or a glob of Parquet or CSV files; or postgresql://user@host/database."
TableSourceArgument = Annotated[Path, typer.Argument(metavar="TABLE", help=SOURCES)]
TableFileArgument = Annotated[Path, typer.Argument(metavar="TABLE", help=f"{FILES}.")]
TableFileOrFolder = Annotated[Path, typer.Argument(metavar="TABLE", help=f"{FILES}; or a folder of such files.")]
Query = Annotated[
    str | None, typer.Option(help="SQL query whose result is the table, if TABLE is the address of a database.")
]
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder written by fit, refit or explore, or a model file.")
]
FitFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder written by fit or refit, or a model file.")]
TargetOption = Annotated[str, typer.Option(help="Column to predict.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Seed = Annotated[int, typer.Option(**INTEGER, help="Random seed. The same seed gives the same folds and settings.")]
GroupsOption = Annotated[
    str | None, typer.Option(help="Group column. Rows of the same group are never split between training and test.")
]
Time = Annotated[
    str | None,
    typer.Option(help="Time column. Models are tested only on rows later than those they were trained on."),
]
WeightsOption = Annotated[str | None, typer.Option(help="Column of row weights, for training and for scores.")]
TaskName = Annotated[
    str | None,
    typer.Option(
        help="Predict classes (classification) or a quantity (regression). Default: inferred from the target."
    ),
]
ScoreName = Annotated[
    str | None, typer.Option(help="Metric, such as roc_auc or mae. Default: accuracy, or rmse for a quantity.")
]
DropUnlabeled = Annotated[
    bool,
    typer.Option(
        "--drop-unlabeled", help="Drop rows whose class is missing. Without this option, such rows are an error."
    ),
]
Slices = Annotated[
    str | None,
    typer.Option(
        help="Columns that divide the rows into slices, such as sex,age. Every metric is shown for each slice, with "
        "a test of whether it differs from that of the other rows."
    ),
]
Jobs = Annotated[int | None, typer.Option(**INTEGER, help="Number of worker processes. Default: one per core.")]
Port = Annotated[int, typer.Option(**INTEGER, help="Port to listen on, or 0 for any free port.")]
Certificate = Annotated[Path | None, typer.Option(help="Certificate for HTTPS, as a PEM file.")]
PrivateKey = Annotated[Path | None, typer.Option(help="Private key of the certificate, as a PEM file.")]
