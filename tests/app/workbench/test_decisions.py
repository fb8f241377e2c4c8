"""Decisions at thresholds: what the page adds up equals plain counts of the held-out rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from foldwise.app.workbench.decisions import MOST_SHOWN, OTHERS, decision_facts

N = 400


def run_folder(path: Path, n_classes: int, **task: Any) -> pl.DataFrame:
    """A run folder with held-out predictions of random probabilities, some of which lie exactly at a threshold."""
    rng = np.random.default_rng(n_classes)
    parts = rng.multinomial(20, np.ones(n_classes) / n_classes, N) / 20
    frame = pl.DataFrame({f"probability_{k}": parts[:, k] for k in range(n_classes)})
    frame = frame.with_columns(truth=pl.Series(rng.integers(0, n_classes, N)), weight=pl.Series(rng.integers(1, 4, N)))
    frame.write_parquet(path / "held_out.parquet")
    classes = [f"class {k}" for k in range(n_classes)]
    (path / "run.json").write_text(json.dumps({"format": 1, "task": {"classes": classes, **task}}))
    return frame


def matrix_at(facts: dict[str, Any], threshold: int) -> np.ndarray[Any, Any]:
    """What the script of the page adds up."""
    found = np.zeros((len(facts["labels"]),) * 2)
    for truth, other, level, weight in facts["cells"]:
        found[truth, 0 if level >= threshold else other] += weight
    return found


@pytest.mark.parametrize("n_classes", [2, 3, MOST_SHOWN, MOST_SHOWN + 1])
def test_counts_equal_plain_counts(tmp_path: Path, n_classes: int) -> None:
    frame = run_folder(tmp_path, n_classes)
    chosen = n_classes - 2
    facts = decision_facts(str(tmp_path), f"class {chosen}")
    assert facts is not None
    is_whole = n_classes <= MOST_SHOWN
    assert facts["labels"] == (
        [f"class {chosen}", *(f"class {k}" for k in range(n_classes) if k != chosen)]
        if is_whole
        else [f"class {chosen}", OTHERS]
    )
    proba = frame.select(pl.col("^probability_.*$")).to_numpy()
    for threshold in (0, 1, facts["steps"] // 20, facts["steps"] // 2, facts["steps"]):
        taken = proba[:, chosen] >= threshold / facts["steps"]
        rest = np.where(np.arange(n_classes) == chosen, -1.0, proba)
        predicted = np.where(taken, chosen, rest.argmax(axis=1))
        expected = np.zeros((n_classes, n_classes))
        np.add.at(expected, (frame["truth"].to_numpy(), predicted), frame["weight"].to_numpy())
        order = [chosen, *(k for k in range(n_classes) if k != chosen)]
        expected = expected[np.ix_(order, order)]
        if not is_whole:
            tail = expected[1:]
            expected = np.array([[expected[0, 0], expected[0, 1:].sum()], [tail[:, 0].sum(), tail[:, 1:].sum()]])
        np.testing.assert_allclose(matrix_at(facts, threshold), expected)


def test_costs_of_the_run_follow_the_chosen_class(tmp_path: Path) -> None:
    costs = {"actions": ["class 1", "class 0"], "matrix": [[5, 0], [0, 1]]}  # by action and truth
    run_folder(tmp_path, 2, costs=costs, positive="class 0")
    facts = decision_facts(str(tmp_path))
    assert facts is not None
    assert (facts["of"], facts["costs"]) == ("class 0", [[0, 1], [5, 0]])
    facts = decision_facts(str(tmp_path), "class 1")
    assert facts is not None
    assert facts["costs"] == [[0, 5], [1, 0]]


def test_a_quantity_has_no_threshold(tmp_path: Path) -> None:
    run_folder(tmp_path, 2)
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "task": {"classes": []}}))
    assert decision_facts(str(tmp_path)) is None
