"""Gradient search: what it finds, that it sees only the rows of its search, and that it can be repeated.

`check_strategy` does not apply, because it proposes settings without data; its promises are tested here.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from foldwise import NaiveBayes, SearchCV, nested_cv
from foldwise.errors import InputError
from foldwise.folds.opening import open_session
from foldwise.folds.splits import Split
from foldwise.models import TransformedTarget
from foldwise.testing import check_strategy
from foldwise.tuning import Choice, Float, Gradient, Grid, Racing
from foldwise.tuning.descent import Box, descend
from foldwise.tuning.smooth_losses import SearchData
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.gradient import starts
from foldwise.tuning.strategies.protocol import is_tried

CANCER, DIABETES = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)
FEW = tuple(part[:200] for part in DIABETES)
WIDE = Float(1e-4, 1e4, log=True)
MSE = "neg_mean_squared_error"
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-6, max_iter=10_000))
MACHINE = make_pipeline(MinMaxScaler(), KernelRidge(kernel="rbf"))


def searched(estimator, space, X, y, strategy="gradient", **options):
    return SearchCV(estimator, space, strategy=strategy, random_state=0, **options).fit(X, y)


def fits_of(search):
    """The fits of a gradient search: those along descents, and those that score its settings."""
    return search.strategy_.evaluations * search.n_splits_ + search.models_scored_


@pytest.mark.parametrize(
    ("estimator", "space", "data", "scoring", "n_points", "share"),
    [
        (LOGISTIC, {"logisticregression__C": Float(1e-3, 1e2, log=True)}, CANCER, "neg_log_loss", 31, 0.7),
        (Ridge(), {"alpha": WIDE}, DIABETES, MSE, 81, 0.5),
        (MACHINE, {"kernelridge__alpha": WIDE, "kernelridge__gamma": WIDE}, FEW, MSE, 10, 0.6),
    ],
    ids=["logistic", "ridge", "kernel ridge"],
)
def test_it_finds_what_a_fine_grid_finds_with_fewer_fits(estimator, space, data, scoring, n_points, share):
    found = searched(estimator, space, *data, strategy=Gradient(n_starts=3), scoring=scoring)
    grid = searched(estimator, space, *data, strategy=Grid(n_points), scoring=scoring)
    assert found.best_score_ >= grid.best_score_ - 1e-4 * abs(grid.best_score_)
    assert fits_of(found) <= share * grid.models_scored_


def test_descents_go_down_and_end_in_the_space():
    space = {"kernelridge__alpha": Float(0.01, 10, log=True), "kernelridge__gamma": Float(0, 3)}
    search = searched(MACHINE, space, *DIABETES, scoring=MSE)
    paths = search.strategy_.paths
    assert len(paths) == 5
    assert paths[0][0][0]["kernelridge__alpha"] == 1.0  # the estimator's own
    for path in paths:
        losses = [loss for _, loss in path]
        assert losses == sorted(losses, reverse=True)
        assert all(SearchSpace.of(space).contains(setting) for setting, _ in path)
    tried = search.cv_results_["params"]
    for path in paths[:3]:  # without the ends of the ranges, which are not scored
        assert path[0][0] in tried
    best = min(path[-1][1] for path in paths)
    assert -search.best_score_ == pytest.approx(best, rel=1e-6)  # the loss of the descents is that of the search


def test_the_same_seed_gives_the_same_settings():
    space = {"alpha": loguniform(1e-4, 1e4), "fit_intercept": [True, False]}
    runs = [searched(Ridge(), space, *DIABETES, scoring=MSE).cv_results_["params"] for _ in range(2)]
    assert runs[0] == runs[1]
    other = SearchCV(Ridge(), space, strategy="gradient", scoring=MSE, random_state=1).fit(*DIABETES)
    assert other.cv_results_["params"] != runs[0]


def test_proposals_lie_in_the_space_and_are_not_repeated():
    X, y = DIABETES
    data = SearchData(Ridge(), X, y, [Split(*one) for one in KFold(3).split(X)])
    space, rng = {"alpha": WIDE, "fit_intercept": [True, False]}, np.random.default_rng
    bound = Gradient(n_starts=2).bind(data)
    first = bound.propose(space, [], rng([0, 0]))
    trials = [trial(one, -1.0) for one in first[:2]] + [trial(one, np.nan, "failed") for one in first[2:4]]
    again = bound.propose(space, trials, rng([0, len(trials)]))
    assert again == first[4:]
    assert bound.propose(space, [trial(one, 0.0) for one in first], rng([0, len(first)])) == []
    assert all(SearchSpace.of(space).contains(one) for one in first)
    assert not any(is_tried(one, [trial(other, 0.0) for other in first[:i]]) for i, one in enumerate(first))
    # a fresh strategy that knows the trials goes on where the other one stopped
    assert Gradient(n_starts=2).bind(data).propose(space, trials, rng([0, len(trials)])) == again


def trial(setting, score, state="finished"):
    from foldwise.tuning import Trial

    return Trial(setting, score, state)


def test_without_data_there_are_no_proposals():
    with pytest.raises(InputError, match="SearchCV"):
        check_strategy(Gradient())


def test_other_parameters_are_enumerated_and_held_fixed():
    space = {
        "kernel": Choice(["rbf", "poly"]),
        "alpha": WIDE,
        "gamma": Float(0.01, 10, log=True, when={"kernel": "rbf"}),
    }
    X, y = (part[:100] for part in DIABETES)
    paths = searched(KernelRidge(), space, X, y, scoring=MSE, cv=3).strategy_.paths
    assert {path[0][0]["kernel"] for path in paths} == {"rbf", "poly"}
    for path in paths:
        assert len({setting["kernel"] for setting, _ in path}) == 1
        assert all(("gamma" in setting) == (setting["kernel"] == "rbf") for setting, _ in path)


def test_branches_without_gradients_are_scored_as_they_are():
    space = [{"alpha": WIDE, "kernel": ["linear"]}, {"kernel": ["sigmoid"], "gamma": [0.1], "coef0": Float(0, 1)}]
    X, y = (part[:100] for part in DIABETES)
    search = searched(KernelRidge(), space, X, y, scoring=MSE, cv=3)
    assert {"linear", "sigmoid"} == {one["kernel"] for one in search.cv_results_["params"]}
    still = [path for path in search.strategy_.paths if path[0][0]["kernel"] == "sigmoid"]
    assert all(len(path) == 1 and np.isnan(path[0][1]) for path in still)


def test_many_combinations_are_sampled():
    X, y = (part[:60] for part in DIABETES)
    space = {"alpha": WIDE, "tol": [10.0**-k for k in range(40)]}
    search = searched(Ridge(), space, X, y, strategy=Gradient(n_starts=1, max_steps=3), scoring=MSE, cv=2)
    assert len({path[0][0]["tol"] for path in search.strategy_.paths}) > 20


def test_settings_of_the_user_are_starts():
    space, first = {"alpha": WIDE}, {"alpha": 777.0}
    search = searched(Ridge(), space, *DIABETES, initial_settings=[first], scoring=MSE)
    assert search.cv_results_["params"][0] == first
    assert search.strategy_.paths[0][0][0] == first


def test_starts_may_be_zero():
    search = searched(Ridge(), {"alpha": Float(0, 10)}, *DIABETES, initial_settings=[{"alpha": 0.0}], scoring=MSE)
    assert search.cv_results_["params"][0] == {"alpha": 0.0}
    assert all(setting["alpha"] > 0 for path in search.strategy_.paths for setting, _ in path)


def test_flat_parts_of_the_space_are_avoided():
    X, y = CANCER
    space = {"var_floor": Float(1e-9, 10, log=True)}  # below 0.01 no variance changes
    found = searched(NaiveBayes(), space, X, y, scoring="neg_log_loss")
    grid = searched(NaiveBayes(), space, X, y, strategy=Grid(60), scoring="neg_log_loss")
    assert found.best_score_ >= grid.best_score_


def test_n_trials_keeps_the_best_end_point():
    search = searched(Ridge(), {"alpha": WIDE}, *DIABETES, n_trials=1, scoring=MSE)
    assert len(search.cv_results_["params"]) == 1
    assert search.best_params_["alpha"] < 0.01


def test_descents_end_with_the_timeout():
    X, y = DIABETES
    data = SearchData(Ridge(), X, y, [Split(*one) for one in KFold(3).split(X)], timeout=1e-9)
    bound = Gradient().bind(data)
    assert bound.propose({"alpha": WIDE}, [], np.random.default_rng([0, 0])) == [{"alpha": 1.0}]
    assert bound.evaluations == 1
    assert searched(Ridge(), {"alpha": WIDE}, X, y, timeout=60).strategy_.evaluations > 5


def test_an_error_lists_what_is_smooth():
    with pytest.raises(InputError, match=r"loss of Lasso is smooth.*LogisticRegression \(C\).*'random'"):
        searched(Lasso(), {"alpha": WIDE}, *DIABETES)
    with pytest.raises(InputError, match="Float"):  # a list of values is not continuous
        searched(Ridge(), {"alpha": [0.1, 1.0]}, *DIABETES)
    with pytest.raises(InputError, match="loss of Pipeline with SVC is smooth"):
        searched(make_pipeline(StandardScaler(), SVC()), {"svc__C": WIDE}, *CANCER)
    with pytest.raises(InputError, match="n_starts"):
        Gradient(n_starts=0)


def test_nested_cross_validation():
    search = SearchCV(LOGISTIC, {"logisticregression__C": WIDE}, strategy="gradient", random_state=0)
    assert nested_cv(search, *CANCER, cv=3).estimate.value > 0.96


@pytest.mark.parametrize("scramble", ["labels", "rows"])
def test_rows_outside_the_training_rows_change_nothing(scramble):
    X, y = CANCER
    search = SearchCV(LOGISTIC, {"logisticregression__C": WIDE}, strategy="gradient", random_state=0, cv=3)
    rows = np.arange(0, 569, 2)
    outside = np.arange(1, 569, 2)
    moved_X, moved_y = X.copy(), y.copy()
    if scramble == "labels":
        moved_y[outside] = 1 - y[outside]
    else:
        moved_X[outside] = 1e6 * np.random.default_rng(0).normal(size=(len(outside), X.shape[1]))
    paths = []
    for table, target in ((X, y), (moved_X, moved_y)):
        running = search.plan().start_on(open_session(LOGISTIC, table, target), rows)
        paths.append(running.plan.strategy.paths)
    assert paths[0] == paths[1]
    # the search on these rows alone
    assert paths[0] == search.fit(X[rows], y[rows]).strategy_.paths


def test_racing_around_gradients():
    search = searched(Ridge(), {"alpha": WIDE}, *DIABETES, strategy=Racing("gradient"), scoring=MSE, cv=10)
    assert search.best_params_["alpha"] < 0.1
    assert search.strategy_.strategy.paths


def test_leave_one_out():
    X, y = (part[:40] for part in DIABETES)
    search = searched(Ridge(), {"alpha": WIDE}, X, y, cv=LeaveOneOut(), scoring=MSE)
    assert search.n_splits_ == 40


def rosenbrock(x):
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
    return value, np.array([-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)])


def test_the_descent_of_a_curved_valley():
    box = Box(np.array([-2.0, -2.0]), np.array([2.0, 2.0]))
    path = descend(rosenbrock, np.array([-1.2, 1.0]), box, max_steps=200, tol=1e-12)
    assert path[-1][0] == pytest.approx([1.0, 1.0], abs=1e-2)
    values = [value for _, value in path]
    assert values == sorted(values, reverse=True)


def test_a_descent_follows_bounds():
    box = Box(np.array([0.5, -1.0]), np.array([2.0, 1.0]))

    def bowl(x):
        return float(x @ x), 2 * x

    path = descend(bowl, np.array([1.5, 0.8]), box, max_steps=30, tol=1e-10)
    assert path[-1][0] == pytest.approx([0.5, 0.0], abs=1e-4)


def test_a_descent_does_not_enter_where_the_value_is_not_finite():
    def wall(x):
        return (float("inf"), np.zeros(1)) if x[0] < 1 else (float(x[0]), np.ones(1))

    path = descend(wall, np.array([5.0]), Box(np.array([0.0]), np.array([6.0])), max_steps=30, tol=1e-6)
    assert 1 <= path[-1][0][0] < 1.2
    assert (
        descend(lambda x: (np.inf, x), np.ones(1), Box(np.zeros(1), np.ones(1)), max_steps=5, tol=0.1)[0][1] == np.inf
    )


def test_a_descent_stops_when_time_is_over():
    path = descend(rosenbrock, np.zeros(2), Box(-np.ones(2), np.ones(2)), max_steps=50, tol=0, is_over=lambda: True)
    assert len(path) == 1


def test_the_ends_of_the_ranges_are_starts():
    space = SearchSpace.of({"C": Float(0.01, 100, log=True)})
    even, ends = starts(space, LogisticRegression(), 5, np.random.default_rng(0))
    assert even[0] == {"C": 1.0}
    assert ends == [{"C": 100.0}, {"C": 0.01}]
    assert starts(space, LogisticRegression(), 3, np.random.default_rng(0)) == (even, [])


def test_a_start_at_an_end_is_not_scored():
    search = searched(Ridge(), {"alpha": Float(1e-3, 100, log=True)}, *FEW, scoring=MSE)
    assert 100 in [path[0][0]["alpha"] for path in search.strategy_.paths]
    assert 100 not in search.cv_results_["param_alpha"]


@pytest.mark.parametrize("transform", ["none", "scale"])
def test_a_target_that_is_only_scaled_has_the_same_best_alpha(transform):
    plain = searched(Ridge(), {"alpha": WIDE}, *DIABETES, scoring=MSE)
    wrapped = TransformedTarget(Ridge(), transform=transform)
    found = searched(wrapped, {"regressor__alpha": WIDE}, *DIABETES, scoring=MSE)
    assert found.best_params_["regressor__alpha"] == pytest.approx(plain.best_params_["alpha"], rel=0.05)
    assert not TransformedTarget(Ridge(), transform="log").smooth_names()
