"""`foldwise check`: time, false alarms, planted drifts, and the coverage of the expected log loss.

Run `python benchmarks/check.py`; `--evidently PYTHON` adds the data-drift report of Evidently, run by another Python.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from foldwise import check, read_table
from foldwise.app.blend import Blend
from foldwise.app.reference import make_reference, row_metrics
from foldwise.evaluation.metrics import class_metric
from foldwise.storage import StoredModel
from foldwise.storage.table_check import kinds_of

N_COLUMNS, ROUNDS = 30, 3
MOST_SECONDS = 200  # that Evidently may take
CLASSES = np.array([0, 1])
EVIDENTLY = """
import sys, time
import pandas as pd
from evidently import Dataset, DataDefinition, Report
from evidently.presets import DataDriftPreset
old, new = pd.read_csv(sys.argv[1]), pd.read_csv(sys.argv[2])
start = time.perf_counter()
Report([DataDriftPreset()]).run(Dataset.from_pandas(new), Dataset.from_pandas(old)).json()
print(time.perf_counter() - start)
"""


def table(n_rows: int, rng: np.random.Generator, shift: dict[int, float] | None = None) -> pl.DataFrame:
    """24 numbers, some of them skewed or discrete, and 6 categories; the target depends on the first numbers."""
    x = rng.normal(size=(n_rows, 24))
    for j, by in (shift or {}).items():
        x[:, j] += by
    odds = 1.2 * x[:, 0] - x[:, 1] + 0.5 * x[:, 2]
    columns = {f"n{j}": x[:, j] if j % 3 else np.exp(x[:, j]) if j else x[:, j] for j in range(24)}
    columns["n23"] = np.rint(2 * x[:, 23])
    levels = {f"c{j}": rng.choice(list("abcdefgh")[: j + 2], n_rows) for j in range(6)}
    y = (rng.uniform(size=n_rows) < 1 / (1 + np.exp(-odds))).astype(int)
    return pl.DataFrame({**columns, **levels, "y": y})


def stored(frame: pl.DataFrame, held_out: pl.DataFrame, *, forest: bool = False) -> StoredModel:
    """A model of the first three numbers, with the reference that `fit` stores in a model file."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline

    names = ["n0", "n1", "n2"]
    X, y = frame.drop("y"), frame["y"].to_numpy()
    model = RandomForestClassifier(10, random_state=0) if forest else LogisticRegression(C=1e6)
    member = make_pipeline(make_column_transformer(("passthrough", names)), model).fit(X, y)
    blend = Blend([member], [1.0], [None], None, [0.5, 0.5], 1e-4, [0, 1])
    metric = class_metric("log_loss", CLASSES)
    predicted = blend.predict_proba(held_out.drop("y"))
    truth = held_out["y"].to_numpy()
    about = make_reference(X, truth, predicted, row_metrics(metric, CLASSES, None), "log_loss")
    return StoredModel(blend, kinds_of(X), CLASSES, "y", {"reference": about}, {})


