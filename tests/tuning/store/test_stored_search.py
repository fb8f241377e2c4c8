"""A search with a store: the results of a search without one, resumed where it was, refused where it has changed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import foldwise
from foldwise import NaiveBayes, SearchCV, nested_cv
from foldwise.errors import FoldwiseWarning, InputError
from foldwise.tuning import Choice, Float, Int, Racing
from foldwise.tuning.store import TrialStore, open_search

X, y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
X = X + rng.normal(scale=0.8, size=X.shape)
FLOORS = {"var_floor": [1e-9, 0.01, 0.1, 0.5]}
TREES = {"max_depth": Int(1, 8), "min_samples_leaf": Int(1, 20)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trials.sqlite"


def same_results(a: Any, b: Any) -> None:
    assert a.cv_results_["params"] == b.cv_results_["params"]
    for name in a.cv_results_:
        if name.startswith(("split", "mean_test", "mean_train", "rank")):
            np.testing.assert_allclose(a.cv_results_[name], b.cv_results_[name], rtol=1e-12)
    assert a.best_params_ == b.best_params_


SEARCHES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "grid of shared work": (NaiveBayes(), FLOORS, {}),
    "grid of refits": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}, {"n_jobs": 2}),
    "neighbors": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 9], "p": [1, 2]}, {"return_train_score": True}),
    "bayesian": (DecisionTreeClassifier(random_state=0), TREES, {"strategy": "bayesian", "n_trials": 9}),
    "random, reshuffled": (NaiveBayes(), FLOORS, {"strategy": "random", "n_trials": 3, "reshuffle": True}),
    "race": (
        DecisionTreeClassifier(random_state=0),
        TREES,
        {"strategy": Racing("random", min_folds=2, batch=6), "n_trials": 12},
    ),
    "race on growing training sets": (
        DecisionTreeClassifier(random_state=0),
        TREES,
        {"strategy": Racing("random", rule="halving", resource="rows"), "n_trials": 8},
    ),
    "several metrics": (NaiveBayes(), FLOORS, {"scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"}),
    "leave-one-out": (NaiveBayes(), FLOORS, {"cv": LeaveOneOut()}),
    "leave-one-out by refits": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}, {"cv": LeaveOneOut()}),
    "objects": (
        LogisticRegression(max_iter=200),
        {"C": Float(0.01, 10, log=True), "class_weight": Choice([None, "balanced", {0: 1.0, 1: 2.0, 2: 1.0}])},
        {"strategy": "evolutionary", "n_trials": 6},
    ),
}


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_store_changes_no_result_and_neither_does_a_second_fit(kind: str, file: Path) -> None:
    estimator, space, options = SEARCHES[kind]
    options = {"cv": KFold(5, shuffle=True, random_state=0), "random_state": 0, **options}
    plain = SearchCV(estimator, space, **options).fit(X, y)
    first = SearchCV(estimator, space, store=file, name="a", **options).fit(X, y)
    same_results(first, plain)
    assert first.kept_ == plain.kept_
    second = SearchCV(estimator, space, store=file, name="a", **options).fit(X, y)
    same_results(second, plain)
    assert second.kept_ == plain.kept_
    assert second.fits_done_ == first.fits_done_


class Counted(DecisionTreeClassifier):
    """A tree that appends a line to a file with every fit."""

    def __init__(self, log: str = "", max_depth: int | None = None, random_state: int | None = None) -> None:
        super().__init__(max_depth=max_depth, random_state=random_state)
        self.log = log

    def fit(self, X: Any, y: Any) -> Any:
        with open(self.log, "a") as file:
            file.write("fit\n")
        return super().fit(X, y)


def n_fits(log: Path) -> int:
    return len(log.read_text().splitlines())


def test_what_is_stored_is_not_fitted_again(file: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    options: dict[str, Any] = {"cv": 5, "audit": False, "refit": False, "store": file, "name": "a"}
    search = SearchCV(Counted(str(log), random_state=0), {"max_depth": [1, 2, 3]}, **options)
    search.fit(X, y)
    assert n_fits(log) == 15
    search.fit(X, y)
    assert n_fits(log) == 15


def test_more_trials_go_on_where_the_search_stopped(file: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    space = {"max_depth": Int(1, 100)}
    options: dict[str, Any] = {"strategy": "random", "cv": 5, "random_state": 0, "audit": False, "refit": False}
    model = Counted(str(log), random_state=0)
    SearchCV(model, space, n_trials=4, store=file, name="a", **options).fit(X, y)
    assert n_fits(log) == 20
    more = SearchCV(model, space, n_trials=10, store=file, name="a", **options).fit(X, y)
    assert n_fits(log) == 50
    whole = SearchCV(model, space, n_trials=10, **options).fit(X, y)
    assert more.cv_results_["params"] == whole.cv_results_["params"]


def test_a_search_without_a_seed_is_resumed_with_its_own(file: Path) -> None:
    options: dict[str, Any] = {"strategy": "random", "cv": 3, "store": file, "name": "a"}
    first = SearchCV(NaiveBayes(), {"var_floor": Float(1e-9, 1, log=True)}, n_trials=3, **options).fit(X, y)
    more = SearchCV(NaiveBayes(), {"var_floor": Float(1e-9, 1, log=True)}, n_trials=6, **options).fit(X, y)
    assert more.cv_results_["params"][:3] == first.cv_results_["params"]


@dataclass(frozen=True)
class Jittered:
    """A strategy that proposes other last digits on another CPU."""

    batch = 4
    jitter: ClassVar[float] = 0.0

    def propose(self, space: Any, trials: Any, rng: np.random.Generator) -> Any:
        return [{"max_depth": 3, "ccp_alpha": float(rng.uniform(0, 0.01)) * (1 + self.jitter)}]


def test_stored_settings_are_not_proposed_again(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = {"max_depth": Int(1, 3), "ccp_alpha": Float(0.0, 0.01)}
    given: dict[str, Any] = {"strategy": Jittered(), "cv": 3, "random_state": 0, "store": file, "name": "a"}
    model = DecisionTreeClassifier(random_state=0)
    first = SearchCV(model, space, n_trials=4, **given).fit(X, y)
    monkeypatch.setattr(Jittered, "jitter", 1e-12)
    again = SearchCV(model, space, n_trials=8, **given).fit(X, y)
    assert again.cv_results_["params"][:4] == first.cv_results_["params"]
    assert open_search(file, "a").to_frame().height == 8
    without = {**given, "store": None, "name": None}
    here = SearchCV(model, space, n_trials=8, **without).fit(X, y)
    assert here.cv_results_["params"][:4] != first.cv_results_["params"]  # the digits do differ here


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "space": ({"space": {"var_floor": [0.1]}}, "another space"),
    "estimator": ({"estimator": NaiveBayes(alpha=3.0)}, "another estimator"),
    "splits": ({"cv": 4}, "another cv"),
    "metric": ({"scoring": "neg_log_loss"}, "another scoring"),
    "strategy": ({"strategy": "random", "n_trials": 3}, "another strategy"),
}


@pytest.mark.parametrize("part", CHANGES)
def test_a_changed_search_is_refused(part: str, file: Path) -> None:
    given: dict[str, Any] = {"estimator": NaiveBayes(), "space": FLOORS, "cv": 5, "store": file, "name": "a"}
    SearchCV(**given).fit(X, y)
    changes, words = CHANGES[part]
    with pytest.raises(InputError, match=words):
        SearchCV(**{**given, **changes}).fit(X, y)


def test_splits_that_change_with_every_call_are_explained(file: Path) -> None:
    given: dict[str, Any] = {"cv": KFold(5, shuffle=True), "store": file, "name": "a"}
    SearchCV(NaiveBayes(), FLOORS, **given).fit(X, y)
    with pytest.raises(InputError, match="random_state=0"):
        SearchCV(NaiveBayes(), FLOORS, **given).fit(X, y)


def test_other_rows_are_another_study(file: Path) -> None:
    search = SearchCV(NaiveBayes(), FLOORS, cv=5, store=file, name="a")
    search.fit(X, y)
    with pytest.warns(FoldwiseWarning, match="was started with other training rows"):
        search.fit(X[:120], y[:120])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(X[10:], y[10:])  # said once
    assert len(TrialStore(file).studies()) == 3
    with pytest.raises(InputError, match="3 searches with different training rows are called 'a'"):
        open_search(file, "a")


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")
def test_nested_cross_validation_leaks_nothing_through_a_store(file: Path) -> None:
    options: dict[str, Any] = {"cv": KFold(3, shuffle=True, random_state=0)}
    outer = KFold(4, shuffle=True, random_state=1)
    plain = nested_cv(SearchCV(NaiveBayes(), FLOORS, **options), X, y, cv=outer)
    stored = SearchCV(NaiveBayes(), FLOORS, store=file, name="a", **options)
    np.testing.assert_allclose(nested_cv(stored, X, y, cv=outer).scores, plain.scores)
    assert len(TrialStore(file).studies()) == 4
    scores = cross_validate(stored, X, y, cv=outer)["test_score"]
    np.testing.assert_allclose(scores, plain.scores)
    assert len(TrialStore(file).studies()) == 4  # the same rows, so the same studies


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")
def test_nested_cross_validation_stores_scores_without_predictions(file: Path) -> None:
    outer = KFold(3)
    stored = SearchCV(NaiveBayes(), FLOORS, cv=3, store=file, name="a")
    nested_cv(stored, X, y, cv=outer)
    train = next(outer.split(X))[0]
    found = stored.fit(X[train], y[train])
    assert found.fits_done_ == 3
    assert found.kept_.losses is None
    assert "nested cross-validation" in found.kept_.why
    assert len(TrialStore(file).studies()) == 3


def test_reading_a_search(file: Path) -> None:
    SearchCV(NaiveBayes(), FLOORS, cv=5, store=file, name="a").fit(X, y)
    read = foldwise.open_search(file, "a")
    frame = read.to_frame()
    assert frame["state"].to_list() == ["finished"] * 4
    assert frame["var_floor"].to_list() == FLOORS["var_floor"]
    whole = SearchCV(NaiveBayes(), FLOORS, cv=5).fit(X, y)
    np.testing.assert_allclose(frame["mean_score"].to_numpy(), whole.cv_results_["mean_test_score"])
    assert read.best is not None
    assert read.best.setting == whole.best_params_
    with pytest.raises(InputError, match=r"has no search 'b'.*its searches: 'a'"):
        open_search(file, "b")
    with pytest.raises(InputError, match="does not exist"):
        open_search(file.with_name("other"), "a")


@pytest.mark.filterwarnings("ignore:One or more:UserWarning")
def test_failed_fits_are_recorded_and_warned_about_again(file: Path) -> None:
    given: dict[str, Any] = {"cv": 3, "store": file, "name": "a", "refit": False}
    space = {"max_depth": [2, -1]}
    for _ in range(2):
        with pytest.warns(Warning, match="max_depth"):
            search = SearchCV(DecisionTreeClassifier(random_state=0), space, **given).fit(X, y)
        assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert open_search(file, "a").to_frame()["state"].to_list() == ["finished", "failed"]


def test_a_timeout_keeps_what_was_scored(file: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    space = {"max_depth": Int(1, 10**6)}
    given: dict[str, Any] = {"strategy": "random", "cv": 5, "random_state": 0, "store": file, "name": "a"}
    model = Counted(str(log), random_state=0)
    first = SearchCV(model, space, n_trials=10**5, timeout=1.0, audit=False, **given).fit(X, y)
    assert len(first.cv_results_["params"]) > 3
    before, n_done = n_fits(log), len(first.cv_results_["params"])
    second = SearchCV(model, space, n_trials=n_done, audit=False, refit=False, **given).fit(X, y)
    assert second.cv_results_["params"][:n_done] == first.cv_results_["params"]
    assert n_fits(log) <= before + 8 * 5  # at most the rest of a batch
