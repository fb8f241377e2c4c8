"""Complete runs on tables whose target is a quantity, against FLAML at the same budget and two boosters' defaults.

Each system gets a file of training rows and predicts a file of test rows, in a process of its own, on two cores. The
budget is wall time from the start of that process, imports included. Failures are scored as the mean of the training
rows. Writes benchmarks/quantities.md from all runs in the cache. FLAML has an environment of its own: `python -m venv
ENV && ENV/bin/pip install "flaml[automl]" polars pyarrow`. Run it by hand, on a quiet machine:
`python benchmarks/quantities.py --cache results.jsonl --flaml-python ENV/bin/python` takes about 30 minutes. What the
cache holds is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from workbench import PATIENCE, SEEDS, SYSTEMS, TEST_SHARE, frames, run_one

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FOLDWISE_DATA", HERE.parent.parent / "shared" / "data"))
BUDGET = 30.0
TIE = 1e-3  # of the error
GOAL = 0.9  # share of runs whose interval contains the error on the test rows
ERRORS = {"rmse": "root mean squared error", "mae": "mean absolute error"}


@dataclass(frozen=True)
class Source:
    """A table with a quantity, where it lies, and columns that were computed from the target."""

    name: str
    file: str
    target: str
    without: tuple[str, ...] = ()

    def read(self) -> pl.DataFrame:
        from foldwise import read_table

        if not self.file:
            from sklearn.datasets import load_diabetes

            return pl.from_pandas(load_diabetes(as_frame=True).frame)
        table = read_table(DATA / self.file, target=self.target)
        values = pl.Series(self.target, np.asarray(table.y, dtype=np.float64))
        frame = table.X.drop(self.without).with_columns(values)
        return frame.filter(values.is_not_nan() & values.is_not_null())


SOURCES = (
    Source("abalone", "tables/abalone.csv", "Class_Rings"),
    Source("california housing", "tables/california_housing.csv", "median_house_value"),
    Source("wine quality", "tables/wine_quality.csv", "quality"),
    Source("diabetes", "", "target"),
    Source("concrete", "raw/Concrete_Data.xlsx", "Concrete compressive strength(MPa, megapascals)"),
    Source("student grades", "raw/student-mat_requoted.csv", "G3"),
    Source("air quality", "raw/AirQualityUCI_decimal_comma.csv", "CO(GT)", without=("CO_HIGH",)),
    Source("adult, age", "tables/adult.parquet", "age"),
    Source("adult, hours per week", "tables/adult.parquet", "hours-per-week"),
)


# what runs in a process of its own


def play(system: str, train: str, test: str, out: str, target: str, budget: float) -> None:
    """Fit one system and write its predictions of the test rows and its own estimate of the error."""
    started = time.monotonic()
    predicted, estimate = PLAYERS[system](train, test, target, budget, started)
    Path(out).write_text(json.dumps({"predicted": np.asarray(predicted, dtype=float).ravel().tolist(), **estimate}))


def foldwise(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from foldwise.app.config import FitConfig
    from foldwise.app.run import run_fit
    from foldwise.app.timing import Clock

    config = FitConfig(target=target, budget=budget, task="regression", n_jobs=2)
    run = run_fit(train, config, clock=Clock(budget, started))
    rows = pl.read_parquet(test)
    low, high = run.estimate.on_test(rows.height)
    said = {"said": run.estimate.value, "low": low, "high": high, "search_score": run.estimate.search_score}
    return run.predict(rows), said


def flaml(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from flaml import AutoML

    X, y, rows = frames(train, test, target)
    model = AutoML()
    left = budget - (time.monotonic() - started)
    model.fit(X, y, task="regression", metric="rmse", time_budget=left, n_jobs=2, seed=0, verbose=0)
    return model.predict(rows), {"said": float(model.best_loss)}


def hist_gradient_boosting(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y, rows = frames(train, test, target)
    wide = [c for c in X.columns if X[c].dtype == "category" and X[c].nunique() > 250]  # it takes 255 at most
    model = HistGradientBoostingRegressor(random_state=0).fit(X.drop(columns=wide), y)
    return model.predict(rows.drop(columns=wide)), {}


def catboost(train: str, test: str, target: str, budget: float, started: float) -> Any:
    from catboost import CatBoostRegressor

    X, y, rows = frames(train, test, target)
    named = [c for c in X.columns if X[c].dtype == "category"]
    for frame in (X, rows):
        for name in named:
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "missing").astype(str)
    model = CatBoostRegressor(random_seed=0, verbose=False, thread_count=2, allow_writing_files=False)
    return model.fit(X, y, cat_features=named).predict(rows), {}


PLAYERS = {
    "foldwise": foldwise,
    "flaml": flaml,
    "hist_gradient_boosting": hist_gradient_boosting,
    "catboost": catboost,
}


# what scores them


def parted(frame: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Training rows, and a quarter of the rows to test on."""
    held = np.zeros(frame.height, dtype=bool)
    held[np.random.default_rng(seed).permutation(frame.height)[: round(TEST_SHARE * frame.height)]] = True
    return frame.filter(~held), frame.filter(held)


