"""Rarer parts of scikit-learn's searches: tables of pairs, metadata routing, callbacks, schedules of one's own."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib.externals.loky import get_reusable_executor
from sklearn import model_selection as peer
from sklearn.callback.tests._utils import MaxIterEstimator, RecordingAutoPropagatedCallback, RecordingCallback
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.model_selection import GroupKFold, KFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import Tags, TargetTags

from foldwise import CostMatrix, GridSearchCV, RandomizedSearchCV, SearchCV, cross_predict, nested_cv
from foldwise.errors import InputError
from foldwise.tuning import Racing
from tests.searches import assert_same_choice

X, Y = load_iris(return_X_y=True)


def both(estimator, grid, X, y, fit_params=None, **options):
    searches = [kind(estimator, grid, **options) for kind in (GridSearchCV, peer.GridSearchCV)]
    return [search.fit(X, y, **(fit_params or {})) for search in searches]


def assert_equal(ours, theirs):
    for key, expected in theirs.cv_results_.items():
        if key.startswith("split"):
            np.testing.assert_allclose(ours.cv_results_[key], expected, rtol=1e-10, atol=1e-10, err_msg=key)
    assert_same_choice(ours, theirs, theirs.refit if isinstance(theirs.refit, str) else "score")


class TestTablesOfPairs:
    kernel, distances = rbf_kernel(X), euclidean_distances(X)

    def test_equal_to_scikit_learn(self):
        options = {"cv": 4, "return_train_score": True}
        assert_equal(*both(SVC(kernel="precomputed"), {"C": [0.1, 10]}, self.kernel, Y, **options))
        neighbors = KNeighborsClassifier(metric="precomputed")
        assert_equal(*both(neighbors, {"n_neighbors": [1, 9]}, self.distances, Y, scoring="neg_log_loss", **options))
        regression = KernelRidge(kernel="precomputed")
        assert_equal(*both(regression, {"alpha": [0.1, 10]}, self.kernel, Y.astype(float), **options))

    def test_a_setting_may_make_it_one(self):
        ours, theirs = both(SVC(), {"kernel": ["precomputed", "linear"], "C": [0.1, 1]}, self.kernel, Y, cv=4)
        assert_equal(ours, theirs)

    def test_frames(self):
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 10]}, cv=4, refit=False)
        expected = search.fit(self.kernel, Y).cv_results_["mean_test_score"]
        # scikit-learn cannot take rows and columns of a frame
        assert search.fit(pd.DataFrame(self.kernel), Y).cv_results_["mean_test_score"].tolist() == expected.tolist()

    def test_a_scorer_that_calls_the_model_gets_rows_and_columns(self):
        def scorer(model, X, y):
            return (model.predict(X) == y).mean() + X.shape[1] / 1000

        assert_equal(*both(SVC(kernel="precomputed"), {"C": [0.1, 10]}, self.kernel, Y, cv=4, scoring=scorer))

    def test_predictions_out_of_fold(self):
        ours = cross_predict(SVC(kernel="precomputed"), self.kernel, Y, cv=5)
        theirs = peer.cross_val_predict(SVC(kernel="precomputed"), self.kernel, Y, cv=5)
        assert (np.asarray(ours.predicted if hasattr(ours, "predicted") else ours) == theirs).all()

    def test_a_square_table_of_columns_is_no_table_of_pairs(self):
        square, y = X[::4][:4], np.array([0, 1, 0, 1])
        assert_equal(*both(GaussianNB(), {"var_smoothing": [1e-9, 1]}, square, y, cv=2))


class TestRouting:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    groups = np.arange(len(y)) % 7

    @pytest.mark.parametrize(("fitted", "scored"), [(True, True), (True, False), (False, True)])
    @pytest.mark.parametrize("shared", [True, False])
    def test_weights_go_where_they_are_requested(self, fitted, scored, shared):
        with sklearn.config_context(enable_metadata_routing=True):
            refitted = Ridge(solver="lsqr"), {"alpha": [1, 1e6]}
            model, grid = (GaussianNB(), {"var_smoothing": [1e-9, 0.1]}) if shared else refitted
            model.set_fit_request(sample_weight=fitted)
            scorer = get_scorer("accuracy" if shared else "r2").set_score_request(sample_weight=scored)
            given = {"sample_weight": self.weights}
            ours, theirs = both(model, grid, self.X, self.y, given, scoring=scorer, cv=3, return_train_score=True)
        assert_equal(ours, theirs)
        assert (ours.session_ != "refit") == shared

    def test_several_metrics_have_weights_of_their_own(self):
        with sklearn.config_context(enable_metadata_routing=True):
            model = GaussianNB().set_fit_request(sample_weight=True)
            scoring = {
                "by_weight": get_scorer("neg_log_loss").set_score_request(sample_weight=True),
                "by_other": get_scorer("accuracy").set_score_request(sample_weight="other"),
                "plain": get_scorer("accuracy").set_score_request(sample_weight=False),
            }
            given = {"sample_weight": self.weights, "other": self.weights[::-1]}
            grid = {"var_smoothing": [1e-9, 0.1]}
            assert_equal(*both(model, grid, self.X, self.y, given, scoring=scoring, refit="by_other", cv=3))

    def test_groups_and_pipelines(self):
        with sklearn.config_context(enable_metadata_routing=True):
            last = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
            model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), last)
            given = {"sample_weight": self.weights, "groups": self.groups}
            grid = {"logisticregression__C": [0.01, 1]}
            scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
            ours, theirs = both(model, grid, self.X, self.y, given, cv=GroupKFold(3), scoring=scorer)
        assert_equal(ours, theirs)

    def test_metadata_of_splitters(self):
        class ByColumn(KFold):
            __metadata_request__split = {"order": True}  # noqa: RUF012

            def split(self, X, y=None, groups=None, *, order):
                ranks = np.argsort(order)
                for train, test in super().split(X):
                    yield ranks[train], ranks[test]

            def get_n_splits(self, X=None, y=None, groups=None, *, order=None):
                return self.n_splits

        with sklearn.config_context(enable_metadata_routing=True):
            grid = {"var_smoothing": [1e-9, 0.1]}
            assert_equal(*both(GaussianNB(), grid, self.X, self.y, {"order": self.X[:, 0]}, cv=ByColumn(3)))

    def test_what_nobody_requests_is_an_error(self):
        search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=3)
        with sklearn.config_context(enable_metadata_routing=True):
            assert search.fit(self.X, self.y).best_params_ == {"var_smoothing": 1e-9}
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                search.fit(self.X, self.y, sample_weight=self.weights)
            with pytest.raises(TypeError, match="colour"):
                search.fit(self.X, self.y, colour=self.weights)

    def test_metrics_of_ours_are_not_routed_to(self):
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                GaussianNB().set_fit_request(sample_weight=True),
                {"var_smoothing": [1e-9, 0.1]},
                scoring=CostMatrix((0, 1), (0, 1), [[0, 5], [1, 0]]),
                cv=3,
            )
            routed = search.fit(self.X, self.y, sample_weight=self.weights)
            assert np.isfinite(routed.cv_results_["mean_test_score"]).all()
            assert routed.get_metadata_routing() is not None


class Bisection(GridSearchCV):
    """Follows the better of two values of one parameter."""

    def __init__(self, estimator, **options):
        super().__init__(estimator, {}, **options)

    @classmethod
    def _get_param_names(cls):
        return ["cv", "estimator", "return_train_score"]

    def _run_search(self, evaluate_candidates):
        low, high = 1, 65
        for number in range(3):
            pair = [{"n_neighbors": low}, {"n_neighbors": high}]
            results = evaluate_candidates(pair, more_results={"round": [number] * 2})
            first, second = results["mean_test_score"][-2:]
            low, high = (low, (low + high) // 2) if first > second else ((low + high) // 2, high)


class TestOwnSchedule:
    X, y = load_diabetes(return_X_y=True)

    def peer(self):
        class PeerBisection(peer.GridSearchCV):
            def __init__(self, estimator, **options):
                super().__init__(estimator, {}, **options)

            _get_param_names, _run_search = Bisection._get_param_names, Bisection._run_search

        return PeerBisection

    def test_equal_to_scikit_learn(self):
        ours = Bisection(KNeighborsRegressor(), cv=4, return_train_score=True).fit(self.X, self.y)
        theirs = self.peer()(KNeighborsRegressor(), cv=4, return_train_score=True).fit(self.X, self.y)
        assert_equal(ours, theirs)
        assert ours.cv_results_["round"].tolist() == [0, 0, 1, 1, 2, 2]
        assert ours.cv_results_["params"] == theirs.cv_results_["params"]
        assert ours.session_ != "refit"
        assert ours.kept_.values.shape == (6, len(self.y))

    def test_it_is_also_followed_in_nested_cross_validation(self):
        ours = nested_cv(Bisection(KNeighborsRegressor(), cv=4), self.X, self.y, cv=KFold(3))
        theirs = cross_validate(self.peer()(KNeighborsRegressor(), cv=4), self.X, self.y, cv=KFold(3))
        np.testing.assert_allclose(ours.scores, theirs["test_score"], rtol=1e-9)


class TestCallbacks:
    @pytest.mark.parametrize(
        ("ours", "n_jobs"), [(GridSearchCV, 1), (SearchCV, 1), pytest.param(GridSearchCV, 2, marks=pytest.mark.slow)]
    )
    def test_every_fit_is_a_task(self, ours, n_jobs):
        if n_jobs > 1:  # processes of its own: after other tests, joblib's pool once waited for a result for ever
            get_reusable_executor().shutdown(wait=True, kill_workers=True)
        callbacks = [RecordingCallback(), RecordingAutoPropagatedCallback()]
        table, y = X[:30], Y[:30] + np.arange(30) / 30
        grid = {"max_iter": [1, 2, 3]}
        options = {"cv": 2, "scoring": "r2", "n_jobs": n_jobs}
        search = ours(MaxIterEstimator(), grid, **options).set_callbacks(*callbacks).fit(table, y)
        theirs = peer.GridSearchCV(MaxIterEstimator(), grid, **options).fit(table, y)
        assert_equal(search, theirs)
        n_tasks = 1 + 1 + 3 * 2 + 1  # fit, search, settings × splits, final fit
        inner = 2 * (1 + 2 + 3) + search.best_params_["max_iter"]
        for callback, expected in zip(callbacks, (n_tasks, n_tasks + inner), strict=True):
            assert callback.count_hooks("setup") == callback.count_hooks("teardown") == 1
            assert callback.count_hooks("on_fit_task_begin") == callback.count_hooks("on_fit_task_end") == expected

    def test_strategies_with_several_rounds(self):
        callback = RecordingCallback()
        space = {"max_iter": [1, 2, 3, 4, 5, 6]}
        options = {"strategy": "random", "n_trials": 4, "cv": 2, "scoring": "r2", "random_state": 0}
        SearchCV(MaxIterEstimator(), space, **options).set_callbacks(callback).fit(X[:30], Y[:30] + X[:30, 0])
        assert callback.count_hooks("on_fit_task_begin") == callback.count_hooks("on_fit_task_end") == 1 + 1 + 8 + 1

    def test_not_with_racing(self):
        search = SearchCV(Ridge(), {"alpha": [1, 2]}, strategy=Racing("grid")).set_callbacks(RecordingCallback())
        with pytest.raises(InputError, match="callbacks cannot be combined"):
            search.fit(X, Y)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize(("scoring", "refit"), [("accuracy", True), (["accuracy", "f1_macro"], "accuracy")])
@pytest.mark.parametrize("verbose", [2, 3, 10])
def test_verbose_lines_are_those_of_scikit_learn(capsys, verbose, scoring, refit, train):
    texts = []
    options = {"cv": 3, "scoring": scoring, "refit": refit, "return_train_score": train, "verbose": verbose}
    for kind in (GridSearchCV, peer.GridSearchCV):
        kind(GaussianNB(), {"var_smoothing": [1e-9, 0.1], "priors": [None]}, **options).fit(X, Y)
        lines = [line for line in capsys.readouterr().out.splitlines() if "START" not in line]
        # settings that share their work end together, so the order differs
        texts.append(sorted(re.sub(r"\.*(?=priors)|total time=.*", "", line) for line in lines))
    assert texts[0] == texts[1]
    assert len(texts[0]) == 1 + 6


class Interrupted(GaussianNB):
    """Is interrupted in its third fit."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        if self.fits == 3:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_verbose_lines_appear_as_each_fit_ends(capsys):
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(Interrupted(), {"var_smoothing": [1e-9, 0.1]}, cv=3, verbose=3).fit(X, Y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "END" in line]
    assert [line[:9] for line in lines] == ["[CV 1/3] ", "[CV 2/3] "]


