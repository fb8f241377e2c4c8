"""The search with an executor that makes its predictions up: no fit, no process, no second of real time."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import foldwise
from foldwise.app.final_model import fit_members, select_members
from foldwise.errors import InputError
from tests.app.fakes import STRENGTH, searched


def test_a_search_ends_in_time_and_leaves_enough_for_the_rest():
    search, clock = searched(STRENGTH)
    search.run(lambda: None)
    assert not search.interrupted
    assert search.end - 0.2 <= clock.elapsed < 20.0
    assert {one.model for one in search.state.finished} == set(STRENGTH)
    best = max(search.state.finished, key=lambda one: one.mean_score(0))
    assert best.model == "logistic_regression"


def test_a_search_that_begins_late_finishes_a_generally_good_model_first():
    kinds = {}
    for loading in (2.0, 13.0):
        search, _ = searched({**STRENGTH, "naive_bayes": 3.0, "perceptron": 0.1}, loading=loading)
        for _ in range(len(search.setup.splits)):
            search.step()
        kinds[loading] = [one.model for one in search.state.batches]
    assert kinds[13.0] == ["logistic_regression"]
    assert len(kinds[2.0]) > 1


def test_stored_predictions_give_the_scores_of_the_state():
    search, _ = searched(STRENGTH)
    search.run(lambda: None)
    task, predictions = search.setup.task, search.predictions
    for batch in search.state.finished:
        for i in batch.usable:
            for k, split in enumerate(search.setup.splits):
                proba = predictions.predicted(batch, i, k)
                np.testing.assert_allclose(proba.sum(axis=1), 1.0)
                score = search.setup.metric.signed(search.setup.metric(task.y[split.test], proba))
                assert score == pytest.approx(batch.scores[k][i])


def test_predictions_of_settings_that_cannot_be_chosen_are_dropped():
    search, _ = searched({"naive_bayes": 1.0})
    search.run(lambda: None)
    batch = search.state.finished[0]
    assert len(batch.settings) > len(batch.kept)
    assert search.predictions._values[batch.number, 0].shape[0] == len(batch.kept)


def test_members_are_those_of_the_search_and_are_fitted_the_greatest_weight_first():
    search, clock = searched(STRENGTH)
    search.run(lambda: None)
    selection = select_members(search.setup, search.state, search.predictions, clock)
    assert selection.candidates[selection.members[0]].model == "logistic_regression"
    final = fit_members(search.setup, search.state, search.predictions, selection, search.executor, clock, lambda: None)
    assert final.model.members[0] == "fitted logistic_regression"
    assert sum(final.weights.values()) == pytest.approx(1.0)
    assert final.bayes == "fitted naive_bayes"
    assert final.importance == {"x": [0.1, 0.2]}
    assert final.missing == ()
    assert clock.elapsed <= 20.0


def test_a_model_that_fails_is_told_and_the_others_go_on():
    search, _ = searched({**STRENGTH, "decision_tree": None})
    search.run(lambda: None)
    assert search.state.unfinished_reason("decision_tree") == ("failed", "ValueError: it cannot")
    assert {one.model for one in search.state.finished} == {"logistic_regression", "naive_bayes"}


def test_where_every_model_fails_a_sentence_says_why():
    search, _ = searched(dict.fromkeys(STRENGTH))
    with pytest.raises(InputError, match=r"no model could be fitted to this table\. .*decision tree: ValueError"):
        search.run(lambda: None)


def test_where_time_was_too_short_for_any_one_is_finished_all_the_same():
    search, clock = searched(STRENGTH, budget=3.0, seconds=5.0)
    search.run(lambda: None)
    assert len(search.state.finished) == 1
    assert clock.elapsed > 3.0


def test_an_interrupt_ends_the_search_and_what_ran_is_forgotten():
    search, clock = searched(STRENGTH)
    calls = []

    def interrupt():
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt

    search.run(interrupt)
    assert search.interrupted
    assert clock.elapsed < 5.0
    assert search.state.finished
    assert all(set(one.started_splits) == set(one.scores) for one in search.state.batches)


def test_the_same_seed_gives_the_same_search():
    first, again = (searched(STRENGTH, seed=3)[0] for _ in range(2))
    for search in (first, again):
        search.run(lambda: None)
    assert first.state.to_dict() == again.state.to_dict()


def changed_arguments(text: str) -> list[str]:
    """The attributes that functions of a file set on what they are given."""
    found = []
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} - {"self", "cls"}
            for node in ast.walk(function):
                match node:
                    case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Store()) if name in given:
                        found.append(f"{name}.{attr}")
    return found


def test_no_function_of_the_run_changes_what_it_is_given():
    """State is returned, not assigned from another module. Typer's context and a worker of the pool are meant so."""
    app = Path(foldwise.__file__).parent / "app"
    files = {path.relative_to(app).as_posix(): changed_arguments(path.read_text()) for path in app.rglob("*.py")}
    found = {path: names for path, names in files.items() if names}
    assert found == {"cli/config_file.py": ["context.default_map"], "workers/executors.py": ["worker.job"]}
    assert changed_arguments("def f(search):\n    search.state = 3\n") == ["search.state"]
