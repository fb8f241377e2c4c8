"""The tables that tests read: those that ship with the project, and the real ones if they lie beside the checkout.

FOLDWISE_DATA names another folder than ../shared/data for the latter.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parent


def data_folder() -> Path | None:
    """The folder of real tables: FOLDWISE_DATA, or ../shared/data beside the checkout."""
    folder = Path(os.environ.get("FOLDWISE_DATA", SHIPPED.parents[2] / "shared" / "data"))
    return folder if (folder / "CATALOG.csv").is_file() else None


def catalogue(*, prefer_real: bool = False) -> dict[str, dict[str, str]]:
    """What is known of each table, by its name; `path` says where it lies.

    A shipped table hides a real one of the same name, which may be larger, unless the real ones are preferred.
    """
    found: dict[str, dict[str, str]] = {}
    for folder in (SHIPPED, data_folder()) if prefer_real else (data_folder(), SHIPPED):
        if folder is not None:
            with (folder / "CATALOG.csv").open(newline="", encoding="utf-8") as file:
                found |= {row["name"]: {**row, "path": str(folder / row["file"])} for row in csv.DictReader(file)}
    return found


def table_path(name: str) -> Path:
    return Path(catalogue()[name]["path"])


def available(*names: str) -> list[str]:
    """Those of the tables that are here."""
    return [name for name in names if name in catalogue()]


def raw_files() -> list[Path]:
    """Files in many dialects: the shipped ones, then the real ones if they are here."""
    folders = [SHIPPED, data_folder()]
    return [path for folder in folders if folder is not None for path in sorted((folder / "raw").iterdir())]


needs_real_tables = pytest.mark.skipif(
    data_folder() is None, reason="the real tables are not beside the checkout, and FOLDWISE_DATA is not set"
)
