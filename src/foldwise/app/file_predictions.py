"""Predictions for the rows of a file, which may be larger than memory: classes, probabilities, decisions, their cost.

The output is written beside its final path and renamed when it is complete, so a partial file is never there.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.app.run_folder import open_run
from foldwise.app.unknown_categories import UnknownCategories, known_levels
from foldwise.data.notes import Note, Notes
from foldwise.data.reading.batches import BLOCK, read_batches
from foldwise.data.schema import Kind, listing
from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.storage import StoredModel
from foldwise.storage.table_check import match_columns

ROWS = 50_000  # that the model is asked about at once
KINDS: dict[str, Kind] = {"number": "numeric", "truth": "binary", "text": "categorical", "date": "date"}
ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class PredictionSummary:
    """What was written: how many rows, how many of each decision, and what is to be known about the table.

    Where nobody gave costs, every mistake costs 1 and the mean cost is the share of mistakes to expect.
    """

    n_rows: int
    decisions: dict[str, int]
    mean_cost: float
    notes: Notes
    costs_given: bool


def predict_file(
    run: str | Path | StoredModel,
    table: str | Path,
    out: str | Path,
    *,
    costs: CostMatrix | None = None,
    keep: Sequence[str] = (),
    block: int = BLOCK,
    watch: Callable[[int], None] | None = None,
) -> PredictionSummary:
    """Predict every row of a file, in order, and write one line a row.

    Parameters
    ----------
    run : the folder of a run, a model file, or an open model
    table : the file; CSV, TSV, Parquet and Feather are read in batches
    out : where to write: .csv, .tsv, .parquet or .jsonl by its ending; "-" is CSV to standard output
    costs : instead of those of the run; without any, every mistake costs 1
    keep : columns of the table to copy, such as the name of a row
    block : bytes of a batch
    watch : told how many rows are done

    Notes
    -----
    Columns: those of `keep`; `class`, the likeliest; `p_…`, the probability of each class; `decision`, the action of
    least expected cost, which without costs is the likeliest class; `expected_cost`, which without costs is the
    probability of being wrong.
    """
    model = run if isinstance(run, StoredModel) else open_run(run).model
    if not hasattr(model.model, "predict_proba"):
        raise InputError("the model gives no probabilities.", "wrap it before it is stored: Calibrated(estimator).")
    path = None if str(out) == "-" else checked_output(Path(out), Path(table))
    predictor = Predictor(model, costs_of(model, costs), tuple(keep))
    with PredictionWriter(path) as output:
        for frame in batches_for(model, table, block):
            for start in range(0, max(1, frame.height), ROWS):
                if not frame.height and output.n_rows:
                    continue
                output.write(predictor.answers(frame[start : start + ROWS]))
                if watch is not None:
                    watch(output.n_rows)
        output.finish()
    return predictor.summary(output.n_rows, costs is not None or model.metadata.get("costs") is not None)


def batches_for(model: StoredModel, table: str | Path, block: int = BLOCK) -> Iterator[pl.DataFrame]:
    """The rows of a file, its columns read as the model knows them."""
    return read_batches(table, {name: KINDS[kind] for name, kind in model.kinds.items()}, block)


def costs_of(model: StoredModel, costs: CostMatrix | None) -> CostMatrix:
    """The costs to decide by, which must know the classes of the model."""
    classes = model.classes_.tolist()
    if costs is None:
        stored = model.metadata.get("costs")
        if stored is None:
            return CostMatrix.zero_one(classes)
        costs = CostMatrix(tuple(stored["actions"]), tuple(stored["classes"]), np.asarray(stored["matrix"]))
    costs.costs_of(classes)  # raises where a class has no cost
    return costs


class Predictor:
    """A model at work, with what it notices on the way."""

    def __init__(self, model: StoredModel, costs: CostMatrix, keep: tuple[str, ...]) -> None:
        self._model, self._costs, self._keep = model, costs, keep
        self._classes = model.classes_.tolist()
        self._names = [f"p_{label}" for label in self._classes]
        self._notes: dict[str, Note] = {}
        self._unknown = UnknownCategories(known_levels(model.model))
        self._decisions: dict[str, int] = {}
        self._cost = 0.0
        taken = {"class", "decision", "expected_cost", *self._names} & set(keep)
        if taken:
            raise InputError(
                f"the output has columns {listing(sorted(taken))} of its own.", "leave them out of --keep."
            )

    def answers(self, frame: pl.DataFrame) -> pl.DataFrame:
        """One line a row."""
        missing = [name for name in self._keep if name not in frame.columns]
        if missing:
            raise InputError(
                f"the table has no column {listing(missing)} to keep.", f"it has {listing(frame.columns)}."
            )
        fitting = match_columns(frame, self._model.kinds)
        kept = {self._model.target, *self._keep}
        for note in fitting.notes:
            if note.topic == "columns":
                extra = [name for name in frame.columns if name not in self._model.kinds and name not in kept]
                note = Note("columns", f"{listing(extra)}: not known to the model, left out.")
                if not extra:
                    continue
            self._notes.setdefault(str(note), note)
        self._unknown.look(fitting.X)
        proba = self._model.predict_proba(fitting.X)
        decision = self._costs.decide(proba, self._classes)
        for action, count in zip(*np.unique(decision.action.astype(str), return_counts=True), strict=True):
            self._decisions[str(action)] = self._decisions.get(str(action), 0) + int(count)
        self._cost += float(decision.cost.sum())
        columns = [frame[name] for name in self._keep]
        columns.append(pl.Series("class", [self._classes[k] for k in proba.argmax(axis=1)]))
        columns += [pl.Series(name, proba[:, k].astype(np.float64)) for k, name in enumerate(self._names)]
        columns.append(pl.Series("decision", decision.action.tolist(), strict=False))
        columns.append(pl.Series("expected_cost", decision.cost))
        return pl.DataFrame(columns)

    def summary(self, n_rows: int, costs_given: bool) -> PredictionSummary:
        notes = Notes([*self._notes.values(), *self._unknown.notes()])
        return PredictionSummary(n_rows, self._decisions, self._cost / max(1, n_rows), notes, costs_given)


def checked_output(out: Path, table: Path) -> Path:
    """Where to write, if that can be."""
    if out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"{out.name!r} ends in {out.suffix!r}, which is not written here.", f"use one of {', '.join(ENDINGS)}."
        )
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else "lies in a folder that is not there"
        raise InputError(f"{str(out)!r} {what}.", "choose another file for the predictions.")
    if out.exists() and table.exists() and out.samefile(table):
        raise InputError(f"{str(out)!r} is the table itself.", "choose another file for the predictions.")
    return out


class PredictionWriter:
    """Lines on their way to a file: in a folder beside it until all are there."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._ending = ".csv" if path is None else path.suffix.lower()
        self.n_rows = 0
        self._n_parts = 0

    def __enter__(self) -> PredictionWriter:
        where = None if self._path is None else self._path.parent
        try:
            self._folder = Path(tempfile.mkdtemp(prefix=".foldwise-", dir=where))
        except OSError as error:
            raise InputError(f"{str(where)!r} cannot be written to: {error.strerror}.") from error
        return self

    def __exit__(self, *raised: Any) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def write(self, frame: pl.DataFrame) -> None:
        """Some more lines."""
        if self._ending == ".parquet":
            frame.write_parquet(self._folder / f"{self._n_parts:08d}.parquet")
        else:
            with (self._folder / "lines").open("ab") as file:
                if self._ending in (".jsonl", ".ndjson"):
                    frame.write_ndjson(file)
                else:
                    separator = "\t" if self._ending == ".tsv" else ","
                    frame.write_csv(file, include_header=not self._n_parts, separator=separator)
        self._n_parts += 1
        self.n_rows += frame.height

    def finish(self) -> None:
        """Put the whole where it belongs."""
        whole = self._folder / "lines"
        if self._ending == ".parquet":
            parts = sorted(self._folder.glob("*.parquet"))
            pl.scan_parquet(parts).sink_parquet(whole)
        if self._path is not None:
            os.replace(whole, self._path)
            return
        with whole.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
