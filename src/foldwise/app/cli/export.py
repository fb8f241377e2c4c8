"""`foldwise export`: write the model of a run as SQL or ONNX, with a check over rows of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foldwise.app.cli.output import print_json
from foldwise.app.cli.paths import check_outputs
from foldwise.app.run_folder import check_exists, open_run
from foldwise.errors import InputError

FORMATS = {"sql": ("dialect", "table", "keep"), "onnx": ("missing_text",)}  # with their options
BOTH = ("decision_tree", "random_forest", "extra_trees", "hist_gradient_boosting", "lightgbm", "xgboost", "catboost")
EXPORTABLE = {  # models that SQL and ONNX can express, by whether they predict a quantity
    False: ("naive_bayes", "logistic_regression", "linear_svm", *BOTH),
    True: ("linear_regression", "ridge", "lasso", "elastic_net", "gradient_boosting", *BOTH),
}


def export(run: Path, to: str, out: Path | None, options: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
    """Write the files and print their paths. Options that were not passed are None."""
    check_exists(run, by="fit or refit")
    if to not in FORMATS:
        raise InputError(f"--to must be {' or '.join(FORMATS)}, got {to!r}.")
    given = {name: value for name, value in options.items() if value is not None}
    for name in given.keys() - set(FORMATS[to]):
        option = f"--{name.replace('_', '-')}"
        raise InputError(f"{option} does not apply to --to {to}.", f"leave {option} out.")
    path = Path(f"{run.stem}.{to}") if out is None else out
    check_outputs({"out": path})
    opened = open_run(run, by="fit or refit")
    rows = opened.background() if opened.has_background else None
    if to == "onnx":
        write_onnx(opened.model, path, rows, given.get("missing_text", ""), as_json=as_json, quiet=quiet)
        return
    from foldwise.exports import to_sql
    from foldwise.exports.sql.dialects import dialect_of

    dialect, table = given.get("dialect", "duckdb"), given.get("table", "rows")
    tested = dialect_of(dialect).tested
    with named_models(opened.model):
        files = to_sql(opened.model, dialect=dialect, table=table.split("."), keep=given.get("keep"), rows=rows).write(
            path
        )
    if as_json:
        print_json({"files": [str(file) for file in files], "dialect": dialect, "tested": tested})
    elif not quiet:
        print(f"query  {files[0]}")
        if len(files) > 1:
            print(f"check  {files[1]}")
            print("The check counts the rows for which the database and Python predict differently.")
            print("It must return 0.")
        else:
            print("There is no check, because no rows are stored with this model.")
        if not tested:
            print(f"Exports to {dialect} have never been run on a real database. Run the check first.")


@contextmanager
def named_models(model: Any) -> Iterator[None]:
    """Name the models to train, where an error names the estimators that can be exported."""
    try:
        yield
    except InputError as error:
        if "can be exported:" not in (error.hint or ""):
            raise
        names = EXPORTABLE[model.task == "regression"]
        raise InputError(error.message, f"run fit again with --models and some of {', '.join(names)}.") from error


def write_onnx(model: Any, path: Path, rows: Any, missing_text: str, *, as_json: bool, quiet: bool) -> None:
    """Write the graph and say how many rows were checked."""
    from foldwise.exports import to_onnx

    with named_models(model):
        made = to_onnx(model, rows=rows, missing_text=missing_text)
    made.write(path)
    if as_json:
        print_json({"files": [str(path)], "checked_rows": made.n_checked, "missing_text": made.missing_text})
    elif not quiet:
        print(f"graph  {path}")
        if made.n_checked:
            print(f"onnxruntime and Python give the same predictions for {made.n_checked} stored rows.")
        else:
            print("The graph was not checked, because no rows are stored with this model.")
        print("Inputs: one array of shape (rows, 1) per column.")
        print(f'Missing numbers are NaN, and missing text is "{made.missing_text}".')
