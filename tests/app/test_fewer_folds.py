"""A slow model far ahead of the others is finished on fewer folds, or named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foldwise.app import setup
from foldwise.app.fewer_folds import finish_leader_on_fewer_folds, fold_sentences, on_first_folds
from foldwise.app.final_model import select_members
from foldwise.app.search_state import SearchState, SettingBatch
from foldwise.app.state_view import far_ahead
from tests.app.fakes import made_up_result, searched


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    monkeypatch.setattr(setup, "LEAST_FIRST", 1)


STRENGTH = {"decision_tree": 0.5, "naive_bayes": 1.0, "random_forest": 6.0}


def slow(seconds):
    return lambda job: seconds if job.model == "random_forest" else 0.1


def test_a_model_far_ahead_is_finished_on_fewer_folds():
    search, clock = searched(STRENGTH, budget=30.0, seconds=slow(5.0))
    planned = len(search.setup.splits)
    search.run(lambda: None)
    n_folds = len(search.setup.splits)
    assert 3 <= n_folds < planned
    assert search.state.n_splits == n_folds
    assert "random_forest" in {one.model for one in search.state.finished}
    assert {one.model for one in search.state.finished} == set(STRENGTH)
    selection = select_members(search.setup, search.state, search.predictions, clock)
    assert selection.candidates[selection.members[0]].model == "random_forest"
    assert selection.tested.scored == list(range(1, n_folds))
    rows = np.concatenate([split.test for split in search.setup.splits])
    np.testing.assert_array_equal(selection.tested.rows, rows)
    (sentence,) = fold_sentences(search.setup, search.state)
    assert f"{n_folds} of {planned} folds" in sentence


def test_fewer_folds_are_a_new_setup_and_state():
    search, clock = searched(STRENGTH, budget=30.0, seconds=slow(5.0))
    while search.step():
        pass
    setup, state = search.setup, search.state.without_pending()
    planned, before = len(setup.splits), state.to_dict()
    fewer_setup, fewer = finish_leader_on_fewer_folds(setup, state, clock.elapsed)
    assert len(fewer_setup.splits) == fewer.n_splits < planned
    assert fewer.fewer_folds
    assert (len(setup.splits), state.to_dict()) == (planned, before)
    late = finish_leader_on_fewer_folds(setup, state, setup.time.budget)
    assert late[0] is setup
    assert late[1] is state


def test_the_estimate_counts_only_the_folds_that_are_left():
    result = made_up_result(STRENGTH, budget=30.0, seconds=slow(5.0))
    n_folds = len(result.setup.splits)
    assert len(result.final.selection.honest.folds) == n_folds - 1


def test_a_model_far_ahead_that_cannot_be_finished_is_named_with_its_score():
    search, _ = searched(STRENGTH, budget=30.0, seconds=slow(9.0))
    search.run(lambda: None)
    assert "random_forest" not in {one.model for one in search.state.finished}
    (sentence,) = fold_sentences(search.setup, search.state)
    lost = far_ahead(search.state, *search.setup.scale)
    assert lost is not None
    assert sentence.startswith(f"Random forest was far ahead on the first fold (log loss {-lost.first:.3f}, ")


def test_a_model_that_is_finished_or_only_a_little_better_is_not_far_ahead():
    search, _ = searched(STRENGTH, budget=30.0, seconds=0.1)
    search.run(lambda: None)
    assert fold_sentences(search.setup, search.state) == []
    done = SettingBatch(0, "a", ({},), 0.0, (0, 1), {0: (-0.50,), 1: (-0.5,)})
    near = SettingBatch(1, "b", ({},), 0.0, (0,), {0: (-0.48,)})
    far = SettingBatch(1, "b", ({},), 0.0, (0,), {0: (-0.44,)})
    assert far_ahead(SearchState(0, 2, (done, near)), 0.0, -0.6) is None
    assert far_ahead(SearchState(0, 2, (done, far)), 0.0, -0.6) == far
    assert far_ahead(SearchState(0, 2, (done, far)), 0.0, -2.0) is None  # little, compared with the baseline
    assert far_ahead(SearchState(0, 2, (done, far)), math.inf, -0.6) is None  # a metric without bounds has no scale
    assert far_ahead(SearchState(0, 2, (far,)), 0.0, -0.6) is None


def test_nothing_is_far_ahead_on_a_few_rows(monkeypatch):
    monkeypatch.setattr(setup, "LEAST_FIRST", 100)
    search, _ = searched(STRENGTH, budget=30.0, seconds=slow(5.0))
    search.run(lambda: None)
    assert not search.state.fewer_folds
    assert fold_sentences(search.setup, search.state) == []


@pytest.mark.parametrize("n_folds", [2, 3])
def test_a_state_on_fewer_folds_has_their_scores_only(n_folds):
    search, _ = searched(STRENGTH, seconds=0.1)
    search.run(lambda: None)
    fewer = on_first_folds(search.state, n_folds)
    assert all(max(one.scores, default=0) < n_folds for one in fewer.batches)
    assert {one.number for one in search.state.finished} <= {one.number for one in fewer.finished}
