"""The estimate that a run shows while it runs: from folds that did not choose the setting."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from foldwise.app.run import estimate_so_far
from foldwise.app.search_state import SettingBatch
from foldwise.evaluation.metrics import class_metric

NAN = float("nan")


def test_the_first_fold_chooses_and_is_not_counted() -> None:
    setup = SimpleNamespace(metric=class_metric("log_loss", ["a", "b"]), splits=range(5))
    batch = SettingBatch(0, "knn", ({}, {}, {}), 0.0, scores={0: (NAN, -0.1, -0.5), 2: (-9.0, -0.4, -0.2)})
    assert estimate_so_far(batch, setup) == ""  # one fold has no spread
    batch = replace(batch, scores={**batch.scores, 1: (-9.0, -0.6, -0.2), 3: (-9.0, NAN, -0.2)})
    words = estimate_so_far(batch, setup)
    assert "0.5" in words
    assert words.endswith("(2 of 4 folds)")
    assert float(words.split(" ± ")[1].split()[0]) == pytest.approx(0.2, rel=0.01)
