"""Exports on every table: do databases and onnxruntime predict what Python predicts, and how fast?

Writes benchmarks/exports.md. Each model of the catalog that can be exported is fitted on up to 300 rows of each table,
with 10 trees where it has trees. It predicts up to 500 rows, and up to 100 boundary rows, in DuckDB, SQLite,
onnxruntime and, if it is installed, PostgreSQL; on three tables also in Spark. The numbers of boundary rows are
thresholds of the trees and the doubles beside them. In the case "leaves", the prediction of a forest names the leaves
that a row reached. Then DuckDB and Python predict 1,000,000 rows of one table with five models. The real tables are
those of FOLDWISE_DATA or ../shared/data.

`--tables` measures the agreement. Its results are kept in `--cache`, so that it can be interrupted (`--minutes`), and
a query that takes longer than `--seconds` is recorded as an error. `--speed` measures the speed; `--page` writes the
page from the cache.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import warnings
from pathlib import Path

import duckdb
import onnxruntime

from export_agreement import agreement, measure
from export_speed import orbital, planning, speed

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", action="store_true", help="measure the agreement on all tables")
    parser.add_argument("--speed", action="store_true", help="measure the speed")
    parser.add_argument("--orbital", help="compare with orbital: the Python of an environment with orbital")
    parser.add_argument("--page", action="store_true", help="write the page")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "foldwise-exports.jsonl")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop measuring the agreement after this time")
    parser.add_argument("--seconds", type=float, default=60, help="the most time of one query")
    parser.add_argument("--models", default="", help="measure the agreement of these models only, separated by commas")
    given = parser.parse_args()
    every = not (given.tables or given.speed or given.page or given.orbital)
    warnings.simplefilter("ignore")
    times = given.cache.with_suffix(".speed.md")
    if every or given.tables:
        measure(given.cache, given.minutes, given.seconds, [one for one in given.models.split(",") if one])
    if every or given.speed:
        times.write_text("\n".join([*speed(), "", *planning(), ""]), encoding="utf-8")
        print(times.read_text(encoding="utf-8"))
    peer = given.cache.with_suffix(".orbital.md")
    if given.orbital:
        peer.write_text("\n".join([*orbital(given.orbital), ""]), encoding="utf-8")
    if every or given.page:
        lines = ["# Benchmarks: models as SQL and ONNX", "", "Made by `benchmarks/exports.py`.", ""]
        lines += ["## Agreement with Python", "", *agreement(given.cache), ""]
        if times.exists():
            lines += ["## Speed", "", times.read_text(encoding="utf-8")]
        if peer.exists():
            lines += ["## Beside orbital", "", peer.read_text(encoding="utf-8")]
        versions = (
            f"DuckDB {duckdb.__version__}, SQLite {sqlite3.sqlite_version}, onnxruntime {onnxruntime.__version__}"
        )
        lines.append(f"{versions}.")
        (HERE / "exports.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
