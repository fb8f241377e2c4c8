"""`foldwise fit` on many shapes of tables at several budgets. Writes benchmarks/shapes.md.

Each run is a process of its own, as a user starts it: wall time counts from the start of the process to its end. The
model is scored on rows that it has not seen. At 10 s, its peers are logistic regression and a random forest with their
defaults, where they themselves are done within 10 s; the tall table's peer is HistGradientBoosting on all rows. Losses
of test rows are compared by a paired test, corrected by Holm over all tables.

The real tables are those of FOLDWISE_DATA or ../shared/data that have classes and at least 150 rows; nothing of them
is kept. Run it by hand on a quiet machine: `python benchmarks/shapes.py` takes about 15 minutes; with `--only wide`,
`tall` or `real`, a part of it. Results are added to a cache, and what the cache holds is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import ttest_rel
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from foldwise import open_model
from foldwise.evaluation.comparing.paired import holm

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FOLDWISE_DATA", HERE.parent.parent / "shared" / "data"))
LEAST_ROWS = 150
BUDGET = 10.0  # of the real tables
PEER_SECONDS = 10.0
LEVEL = 0.05
LEAST = 1e-6  # smallest probability of a loss, for all alike

Losses = dict[str, np.ndarray[Any, Any]]


# tables


def made(n_rows: int, n_columns: int, n_classes: int = 2, seed: int = 0) -> pl.DataFrame:
    """Numbers, of which the first twenty differ between classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :20] += (y[:, None] * (0.4 + np.arange(20) % 3) / n_classes)[:, : min(20, n_columns)]
    return pl.DataFrame(X, schema=[f"g{i}" for i in range(n_columns)]).with_columns(
        pl.Series("y", [f"class {k}" for k in y])
    )


def tall(n_rows: int, seed: int = 0) -> pl.DataFrame:
    """Twenty numbers and six categories; the class depends on products and steps, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20)).astype(np.float32)
    codes = rng.integers(0, 8, size=(n_rows, 6))
    odds = X[:, 0] * X[:, 1] + (X[:, 2] > 0.5) - 0.5 * X[:, 3] + 0.4 * (codes[:, 0] % 3) - 0.6 * (codes[:, 1] == 2)
    y = rng.random(n_rows) < 1 / (1 + np.exp(-odds))
    words = {f"c{j}": np.array(list("abcdefgh"))[codes[:, j]] for j in range(6)}
    return pl.DataFrame({**{f"x{j}": X[:, j] for j in range(20)}, **words, "y": np.where(y, "yes", "no")})


def halves(frame: pl.DataFrame, target: str, test: float | int, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Training and test rows, with the same share of each class where that is possible."""
    y = frame[target].to_numpy()
    counts = frame[target].value_counts()["count"]
    train, held = train_test_split(
        np.arange(frame.height), test_size=test, random_state=seed, stratify=y if counts.min() > 1 else None
    )
    return frame[np.sort(train)], frame[np.sort(held)]


# runs


class Watch(threading.Thread):
    """Measures the memory of a process and all its children, shared pages counted once, four times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most, self.over = pid, 0, False

    def run(self) -> None:
        while not self.over:
            self.most = max(self.most, sum(map(proportional_size, family(self.pid))))
            time.sleep(0.25)


def family(pid: int) -> list[int]:
    """A process and all its descendants, also those that have a session of their own."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def proportional_size(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def fitted(train: Path, target: str, budget: float, folder: Path) -> dict[str, Any]:
    """Run `foldwise fit` as a user would."""
    words = ["fit", train, "--target", target, "--budget", f"{budget:g}s", "--out", folder, "--quiet"]
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "foldwise.app.cli", *map(str, words)])
    watch = Watch(process.pid)
    watch.start()
    code = process.wait()
    seconds = time.monotonic() - start
    watch.over = True
    assert code == 0, words
    facts = json.loads((folder / "run.json").read_text())
    scored = [line["model"] for line in facts["leaderboard"] if line["estimate"] and line["model"] != "baseline"]
    return {
        "seconds": seconds,
        "n_scored": len(scored),
        "scored": scored,
        "model": facts["final"]["words"].split(",")[0],
        "estimate": facts["headline"]["estimate"],
        "report": (folder / "report.html").stat().st_size,
        "memory": watch.most,
    }


