"""How soon does a search end whose fits outlast its timeout? Worker processes that fit for a minute are stopped.

Each search is the first or the second of a new Python process: the first also loads modules. Writes
benchmarks/search_timeout.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
SEARCHES = """
import json, sys, time
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from foldwise import SearchCV

class Slow(LogisticRegression):
    def fit(self, X, y):
        time.sleep(60 if self.C > 1 else 0)
        return super().fit(X, y)

X, y = load_iris(return_X_y=True)
took = []
for _ in range(2):
    search = SearchCV(Slow(), {"C": [0.01, 10.0, 20.0]}, n_jobs=2, cv=2, refit=False, timeout=float(sys.argv[1]))
    start = time.monotonic()
    try:
        search.fit(X, y)
    except ValueError:  # nothing was scored in time
        pass
    took.append(time.monotonic() - start)
print(json.dumps(took))
"""
ABOUT = """# How soon a search ends after its timeout

Each fit takes a minute in one of two worker processes, so none of the slow fits ends within the timeout. Each search
runs in a new Python process; the second search of that process follows the first. Starting worker processes, loading
modules and opening the table count as part of the timeout. The table shows the seconds from the call of `fit` to its
return, and the largest difference from the timeout. Made by `python benchmarks/search_timeout.py`.

| timeout | first search | second search | largest difference |
|---|---|---|---|
"""


def seconds_of(timeout: float) -> list[float]:
    """The seconds that the first and the second search of a new process take."""
    run = subprocess.run([sys.executable, "-c", SEARCHES, str(timeout)], capture_output=True, text=True, check=True)
    found: list[float] = json.loads(run.stdout)
    return found


def row_of(timeout: float, runs: Sequence[Sequence[float]]) -> str:
    """The row of the table for one timeout."""
    first, second = (" ".join(f"{one:.2f}" for one in times) for times in zip(*runs, strict=True))
    off = max(abs(one / timeout - 1) for run in runs for one in run)
    return f"| {timeout:g} s | {first} | {second} | {100 * off:.1f}% |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeouts", type=float, nargs="+", default=(5, 10))
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    rows = [row_of(timeout, [seconds_of(timeout) for _ in range(asked.runs)]) for timeout in asked.timeouts]
    (HERE / "search_timeout.md").write_text(ABOUT + "\n".join(rows) + "\n")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
