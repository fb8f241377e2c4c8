"""The held-out predictions of a run, read from its folder. Runs in a worker."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from foldwise.app.run_folder import HELD_OUT, current, read_facts
from foldwise.app.safe_cells import without_formulas
from foldwise.data.reading.protocol import READ_ERRORS, first_line
from foldwise.errors import InputError
from foldwise.report.facts import ReportFacts


def read_held_out(path: Path, needed: list[str]) -> pl.DataFrame:
    """Read the held-out predictions of a run, which are columns of numbers."""
    try:
        frame = pl.read_parquet(path)
        if not all(frame[name].dtype.is_numeric() for name in needed):
            raise InputError(f"{HELD_OUT} must contain numbers only.", "run fit again.")
    except READ_ERRORS as error:
        raise InputError(f"{HELD_OUT} cannot be read: {first_line(error)}.", "run fit again.") from error
    return frame


def write_predictions(folder: str, out: str) -> None:
    """Write the held-out predictions of a run as CSV, with the names of the classes."""
    facts = ReportFacts(read_facts(Path(folder))).part("task")
    classes = facts.texts("classes")
    frame = read_held_out(current(Path(folder), HELD_OUT), ["row", "fold", "truth"])
    if classes:
        names = pl.Series(classes)
        rename = {f"probability_{k}": f"probability_{one}" for k, one in enumerate(classes)}
        best = frame.select([name for name in rename if name in frame.columns]).to_numpy().argmax(axis=1)
        labels = [names[frame["truth"]].alias("truth"), names[pl.Series(best)].alias("predicted")]
        frame = frame.with_columns(labels).rename(rename, strict=False)
    without_formulas(frame.with_columns(pl.col("fold") + 1)).write_csv(out)