def losses(proba: np.ndarray[Any, Any], classes: list[str], y: list[str]) -> Losses:
    """The log loss and the Brier score of each row. A class that was not learned has probability 0."""
    table = np.zeros((len(y), len(classes)))
    position = {name: i for i, name in enumerate(classes)}
    for row, label in enumerate(y):
        if label in position:
            table[row, position[label]] = 1.0
    p = np.clip((proba * table).sum(axis=1), LEAST, 1.0)
    return {"log loss": -np.log(p), "Brier score": ((proba - table) ** 2).sum(axis=1)}


def of_foldwise(folder: Path, test: pl.DataFrame, target: str) -> Losses:
    model = open_model(folder / "model.foldwise")
    proba = model.predict_proba(test.drop(target))
    return losses(proba, [str(c) for c in model.classes_], list(map(str, test[target].to_list())))


def peers() -> dict[str, Any]:
    return {"logistic regression": LogisticRegression(max_iter=1000), "random forest": RandomForestClassifier()}


def of_peer(model: Any, train: pl.DataFrame, test: pl.DataFrame, target: str) -> tuple[float, Losses]:
    """Fit a model with the usual preparation: gaps filled, numbers scaled, categories coded."""
    X, held = train.drop(target), test.drop(target)
    numbers = [name for name in X.columns if X[name].dtype.is_numeric() or X[name].dtype == pl.Boolean]
    words = [name for name in X.columns if name not in numbers]
    trees = isinstance(model, HistGradientBoostingClassifier)
    coder = (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        if trees
        else OneHotEncoder(handle_unknown="ignore", min_frequency=2)
    )
    scaled = "passthrough" if trees else make_pipeline(SimpleImputer(), StandardScaler())
    coded = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), coder)
    pipeline = make_pipeline(make_column_transformer((scaled, numbers), (coded, words)), model)
    X, held = (one.with_columns(pl.col(words).cast(pl.String)).to_pandas() for one in (X, held))
    X[numbers], held[numbers] = X[numbers].astype(float), held[numbers].astype(float)
    for frame in (X, held):
        frame[words] = frame[words].astype(object).where(frame[words].notna(), np.nan)
    y = np.array(list(map(str, train[target].to_list())))
    start = time.monotonic()
    pipeline.fit(X, y)
    seconds = time.monotonic() - start
    return seconds, losses(
        pipeline.predict_proba(held), list(pipeline.classes_), list(map(str, test[target].to_list()))
    )


def compare(ours: Losses, theirs: Losses) -> dict[str, Any]:
    """The mean losses of a peer, and the p-value of ours being worse, for each loss."""
    p = {}
    for name, mine in ours.items():
        found = ttest_rel(mine, theirs[name], alternative="greater").pvalue
        p[name] = float(found) if np.isfinite(found) else 1.0
    return {"log loss": float(theirs["log loss"].mean()), "p": p}


def measure(name: str, frames: Any, target: str, budget: float, models: dict[str, Any], place: Path) -> dict[str, Any]:
    """One table at one budget, and its peers."""
    train, test = frames()
    file = place / f"{name.replace(' ', '_')}.{'csv' if train.width > 1000 or train.height > 10**5 else 'parquet'}"
    train.write_csv(file) if file.suffix == ".csv" else train.write_parquet(file)
    run = fitted(file, target, budget, place / f"{file.stem}-{budget:g}")
    ours = of_foldwise(place / f"{file.stem}-{budget:g}", test, target)
    against = {}
    for title, model in models.items():
        seconds, theirs = of_peer(model, train, test, target)
        against[title] = {"seconds": seconds, **compare(ours, theirs)}
    file.unlink()
    shape = {"rows": train.height, "columns": train.width - 1, "test": test.height}
    mean = float(ours["log loss"].mean())
    return {"name": name, "budget": budget, **shape, **run, "log loss": mean, "peers": against}


def real_tables() -> dict[str, tuple[Path, str]]:
    catalog = pl.read_csv(DATA / "CATALOG.csv")
    chosen = catalog.filter(pl.col("task").is_in(["classification", "text"]) & (pl.col("rows") >= LEAST_ROWS))
    return {name: (DATA / file, target) for name, file, target in chosen.select("name", "file", "target").rows()}


def read(path: Path, target: str) -> pl.DataFrame:
    from foldwise import read_table

    table = read_table(path, target=target)
    return table.X.with_columns(pl.Series(target, list(table.y), strict=False)).drop_nulls(target)


