"""Predict the rows of a Spark DataFrame on its workers, with any model file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.file_predictions import kept_columns, predictor_of
from foldwise.app.run_folder import MODEL
from foldwise.engines.drawing import plain_types
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.storage import StoredModel, open_model


def predict_spark(run: str | Path, frame: Any, *, keep: Sequence[str] = ()) -> Any:
    """Predict every row of a Spark DataFrame on the workers of its cluster.

    The model file is sent to each worker once. Workers need Foldwise and the libraries of the model.

    Parameters
    ----------
    run : path
        A run folder or a model file.
    frame : pyspark.sql.DataFrame
        The rows to predict.
    keep : sequence of str, default=()
        Columns to copy to the output, such as a row identifier.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of `keep`, then those that `predict_file` writes. Nothing is computed before it is used.

    Examples
    --------
    >>> from foldwise import predict_spark
    >>> rows = session.table("orders")  # doctest: +SKIP
    >>> predict_spark("orders-run", rows, keep=["id"]).write.parquet("predictions")  # doctest: +SKIP
    """
    if not isinstance(run, str | os.PathLike):
        raise FoldwiseTypeError(
            f"run must be a run folder or a model file, got {type(run).__name__}.",
            "write the folder of a run with run.save(folder), or a model file with save_model, and pass its path.",
        )
    from pyspark.sql.pandas.types import from_arrow_schema

    if not hasattr(frame, "mapInArrow"):
        found = type(frame)
        library = "" if found.__module__ == "builtins" else found.__module__.partition(".")[0] + "."
        raise FoldwiseTypeError(f"frame must be a DataFrame of Spark, got {library}{found.__name__}.")
    given = Path(run)
    path = given / MODEL if given.is_dir() else given
    if not path.is_file():
        raise InputError(f"there is no model file {str(path)!r}.", "pass a run folder or a model file.")
    content, kept = path.read_bytes(), kept_columns(keep)
    head = pl.from_arrow(frame.limit(1).toArrow())
    assert isinstance(head, pl.DataFrame)
    if not head.height:
        raise InputError("the DataFrame must have at least one row, but has none.")
    first = predictor_of(open_model(path), None, kept).answers(plain_types(head)).to_arrow()
    sent = frame.sparkSession.sparkContext.broadcast(content)

    def predict(batches: Iterable[Any]) -> Iterator[Any]:
        predictor = predictor_of(model_of(sent.value), None, kept)
        for batch in batches:
            rows = pl.from_arrow(batch)
            assert isinstance(rows, pl.DataFrame)
            yield from predictor.answers(plain_types(rows)).to_arrow().cast(first.schema).to_batches()

    return frame.mapInArrow(predict, from_arrow_schema(first.schema))


@lru_cache(maxsize=2)
def model_of(content: bytes) -> StoredModel:
    """Open a model file from its bytes, once per worker."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / MODEL
        path.write_bytes(content)
        return open_model(path)