def scored(said: dict[str, Any], train: pl.DataFrame, test: pl.DataFrame, target: str) -> dict[str, Any]:
    """The errors on the test rows; of a failure, those of the mean of the training rows."""
    from foldwise.evaluation.metrics import value_metric

    truth = test[target].to_numpy()
    values = np.array(said.pop("predicted", np.full(len(truth), train[target].mean())))
    if not np.isfinite(values).all():
        said["failed"] = "not all predictions are finite"
        values = np.full(len(truth), train[target].mean())
    found = {name: float(value_metric(name)(truth, values)) for name in ERRORS}
    shape = {"rows": train.height, "columns": train.width - 1, "n_test": len(truth)}
    return {**found, **said, **shape}


def measured(asked: argparse.Namespace, known: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every run that is asked for: from the cache, or done now."""
    for source in SOURCES:
        if asked.tables and source.name not in asked.tables:
            continue
        frame = None
        for seed, system in ((seed, system) for seed in SEEDS for system in asked.systems):
            key = {"table": source.name, "split": seed, "system": system, "budget": asked.budget}
            done = next((one for one in known if key.items() <= one.items()), None)
            if done is None:
                frame = source.read() if frame is None else frame
                train, test = parted(frame, seed)
                python = str(asked.flaml_python) if system == "flaml" else sys.executable
                start = (python, __file__, "--budget", f"{asked.budget:g}")
                done = key | scored(run_one(system, train, test, source.target, start), train, test, source.target)
                if asked.cache:
                    with asked.cache.open("a") as file:
                        file.write(json.dumps(done) + "\n")
            yield done


# the page


def page(runs: Sequence[dict[str, Any]], budget: float) -> str:
    """The tables and what they say, from the splits on which all systems ran."""
    found = {(one["table"], one["split"], one["system"]): one for one in runs}
    every = [(source.name, seed) for source in SOURCES for seed in SEEDS]
    games = [key for key in every if all((*key, system) in found for system in SYSTEMS)]
    n_runs = len(games) * len(SYSTEMS)
    tables = list(dict.fromkeys(name for name, _ in games))
    lines = [
        "# Benchmarks: complete runs on quantities",
        "",
        f"`foldwise fit` against other systems on {len(tables)} of {len(SOURCES)} tables: {len(games)} of {len(every)} "
        f"outer splits with a quarter of the rows held out, {n_runs} runs.",
        f"foldwise and FLAML minimize the root mean squared error in {budget:g} s of wall time including imports, on "
        "two cores. The others have",
        f"no budget and run with their defaults. No system gets more than {PATIENCE:g} s. For the peers, text columns "
        "are pandas categories of the",
        "training rows (HistGradientBoosting, which takes at most 255 categories, does not get columns with more). A "
        "failure counts as",
        "predicting the mean of the training rows. Made by `python benchmarks/quantities.py`.",
        "",
    ]
    verdicts = []
    for metric, title in ERRORS.items():
        ranks, text = ranked(found, games, metric)
        lines += [f"## {title[0].upper()}{title[1:]}", "", *text, ""]
        ahead = "ahead of FLAML" if ranks[0] < ranks[1] else "not ahead of FLAML"
        verdicts.append(f"By mean rank of the {title}, foldwise is {ahead} ({ranks[0]:.2f} and {ranks[1]:.2f}).")
    lines += [
        *verdicts,
        f"A tie is a difference below {TIE:.1%}. The ratio is the geometric mean of a system's error over that of "
        "foldwise. The signed-rank test",
        "compares tables, with their splits averaged.",
        "",
    ]
    return "\n".join(lines + each_table(found, games) + estimates(found, games))


Found = dict[tuple[str, int, str], dict[str, Any]]
Games = list[tuple[str, int]]


def ranked(found: Found, games: Games, metric: str) -> tuple[list[float], list[str]]:
    """Mean ranks by one error, and the lines of their table."""
    from foldwise.evaluation.comparing.ranked import ranks_of, signed_rank_test

    errors = np.array([[found[(*key, system)][metric] for system in SYSTEMS] for key in games])
    ranks = ranks_of(-errors).mean(axis=0)
    logs = np.log(errors / errors[:, :1])
    names = np.array([name for name, _ in games])
    by_table = np.array([logs[names == name].mean(axis=0) for name in dict.fromkeys(names.tolist())])
    lines = ["| system | mean rank | ratio | foldwise wins / ties / losses | signed-rank p |", "|---|---|---|---|---|"]
    for j, system in enumerate(SYSTEMS):
        gap = logs[:, j]
        versus = f"{(gap > TIE).sum()} / {(np.abs(gap) <= TIE).sum()} / {(gap < -TIE).sum()}" if j else ""
        p = f"{signed_rank_test(by_table[:, j]):.3f}" if j and len(by_table) > 1 else ""
        lines.append(f"| {system} | {ranks[j]:.2f} | {np.exp(gap.mean()):.3f} | {versus} | {p} |")
    return ranks.tolist(), lines


def each_table(found: Found, games: Games) -> list[str]:
    heads = " | ".join(f"{system}: RMSE, MAE, seconds" for system in SYSTEMS)
    lines = [
        "## Each table",
        "",
        f"| table | rows x columns | split | {heads} |",
        "|---|---|---|" + "---|" * len(SYSTEMS),
    ]
    for name, split in games:
        runs = [found[name, split, system] for system in SYSTEMS]
        cells = [
            f"{one['rmse']:.4g}, {one['mae']:.4g}, {one['seconds']:.0f}" + (" (failed)" if "failed" in one else "")
            for one in runs
        ]
        lines.append(f"| {name} | {runs[0]['rows']:,} x {runs[0]['columns']} | {split} | {' | '.join(cells)} |")
    return [*lines, ""]


def estimates(found: Found, games: Games) -> list[str]:
    """What foldwise and FLAML say of their own error, and the error on the test rows."""
    lines = [
        "## Estimated and true root mean squared error",
        "",
        "| table | split | foldwise: estimate (95% interval for this test) | search score (optimistic) | true | "
        "inside | FLAML: estimate | true |",
        "|---|---|---|---|---|---|---|---|",
    ]
    inside, gaps = [], []
    for name, split in games:
        one, other = found[name, split, "foldwise"], found[name, split, "flaml"]
        low, high = one.get("low", np.nan), one.get("high", np.nan)
        inside.append(bool(low <= one["rmse"] <= high))
        gaps.append([run["rmse"] / run.get("said", np.nan) - 1 for run in (one, other)])
        search = f"{one['search_score']:.4g}" if one.get("search_score") else ""
        lines.append(
            f"| {name} | {split} | {one.get('said', np.nan):.4g} ({low:.4g} to {high:.4g}) | {search} | "
            f"{one['rmse']:.4g} | {'yes' if inside[-1] else '**no**'} | {other.get('said', np.nan):.4g} | "
            f"{other['rmse']:.4g} |"
        )
    ours, theirs = np.nanmean(np.array(gaps), axis=0)
    met = "reached" if np.mean(inside) >= GOAL else "missed"
    return [
        *lines,
        "",
        f"The interval for this test contains the true error in {sum(inside)} of {len(inside)} runs "
        f"({np.mean(inside):.0%}; goal: {GOAL:.0%}, {met}). The true error differs from the",
        f"estimate by {ours:+.1%} on average for foldwise, and by {theirs:+.1%} for FLAML.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--play", nargs=5, metavar=("SYSTEM", "TRAIN", "TEST", "OUT", "TARGET"))
    parser.add_argument("--cache", type=Path, help="a JSONL file of runs, which are not done again")
    parser.add_argument("--flaml-python", type=Path, default=Path(sys.executable), help="the python that has FLAML")
    parser.add_argument("--budget", type=float, default=BUDGET, help="in seconds, for foldwise and FLAML")
    parser.add_argument("--tables", nargs="*", choices=[source.name for source in SOURCES])
    parser.add_argument("--systems", nargs="*", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--out", type=Path, default=HERE / "quantities.md")
    asked = parser.parse_args()
    if asked.play:
        play(*asked.play, asked.budget)
        return
    known = (
        [json.loads(line) for line in asked.cache.read_text().splitlines()]
        if asked.cache and asked.cache.exists()
        else []
    )
    runs = [one for one in known if one["budget"] == asked.budget]
    for one in measured(asked, known):
        runs.append(one)
        words = (f"{name} {one[name]:.4g}" for name in (*ERRORS, "seconds"))
        print(one["table"], one["split"], one["system"], *words, one.get("failed", ""), flush=True)
    if {one["system"] for one in runs} >= set(SYSTEMS):
        asked.out.write_text(page(runs, asked.budget))


if __name__ == "__main__":
    main()
