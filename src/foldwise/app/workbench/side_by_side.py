"""Runs side by side: their estimates, and tests of their differences on the rows that they share. Runs in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.app.run_folder import HELD_OUT, current, read_facts
from foldwise.app.workbench.held_out_rows import read_held_out
from foldwise.errors import InputError
from foldwise.evaluation.comparing.paired import corrected_t_test, holm
from foldwise.evaluation.metrics.registry import find_metric
from foldwise.report.facts import ReportFacts

LEVEL = 0.05


def compare_runs(folders: Sequence[str]) -> dict[str, Any]:
    """The estimate of each run, and the difference of each from the first by the corrected test."""
    facts = [ReportFacts(read_facts(Path(folder))) for folder in folders]
    if any(one.text("kind") for one in facts):
        raise InputError("only runs of fit can be compared.", "leave explorations out.")
    runs = [run_facts(one, Path(folder).name) for one, folder in zip(facts, folders, strict=True)]
    losses = [row_losses(Path(folder), one) for folder, one in zip(folders, facts, strict=True)]
    tests = [loss_difference(losses[0], other) for other in losses[1:]]
    known = [one for one in tests if "p" in one]
    for one, p in zip(known, holm([one["p"] for one in known]) if known else [], strict=True):
        one |= {"p": float(p), "verdict": verdict(float(p), one["difference"])}
    quantity = facts[0].part("task").text("task") == "regression"
    return {"runs": runs, "tests": tests, "loss": "squared error" if quantity else "log loss"}


def run_facts(facts: ReportFacts, name: str) -> dict[str, Any]:
    """What one run says about itself."""
    task, estimate = facts.part("task"), facts.part("headline", "estimate")
    numbers = {key: estimate.number(key) for key in ("value", "low", "high")}
    others = [
        {"title": one.text("title"), **{key: one.part("estimate").number(key) for key in ("value", "low", "high")}}
        for one in facts.part("headline").records("others")
    ]
    return {
        "name": name,
        "target": task.text("target"),
        "rows": task.number("n_rows"),
        "folds": task.text("splitter"),
        "metrics": [{"title": estimate.text("title"), **numbers}, *others],
        "model": facts.part("final").text("words"),
        "budget": facts.part("made").number("budget"),
    }


def row_losses(folder: Path, facts: ReportFacts) -> pl.DataFrame | None:
    """The loss of each held-out row: log loss, or squared error of a quantity. None if the run did not keep them."""
    path = current(folder, HELD_OUT)
    if not path.is_file():
        return None
    n_classes = len(facts.part("task").texts("classes"))
    names = [f"probability_{k}" for k in range(n_classes)] or ["predicted"]
    frame = read_held_out(path, ["row", "fold", "truth", *names])
    truth = frame["truth"].to_numpy()
    if n_classes:
        metric, predicted = find_metric("log_loss"), frame.select(names).to_numpy()
        truth = truth.astype(np.intp)
    else:
        metric, predicted = find_metric("mean_squared_error"), frame["predicted"].to_numpy()
    loss = metric.by_row(truth, predicted.astype(np.float64))
    target = pl.lit(facts.part("task").text("target")).alias("target")
    return frame.select("row", "fold", "truth").with_columns(pl.Series("loss", loss), target)


def loss_difference(first: pl.DataFrame | None, other: pl.DataFrame | None) -> dict[str, Any]:
    """Test the difference in loss on shared rows, with one mean difference per fold of the first run.

    Every row was predicted by models of both runs that had not seen it, so the folds of the runs may differ.
    """
    if first is None or other is None:
        return {"why": "A run has no held-out predictions, because an older version of Foldwise wrote it."}
    if first["target"][0] != other["target"][0]:
        return {"why": "The runs predict different targets."}
    mine = first.group_by("row").agg(pl.col("fold").first(), pl.col("truth").first(), pl.col("loss").mean())
    theirs = other.group_by("row").agg(pl.col("truth").first(), pl.col("loss").mean())
    both = mine.join(theirs, on="row", suffix="_other").sort("row")
    if both.height < max(2, first["row"].n_unique() // 2):
        return {"why": "The runs share too few held-out rows."}
    if not np.allclose(both["truth"].to_numpy(), both["truth_other"].to_numpy()):
        return {"why": "The runs have different targets in the same rows, so their tables differ."}
    by_fold = both.group_by("fold").agg((pl.col("loss_other") - pl.col("loss")).mean().alias("d"), pl.len())
    if by_fold.height < 2:
        return {"why": "The runs share only one fold."}
    share = float(by_fold["len"].to_numpy().mean())
    test = corrected_t_test(by_fold["d"].to_numpy(), share / max(1.0, both.height - share))
    return {"difference": test.difference, "p": test.p, "rows": both.height, "folds": by_fold.height}


def verdict(p: float, difference: float) -> str:
    """The test in words, about the other run."""
    if p > LEVEL:
        return "no clear difference"
    return "clearly worse" if difference > 0 else "clearly better"
