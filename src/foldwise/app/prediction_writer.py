"""Write predictions to a file or to standard output. A partial file never appears under its name."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.safe_cells import without_formulas
from foldwise.errors import InputError


class PredictionWriter:
    """Writes predictions to a temporary folder, and moves the complete file to its path."""

    def __init__(self, path: Path | None, raw: bool = False) -> None:
        self._path, self._raw = path, raw
        self._ending = ".csv" if path is None else path.suffix.lower()
        self.n_rows = 0
        self._n_parts = 0

    @property
    def is_delimited(self) -> bool:
        """Whether it writes CSV or TSV."""
        return self._ending in (".csv", ".tsv")

    def __enter__(self) -> PredictionWriter:
        where = None if self._path is None else self._path.parent
        try:
            self._folder = Path(tempfile.mkdtemp(prefix=".foldwise-", dir=where))
        except OSError as error:
            raise InputError(
                f"the folder {str(where)!r} is not writable: {error.strerror}.", "choose another output file."
            ) from error
        return self

    def __exit__(self, *raised: Any) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def write(self, frame: pl.DataFrame) -> None:
        """Append rows."""
        if self._ending == ".parquet":
            frame.write_parquet(self._folder / f"{self._n_parts:08d}.parquet")
        else:
            with (self._folder / "lines").open("ab") as file:
                if self._ending in (".jsonl", ".ndjson"):
                    frame.write_ndjson(file)
                else:
                    separator = "\t" if self._ending == ".tsv" else ","
                    frame = frame if self._raw else without_formulas(frame)
                    frame.write_csv(file, include_header=not self._n_parts, separator=separator)
        self._n_parts += 1
        self.n_rows += frame.height

    def finish(self) -> None:
        """Move the complete file to its path, or print it."""
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
