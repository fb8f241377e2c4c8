"""What happens at a deadline: all tasks got equally far, and stopped workers leave no traceback."""

from __future__ import annotations

import gc
import threading
import time

import pytest
from joblib import Parallel
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from foldwise.evaluation.metrics import find_metric
from foldwise.folds import stop_traces
from foldwise.folds.engine import EvaluationTask, ScoringPlan, evaluate, in_turn, jobs_of
from foldwise.folds.opening import open_session
from foldwise.folds.progress import Progress, counting_to
from foldwise.folds.splits import freeze_splits

X, y = load_iris(return_X_y=True)


def test_the_settings_of_tasks_take_turns():
    splits = freeze_splits(2, X, y, n_rows=150)
    tasks = [EvaluationTask([{"max_depth": 1}, {"max_depth": 2}], splits) for _ in range(2)]
    session = open_session(DecisionTreeClassifier(), X, y)
    for setting, jobs in enumerate(in_turn(jobs_of(session, tasks, ScoringPlan({})))):
        assert [(job.group.indices[0], job.task) for job in jobs] == [(setting, task) for task in (0, 0, 1, 1)]
    plan = ScoringPlan({"accuracy": find_metric("accuracy")})
    outcomes = evaluate(session, tasks, plan, deadline=time.monotonic())
    assert [one.n_settings_done for one in outcomes] == [1, 1]


@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize("n_settings", [1, 3])
def test_processes_that_finish_before_the_deadline_are_kept_for_the_next_call(n_tasks, n_settings, monkeypatch):
    """New ones would import the libraries again, which takes longer than most fits."""
    pools, stopped, call, abort = [], [], Parallel.__call__, Parallel._abort
    monkeypatch.setattr(Parallel, "__call__", lambda self, tasks: pools.append(self) or call(self, tasks))
    monkeypatch.setattr(Parallel, "_abort", lambda self: stopped.append(self) or abort(self))
    settings = [{"max_depth": k + 1} for k in range(n_settings)]
    tasks = [EvaluationTask(settings, freeze_splits(2, X, y, n_rows=150)) for _ in range(n_tasks)]
    session = open_session(DecisionTreeClassifier(), X, y)
    plan = ScoringPlan({"accuracy": find_metric("accuracy")})
    outcomes = evaluate(session, tasks, plan, n_jobs=2, deadline=time.monotonic() + 60)
    assert all(one.scores["accuracy"].shape == (n_settings, 2) for one in outcomes)
    assert pools
    gc.collect()
    assert stopped == []
    evaluate(session, tasks[:1], plan, n_jobs=2, deadline=time.monotonic())  # none is started
    assert stopped == []


@pytest.fixture
def own_pool(monkeypatch):
    """A filter and a name of threads that no pool of another test has: joblib's stay alive for minutes."""
    monkeypatch.setattr(stop_traces, "FILTER", stop_traces.StopTraceFilter())
    monkeypatch.setattr(stop_traces, "POOL_THREAD", "a pool of this test")


@pytest.mark.usefixtures("own_pool")
def test_a_stopped_pool_prints_no_traceback(monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", lambda found: told.append(found.thread.name))

    def fail():
        raise KeyError(55)

    with stop_traces.without_stop_traces():
        for name in (stop_traces.POOL_THREAD, "another"):
            thread = threading.Thread(target=fail, name=name)
            thread.start()
            thread.join()
    assert told == ["another"]
    assert threading.excepthook.__name__ == "<lambda>"


@pytest.mark.usefixtures("own_pool")
def test_a_pool_that_ends_late_prints_no_traceback(monkeypatch):
    told, end = [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda found: told.append(found.thread.name))

    def fail():
        end.wait()
        raise KeyError(55)

    thread = threading.Thread(target=fail, name=stop_traces.POOL_THREAD)
    thread.start()
    with stop_traces.without_stop_traces(stops=True):
        pass
    end.set()
    thread.join()
    for _ in range(500):
        if threading.excepthook.__name__ == "<lambda>":
            break
        time.sleep(0.01)
    assert threading.excepthook.__name__ == "<lambda>"
    assert told == []


def test_another_display_counts_models():
    counts = []
    with counting_to(counts.append), Progress(always=True) as progress:
        progress.expect(3)
        progress.advance(2)
    assert counts == [2]
