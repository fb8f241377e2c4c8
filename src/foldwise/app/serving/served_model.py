"""One model behind a server: from the body of a request to rows, and from rows of many requests to predictions."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.file_predictions import batches_for, predictor_of
from foldwise.app.run_folder import open_run
from foldwise.app.serving.json_rows import Cells, RowReader, records_in
from foldwise.app.serving.request_words import FILE
from foldwise.app.unknown_categories import UnknownCategories, described, known_levels
from foldwise.data.reading.protocol import first_line
from foldwise.data.reading.source_file import identify
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseError, InputError
from foldwise.storage import StoredModel
from foldwise.storage.table_check import ignored_columns, match_columns

ColumnCells = list[list[Any]]  # the predictions of some rows, column by column


@dataclass(frozen=True, eq=False)
class RequestRows:
    """The rows of one request: plain cells, or a frame if they had to be converted."""

    cells: Sequence[Cells] = ()
    frame: pl.DataFrame | None = None
    kept: pl.DataFrame | None = None  # columns to copy to the output
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.cells) if self.frame is None else self.frame.height

    def part(self, start: int, stop: int) -> RequestRows:
        """Some of the rows."""
        if start == 0 and stop >= len(self):
            return self
        if self.frame is None:
            return RequestRows(self.cells[start:stop])
        return RequestRows(frame=self.frame[start:stop])


class ServedModel:
    """A model that reads requests and predicts the rows of several requests in one pass.

    Parameters
    ----------
    name : str
        Its name in URLs.
    stored : StoredModel
        The model, as `open_model` returns it.

    Examples
    --------
    >>> import tempfile
    >>> from foldwise import NaiveBayes, open_model, read_table, save_model
    >>> table = read_table("examples/weather.csv", target="play")
    >>> path = tempfile.mkdtemp() + "/weather.foldwise"
    >>> save_model(path, NaiveBayes().fit(table.X, table.y), table.X, target="play")
    >>> served = ServedModel("weather", open_model(path))
    >>> row = b'{"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "false"}'
    >>> served.columns[0], served.predict([served.read_json(row)])[0][0]
    ('predicted_class', ['no'])
    """

    def __init__(self, name: str, stored: StoredModel) -> None:
        self.name, self.stored = name, stored
        self._predictor = predictor_of(stored, None, ())
        self.columns: tuple[str, ...] = tuple(self._predictor.output_names())
        self._reader = RowReader(stored.kinds)
        self.levels = known_levels(stored.model)
        self._texts = [(i, one, self.levels[one]) for i, one in enumerate(stored.kinds) if one in self.levels]
        self._converts = bool((stored.metadata.get("reading") or {}).get("missing_values"))
        self._probe()

    def _probe(self) -> None:
        """Predict a row without values, so that the first request does not wait for libraries that load late."""
        self.predict([RequestRows([(None,) * len(self.stored.kinds)])])  # a model may refuse it

    def read_json(self, body: bytes, keep: Sequence[str] = ()) -> RequestRows:
        """Read the rows of a JSON body."""
        records = records_in(body)
        if not keep and records and not self._converts:
            cells = []
            for record in records:
                found = self._reader.cells(record)
                if found is None:
                    break
                cells.append(found)
            else:
                return RequestRows(cells, notes=self._notes(cells, records))
        if not records:
            raise InputError("the table has no rows.", "pass at least one row.")
        return self._read_file(json.dumps(records).encode(), "json", keep)

    def read_csv(self, body: bytes, keep: Sequence[str] = ()) -> RequestRows:
        """Read the rows of a CSV body, with a header."""
        return self._read_file(body, "csv", keep)

    def _read_file(self, body: bytes, ending: str, keep: Sequence[str]) -> RequestRows:
        """Read a body as `foldwise predict` reads a file."""
        with tempfile.TemporaryDirectory(prefix="foldwise-") as folder:
            path = Path(folder) / f"{FILE}.{ending}"
            path.write_bytes(body)
            if identify(path) != ({"csv": "text", "json": "json"}[ending], False):
                raise InputError("the body must be text in CSV format.", "send a header and rows.")
            frames = list(batches_for(self.stored, path))
        frame = pl.concat(frames, how="vertical_relaxed") if len(frames) > 1 else frames[0]
        missing = [name for name in keep if name not in frame.columns]
        if missing:
            raise InputError(
                f"keep must name columns of the table, got {listing(missing)}.",
                f"choose among {listing(frame.columns)}.",
            )
        matched = match_columns(frame, self.stored.kinds)
        unknown = UnknownCategories(self.levels)
        unknown.look(matched.X)
        extra = [
            one for one in frame.columns if one not in self.stored.kinds and one not in (self.stored.target, *keep)
        ]
        notes = [ignored_columns(extra).text] if extra else []
        notes += [note.text for note in (*matched.notes, *unknown.notes()) if note.topic != "columns"]
        numbers = [name for name, kind in self.stored.kinds.items() if kind == "number"]
        X = matched.X.with_columns(pl.col(numbers).cast(pl.Float64))
        refuse_infinite(X, numbers)
        return RequestRows(frame=X, kept=frame.select(keep) if keep else None, notes=tuple(notes))

    def _notes(self, rows: Sequence[Cells], records: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        notes = []
        extra = dict.fromkeys(name for record in records for name in sorted(self._reader.extra_names(record)))
        if self.stored.target is not None:
            extra.pop(self.stored.target, None)
        if extra:
            notes.append(ignored_columns(list(extra)).text)
        for i, name, known in self._texts:
            new = Counter(row[i] for row in rows if row[i] is not None and row[i] not in known)
            if new:
                notes.append(described(name, new))
        return tuple(notes)

    def predict(self, requests: Sequence[RequestRows]) -> list[ColumnCells | Exception]:
        """Predict the rows of several requests. A request that fails does not disturb the others."""
        answers: list[ColumnCells | Exception] = [[] for _ in requests]
        groups: dict[Any, list[int]] = {}
        for i, one in enumerate(requests):
            groups.setdefault(None if one.frame is None else tuple(map(str, one.frame.dtypes)), []).append(i)
        if None in groups and self._reader.types in groups:
            groups[None] += groups.pop(self._reader.types)
        for members in groups.values():
            try:
                found = self._predict_together([requests[i] for i in members])
            except Exception as error:
                if len(members) == 1:
                    answers[members[0]] = as_answer(error)
                    continue
                for i in members:
                    answers[i] = self.predict([requests[i]])[0]
                continue
            for i, columns in zip(members, found, strict=True):
                answers[i] = columns
        return answers

    def _predict_together(self, requests: Sequence[RequestRows]) -> list[ColumnCells]:
        plain = [one for one in requests if one.frame is None]
        frames = [one.frame for one in requests if one.frame is not None]
        if plain:
            frames.insert(0, self._reader.frame([row for one in plain for row in one.cells]))
        X = frames[0] if len(frames) == 1 else pl.concat(frames)
        columns = [finite_cells(column) for column in self._predictor.predicted(X)]
        lengths = [len(one) for one in requests]
        starts = accumulate(lengths[:-1], initial=0)
        return [[column[at : at + n] for column in columns] for at, n in zip(starts, lengths, strict=True)]


def finite_cells(column: pl.Series) -> list[Any]:
    """Return a column as a list; JSON has neither NaN nor infinity, so they are null."""
    cells = column.to_list()
    if column.dtype.is_float() and not column.is_finite().all():
        return [cell if cell is None or math.isfinite(cell) else None for cell in cells]
    return cells


def as_answer(error: Exception) -> Exception:
    """What a client is told about an error: models refuse rows with a ValueError, such as missing cells."""
    if isinstance(error, ValueError) and not isinstance(error, FoldwiseError):
        return InputError(f"the model cannot predict these rows: {first_line(error)}.", "check them for missing cells.")
    return error


def refuse_infinite(X: pl.DataFrame, numbers: Sequence[str]) -> None:
    """Refuse numbers such as 1e999, which no model can use."""
    for name in numbers:
        infinite = X[name].is_infinite().arg_true()
        if len(infinite):
            raise InputError(
                f"column {name!r} must contain finite numbers, but row {infinite[0]} contains {X[name][infinite[0]]}.",
                "send null for a missing cell.",
            )


def open_served(paths: Sequence[Path]) -> dict[str, ServedModel]:
    """Open run folders and model files, by the names that they have in URLs."""
    found: dict[str, ServedModel] = {}
    for path in paths:
        name = url_name(path)
        if name in found:
            raise InputError(f"two models have the name {name!r}.", "rename one of the folders or files.")
        found[name] = ServedModel(name, open_run(path).model)
    return found


def url_name(path: Path) -> str:
    """Return the name of a model in URLs: letters, digits and a few marks.

    >>> url_name(Path("runs/loans 2026.foldwise")), url_name(Path("loans-run"))
    ('loans-2026', 'loans-run')
    """
    whole = path.resolve()
    text = whole.stem if whole.suffix == ".foldwise" else whole.name
    return "".join(mark if mark.isascii() and (mark.isalnum() or mark in "-_.~") else "-" for mark in text) or "model"
