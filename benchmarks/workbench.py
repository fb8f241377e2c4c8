"""The workbench against FLAML at the same budget, and against HistGradientBoosting and CatBoost with their defaults.

Each system gets a file of training rows and gives probabilities for a file of test rows, in a process of its own, on
two cores; the budget is wall time from the start of that process, imports included. Failures are scored as the class
prior. Writes benchmarks/workbench.md. Run it by hand, on a quiet machine: `python benchmarks/workbench.py --data
../shared/data --cache results.json` takes about 35 minutes; what the cache holds is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

HERE = Path(__file__).parent
TABLES = (
    "adult", "credit_g", "vehicle", "wine_quality", "phishing", "electricity",
    "online_shoppers", "attrition", "mammography", "kr_vs_k", "sms_spam", "house_votes_84",
)  # fmt: skip
SYSTEMS = ("foldwise", "flaml", "hist_gradient_boosting", "catboost")
SEEDS = (0, 1)
TEST_SHARE = 0.25
BUDGET = 30.0
PATIENCE = 240.0  # what takes longer has failed


# what runs in a process of its own


def play(system: str, train: str, test: str, target: str, out: str, budget: float) -> None:
    """Fit one system and write its probabilities of the test rows, its classes and its own estimate."""
    started = time.monotonic()
    classes, proba, estimate = PLAYERS[system](train, test, target, budget, started)
    Path(out).write_text(
        json.dumps({"classes": [str(c) for c in classes], "proba": np.asarray(proba).tolist(), **estimate})
    )


def foldwise(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from foldwise.app.config import FitConfig
    from foldwise.app.run import run_fit
    from foldwise.app.timing import Clock

    run = run_fit(train, FitConfig(target=target, budget=budget), clock=Clock(budget, started))
    rows = pl.read_parquet(test).height
    low, high = run.estimate.on_test(rows)
    said = {"log_loss": run.estimate.value, "low": low, "high": high, "search_score": run.estimate.search_score}
    return run.model.classes_, run.predict_proba(pl.read_parquet(test)), said


def flaml(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from flaml import AutoML

    X, y, rows = frames(train, test, target)
    model = AutoML()
    left = budget - (time.monotonic() - started)
    model.fit(X, y, task="classification", metric="log_loss", time_budget=left, n_jobs=2, seed=0, verbose=0)
    return model.classes_, model.predict_proba(rows), {"log_loss": float(model.best_loss)}


def hist_gradient_boosting(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y, rows = frames(train, test, target)
    wide = [c for c in X.columns if X[c].dtype == "category" and X[c].nunique() > 250]  # it takes 255 at most
    model = HistGradientBoostingClassifier(random_state=0).fit(X.drop(columns=wide), y)
    return model.classes_, model.predict_proba(rows.drop(columns=wide)), {}


def catboost(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from catboost import CatBoostClassifier

    X, y, rows = frames(train, test, target)
    named = [c for c in X.columns if X[c].dtype == "category"]
    for frame in (X, rows):
        for name in named:
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "missing").astype(str)
    text = [c for c in named if X[c].str.len().mean() > 40]
    options = {"text_features": text} if text else {}
    model = CatBoostClassifier(random_seed=0, verbose=False, thread_count=2, allow_writing_files=False)
    model.fit(X, y, cat_features=[c for c in named if c not in text], **options)
    return model.classes_, model.predict_proba(rows), {}


def frames(train: str, test: str, target: str) -> Any:
    """pandas frames in which text is categorical, with the same categories on both sides."""
    import pandas as pd

    first, second = (pl.read_parquet(path).to_pandas() for path in (train, test))
    y = first.pop(target)
    for name in first.columns:
        if not pd.api.types.is_numeric_dtype(first[name]):
            both = sorted({str(v) for v in first[name].dropna()})
            for frame in (first, second):
                frame[name] = pd.Categorical(frame[name].astype(object).map(str, na_action="ignore"), categories=both)
    return first, y, second[first.columns]


PLAYERS = {
    "foldwise": foldwise,
    "flaml": flaml,
    "hist_gradient_boosting": hist_gradient_boosting,
    "catboost": catboost,
}


# what scores them


def games(data: Path) -> Any:
    """Every table and split: name, target, training rows, test rows."""
    from foldwise import read_table

    catalogue = {row["name"]: row for row in pl.read_csv(data / "CATALOG.csv").iter_rows(named=True)}
    for name in TABLES:
        row = catalogue[name]
        table = read_table(data / row["file"], target=row["target"])
        labels = pl.Series(row["target"], [str(one) for one in np.asarray(table.y).tolist()])
        frame = table.X.with_columns(labels)
        for seed in SEEDS:
            test = held_out(labels, seed)
            yield name, row["target"], seed, frame.filter(~test), frame.filter(test)


def held_out(labels: pl.Series, seed: int) -> pl.Series:
    """A quarter of the rows of every class."""
    rng = np.random.default_rng(seed)
    codes = labels.rank("dense").to_numpy()
    marked = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        marked[rows[: round(TEST_SHARE * len(rows))]] = True
    return pl.Series(marked)


def run_one(
    system: str, train: pl.DataFrame, test: pl.DataFrame, target: str, start: Sequence[str] = (sys.executable, __file__)
) -> dict[str, Any]:
    """What a system says of the test rows, and how long it took. `start` is the beginning of its command line."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("train.parquet", "test.parquet", "out.json")]
        train.write_parquet(paths[0])
        test.drop(target).write_parquet(paths[1])
        command = [*start, "--play", system, *paths, target]
        started = time.monotonic()
        try:
            done = subprocess.run(command, timeout=PATIENCE, capture_output=True, text=True, env=two_cores())
            said: dict[str, Any] = json.loads(Path(paths[2]).read_text())
        except (subprocess.TimeoutExpired, FileNotFoundError) as error:
            told = getattr(error, "stderr", None) or (done.stderr if isinstance(error, FileNotFoundError) else "")
            said = {"failed": str(told)[-400:] or type(error).__name__}
        said["seconds"] = time.monotonic() - started
    return said