def plan(parts: list[str]) -> list[tuple[str, Any, str, float, dict[str, Any]]]:
    """The runs: name, a function for training and test rows, target, budget, peers."""
    runs: list[tuple[str, Any, str, float, dict[str, Any]]] = []
    if "wide" in parts:
        for n_rows, n_columns, budget in ((72, 2_000, 10.0), (72, 2_000, 30.0), (30, 5_000, 10.0), (30, 100_000, 60.0)):
            models = peers() if budget == BUDGET else {}
            name = f"wide {n_rows} x {n_columns}"
            runs.append((name, lambda n=n_rows, p=n_columns: halves(made(n + 500, p), "y", 500), "y", budget, models))
    if "tall" in parts:
        boosting = {"HistGradientBoosting": HistGradientBoostingClassifier()}
        runs.append(("tall", lambda: halves(tall(1_200_000), "y", 200_000), "y", 120.0, boosting))
        runs.append(("tall", lambda: halves(tall(1_200_000), "y", 200_000), "y", 30.0, {}))
    if "real" in parts:
        for name, (path, target) in real_tables().items():
            frames = lambda path=path, target=target: halves(read(path, target), target, 0.3)  # noqa: E731
            runs.append((name, frames, target, BUDGET, peers()))
    return runs


# the page


def page(results: list[dict[str, Any]]) -> str:
    found = [(one, title, peer) for one in results for title, peer in one["peers"].items() if one["budget"] == BUDGET]
    timely = [item for item in found if item[2]["seconds"] <= PEER_SECONDS]
    worse = []
    for loss in ("log loss", "Brier score"):
        adjusted = holm([peer["p"][loss] for _, _, peer in timely]).tolist() if timely else []
        pairs = zip(timely, adjusted, strict=True)
        worse += [f"{one['name']} ({title}, {loss}, p = {p:.3g})" for (one, title, _), p in pairs if p <= LEVEL]
    overrun = max((one["seconds"] / one["budget"] for one in results), default=0.0)
    lines = [
        "# `fit` on many shapes of tables",
        "",
        "Written by `benchmarks/shapes.py`. Wall time is that of the whole process. Scores are log losses on test rows",
        "that the model has not seen. Lower is better.",
        "",
        f"- Longest run, as a share of its budget: {overrun:.3f}.",
        f"- With a budget of {BUDGET:g} s, `fit` was compared with {len(timely)} untuned peers that were fitted within "
        f"{PEER_SECONDS:g} s",
        f"  (paired over test rows, Holm over all comparisons, level {LEVEL:g}). It was significantly worse on: "
        + (", ".join(worse) if worse else "none")
        + ".",
        "",
        "| table | rows x columns | budget | wall time | models scored | final model | memory | report | log loss |"
        " peers: log loss (seconds) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        against = "; ".join(f"{t} {p['log loss']:.3f} ({p['seconds']:.1f} s)" for t, p in one["peers"].items())
        lines.append(
            f"| {one['name'].split(' ')[0]} | {one['rows']:,} x {one['columns']:,} | {one['budget']:g} s | "
            f"{one['seconds']:.1f} s | {one['n_scored']} | {one['model']} | {one['memory'] / 2**30:.2f} GiB | "
            f"{one['report'] / 1e6:.2f} MB | {one['log loss']:.3f} | {against} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=["wide", "tall", "real"], choices=["wide", "tall", "real"])
    parser.add_argument("--names", nargs="*", help="of tables; the page is not written then")
    parser.add_argument("--cache", type=Path, help="a file of results, which are not measured again")
    given = parser.parse_args()
    cache = given.cache
    known = [json.loads(line) for line in cache.read_text().splitlines()] if cache and cache.exists() else []
    results = []
    for name, frames, target, budget, models in plan(given.only):
        if given.names and name not in given.names:
            continue
        done = next((one for one in known if (one["name"], one["budget"]) == (name, budget)), None)
        if done is None:
            with tempfile.TemporaryDirectory() as place:
                done = measure(name, frames, target, budget, models, Path(place))
            if cache:
                with cache.open("a") as file:
                    file.write(json.dumps(done) + "\n")
        results.append(done)
        against = ", ".join(f"{title} {peer['log loss']:.3f}" for title, peer in done["peers"].items())
        print(
            f"{name} at {budget:g} s: {done['seconds']:.1f} s, {done['n_scored']} models, {done['model']}, "
            f"{done['log loss']:.3f} | {against}",
            flush=True,
        )
    if not given.names:
        (HERE / "shapes.md").write_text(page(results))


if __name__ == "__main__":
    main()