def times(folder: Path, n_rows: int, evidently: str | None) -> list[str]:
    rng = np.random.default_rng(0)
    train, new = table(n_rows, rng), table(n_rows, rng)
    model = stored(train[:100_000], table(5_000, rng))
    train.write_csv(folder / "train.csv")
    new.drop("y").write_csv(folder / "new.csv")
    megabytes = (folder / "new.csv").stat().st_size / 1e6
    reading, checking = [], []
    for _ in range(ROUNDS):
        reading.append(timed(lambda: read_table(folder / "new.csv"))[0])
        seconds, found = timed(lambda: check(model, folder / "new.csv"))
        checking.append(seconds)
    lines = [
        f"- {n_rows:,} rows × {N_COLUMNS} columns, CSV of {megabytes:.0f} MB, best of {ROUNDS}: `read_table` "
        f"{min(reading):.2f} s, `check` with reading, counting, {found.n_predicted:,} predictions and ranking "
        f"{min(checking):.2f} s, {min(checking) / min(reading):.2f} × the time of reading (goal: 3). Changed columns: "
        f"{len(found.changed_columns)}."
    ]
    if evidently:
        lines.append(run_evidently(evidently, folder))
    return lines


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and the result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def run_evidently(python: str, folder: Path) -> str:
    script = folder / "evidently_report.py"
    script.write_text(EVIDENTLY)
    try:
        done = subprocess.run(
            [python, str(script), str(folder / "train.csv"), str(folder / "new.csv")],
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"- Evidently's `DataDriftPreset` on the same rows was stopped after {MOST_SECONDS} s."
    if done.returncode:
        return f"- Evidently failed: {done.stderr.strip().splitlines()[-1]}"
    return f"- Evidently's `DataDriftPreset` on the same rows, after reading them: {float(done.stdout):.1f} s."


def false_alarms(n_simulations: int) -> list[str]:
    lines = []
    for n_train, n_new in ((500, 300), (5_000, 2_000)):
        alarms = significant = 0
        for seed in range(n_simulations):
            rng = np.random.default_rng(seed)
            train = table(n_train, rng)
            found = check(stored(train, train), table(n_new, rng).drop("y"))
            alarms += found.changed
            significant += any(one.p_corrected < 0.05 for one in found.columns)
        lines.append(
            f"- {n_train:,} training rows, {n_new:,} new rows, {n_simulations} simulations: a change reported in "
            f"{alarms / n_simulations:.1%}, some corrected p below 0.05 in {significant / n_simulations:.1%} "
            "(stated: at most 5%)."
        )
    return lines


def planted(n_simulations: int) -> list[str]:
    first = named = extra = 0
    for seed in range(n_simulations):
        rng = np.random.default_rng(1_000 + seed)
        train = table(5_000, rng)
        found = check(stored(train, train), table(3_000, rng, {0: 0.6, 10: 0.6}).drop("y"))
        first += found.changed_columns[:1] == ["n0"]
        named += {"n0", "n10"} <= set(found.changed_columns)
        extra += len(set(found.changed_columns) - {"n0", "n10"})
    return [
        f"- A shift of 0.6 standard deviations in `n0`, which the model uses, and in `n10`, which it does not, "
        f"{n_simulations} simulations: both named in {named / n_simulations:.0%}, `n0` first in "
        f"{first / n_simulations:.0%}, other columns named {extra} times."
    ]


def coverage(n_simulations: int) -> list[str]:
    lines = []
    cases = {
        "P(x) changes, P(y|x) does not; logistic regression, the true form": (False, False),
        "the same with a random forest of 10 full trees, which is not calibrated": (True, False),
        "P(y|x) changes, too: the effect of `n1` is lost": (False, True),
    }
    for words, (forest, misspecified) in cases.items():
        inside = 0
        for seed in range(n_simulations):
            rng = np.random.default_rng(2_000 + seed)
            model = stored(table(3_000, rng), table(3_000, rng), forest=forest)
            new = table(2_000, rng, {0: 0.7, 1: -0.5})
            if misspecified:
                odds = 1.2 * new["n0"].to_numpy() + 0.5 * new["n2"].to_numpy()
                y = (rng.uniform(size=2_000) < 1 / (1 + np.exp(-odds))).astype(int)
                new = new.with_columns(y=pl.Series(y))
            inside += check(model, new, labels="y").realized[0].within
        lines.append(
            f"- {words}: realized log loss in the 95% interval in {inside / n_simulations:.1%} of simulations."
        )
    return lines


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--simulations", type=int, default=200)
    asked.add_argument("--evidently", help="a Python with Evidently")
    asked.add_argument("--parts", default="time,alarms,planted,coverage")
    options = asked.parse_args()
    parts = options.parts.split(",")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if "time" in parts:
            print("\n## Time\n", *times(folder, options.rows, options.evidently), sep="\n", flush=True)
        if "alarms" in parts:
            print(
                "\n## False alarms on unchanged data\n",
                *false_alarms(options.simulations),
                sep="\n",
                flush=True,
            )
        if "planted" in parts:
            print("\n## Planted drifts\n", *planted(options.simulations // 4), sep="\n", flush=True)
        if "coverage" in parts:
            print("\n## The expected log loss\n", *coverage(options.simulations), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
