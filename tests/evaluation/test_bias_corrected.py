"""The bootstrap bias-corrected estimate against a hand-worked example, plain loops, and the truth of noise."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn import model_selection as peer
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from foldwise import (
    CostMatrix,
    GridSearchCV,
    KNNClassifier,
    KNNRegressor,
    NaiveBayes,
    SearchCV,
    bias_corrected,
    nested_cv,
)
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.bias_corrected import spread_of
from foldwise.evaluation.metrics import METRICS
from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.evaluation.resampled import MeanLosses, RecomputedScores, ResampledOrders, draws_of, units_of

GRID = {"n_neighbors": [1, 3, 5, 9, 15, 25]}


@pytest.fixture
def noisy(rng):
    y = rng.integers(0, 2, 120)
    return rng.normal(size=(120, 4)) + 0.5 * y[:, None], y


def choose_and(seen):
    """The best setting of each draw; the scores it saw are noted."""

    def choose(scores):
        seen.append(scores)
        return np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=1)

    return choose


def test_a_hand_worked_example():
    """Four rows, two settings. Setting A errs on rows 2 and 3, B on rows 0 and 3.

    Drawn rows 0, 0, 1, 2: A errs once in four (row 2), B twice (row 0 twice); A is chosen; row 3 is left out, where it
    errs: accuracy 0. Drawn 1, 2, 2, 3: A errs three times, B once; B is chosen; row 0 is left out: accuracy 0.
    Drawn 0, 0, 0, 3: A errs once, B four times; A is chosen; rows 1 and 2 are left out: accuracy 1/2.
    """
    losses = np.array([[0.0, 0, 1, 1], [1.0, 0, 0, 1]])
    stored = MeanLosses(
        OutOfFoldAnswers(np.arange(4), np.zeros(4, dtype=np.intp), losses=losses), lambda losses: 1.0 - losses
    )
    counts = np.array([[2, 1, 1, 0], [0, 1, 2, 1], [3, 0, 0, 1]])
    seen = []
    np.testing.assert_allclose(stored.draw(counts, choose_and(seen)).scores, [0.0, 0.0, 0.5])
    np.testing.assert_allclose(seen[0], [[0.75, 0.5], [0.25, 0.75], [0.75, 0.0]])


def test_the_mean_is_that_of_all_bootstraps():
    """Every one of the 5^5 bootstraps in plain loops, against many drawn ones."""
    wrong = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 1, 0], [0, 0, 1, 1, 1]])
    exact = []
    for drawn in product(range(5), repeat=5):
        rest = sorted(set(range(5)) - set(drawn))
        if rest:
            best = int(np.argmin([sum(one[i] for i in drawn) for one in wrong]))
            exact.append(1 - np.mean(wrong[best][rest]))
    y = np.array([0, 1, 0, 1, 1])

    class Fixed(ClassifierMixin, BaseEstimator):
        def __init__(self, setting=0):
            self.setting = setting

        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            return self

        def predict(self, X):
            rows = X[:, 0].astype(int)
            return np.where(wrong[self.setting][rows] == 1, 1 - y[rows], y[rows])

    cv = [([j for j in range(5) if j != i], [i]) for i in range(5)]
    search = GridSearchCV(Fixed(), {"setting": [0, 1, 2]}, cv=cv).fit(np.arange(5.0)[:, None], y)
    found = bias_corrected(search, n_bootstraps=60_000, random_state=0)
    assert found.search_score == 0.6
    assert found.value == pytest.approx(np.mean(exact), abs=0.005)


def plain_bbc(kept, score, y, counts):
    """Choice on the drawn places and score on the others, split by split, by scikit-learn's metric."""
    found = []
    n_splits = kept.split.max() + 1
    for times in counts:

        def mean(s, times_of_place):
            scores = []
            for k in range(n_splits):
                places = np.repeat(np.flatnonzero(kept.split == k), times_of_place[kept.split == k])
                if len(set(y[kept.rows[places]])) == 2:
                    scores.append(score(y[kept.rows[places]], s, places))
            return np.mean(scores)

        at = times[units_of(kept)]
        best = int(np.argmax([mean(s, at) for s in range(len(kept.proba if kept.proba is not None else kept.labels))]))
        found.append(mean(best, (at == 0).astype(int)))
    return np.array(found)


