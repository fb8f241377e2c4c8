"""Read new rows batch by batch: count the cells of every column, and keep a random sample of rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from foldwise.app.checking.unreadable import ReadableCells, UnreadableCells
from foldwise.app.reference import RunReference
from foldwise.data.notes import Note
from foldwise.data.schema import choose_among, listing
from foldwise.errors import InputError
from foldwise.evaluation.drift.profiles import ColumnCounts
from foldwise.storage import StoredModel
from foldwise.storage.table_check import match_columns

MOST_ROWS = 50_000  # that are predicted


@dataclass(frozen=True)
class NewRows:
    """What was found in the new rows.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    counts : list of ColumnCounts
        Cells by column, for columns that the table has and the model uses.
    sample : polars.DataFrame
        At most 50,000 random rows with the columns of the model, the labels and the columns of slices.
    missing, extra : tuple of str
        Columns of the model that the table lacks, and columns that the model does not use.
    notes : tuple of Note
        What was converted.
    unreadable : tuple of UnreadableCells
        Columns with cells of another kind than in training. Such cells count as missing.
    """

    n_rows: int
    counts: list[ColumnCounts]
    sample: pl.DataFrame
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    notes: tuple[Note, ...]
    unreadable: tuple[UnreadableCells, ...] = ()


class RowSample:
    """A random sample of rows that arrive in batches: each row gets a random key, and the smallest keys stay."""

    def __init__(self, most: int, rng: np.random.Generator) -> None:
        self._most, self._rng = most, rng
        self._frames: list[pl.DataFrame] = []
        self._keys = np.empty(0)

    def add(self, frame: pl.DataFrame) -> None:
        """Add the rows of a batch."""
        keys = self._rng.uniform(size=frame.height)
        every = np.concatenate([self._keys, keys])
        if len(every) <= self._most:
            self._frames.append(frame)
            self._keys = every
            return
        kept = np.sort(np.argpartition(every, self._most)[: self._most])  # in the order of the file
        old, new = kept[kept < len(self._keys)], kept[kept >= len(self._keys)] - len(self._keys)
        whole = [] if not len(old) else [pl.concat(self._frames)[old.tolist()]]
        self._frames = [*whole, frame[new.tolist()]]
        self._keys = every[kept]

    @property
    def frame(self) -> pl.DataFrame:
        return pl.concat(self._frames) if self._frames else pl.DataFrame()


def read_new_rows(
    model: StoredModel,
    reference: RunReference,
    batches: Iterable[pl.DataFrame],
    others: Sequence[tuple[str, str]],
    seed: int,
) -> NewRows:
    """Count cells and draw a sample. `others` are further columns to keep: argument and name."""
    counts: dict[str, ColumnCounts] = {}
    sample = RowSample(MOST_ROWS, np.random.default_rng(seed))
    notes: dict[str, Note] = {}
    missing: list[str] = []
    extra: list[str] = []
    n_rows, readable = 0, ReadableCells()
    for frame in batches:
        if not frame.height:
            continue
        if not n_rows:
            missing = [name for name in model.kinds if name not in frame.columns]
            extra = [name for name in frame.columns if name not in model.kinds and name != model.target]
            check_columns(frame, model, missing, others)
        kinds = {name: kind for name, kind in model.kinds.items() if name not in missing}
        frame = readable.of(frame, kinds)
        matched = match_columns(frame, kinds)
        notes |= {str(note): note for note in matched.notes if note.topic != "columns"}
        for name in kinds:
            if name in reference.columns:
                counts.setdefault(name, ColumnCounts(reference.columns[name]))
        with ThreadPoolExecutor(os.cpu_count()) as threads:  # most of the work is numpy's, without Python's lock
            list(threads.map(ColumnCounts.add, counts.values(), (matched.X[name] for name in counts)))
        kept = [frame[name] for name in dict.fromkeys(name for _, name in others) if name not in kinds]
        sample.add(matched.X.with_columns(kept))
        n_rows += frame.height
    if not n_rows:
        raise InputError("the table has no rows.", "pass at least one row.")
    named = {name for _, name in others}
    return NewRows(
        n_rows,
        list(counts.values()),
        sample.frame,
        tuple(missing),
        tuple(name for name in extra if name not in named),
        tuple(notes.values()),
        readable.found(),
    )


def check_columns(
    frame: pl.DataFrame, model: StoredModel, missing: Sequence[str], others: Sequence[tuple[str, str]]
) -> None:
    """Raise if a table has nothing to compare, or lacks a column that an argument names."""
    if len(missing) == len(model.kinds):
        raise InputError(
            f"the table has none of the columns of the model, which was trained on {listing(list(model.kinds))}.",
            f"check the table. It has {listing(frame.columns)}.",
        )
    for argument, name in others:
        if name not in frame.columns:
            raise InputError(
                f"the table has no column {name!r}, passed as {argument}=.", choose_among(frame.columns, name)
            )
