"""Predict the rows of a file, which may be larger than memory.

The output is written to a temporary file and renamed when it is complete, so a partial file never appears.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.coverage import CoverageRule
from foldwise.app.engine_tables import is_engine_table
from foldwise.app.given_costs import cost_matrix
from foldwise.app.prediction_writer import PredictionWriter
from foldwise.app.run_folder import model_of_run
from foldwise.app.unknown_categories import UnknownCategories, known_levels
from foldwise.data.notes import Note, Notes
from foldwise.data.reading.batches import BLOCK, read_batches
from foldwise.data.reading.declarations import STORED, UnreadableCellError, base_kind
from foldwise.data.reading.source_file import identify
from foldwise.data.schema import listing
from foldwise.data.target import written_labels
from foldwise.decisions.conformal.levels import set_text
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.storage import StoredModel
from foldwise.storage.stored_model import HoldsModel
from foldwise.storage.table_check import WORDS, ignored_columns, match_columns

ROWS = 50_000  # predicted at once
PREFIX = "predicted_"  # of all columns of the output, so that columns of the table keep their names
KINDS: dict[str, str] = {"number": "numeric", "truth": "binary", "text": "categorical", "date": "date"}
ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class PredictionSummary:
    """Summary of predictions written to a file.

    Attributes
    ----------
    n_rows : int
        Number of predicted rows.
    decisions : dict
        Number of rows per decision.
    mean_cost : float
        Expected cost per row. Without costs this is the expected error rate.
    notes : Notes
        What was noticed in the table, such as unknown categories.
    costs_given : bool
        Whether decisions were made by costs.
    are_clusters : bool
        Whether rows were assigned to clusters. Then `decisions` counts rows per cluster, and there is no cost.
    predicted : tuple of float or None
        The lowest, the mean and the highest predicted value of a quantity, which has no decisions and no cost. None for
        other models.
    """

    n_rows: int
    decisions: dict[str, int]
    mean_cost: float
    notes: Notes
    costs_given: bool
    are_clusters: bool = False
    predicted: tuple[float, float, float] | None = None


def predict_file(
    run: str | Path | StoredModel | HoldsModel,
    table: Any,
    out: Any,
    *,
    costs: Any = None,
    keep: Sequence[str] = (),
    raw: bool = False,
    reading: Mapping[str, Any] | None = None,
    block: int = BLOCK,
    watch: Callable[[int], None] | None = None,
) -> PredictionSummary:
    """Predict every row of a file and write the predictions to another file.

    Parameters
    ----------
    run : path, Run or StoredModel
        A run folder, a model file, the result of `fit`, or an open model.
    table : path or ibis.Table
        The table to predict. CSV, TSV, Parquet and Feather files are read in batches, and so is a table expression of a
        database (`foldwise.engines.table_of`).
    out : path or writer
        The output file, in the format of its ending: .csv, .tsv, .parquet or .jsonl. "-" writes CSV to standard output.
        `DatabaseWriter` writes to a table of a database.
    costs : CostMatrix, dict, frame or path, default=None
        Costs to decide by, as in `fit`, instead of the costs of the run. Without either, every error costs 1.
    keep : sequence of str, default=()
        Columns of the table to copy to the output, such as a row identifier. From CSV to CSV, cells are copied as they
        are written, except in columns that the model uses. Those are written as they were read, `$5.00` as 5.0.
    raw : bool, default=False
        Whether to write text to CSV and TSV unchanged. By default an apostrophe is put in front of text that a
        spreadsheet would execute as a formula.
    reading : mapping, default=None
        Arguments of `read_table`, such as `{"separator": ";"}`. Kinds and missing values of the training table are
        known.
    block : int
        Number of bytes per batch.
    watch : callable, default=None
        Called with the number of rows predicted so far.

    Returns
    -------
    PredictionSummary
        The number of rows, the number of rows per decision, the expected cost, and notes about the table.

    Notes
    -----
    The output has the columns of `keep`, then `predicted_class` (the most probable class), `predicted_p_…` (the
    probability of each class), `predicted_decision` (the action with the lowest expected cost) and
    `predicted_expected_cost`. Without costs, the decision is the most probable class, and the expected cost is the
    probability that it is wrong. A model of clusters, written by `explore`, gives `predicted_cluster` instead, and a
    model of a quantity gives `predicted_value`. All names begin with `predicted_`, so that columns of the table can be
    kept under their own names.
    A model of a run with a coverage adds the ends of the interval as `predicted_low` and `predicted_high`, or the
    classes of the set as `predicted_set`, separated by |.

    Examples
    --------
    >>> import tempfile
    >>> from foldwise import NaiveBayes, predict_file, read_table, save_model
    >>> table = read_table("examples/weather.csv", target="play")
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = save_model(f"{folder.name}/weather.foldwise", NaiveBayes().fit(table.X, table.y), table.X)
    >>> predict_file(f"{folder.name}/weather.foldwise", "examples/weather.csv", f"{folder.name}/out.csv").n_rows
    14
    >>> folder.cleanup()
    """
    if not is_engine_table(table) and not isinstance(table, str | os.PathLike):
        raise FoldwiseTypeError(
            f"table must be the path of a file, got {type(table).__name__}.",
            "to predict a frame in memory, use open_model(path).predict(frame).",
        )
    model = model_of_run(run)
    predictor = predictor_of(model, costs, kept_columns(keep))
    if isinstance(out, str | Path):
        source = Path() if is_engine_table(table) else Path(table)
        out = PredictionWriter(None if str(out) == "-" else checked_output(Path(out), source), raw)
        verbatim = cells_to_copy(model, source, out, keep)
    else:
        verbatim = ()
    with out as output:
        for frame in batches_for(model, table, block, reading, verbatim=verbatim):
            for start in range(0, max(1, frame.height), ROWS):
                if not frame.height and output.n_rows:
                    continue
                output.write(predictor.answers(frame[start : start + ROWS]))
                if watch is not None:
                    watch(output.n_rows)
        output.finish()
    return predictor.summary(output.n_rows, costs is not None or model.metadata.get("costs") is not None)


def batches_for(
    model: StoredModel,
    table: Any,
    block: int = BLOCK,
    reading: Mapping[str, Any] | None = None,
    strict: bool = True,
    verbatim: Sequence[str] = (),
) -> Iterator[pl.DataFrame]:
    """Read a file in batches, with the column types of the model, and with what means missing in its table.

    Unless `strict`, a column with cells that do not fit its type stays text. Columns in `verbatim` stay text, too.
    """
    if is_engine_table(table):
        from foldwise.engines.drawing import row_batches

        yield from row_batches(table, ROWS)
        return
    stored, given = model.metadata.get("reading") or {}, dict(reading or {})
    finer = {**stored.get("kinds", {}), **given.get("kinds", {})}
    kinds = {name: KINDS[kind] for name, kind in model.kinds.items()}
    check_kinds(model, given.get("kinds", {}))
    kinds |= {name: kind for name, kind in finer.items() if STORED.get(base_kind(kind)) == kinds.get(name)}
    kinds |= dict.fromkeys(verbatim, "text")
    known, more = stored.get("missing_values"), given.get("missing_values")
    if isinstance(known, Mapping) and isinstance(more, Mapping):
        more = {**known, **more}
    try:
        yield from read_batches(table, kinds, block, {**given, "missing_values": more or known}, strict)
    except UnreadableCellError as error:
        trained = WORDS[model.kinds[error.column]]
        raise InputError(
            f"the model was trained on {trained} in {error.column!r}, but row {error.row} contains {error.cell!r}. "
            "Rows are counted from 0.",
            f"if that means missing, pass missing_values={{{error.column!r}: {error.cell!r}}}. Otherwise convert the "
            f"column to {trained}.",
        ) from error


def cells_to_copy(model: StoredModel, table: Path, out: PredictionWriter, keep: Sequence[str]) -> tuple[str, ...]:
    """The columns to keep that are copied as they are written: those of text files that the model does not use."""
    if not out.is_delimited or not table.is_file() or identify(table)[0] != "text":
        return ()
    return tuple(name for name in keep if name not in model.kinds)


def check_kinds(model: StoredModel, kinds: Mapping[str, Any]) -> None:
    """Raise if a column is declared as another kind than it had when the model was trained."""
    for name, kind in kinds.items():
        trained = model.kinds.get(name)
        stored = STORED.get(base_kind(kind)) if isinstance(kind, str) else None
        if trained is None or stored is None or (stored == "numeric") == (trained == "number"):
            continue
        raise InputError(
            f"kinds= declares column {name!r} {kind}, but it contained {WORDS[trained]} when the model was trained.",
            "leave it out of kinds=, or fit the model again with this kind.",
        )


def costs_of(model: StoredModel, costs: Any) -> CostMatrix:
    """Return the costs to decide by. They must name the classes of the model."""
    classes = written_labels(model.classes_).tolist()
    if costs is None:
        stored = model.metadata.get("costs")
        if stored is None:
            return CostMatrix.zero_one(classes)
        costs = CostMatrix(tuple(stored["actions"]), tuple(stored["classes"]), np.asarray(stored["matrix"]))
    return cost_matrix(costs, np.asarray(classes))


def kept_columns(keep: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns to keep, and refuse a text instead of a list."""
    if isinstance(keep, str):
        raise InputError(f"keep= must be a list of names, got the text {keep!r}.", f"pass keep=[{keep!r}].")
    return tuple(keep)