def test_areas_and_rates_are_computed_anew(noisy):
    X, y = noisy
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    counts = next(draws_of(120, 15, np.random.default_rng(1)))
    search = GridSearchCV(KNNClassifier(), GRID, scoring="roc_auc", cv=cv).fit(X, y)
    kept, metric = search.kept_, search.plan().metrics["score"]
    assert kept.losses is None
    stored = RecomputedScores(kept, metric, search.estimator)
    ours = stored.draw(counts, choose_and([])).scores
    plain = plain_bbc(kept, lambda truth, s, places: roc_auc_score(truth, kept.proba[s, places, 1]), y, counts)
    np.testing.assert_allclose(ours, plain, atol=1e-12)
    assert ResampledOrders.serve(kept)  # in one walk a draw
    at_once = ResampledOrders(kept, metric.metric.order_scores)
    np.testing.assert_allclose(at_once.draw(counts, choose_and([])).scores, plain, atol=1e-12)
    search = GridSearchCV(KNNClassifier(), GRID, scoring="f1_macro", cv=cv).fit(X, y)
    kept = search.kept_
    stored = RecomputedScores(kept, search.plan().metrics["score"], search.estimator)
    ours = stored.draw(counts, choose_and([])).scores

    def f1(truth, s, places):
        return f1_score(truth, kept.labels[s, places], average="macro")

    np.testing.assert_allclose(ours, plain_bbc(kept, f1, y, counts), atol=1e-12)


def test_a_rare_class_that_resamples_lose_does_not_better_the_figure(rng):
    """One row of the third class in each fold, which most bootstraps leave no row of in some fold."""
    y = np.repeat([0, 1, 2], [60, 60, 10])
    X = rng.normal(size=(130, 3)) + 1.5 * y[:, None] * [1, 0, 0]
    cv = StratifiedKFold(10, shuffle=True, random_state=0)
    search = GridSearchCV(KNNClassifier(), GRID, scoring="balanced_accuracy", cv=cv).fit(X, y)
    kept = search.kept_
    counts = next(draws_of(130, 60, np.random.default_rng(1)))
    found = RecomputedScores(kept, search.plan().metrics["score"], search.estimator).draw(counts, choose_and([])).scores

    def mean(setting, times):
        by_classes = {1: [], 2: [], 3: []}
        for k in range(10):
            places = np.repeat(np.flatnonzero(kept.split == k), times[kept.rows[kept.split == k]])
            truth, said = y[kept.rows[places]], kept.labels[setting, places]
            recalls = [np.mean(said[truth == label] == label) for label in set(truth)]
            if recalls:
                by_classes[len(recalls)].append(np.mean(recalls))
        return np.mean(by_classes[3] or by_classes[2])

    best = [int(np.argmax([mean(setting, times) for setting in range(6)])) for times in counts]
    plain = [mean(setting, (times == 0).astype(int)) for setting, times in zip(best, counts, strict=True)]
    np.testing.assert_allclose(found, plain, atol=1e-12)
    assert found.mean() < search.best_score_


def test_means_of_losses_are_those_of_plain_loops(rng):
    """Rows tested several times, groups and weights: all places of a unit are drawn together."""
    m, n = 40, 20
    kept = OutOfFoldAnswers(
        rows=np.tile(rng.permutation(n), 2),
        split=np.repeat([0, 1], n),
        groups=np.arange(n) // 3,
        weights=rng.random(n),
        losses=rng.random((5, m)),
    )
    stored = MeanLosses(kept, np.negative)
    units = units_of(kept)
    counts = next(draws_of(units.max() + 1, 30, rng))
    seen = []
    found = stored.draw(counts, choose_and(seen))
    weights = kept.weights[kept.rows]

    def plain(times, of_units):
        drawn, left = times[units] * weights * of_units[units], (times[units] == 0) * weights * of_units[units]
        scores = [-np.average(one, weights=drawn) if drawn.sum() else np.nan for one in kept.losses]
        best = int(np.argmax(scores))
        return scores, -np.average(kept.losses[best], weights=left) if left.sum() else np.nan

    every = np.ones(7)
    np.testing.assert_allclose(seen[0], [plain(times, every)[0] for times in counts])
    np.testing.assert_allclose(found.scores, [plain(times, every)[1] for times in counts])
    for unit in range(7):  # seven groups are seven blocks
        others = np.arange(7) != unit
        np.testing.assert_allclose(found.without[unit], [plain(times, others)[1] for times in counts])


