"""Naive Bayes against scikit-learn in the same run: whole calls with their validation, best of several after warm-up.

`make bench` prints the table and writes it to benchmarks/results.md. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import foldwise
from foldwise import NaiveBayes

HERE = Path(__file__).parent
ROUNDS = 15
PEER_ROUNDS = 4


def best(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The least of several times, after one call that does not count."""
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


class Board:
    """Lines of the result: what was measured, against what, the ratio and whether it is what was asked for."""

    def __init__(self) -> None:
        self.lines = [
            "| what | foldwise | compared with | ratio or value | goal | reached |",
            "|---|---|---|---|---|---|",
        ]
        self.missed = 0

    def add(
        self, what: str, ours: str, peer: str, figure: float, limit: float, at_least: bool, unit: str = "×"
    ) -> None:
        good = figure >= limit if at_least else figure <= limit
        self.missed += not good
        sign = "≥" if at_least else "≤"
        verdict = "yes" if good else "**no**"
        line = f"| {what} | {ours} | {peer} | {figure:.3g} {unit} | {sign} {limit:g} {unit} | {verdict} |"
        print(line, flush=True)
        self.lines.append(line)

    def faster(self, what: str, ours: float, peer: float, limit: float) -> None:
        self.add(what, ms(ours), f"scikit-learn {ms(peer)}", peer / ours, limit, True)

    def no_slower(self, what: str, ours: float, other: float, limit: float, name: str) -> None:
        self.add(what, ms(ours), f"{name} {ms(other)}", ours / other, limit, False)


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def race(
    board: Board, name: str, X: np.ndarray, y: np.ndarray, ours: NaiveBayes, peer: object, fit: float, predict: float
) -> None:
    """Fit and predict_proba of both on an array, and of ours on a pandas frame of the same."""
    frame = pd.DataFrame(X)
    check(ours, peer, X, y)
    fitted = best(lambda: ours.fit(X, y))
    board.faster(f"{name}: fit", fitted, best(lambda: peer.fit(X, y), PEER_ROUNDS), fit)
    if name.startswith("gaussian 1,000,000"):
        board.no_slower(f"{name}: fit", fitted, best(lambda: np.sum(X)), 1.6, "np.sum")
    answered = best(lambda: ours.predict_proba(X))
    board.faster(f"{name}: predict_proba", answered, best(lambda: peer.predict_proba(X), PEER_ROUNDS), predict)
    board.no_slower(f"{name}: fit, pandas", best(lambda: ours.fit(frame, y)), fitted, 1.6, "array")
    board.no_slower(f"{name}: predict_proba, pandas", best(lambda: ours.predict_proba(frame)), answered, 1.6, "array")


def check(ours: NaiveBayes, peer: object, X: np.ndarray, y: np.ndarray) -> None:
    """A race between different answers is none."""
    some = slice(0, 2000)
    gap = np.abs(ours.fit(X, y).predict_proba(X[some]) - peer.fit(X, y).predict_proba(X[some])).max()
    assert gap < 1e-4, gap  # ddof and variance floors differ


def in_new_process(code: str, **environment: str) -> float:
    """What a program prints, as a number."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return float(done.stdout.strip().splitlines()[-1])


MEMORY = """
import numpy as np
from foldwise import NaiveBayes
rng = np.random.default_rng(0)
NaiveBayes(families={family!r}).fit({small}, np.arange(100) % 2)
X = np.empty((1_000_000, 30), dtype={dtype!r})
for rows in np.array_split(np.arange(len(X)), 100):
    X[rows[0] : rows[-1] + 1] = {fill}
y = rng.integers(0, 2, len(X))

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

with open("/proc/self/clear_refs", "w") as control:
    control.write("5")  # the peak starts anew from what is held now
before = kilobytes("VmRSS")
NaiveBayes(families={family!r}).fit(X, y)
print((kilobytes("VmHWM") - before) / 1e3)
"""

IMPORT = "import time; start = time.perf_counter(); import foldwise; print(time.perf_counter() - start)"

FIRST_FIT = """
import time
import numpy, polars
from foldwise import NaiveBayes, read_table
table = read_table({path!r}, target="play")
start = time.perf_counter()
NaiveBayes().fit(table.X, table.y)
print(time.perf_counter() - start)
"""


def main() -> int:
    board = Board()
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = rng.integers(0, 2, n)
    race(board, "gaussian 1,000,000 × 30, 2 classes", rng.normal(size=(n, 30)), y, NaiveBayes(), GaussianNB(), 15, 10)
    race(
        board,
        "categorical 1,000,000 × 30, 8 values, 2 classes",
        rng.integers(0, 8, (n, 30)),
        y,
        NaiveBayes(families="categorical"),
        CategoricalNB(),
        20,
        14,
    )
    X, y = rng.normal(size=(200_000, 16)), rng.integers(0, 26, 200_000)
    race(board, "gaussian 200,000 × 16, 26 classes", X, y, NaiveBayes(), GaussianNB(), 7, 12)

    for family, dtype, small, fill in (
        ("gaussian", "float64", "rng.normal(size=(100, 30))", "rng.normal(size=(len(rows), 30))"),
        ("categorical", "int64", "rng.integers(0, 8, (100, 30))", "rng.integers(0, 8, (len(rows), 30))"),
    ):
        peak = in_new_process(MEMORY.format(family=family, dtype=dtype, small=small, fill=fill))
        board.add(
            f"{family} 1,000,000 × 30: peak memory of fit beyond the input", f"{peak:.1f} MB", "", peak, 50, False, "MB"
        )

    seconds = min(in_new_process(IMPORT) for _ in range(5))
    board.add("`import foldwise`", ms(seconds), "", seconds, 0.05, False, "s")
    path = str(HERE.parent / "examples" / "weather.csv")
    with tempfile.TemporaryDirectory() as cache:
        cold = in_new_process(FIRST_FIT.format(path=path), NUMBA_CACHE_DIR=cache)
        warm = min(in_new_process(FIRST_FIT.format(path=path), NUMBA_CACHE_DIR=cache) for _ in range(5))
    board.add("first fit on 14 rows in a new process, cold caches", ms(cold), "", cold, 3, False, "s")
    board.add("the same, warm", ms(warm), "", warm, 0.3, False, "s")

    (HERE / "results.md").write_text(
        "# Benchmarks: naive Bayes\n\nMade by `make bench` (`benchmarks/naive_bayes.py`). Complete calls with input "
        f"validation, best of\n{ROUNDS} after a warm-up (scikit-learn best of {PEER_ROUNDS}). Each ratio compares "
        "times of the same run.\n\n"
        f"Machine: {machine()}.\n\n" + "\n".join(board.lines) + "\n"
    )
    print(f"\n{board.missed} figures missed" if board.missed else "\nall figures reached")
    return int(board.missed > 0)


def machine() -> str:
    """The machine and the versions, without its name."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    return f"{os.cpu_count()} cores, {model}, {platform.system()}; {versions}, foldwise {foldwise.__version__}"


if __name__ == "__main__":
    sys.exit(main())