def predictor_of(model: StoredModel, costs: Any, keep: tuple[str, ...]) -> Predictor:
    """Return what predicts batches of rows: classes, clusters or values."""
    is_clustering = model.metadata.get("task") == "clusters"
    if is_clustering and costs is not None:
        raise InputError(
            "a model that assigns clusters makes no decisions, so costs= cannot be used.", "leave costs= out."
        )
    quantity = model.task == "regression" and not is_clustering
    if quantity and costs is not None:
        raise InputError(
            "costs= needs classes to decide between, but the model predicts a quantity.", "leave costs= out."
        )
    if not quantity and not hasattr(model.model, "predict_proba"):
        raise InputError("the model does not predict probabilities.", "wrap it in Calibrated(model) before saving it.")
    make = ClusterPredictor if is_clustering else ValuePredictor if quantity else Predictor
    return make(model, None if quantity else costs_of(model, costs), keep)


class Predictor:
    """Predicts batch after batch, and collects notes and totals."""

    are_clusters = False

    def __init__(self, model: StoredModel, costs: CostMatrix | None, keep: tuple[str, ...]) -> None:
        self._model, self._costs, self._keep = model, costs, keep
        self._classes = written_labels(model.classes_).tolist()
        self._names = [f"{PREFIX}p_{label}" for label in self._classes]
        self._rule = CoverageRule.of_metadata(model.metadata)
        self._notes: dict[str, Note] = {}
        self._unknown = UnknownCategories(known_levels(model.model))
        self._decisions: dict[str, int] = {}
        self._cost = 0.0
        taken = set(self.output_names()) & set(keep)
        if taken:
            raise InputError(
                f"keep= names {listing(sorted(taken))}, which the output already contains.",
                f"remove {'it' if len(taken) == 1 else 'them'} from keep=.",
            )

    def output_names(self) -> list[str]:
        """The names of the columns that are predicted."""
        names = [f"{PREFIX}class", *self._names, f"{PREFIX}decision", f"{PREFIX}expected_cost"]
        return names if self._rule is None else [*names, f"{PREFIX}set"]

    def answers(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Predict the rows of one batch."""
        kept, X = self._matched(frame)
        return pl.DataFrame([*kept, *self.predicted(X)])

    def _matched(self, frame: pl.DataFrame) -> tuple[list[pl.Series], pl.DataFrame]:
        """The columns to keep, and those that the model needs."""
        missing = [name for name in self._keep if name not in frame.columns]
        if missing:
            raise InputError(
                f"keep= must name columns of the table, got {listing(missing)}.",
                f"choose among {listing(frame.columns)}.",
            )
        fitting = match_columns(frame, self._model.kinds)
        kept = {self._model.target, *self._keep}
        for note in fitting.notes:
            if note.topic == "columns":
                extra = [name for name in frame.columns if name not in self._model.kinds and name not in kept]
                note = ignored_columns(extra)
                if not extra:
                    continue
            self._notes.setdefault(str(note), note)
        self._unknown.look(fitting.X)
        return [frame[name] for name in self._keep], fitting.X

    def predicted(self, X: pl.DataFrame) -> list[pl.Series]:
        """Predict rows that have the columns of the model, as `match_columns` returns them."""
        assert self._costs is not None
        proba = self._model.predict_proba(X)
        decision = self._costs.decide(proba, self._classes)
        self._count(decision.action)
        self._cost += float(decision.cost.sum())
        columns = [pl.Series(f"{PREFIX}class", [self._classes[k] for k in proba.argmax(axis=1)])]
        columns += [pl.Series(name, proba[:, k].astype(np.float64)) for k, name in enumerate(self._names)]
        columns.append(pl.Series(f"{PREFIX}decision", decision.action.tolist(), strict=False))
        columns.append(pl.Series(f"{PREFIX}expected_cost", decision.cost))
        if self._rule is not None:
            sets = [set_text(one, self._classes) for one in self._rule.sets(proba)]
            columns.append(pl.Series(f"{PREFIX}set", sets, dtype=pl.String))
        return columns

    def _count(self, answers: NDArray[Any]) -> None:
        for answer, count in zip(*np.unique(answers.astype(str), return_counts=True), strict=True):
            self._decisions[str(answer)] = self._decisions.get(str(answer), 0) + int(count)

    def summary(self, n_rows: int, costs_given: bool) -> PredictionSummary:
        notes = Notes([*self._notes.values(), *self._unknown.notes()])
        return PredictionSummary(
            n_rows, self._decisions, self._cost / max(1, n_rows), notes, costs_given, self.are_clusters
        )


class ClusterPredictor(Predictor):
    """Assigns rows to clusters. There is no probability and no cost: the nearest center decides."""

    are_clusters = True

    def output_names(self) -> list[str]:
        return [f"{PREFIX}cluster"]

    def predicted(self, X: pl.DataFrame) -> list[pl.Series]:
        labels = self._model.predict(X)
        self._count(labels)
        return [pl.Series(f"{PREFIX}cluster", labels)]


class ValuePredictor(Predictor):
    """Predicts the values of a quantity."""

    low, total, high = np.inf, 0.0, -np.inf

    def output_names(self) -> list[str]:
        return [f"{PREFIX}value", *([] if self._rule is None else [f"{PREFIX}low", f"{PREFIX}high"])]

    def predicted(self, X: pl.DataFrame) -> list[pl.Series]:
        values = np.asarray(self._model.predict(X), dtype=np.float64)
        if len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
            self.total += float(values.sum())
        ends: Any = () if self._rule is None else self._rule.intervals(values).T
        return [pl.Series(name, one) for name, one in zip(self.output_names(), [values, *ends], strict=True)]

    def summary(self, n_rows: int, costs_given: bool) -> PredictionSummary:
        found = (self.low, self.total / n_rows, self.high) if n_rows else None
        return replace(super().summary(n_rows, False), predicted=found)


def checked_output(out: Path, table: Path) -> Path:
    """Check the path of the output."""
    if out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"out= must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, got {out.name!r}.", "rename the output file."
        )
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else "is in a folder that does not exist"
        raise InputError(f"the output file {str(out)!r} {what}.", "choose another output file.")
    if out.exists() and table.exists() and out.samefile(table):
        raise InputError(f"the output file {str(out)!r} is the table itself.", "choose another output file.")
    return out