@pytest.mark.parametrize(
    ("split", "n_blocks", "block"),
    [
        (np.repeat([0, 1, 2, 3, 4], 12), 5, np.repeat([0, 1, 2, 3, 4], 12)),  # the rows of each split
        (np.zeros(60, dtype=np.intp), 10, np.arange(60) % 10),  # one split is no block
        (np.arange(60), 10, np.arange(60) % 10),  # nor are sixty
    ],
)
def test_the_jackknife_leaves_out_the_rows_of_each_split(rng, split, n_blocks, block):
    losses, rows = rng.random((4, 60)), rng.permutation(60)
    stored = MeanLosses(OutOfFoldAnswers(rows, split, losses=losses), lambda losses: 1.0 - losses)
    counts = next(draws_of(60, 8, rng))
    found = stored.draw(counts, choose_and([]))
    assert found.without.shape == (n_blocks, 8)
    of_row = np.empty(60, dtype=int)
    of_row[rows] = split if n_blocks == 5 else block[rows]
    stays = of_row[stored.order] != 3
    of_rows = np.empty_like(losses)
    of_rows[:, rows] = losses
    left = MeanLosses(
        OutOfFoldAnswers(
            np.arange(stays.sum()), np.zeros(stays.sum(), dtype=np.intp), losses=of_rows[:, stored.order[stays]]
        ),
        lambda losses: 1.0 - losses,
    )
    again = left.draw(counts[:, stays][:, left.order], choose_and([]))
    np.testing.assert_allclose(found.without[3], again.scores)
    spread, word = spread_of(found.scores, [found.without])
    means = found.without.mean(axis=1)
    assert word == "jackknife"
    assert spread.error == pytest.approx(np.sqrt((n_blocks - 1) * np.var(means)))
    assert spread.freedom == n_blocks - 1


def test_draws_are_bootstraps(rng):
    blocks = list(draws_of(50, 200, rng))
    counts = np.concatenate(blocks)
    assert counts.shape == (200, 50)
    assert (counts.sum(axis=1) == 50).all()
    assert (counts == 0).mean() == pytest.approx((1 - 1 / 50) ** 50, abs=0.02)


def test_noise_is_seen_through():
    """Labels that nothing predicts: the best of many settings looks good, its corrected score does not."""
    naive, corrected = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 20)), np.arange(100) % 2
        cv = StratifiedKFold(5, shuffle=True, random_state=seed)
        space = {"n_neighbors": list(range(1, 40, 2)), "weights": ["uniform", "distance"]}
        search = GridSearchCV(KNNClassifier(), space, cv=cv, audit=False).fit(X, y)
        found = bias_corrected(search, n_bootstraps=100, random_state=seed)
        naive.append(found.search_score)
        corrected.append(found.value)
    assert np.mean(naive) > 0.53
    assert np.mean(corrected) == pytest.approx(0.5, abs=0.025)


def test_it_agrees_with_nested_cross_validation():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(KNNClassifier(), GRID, cv=10).fit(X, y)
    found = bias_corrected(search, random_state=0)
    nested = nested_cv(search, X, y, cv=10).estimate
    assert found.value == pytest.approx(nested.value, abs=0.01)
    assert found.search_score == search.best_score_
    assert found.value < found.search_score
    assert found.on_test(50)[0] < found.interval()[0]
    assert "BBC" in found.method
    assert bias_corrected(search, random_state=0).value == found.value


