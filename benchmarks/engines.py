"""Facts and nested scores of a Parquet file that is larger than the memory given to DuckDB.

`python benchmarks/engines.py make 50000000 big.parquet`, then `python benchmarks/engines.py run big.parquet`. Every
part runs in a process of its own, so that its peak memory can be stated, as often as `REPEATS` says; the best time
counts. Seconds are stated with the imports of the part, and without them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

NUMBERS = ("x1", "x2", "x3", "x4", "x5")
CATEGORIES = ("c1", "c2", "c3", "c4", "c5")
MEMORY = "600MB"  # of DuckDB; Python and its libraries need the rest of 1 GiB
REPEATS = {"own": 4, "facts": 3, "nested": 2, "batches": 1}
Work = Callable[[], dict[str, object]]  # a part, after its imports


def make(n_rows: int, path: str) -> None:
    """Write a table of ten mixed columns, a key and a target."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MEMORY, "threads": 2})
    connection.execute("select setseed(0.5)")
    connection.execute(
        f"""copy (
            select i as id, if(random() < 0.3 + 0.2 * (z > 0)::int, 'yes', 'no') as target,
                1e8 + z as x1, if(random() < 0.02, null, random()) as x2, random() * 100 as x3,
                (random() * 50)::int as x4, -ln(1 - random()) as x5,
                ['red', 'green', 'blue', 'black'][1 + (random() * 3)::int] as c1,
                'v' || (random() * 9)::int as c2, 'city ' || (random() * 50)::int as c3,
                random() < 0.4 as c4, if(random() < 0.01, null, ['a', 'b'][1 + random()::int]) as c5
            from (select i, sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) as z from range({n_rows}) r(i))
        ) to '{path}'"""
    )


def own(path: str) -> Work:
    """DuckDB's own aggregates over the same columns: means and variances, and counts of categories, by class."""
    import duckdb

    def work() -> dict[str, object]:
        connection = duckdb.connect(config={"memory_limit": MEMORY, "threads": 2})
        sums = ", ".join(f"count({name}), avg({name}), var_samp({name})" for name in NUMBERS)
        connection.execute(f"select target, count(*), {sums} from '{path}' group by target").fetchall()
        for name in CATEGORIES:
            connection.execute(f"select target, {name}, count(*) from '{path}' group by all").fetchall()
        return {}

    return work


def facts(path: str) -> Work:
    """The facts of naive Bayes."""
    import ibis.backends.duckdb  # noqa: F401  (Ibis loads it on first use)

    from foldwise import NaiveBayes
    from foldwise.engines import facts_of, table_of

    def work() -> dict[str, object]:
        found = facts_of(table_of(path, memory=MEMORY), "target", columns=[*NUMBERS, *CATEGORIES])
        NaiveBayes().fit_facts(found)
        return {"rows": found.n_rows}

    return work


def nested(path: str) -> Work:
    """A nested study of 100 settings."""
    import ibis.backends.duckdb  # noqa: F401  (Ibis loads it on first use)

    from foldwise import NaiveBayes
    from foldwise.engines import table_of
    from foldwise.evaluation import nested_in_engine

    grid = {
        "alpha": [0.01, 0.1, 1, 10, 100],
        "var_floor": [1e-9, 1e-3, 1e-2, 0.1, 1.0],
        "temperature": [0.8, 1, 1.2, 2],
    }

    def work() -> dict[str, object]:
        table = table_of(path, memory=MEMORY)
        found = nested_in_engine(
            NaiveBayes(), grid, table, "target", key="id", columns=[*NUMBERS, *CATEGORIES], outer=3, inner=2
        )
        return {
            "settings": len(found.settings),
            "sample": found.sample_rows,
            "error": found.sample_error,
            "score": found.score,
        }

    return work


def batches(path: str) -> Work:
    """scikit-learn's `partial_fit` over batches, on the numeric columns only, which is all that GaussianNB takes."""
    import numpy as np
    import pyarrow.parquet as pq
    from sklearn.naive_bayes import GaussianNB

    def work() -> dict[str, object]:
        model = GaussianNB()
        for batch in pq.ParquetFile(path).iter_batches(262_144, columns=["target", *NUMBERS]):
            X = np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in NUMBERS])
            y = batch.column("target").to_numpy(zero_copy_only=False).astype(str)
            model.partial_fit(np.nan_to_num(X, nan=0.5), y, classes=["no", "yes"])
        return {}

    return work


PARTS = {part.__name__: part for part in (own, facts, nested, batches)}


def run(path: str, names: list[str]) -> None:
    """Run each part in processes of its own, and print a table of the best times, with imports and without."""
    base = {"all": 0.0, "work": 0.0}
    print("| part | seconds | times DuckDB's own | without imports | times DuckDB's own | peak memory |")
    print("|---|---|---|---|---|---|")
    for name in names or list(PARTS):
        lines = []
        for _ in range(REPEATS[name]):
            done = subprocess.run(
                [sys.executable, __file__, "part", name, path], capture_output=True, text=True, check=True
            )
            lines.append(json.loads(done.stdout.strip().splitlines()[-1]))
        best = {kind: min(line[kind] for line in lines) for kind in base}
        base = best if name == "own" else base
        cells = [f"{name} {lines[0]['more'] or ''}"]
        for kind, seconds in best.items():
            cells += [f"{seconds:.2f}", f"{seconds / (base[kind] or 1):.2f}"]
        print("|", " | ".join([*cells, f"{max(line['mib'] for line in lines):.0f} MiB"]), "|", flush=True)


def main() -> None:
    """Make the table, run one part, or run all of them."""
    match sys.argv[1:]:
        case ["make", n_rows, path]:
            make(int(n_rows), path)
        case ["part", name, path]:
            start = time.perf_counter()
            work = PARTS[name](path)
            ready = time.perf_counter()
            more = work()
            end = time.perf_counter()
            mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(json.dumps({"all": end - start, "work": end - ready, "mib": mib, "more": more}))
        case ["run", path, *names] if Path(path).exists():
            run(path, names)
        case _:
            print(__doc__)


if __name__ == "__main__":
    main()
