"""What intervals cost: seconds of predictions and bytes of model files, for each method and model.

`python benchmarks/conformal_cost.py` prints the table of docs/how-to/intervals-and-sets.md.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from foldwise import Conformal, KNNRegressor, save_model

N_ROWS, N_NEW, N_COLUMNS = 2000, 10_000, 20
MODELS = (Ridge(), KNNRegressor(10), HistGradientBoostingRegressor(max_iter=50, random_state=0))


def seconds(predict, new):
    predict(new)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        predict(new)
        times.append(time.perf_counter() - start)
    return min(times)


def file_size(model, X):
    with tempfile.TemporaryDirectory() as folder:
        save_model(f"{folder}/model.foldwise", model, X[:5])
        return os.path.getsize(f"{folder}/model.foldwise")


def main():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(N_ROWS, N_COLUMNS)), rng.normal(size=(N_NEW, N_COLUMNS))
    y = X @ rng.normal(size=N_COLUMNS) + rng.normal(size=N_ROWS)
    print(f"{N_ROWS:,} training rows, {N_COLUMNS} columns; {N_NEW:,} new rows.\n")
    print("| model | method | kept as | prediction, ms | file, kB |\n|---|---|---|--:|--:|")
    for inner in MODELS:
        name = type(inner).__name__
        model = clone(inner).fit(X, y)
        print(f"| {name} | no interval | | {1e3 * seconds(model.predict, new):.1f} | {kilobytes(model, X)} |")
        for method in ("cross", "cv+", "jackknife+"):
            if method == "jackknife+" and inner is MODELS[-1]:
                continue  # 2,000 models
            fitted = Conformal(inner, method).fit(X, y)
            kept = "" if fitted.kept_models_ is None else type(fitted.kept_models_).__name__
            took = 1e3 * seconds(fitted.predict_interval, new)
            print(f"| {name} | {method} | {kept and f'`{kept}`'} | {took:.1f} | {kilobytes(fitted, X)} |", flush=True)


def kilobytes(model, X):
    return f"{file_size(model, X) / 1e3:.0f}"


if __name__ == "__main__":
    main()
