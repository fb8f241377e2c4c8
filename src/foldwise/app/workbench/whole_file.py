"""Predictions for a whole file, as `foldwise predict` writes them. Runs in a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldwise.app.file_predictions import predict_file


def predict_whole_file(folder: str, table: str, out: str, reading: Mapping[str, Any]) -> dict[str, int]:
    """Write the predictions for a table to a file."""
    return {"rows": predict_file(folder, table, out, reading=reading).n_rows}
