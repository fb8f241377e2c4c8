"""The `Estimate` type, `estimate`, and the two intervals of cross-validation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB

from foldwise import CostMatrix, Estimate, GridSearchCV, KNNClassifier, NaiveBayes, estimate, nested_cv
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.estimates import DrawnSpread, StudentSpread
from foldwise.evaluation.intervals import corrected_spread
from foldwise.evaluation.nested_interval import combined, double_splits, one_repeat
from foldwise.folds.splits import Split


def test_an_estimate_prints_its_interval_and_the_search_score():
    one = Estimate(0.861, "by hand", StudentSpread(0.0092, 30), search_score=0.872)
    assert str(one) == "0.861 (95% interval 0.842 to 0.880), search score (optimistic) 0.872"
    assert repr(one) == f"{one}, by hand"
    assert float(one) == 0.861
    assert str(Estimate(0.5, "one split", StudentSpread(np.nan, 1))) == "0.500"
    assert "<td" in one._repr_html_()
    alone = Estimate(0.5, "<script>one split</script>", StudentSpread(np.nan, 1), search_score=0.6)
    assert str(alone) == "0.500, search score (optimistic) 0.600"
    assert "<script>" not in alone._repr_html_()
    assert "&lt;script&gt;one split" in alone._repr_html_()


def test_intervals_end_at_the_bounds_of_the_score():
    one = Estimate(0.98, "", StudentSpread(0.05), bounds=(0.0, 1.0))
    assert one.interval()[1] == 1.0
    assert one.interval(0.5) == pytest.approx((0.98 - 0.05 * stats.norm.ppf(0.75), 1.0))


def test_drawn_values_give_percentiles():
    spread = DrawnSpread(np.arange(101) / 100)
    assert Estimate(0.5, "", spread).interval(0.9) == pytest.approx((0.05, 0.95))
    assert spread.widened(0.01).error == pytest.approx(np.sqrt(spread.error**2 + 0.01))


def test_a_future_test_adds_its_own_noise():
    one = Estimate(0.8, "", StudentSpread(0.02), row_variance=0.16)
    half = stats.norm.ppf(0.975) * np.sqrt(0.02**2 + 0.16 / 100)
    assert one.on_test(100) == pytest.approx((0.8 - half, 0.8 + half))
    assert one.on_test(10**12) == pytest.approx(one.interval(), abs=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda one: one.interval(95), InputError, "between 0 and 1"),
        (lambda one: one.on_test(0), InputError, "at least 1"),
        (lambda one: one.on_test(2.5), FoldwiseTypeError, "integer"),
        (lambda one: one.on_test(10), InputError, "not known"),
    ],
)
def test_what_an_estimate_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call(Estimate(0.8, "", StudentSpread(0.02)))


def test_a_prediction_interval_covers_scores_of_future_tests():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(200):
        y = rng.integers(0, 2, 300)
        X = rng.normal(size=(300, 2)) + y[:, None]
        found = estimate(GaussianNB(), X, y, cv=StratifiedKFold(10, shuffle=True, random_state=0))
        new = rng.integers(0, 2, 50)
        model = GaussianNB().fit(X, y)
        score = model.score(rng.normal(size=(50, 2)) + new[:, None], new)
        low, high = found.on_test(50)
        covered.append(low <= score <= high)
    assert 0.91 <= np.mean(covered) <= 1.0


def test_the_corrected_interval_is_nadeau_and_bengios():
    """By hand: five differences of their resampled t, n_test/n_train = 1/4."""
    scores = np.array([0.80, 0.85, 0.75, 0.90, 0.70])
    splits = [Split(np.arange(8), np.arange(8, 10))] * 5
    spread = corrected_spread(scores, splits)
    assert np.var(scores, ddof=1) == pytest.approx(0.00625)
    assert spread.error == pytest.approx(np.sqrt(0.00625 * (1 / 5 + 1 / 4)))
    low, high = spread.between(0.8, 0.95)
    assert high - 0.8 == pytest.approx(2.776445 * 0.0530330, rel=1e-5)
    assert low + high == pytest.approx(1.6)


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "neg_log_loss", "f1_macro"])
def test_a_models_estimate_is_its_cross_validated_score(scoring):
    X, y = load_breast_cancer(return_X_y=True)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    found = estimate(GaussianNB(), X, y, cv=cv, scoring=scoring)
    theirs = cross_val_score(GaussianNB(), X, y, cv=cv, scoring=scoring)
    assert found.value == pytest.approx(theirs.mean(), abs=1e-12)
    assert found.search_score is None
    low, high = found.interval()
    assert low < found.value < high
    assert found.on_test(20)[0] < low


def test_a_searchs_estimate_is_nested():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(KNNClassifier(), {"n_neighbors": [1, 5, 15]}, cv=3)
    found, nested = estimate(search, X, y, cv=5), nested_cv(search, X, y, cv=5)
    assert found.value == nested.estimate.value
    assert found.search_score == nested.estimate.search_score
    assert found.interval() == nested.interval()
    assert found.search_score == pytest.approx(np.mean([inner["mean_test_score"].max() for inner in nested.inner]))
    assert "nested" in found.method
    assert (
        estimate(search, X, y, cv=5, scoring="neg_log_loss").search_score is None
    )  # the search chose by another metric


def test_a_regressor_and_groups():
    X, y = load_diabetes(return_X_y=True)
    found = estimate(Ridge(), X, y, cv=KFold(5), scoring="neg_mean_squared_error")
    assert found.value == pytest.approx(
        cross_val_score(Ridge(), X, y, cv=KFold(5), scoring="neg_mean_squared_error").mean()
    )
    residuals = -found.value
    assert 0 < found.row_variance < 10 * residuals**2
    groups = np.arange(len(y)) // 10
    by_groups = estimate(Ridge(), X, y, cv=GroupKFold(5), groups=groups)
    assert by_groups.value == pytest.approx(cross_val_score(Ridge(), X, y, cv=GroupKFold(5), groups=groups).mean())


def test_failing_models_say_so():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="C"):
        estimate(LogisticRegression(C=-1.0), X, y)


# the nested interval of Bates, Hastie and Tibshirani


def plain_bates(model, X, y, folds_of_repeats):
    """As the paper says it: fits in loops, nothing shared."""
    ins, a, b, out, inner_all = [], [], [], [], []
    for folds in folds_of_repeats:
        K = len(folds)
        for k in range(K):
            e_in = []
            for j in set(range(K)) - {k}:
                train = np.concatenate([folds[i] for i in range(K) if i not in (j, k)])
                e_in += list(model.fit(X[train], y[train]).predict(X[folds[j]]) != y[folds[j]])
            train = np.concatenate([folds[i] for i in range(K) if i != k])
            e_out = (model.fit(X[train], y[train]).predict(X[folds[k]]) != y[folds[k]]).astype(float)
            a.append((np.mean(e_in) - e_out.mean()) ** 2)
            b.append(e_out.var(ddof=1) / len(e_out))
            ins += e_in
            out += list(e_out)
            inner_all.append(np.mean(e_in))
    n = len(y)
    mse = np.mean(a) - np.mean(b)
    variance = np.mean([np.var(part, ddof=1) for part in np.split(np.array(out), len(folds_of_repeats))])
    naive = np.sqrt(variance / n)
    se = np.clip(np.sqrt(max(mse, 0) * (K - 1) / K), naive, np.sqrt(K) * naive)
    bias = (1 + (K - 2) / K) * (np.mean(ins) - np.mean(out))
    return np.mean(ins) - bias, se


def test_the_nested_interval_is_that_of_plain_loops(rng):
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + 0.8 * y[:, None]
    repeats, divisions = [], []
    for _ in range(3):
        folds = [np.sort(part) for part in np.array_split(rng.permutation(60), 5)]
        losses = []
        for split in double_splits(folds):
            assert not set(split.train) & set(split.test)
            model = GaussianNB().fit(X[split.train], y[split.train])
            losses.append((model.predict(X[split.test]) != y[split.test]).astype(float))
        assert len(losses) == len(list(combinations(range(5), 2))) + 5
        divisions.append(folds)
        repeats.append(one_repeat(folds, losses))
    found = combined(repeats)
    error, standard_error = plain_bates(GaussianNB(), X, y, divisions)
    assert found.error == pytest.approx(error, abs=1e-12)
    assert found.standard_error == pytest.approx(standard_error, abs=1e-12)


def test_the_nested_interval_through_estimate():
    X, y = load_breast_cancer(return_X_y=True)
    one, again = (estimate(NaiveBayes(), X, y, cv=5, interval="bates", repeats=3, random_state=1) for _ in "ab")
    assert one.value == again.value
    assert one.interval() == again.interval()
    plain = estimate(NaiveBayes(), X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0))
    assert one.value == pytest.approx(plain.value, abs=0.01)
    assert one.search_score is None
    assert f"without bias correction {plain.value:.2f}" in one.method
    loss = estimate(NaiveBayes(), X, y, cv=5, interval="bates", repeats=2, scoring="neg_log_loss", random_state=0)
    assert loss.interval()[0] < loss.value < loss.interval()[1] <= 0
    search = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.5]}, cv=3)
    tuned = estimate(search, X, y, cv=4, interval="bates", repeats=2, random_state=0)
    assert tuned.value == pytest.approx(plain.value, abs=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "naive"}, "'corrected' or 'bates'"),
        ({"interval": "bates", "scoring": "roc_auc"}, "mean over rows"),
        ({"interval": "bates", "cv": KFold(5)}, "number of folds"),
        ({"interval": "bates", "cv": 2}, "number of folds"),
        ({"interval": "bates", "groups": np.zeros(569)}, "independent"),
        ({"interval": "bates", "repeats": 0}, "at least 1"),
    ],
)
def test_what_estimate_refuses(options, message):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(InputError, match=message):
        estimate(GaussianNB(), X, y, **options)


def test_leave_one_out_is_estimated_from_one_pass():
    X, y = load_iris(return_X_y=True)
    found = estimate(NaiveBayes(), X, y, cv=LeaveOneOut())
    hits = np.array(
        [NaiveBayes().fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] == y[i] for i in range(150)]
    )
    assert found.value == pytest.approx(hits.mean())
    error = np.sqrt(hits.var(ddof=1) * (1 / 150 + 1 / 149))
    assert found.interval()[0] == pytest.approx(hits.mean() - stats.t.ppf(0.975, 149) * error)
    # the noise of a test is that of its rows, though none of them varies within its split
    assert found.row_variance == pytest.approx(hits.var(ddof=1))
    noise = hits.var(ddof=1) / 20
    half = stats.t.ppf(0.975, 149) * np.sqrt(error**2 + noise)
    assert found.on_test(20)[0] == pytest.approx(hits.mean() - half)


def test_the_noise_of_a_row_is_that_of_all_losses():
    X, y = load_diabetes(return_X_y=True)
    found = estimate(Ridge(), X, y, cv=KFold(5), scoring="neg_mean_squared_error")
    squared = (cross_val_predict(Ridge(), X, y, cv=KFold(5)) - y) ** 2
    assert found.row_variance == pytest.approx(squared.var(ddof=1))


def test_one_split_knows_no_noise_of_a_score_without_losses():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="not known"):
        estimate(NaiveBayes(), X, y, cv=ShuffleSplit(1, random_state=0), scoring="f1_macro").on_test(10)


def test_the_search_score_is_there_wherever_a_search_selects_by_the_same_metric():
    X, y = load_breast_cancer(return_X_y=True)
    costs = CostMatrix.from_dict({0: {0: 0, 1: 1}, 1: {0: 5, 1: 0}})
    search = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, scoring=costs, cv=3)
    same = estimate(search, X, y, cv=3, scoring=costs)
    assert same.search_score == estimate(search, X, y, cv=3).search_score is not None
    assert estimate(search, X, y, cv=3, scoring="accuracy").search_score is None


def test_a_score_that_is_no_number_is_no_estimate():
    X, y = load_iris(return_X_y=True)
    cv = [(range(0, 150, 2), [51, 53]), (range(1, 150, 2), [0, 60])]
    undefined = pytest.warns(UndefinedMetricWarning)
    with undefined, pytest.raises(InputError, match=r"the score on split 0 is nan.*another metric"):
        estimate(KNNClassifier(), X, y == 0, cv=cv, scoring="roc_auc")
    with pytest.raises(InputError, match="must return one number"):
        estimate(KNNClassifier(), X, y, scoring=lambda model, X, y: {"a": 1.0, "b": 2.0})


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (NaiveBayes(), {"scoring": ["accuracy", "f1_macro"]}, "a single metric, got .'accuracy'"),
        (NaiveBayes, {}, "NaiveBayes is a class.*instance"),
        ("knn", {}, "must be an estimator, got str"),
        (NaiveBayes(), {"n_jobs": 0}, "n_jobs must be"),
        (
            GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}, scoring=["accuracy", "f1_macro"], refit=False),
            {"interval": "bates"},
            "refit is False",
        ),
    ],
)
def test_models_and_options_that_cannot_be_followed(model, options, message):
    with pytest.raises((InputError, FoldwiseTypeError), match=message):
        estimate(model, *load_iris(return_X_y=True), **options)


def test_the_nested_interval_needs_six_rows():
    with pytest.raises(InputError, match="at least 6 rows"):
        estimate(NaiveBayes(), np.arange(5.0)[:, None], [0, 1, 0, 1, 0], interval="bates", cv=3)


def test_large_scores_print_short():
    one = Estimate(-4862345678.1, "by hand", StudentSpread(1e8, 30))
    assert str(one) == "-4.862e+09 (95% interval -5.067e+09 to -4.658e+09)"


@pytest.mark.parametrize("interval", ["corrected", "bates"])
def test_a_root_is_taken_of_the_mean_over_all_rows(rng, interval):
    """The estimate of an RMSE is the root of that of the mean squared error, and so are the ends of its interval."""
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + rng.normal(size=80)
    options = {"cv": KFold(8, shuffle=True, random_state=0)} if interval == "corrected" else {"cv": 4, "repeats": 3}
    root, square = (
        estimate(Ridge(), X, y, scoring=name, interval=interval, random_state=0, **options)
        for name in ("neg_root_mean_squared_error", "neg_mean_squared_error")
    )
    assert root.value == pytest.approx(-np.sqrt(-square.value))
    assert root.row_variance == pytest.approx(square.row_variance / (4 * -square.value))
    if interval == "bates":
        assert root.spread.error == pytest.approx(square.spread.error / (2 * np.sqrt(-square.value)))
    low, high = root.on_test(50)
    assert low < root.interval()[0] < root.value < root.interval()[1] < high <= 0