def two_cores() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}


def scored(said: dict[str, Any], train: pl.DataFrame, test: pl.DataFrame, target: str) -> dict[str, Any]:
    """Log loss, AUC and balanced accuracy on the test rows; of a failure, those of the class prior."""
    from foldwise.evaluation.metrics import METRICS

    counts = train[target].value_counts().sort(target)
    classes = counts[target].to_list()
    codes = np.array([classes.index(one) for one in test[target].to_list()], dtype=np.int64)
    prior = (counts["count"] / counts["count"].sum()).to_numpy()
    proba = np.tile(prior, (len(codes), 1))
    if "proba" in said:
        given = np.array(said["proba"])
        proba = given[:, [said["classes"].index(one) for one in classes]]
        proba = proba / proba.sum(axis=1, keepdims=True)
    found: dict[str, Any] = {name: METRICS[name](codes, proba) for name in ("log_loss", "roc_auc", "balanced_accuracy")}
    kept = ("seconds", "failed", "low", "high", "search_score")
    return {**found, **{k: said[k] for k in kept if k in said}, "said": said.get("log_loss"), "n_test": len(codes)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--play", nargs=5, metavar=("SYSTEM", "TRAIN", "TEST", "OUT", "TARGET"))
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=None)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--tables", default=",".join(TABLES))
    asked = parser.parse_args()
    if asked.play:
        system, train, test, out, target = asked.play
        play(system, train, test, target, out, BUDGET)
        return
    known: dict[str, Any] = json.loads(asked.cache.read_text()) if asked.cache and asked.cache.exists() else {}
    for name, target, seed, train, test in games(asked.data):
        for system in asked.systems.split(","):
            key = f"{name} {seed} {system}"
            if key in known or name not in asked.tables.split(","):
                continue
            known[key] = scored(run_one(system, train, test, target), train, test, target)
            print(key, {k: round(v, 4) if isinstance(v, float) else v for k, v in known[key].items()}, flush=True)
            if asked.cache:
                asked.cache.write_text(json.dumps(known, indent=1))
    if all(f"{t} {s} {x}" in known for t in TABLES for s in SEEDS for x in SYSTEMS):
        (HERE / "workbench.md").write_text(page(known))


