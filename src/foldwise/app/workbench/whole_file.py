"""Predictions for a whole file, as `foldwise predict` writes them. Runs in a worker."""

from __future__ import annotations

from foldwise.app.file_predictions import predict_file


def predict_whole_file(folder: str, table: str, out: str) -> dict[str, int]:
    """Write the predictions for a table to a file."""
    return {"rows": predict_file(folder, table, out).n_rows}
