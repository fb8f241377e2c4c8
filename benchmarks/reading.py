"""Reading: `read_table` beside polars' own `read_csv`, in one run. Writes benchmarks/reading.md.

`read_table` also finds the separator, encoding, header and missing tokens, and looks at every row's length.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise import read_table

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FOLDWISE_DATA", HERE.parent.parent / "shared" / "data"))


def best_of(times: int, *calls: Callable[[], Any]) -> list[float]:
    """The best time of each call, in seconds; the calls take turns so that a busy moment hits all of them."""
    best = [np.inf] * len(calls)
    for _ in range(times):
        for j, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[j] = min(best[j], time.perf_counter() - start)
    return best


def wide_table(n_rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Thirty columns: fifteen of measurements, eight of whole numbers, seven of words."""
    words = np.array(["red", "green", "blue", "purple"])
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=n_rows).round(4) for j in range(15)}
    columns |= {f"n{j}": rng.integers(0, 1000, n_rows) for j in range(8)}
    columns |= {f"c{j}": words[rng.integers(0, 4, n_rows)] for j in range(7)}
    return pl.DataFrame(columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    lines = ["| file | read_table | polars.read_csv | ratio |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        if (DATA / "tables" / "adult.parquet").is_file():
            path = Path(folder) / "adult.csv"
            pl.read_parquet(DATA / "tables" / "adult.parquet").write_csv(path)
            files.append((path, "adult, 48,842 × 15", 4 * asked.times))
        path = Path(folder) / "wide.csv"
        wide_table(asked.rows, np.random.default_rng(0)).write_csv(path)
        files.append((path, f"{asked.rows:,} × 30, 15 decimal, 8 integer and 7 text columns", asked.times))
        for path, name, times in files:
            ours, peer = best_of(times, lambda path=path: read_table(path), lambda path=path: pl.read_csv(path))
            lines.append(f"| {name} | {1000 * ours:,.0f} ms | {1000 * peer:,.0f} ms | {ours / peer:.2f} × |")
            print(lines[-1])
    machine = f"polars {pl.__version__}, {os.cpu_count()} cores"
    about = f"Made by `python benchmarks/reading.py`, best of several runs, {machine}."
    (HERE / "reading.md").write_text("# Benchmarks: reading files\n\n" + about + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