@pytest.mark.parametrize(
    "scoring",
    [
        "accuracy",
        "neg_log_loss",
        "neg_brier_score",
        "roc_auc",
        "balanced_accuracy",
        "f1",
        "matthews_corrcoef",
        "average_precision",
        "jaccard",
        CostMatrix.from_dict({0: {0: 0, 1: 5}, 1: {0: 1, 1: 0}}),
    ],
)
def test_any_metric_of_two_classes(scoring):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3], y[::3]
    keep = "all" if scoring in ("average_precision", "jaccard") else "losses"
    search = SearchCV(KNNClassifier(), GRID, scoring=scoring, cv=4, keep=keep).fit(X, y)
    found = bias_corrected(search, n_bootstraps=20, random_state=0)
    assert found.search_score == search.best_score_
    low, high = found.interval()
    assert low <= found.value <= high
    assert abs(found.value - found.search_score) < 0.5  # the log loss of one neighbor has a heavy tail


def test_areas_of_decision_values(noisy):
    X, y = noisy
    search = GridSearchCV(LinearSVC(), {"C": [0.01, 0.1, 1.0]}, scoring="roc_auc", cv=4).fit(X, y)
    kept = search.kept_
    assert kept.proba is None
    assert kept.decision.shape == (3, 120)
    counts = next(draws_of(120, 15, np.random.default_rng(1)))
    seen, again = [], []
    ours = ResampledOrders(kept, METRICS["roc_auc"].order_scores).draw(counts, choose_and(seen))
    plain = RecomputedScores(kept, search.plan().metrics["score"], search.estimator).draw(counts, choose_and(again))
    np.testing.assert_allclose(seen[0], again[0], atol=1e-12)
    np.testing.assert_allclose(ours.scores, plain.scores, atol=1e-12)


def test_regressions_and_refitting_models():
    X, y = load_diabetes(return_X_y=True)
    for scoring in ("neg_mean_squared_error", "r2", "neg_root_mean_squared_error"):
        search = GridSearchCV(Ridge(), {"alpha": [0.01, 1, 100]}, scoring=scoring, cv=5).fit(X, y)
        found = bias_corrected(search, n_bootstraps=50, random_state=0)
        assert found.value == pytest.approx(found.search_score, rel=0.1)
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(LogisticRegression(max_iter=2000), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert bias_corrected(search, n_bootstraps=50, random_state=0).value == pytest.approx(search.best_score_, abs=0.02)


def test_repeats_and_groups_are_drawn_as_one(noisy):
    X, y = noisy
    once = GridSearchCV(KNNClassifier(), GRID, cv=RepeatedStratifiedKFold(n_splits=4, n_repeats=3)).fit(X, y)
    assert units_of(once.kept_).max() == 119
    assert bias_corrected(once, random_state=0).interval()[0] < once.best_score_
    groups = np.arange(120) // 6
    grouped = GridSearchCV(KNNClassifier(), GRID, cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert units_of(grouped.kept_).max() == 19
    plain = bias_corrected(GridSearchCV(KNNClassifier(), GRID, cv=GroupKFold(4)).fit(X, y, groups=groups))
    assert plain.interval()[0] < plain.value


def test_the_choice_of_a_callable_is_repeated(noisy):
    X, y = noisy
    seen = []

    def simplest(results):
        seen.append(len(results["mean_test_score"]))
        good = results["mean_test_score"] >= results["mean_test_score"].max() - 0.03
        return int(np.flatnonzero(good)[-1])

    search = GridSearchCV(KNNClassifier(), GRID, cv=4, refit=simplest).fit(X, y)
    found = bias_corrected(search, n_bootstraps=25, random_state=0)
    assert len(seen) == 1 + 25 * 5  # and once for each of four splits left out
    assert found.search_score == search.cv_results_["mean_test_score"][search.best_index_]
    greedy = GridSearchCV(KNNClassifier(), GRID, cv=4, refit=lambda r: int(r["split0_test_score"].argmax())).fit(X, y)
    with pytest.raises(InputError, match="split0_test_score"):
        bias_corrected(greedy, n_bootstraps=5)


def test_several_metrics(noisy):
    X, y = noisy
    for refit in ("accuracy", "roc_auc"):
        search = GridSearchCV(KNNClassifier(), GRID, scoring=["accuracy", "roc_auc"], refit=refit, cv=4).fit(X, y)
        assert bias_corrected(search, n_bootstraps=10, random_state=0).search_score == search.best_score_


def test_settings_that_failed_are_never_chosen(noisy):
    X, y = noisy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(LogisticRegression(), {"C": [1.0, -1.0, 0.1]}, cv=3).fit(X, y)
    assert np.isfinite(bias_corrected(search, n_bootstraps=20, random_state=0).value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}, keep="none"), "keep='losses'"),
        (lambda: GridSearchCV(NaiveBayes(), {"alpha": [1]}), "a single setting"),
        (lambda: GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}, refit=False), "did not select a setting"),
        (
            lambda: GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}, scoring=lambda model, X, y: model.score(X, y)),
            "scorer <lambda> may use the fitted model.*make_scorer",
        ),
    ],
)
def test_what_bias_corrected_refuses(noisy, make, message):
    with pytest.raises(InputError, match=message):
        bias_corrected(make().fit(*noisy))