def page(known: dict[str, Any]) -> str:
    """The table and what it says."""
    from foldwise.evaluation.comparing.ranked import ranks_of, signed_rank_test

    keys = [(t, s) for t in TABLES for s in SEEDS]
    signs = {"log_loss": -1.0, "roc_auc": 1.0, "balanced_accuracy": 1.0}
    lines = [
        "# Benchmarks: complete runs",
        "",
        f"`foldwise fit` against other systems on {len(TABLES)} tables with {len(SEEDS)} outer splits each (a quarter "
        f"of the rows held out). foldwise and FLAML\nget {BUDGET:g} s of wall time including imports, on two cores. "
        "The others have no budget and run with their defaults. No system gets more\n"
        f"than {PATIENCE:g} s. A failure counts as predicting the class frequencies. Made by "
        "`python benchmarks/workbench.py`.",
        "",
    ]
    for metric, sign in signs.items():
        scores = np.array([[sign * known[f"{t} {s} {x}"][metric] for x in SYSTEMS] for t, s in keys])
        ranks = ranks_of(scores).mean(axis=0)
        lines += [
            f"## {metric.replace('_', ' ')}",
            "",
            "| system | mean rank | mean | foldwise wins / ties / losses | signed-rank p |",
        ]
        lines += ["|---|---|---|---|---|"]
        by_table = scores.reshape(len(TABLES), len(SEEDS), -1).mean(axis=1)
        for j, system in enumerate(SYSTEMS):
            gap = scores[:, 0] - scores[:, j]
            tie = np.abs(gap) < 1e-3
            versus = "" if j == 0 else f"{(gap[~tie] > 0).sum()} / {tie.sum()} / {(gap[~tie] < 0).sum()}"
            p = "" if j == 0 else f"{signed_rank_test(by_table[:, 0] - by_table[:, j]):.3f}"
            lines.append(f"| {system} | {ranks[j]:.2f} | {sign * scores[:, j].mean():.4f} | {versus} | {p} |")
        lines.append("")
    lines += [
        "A tie is a difference below 0.001. The signed-rank test compares tables, with their splits averaged.",
        "",
    ]
    lines += [
        "## Each table",
        "",
        "| table | split | " + " | ".join(f"{x}: log loss, AUC, seconds" for x in SYSTEMS) + " |",
    ]
    lines += ["|---|---|" + "---|" * len(SYSTEMS)]
    for t, s in keys:
        cells = []
        for x in SYSTEMS:
            one = known[f"{t} {s} {x}"]
            failed = " (failed)" if "failed" in one else ""
            cells.append(f"{one['log_loss']:.4f}, {one['roc_auc']:.4f}, {one['seconds']:.0f}{failed}")
        lines.append(f"| {t} | {s} | " + " | ".join(cells) + " |")
    lines += ["", "## Estimated and true log loss", ""]
    lines += [
        "| table | split | foldwise: estimate (95% interval for this test) | search score (optimistic) | true | "
        "inside | FLAML: estimate | true |",
        "|---|---|---|---|---|---|---|---|",
    ]
    inside = []
    for t, s in keys:
        one, other = known[f"{t} {s} foldwise"], known[f"{t} {s} flaml"]
        held = one.get("low") is not None and one["low"] <= one["log_loss"] <= one["high"]
        inside.append(held)
        said = "" if one.get("said") is None else f"{one['said']:.4f} ({one['low']:.4f} to {one['high']:.4f})"
        search = "" if one.get("search_score") is None else f"{one['search_score']:.4f}"
        theirs = "" if other.get("said") is None else f"{other['said']:.4f}"
        lines.append(
            f"| {t} | {s} | {said} | {search} | {one['log_loss']:.4f} | {'yes' if held else '**no**'} | {theirs} | "
            f"{other['log_loss']:.4f} |"
        )
    gaps = [known[f"{t} {s} foldwise"]["log_loss"] - (known[f"{t} {s} foldwise"]["said"] or np.nan) for t, s in keys]
    theirs = [known[f"{t} {s} flaml"]["log_loss"] - (known[f"{t} {s} flaml"]["said"] or np.nan) for t, s in keys]
    lines += [
        "",
        f"The prediction interval contains the true log loss in {sum(inside)} of {len(inside)} runs "
        f"({100 * np.mean(inside):.0f}%; goal: 90%). True minus estimated log loss on average:\n"
        f"foldwise {np.nanmean(gaps):+.4f}, FLAML {np.nanmean(theirs):+.4f}.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