def test_verbose_lines_of_races_name_the_split(capsys):
    SearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e9]}, strategy=Racing("grid"), cv=4, verbose=3).fit(X, Y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "END" in line]
    assert [line[4:7] for line in lines if "=1e-09" in line] == ["1/4", "2/4", "3/4", "4/4"]


def test_models_without_predict_and_scorers_without_target():
    grid = {"bandwidth": [0.05, 0.2, 1.0]}
    ours, theirs = (kind(KernelDensity(), grid, cv=4).fit(X) for kind in (GridSearchCV, peer.GridSearchCV))
    assert_equal(ours, theirs)
    scoring = {"scoring": lambda model, X: model.score_samples(X).min()}
    ours, theirs = (kind(KernelDensity(), grid, cv=4, **scoring).fit(X) for kind in (GridSearchCV, peer.GridSearchCV))
    assert_equal(ours, theirs)


class Plain:
    """A classifier that inherits nothing."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def __sklearn_tags__(self):
        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def get_params(self, deep=True):
        return {"shift": self.shift}

    def set_params(self, shift):
        self.shift = shift
        return self

    def fit(self, X, y):
        self.mean = X[:, 0].mean()

    def score(self, X, y):
        return float(((X[:, 0] > self.mean + self.shift) == (y > 0)).mean())


def test_a_model_needs_only_parameters_fit_and_score():
    grid = {"shift": [-1.0, 0.0, 1.0]}
    for ours, theirs in ((GridSearchCV, peer.GridSearchCV), (RandomizedSearchCV, peer.RandomizedSearchCV)):
        options = {"n_iter": 2, "random_state": 0} if ours is RandomizedSearchCV else {}
        cv = KFold(3, shuffle=True, random_state=0)
        assert_equal(*(kind(Plain(), grid, cv=cv, **options).fit(X, Y) for kind in (ours, theirs)))


def test_a_splitter_that_miscounts_its_splits():
    class Miscounting(KFold):
        def get_n_splits(self, X=None, y=None, groups=None):
            return 2

    with pytest.raises(InputError, match="Expected 2 splits, got 3"):
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=Miscounting(3)).fit(X, Y)


def test_a_scorer_that_ignores_weights_is_named():
    with pytest.warns(UserWarning, match=r"max_error.* does not support sample_weight"):
        GridSearchCV(Ridge(), {"alpha": [1]}, scoring="neg_max_error").fit(X, Y, sample_weight=np.ones(len(Y)))
