"""`foldwise fit` as a process of its own, killed with SIGKILL and resumed (50 times in `benchmarks/killed_fits.py`)."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from foldwise.app.run_folder import read_facts
from tests.app.killed import N_JOBS, killed_run


@pytest.mark.slow
def test_a_killed_run_loses_no_score_and_repeats_no_finished_fold(tmp_path):
    models = ["--models", "naive_bayes,decision_tree,logistic_regression,random_forest"]
    run = killed_run(tmp_path / "run", ["--target", "repaid", *models], n_kills=3, budget=10.0, seed=4)
    assert len(run.phases) == 3
    assert (run.n_lost, run.n_repeated) == (0, 0)
    assert max(run.n_open, default=0) <= N_JOBS
    assert all(run.kept_results)
    assert run.seen
    facts = read_facts(run.folder)
    with closing(sqlite3.connect(run.folder / "trials.sqlite")) as connection:
        (n_sessions,) = connection.execute("select count(*) from fit_sessions").fetchone()
        (n_open,) = connection.execute("select count(*) from blocks where state = 'running'").fetchone()
    assert facts["made"]["n_sessions"] == n_sessions
    assert n_open == 0
    assert not os.path.exists(run.folder / "trials.sqlite-wal")