def test_searches_that_keep_nothing_and_unfitted_ones(noisy):
    with pytest.raises(FoldwiseTypeError, match="pass a fitted search"):
        bias_corrected(peer.GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}).fit(*noisy))
    with pytest.raises(InputError, match="not fitted"):
        bias_corrected(GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}))
    with pytest.raises(InputError, match="at least 2"):
        bias_corrected(GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}).fit(*noisy), n_bootstraps=1)


@pytest.mark.parametrize("scoring", ["roc_auc", "f1_macro", "accuracy", "neg_log_loss"])
def test_a_setting_that_failed_changes_nothing(noisy, scoring):
    X, y = noisy
    found = []
    for ks in ([1, 3, 9], [1, 3, 9, len(y)]):  # no training set has so many neighbors
        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": ks}, scoring=scoring, cv=4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(bias_corrected(search.fit(X, y), n_bootstraps=60, random_state=0))
    assert found[1].value == pytest.approx(found[0].value, abs=1e-10)
    assert found[1].interval() == pytest.approx(found[0].interval(), abs=1e-10)


def test_a_search_none_of_whose_settings_has_a_score_is_refused(noisy):
    X, y = noisy
    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 3]}, scoring="roc_auc", cv=[(range(90), [90, 91])]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, np.r_[y[:90], np.ones(len(y) - 90)])
    with pytest.raises(InputError, match=r"no setting has a score on every split.*another metric"):
        bias_corrected(search)


def test_a_callable_that_chooses_a_setting_that_failed_is_told(noisy):
    X, y = noisy
    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, len(y)]}, refit=lambda results: 1, error_score=0.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    with pytest.raises(InputError, match=r"it selected setting 1 of 2.*failed"):
        bias_corrected(search, n_bootstraps=5)


def test_the_root_of_mean_losses_is_corrected_with_a_jackknife(rng):
    X = rng.normal(size=(90, 20))
    y = X[:, 0] + rng.normal(size=90)
    grid = {"n_neighbors": list(range(1, 40))}
    search = GridSearchCV(KNNRegressor(), grid, scoring="neg_root_mean_squared_error", cv=5, audit=False).fit(X, y)
    found = bias_corrected(search, n_bootstraps=300, random_state=0)
    assert "jackknife" in found.method
    losses = search.kept_.losses[search.best_index_]
    assert found.value < -np.sqrt(losses.mean())  # larger than the error of the winner on the rows that chose it
    assert found.value == pytest.approx(-np.sqrt(losses.mean()), rel=0.1)
    assert found.row_variance == pytest.approx(np.var(losses, ddof=1) / (4 * losses.mean()))
