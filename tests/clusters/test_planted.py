"""The suggested number of clusters is right on most planted tables, and 1 on tables without groups."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from foldwise import choose_clusters

TABLES = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "planted_tables.py"))
KS = range(2, 16)


@pytest.mark.slow
def test_planted_groups_are_counted():
    tables = {seed: TABLES["planted"](seed) for seed in range(200, 230)}
    right = sum(choose_clusters(X, KS, 5, 10, seed).best_k == k for seed, (X, k) in tables.items())
    assert right >= 22  # 27 expected; the benchmark has more tables


@pytest.mark.slow
def test_tables_without_groups_have_no_clusters():
    none = [choose_clusters(TABLES["structureless"](seed)[0], KS, 5, 10, seed).best_k == 1 for seed in range(200, 224)]
    assert sum(none) >= 22
