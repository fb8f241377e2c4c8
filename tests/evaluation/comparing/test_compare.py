"""Models on the same splits of one table."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV as PeerSearch
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from foldwise import CostMatrix, GridSearchCV, KNNClassifier, NaiveBayes, compare, estimate, nested_cv
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation import Comparison, compare_tables, corrected_t_test, correlated_bayesian_t, holm

mpl.use("agg")
X, Y = load_iris(return_X_y=True)
FOLDS = KFold(8, shuffle=True, random_state=3)
ONE = {"var_smoothing": [1e-9, 1e-2]}


def models():
    return {
        "one column": NaiveBayes(columns=[0]),
        "bayes": GaussianNB(),
        "search": GridSearchCV(GaussianNB(), ONE, cv=3),
    }


@pytest.fixture(scope="module")
def result():
    return compare(models(), X, Y, cv=FOLDS)


def test_scores_are_those_of_scikit_learn_on_the_same_splits(result):
    for name, model in models().items():
        peer = PeerSearch(GaussianNB(), ONE, cv=3) if name == "search" else model
        np.testing.assert_allclose(
            result.scores[result.names.index(name)], cross_val_score(peer, X, Y, cv=FOLDS), atol=1e-12
        )


def test_estimates_are_those_of_estimate_and_nested_cv(result):
    for name, model in models().items():
        alone = estimate(model, X, Y, cv=FOLDS)
        assert repr(result.estimates[name]) == repr(alone)
        assert result.estimates[name].interval() == alone.interval()
    nested = nested_cv(models()["search"], X, Y, cv=FOLDS)
    assert result.estimates["search"].search_score == nested.estimate.search_score
    assert result.estimates["bayes"].search_score is None


def test_the_table_says_what_the_tests_say(result):
    assert list(result.to_frame()["model"]) == list(result.names)
    assert list(result.to_frame()["score"]) == sorted(result.to_frame()["score"], reverse=True)
    share = sum(len(test) for _, test in FOLDS.split(X)) / sum(len(train) for train, _ in FOLDS.split(X))
    best = result.scores[0]
    p_all = [corrected_t_test(a - b, share).p for i, a in enumerate(result.scores) for b in result.scores[i + 1 :]]
    adjusted = holm(p_all)
    assert list(result.pairs["p_holm"]) == pytest.approx(adjusted.tolist())
    for i, row in enumerate(result.to_frame().iter_rows(named=True)):
        low, high = result.estimates[row["model"]].interval()
        assert (row["low"], row["high"]) == (low, high)
        if i == 0:
            assert row["p"] is None
            assert row["tied"]
            continue
        d = result.scores[i] - best
        test, posterior = corrected_t_test(d, share), correlated_bayesian_t(d, share, 0.01)
        assert (row["difference"], row["p"]) == pytest.approx((test.difference, test.p))
        assert row["p_holm"] == pytest.approx(adjusted[i - 1])
        shares = (posterior.better, posterior.equal, posterior.worse)
        assert (row["better"], row["equal"], row["worse"]) == pytest.approx(shares)
        assert row["better"] + row["equal"] + row["worse"] == pytest.approx(1)
        assert row["tied"] == (row["p_holm"] >= 0.05) == (row["model"] in result.tied)
    assert "one column" not in result.tied
    assert {"bayes", "search"} == set(result.tied)


def test_pairs_turn_with_their_order(result):
    there, back = result.posterior("bayes", "one column"), result.posterior("one column", "bayes")
    assert (there.better, there.worse) == pytest.approx((back.worse, back.better))
    assert result.test("bayes", "one column").t == -result.test("one column", "bayes").t
    assert len(result.pairs) == 3
    inside = result.pairs.filter((pl.col("low") <= pl.col("difference")) & (pl.col("difference") <= pl.col("high")))
    assert len(inside) == 3
    with pytest.raises(InputError, match="no model called 'svm'"):
        result.test("svm", "bayes")


def test_a_model_against_itself_is_tied():
    same = compare({"a": GaussianNB(), "b": GaussianNB()}, X, Y, cv=5)
    assert same.tied == ("a", "b")
    assert same.to_frame()["p"].to_list() == [None, 1.0]
    assert same.to_frame()["equal"][1] == 1.0


def test_by_default_ten_stratified_resamples():
    small = {"a": GaussianNB(), "b": DummyClassifier()}
    found = compare(small, X, Y)
    assert found.test_share == 60 / 90
    cv = StratifiedShuffleSplit(10, test_size=0.4, random_state=0)
    np.testing.assert_allclose(found.scores[0], cross_val_score(GaussianNB(), X, Y, cv=cv), atol=1e-12)
    np.testing.assert_array_equal(found.scores, compare(small, X, Y).scores)
    assert (found.scores != compare(small, X, Y, random_state=1).scores).any()
    assert compare(small, X, Y, random_state=np.random.default_rng(4)).scores.shape == (2, 10)


def test_groups_stay_together():
    groups = np.arange(150) // 5
    found = compare({"a": GaussianNB(), "b": KNNClassifier(1)}, X, Y, groups=groups)
    cv = GroupShuffleSplit(10, test_size=0.4, random_state=0)
    wanted = cross_val_score(GaussianNB(), X, Y, groups=groups, cv=cv)
    np.testing.assert_allclose(found.scores[found.names.index("a")], wanted, atol=1e-12)
    again = compare({"a": GaussianNB(), "b": KNNClassifier(1)}, X, Y, groups=groups, cv=StratifiedGroupKFold(5))
    wanted = cross_val_score(GaussianNB(), X, Y, groups=groups, cv=StratifiedGroupKFold(5))
    np.testing.assert_array_equal(again.scores[again.names.index("a")], wanted)
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    wanted = cross_val_score(GaussianNB(), X, Y, groups=groups, cv=folds)
    again = compare({"a": GaussianNB(), "b": KNNClassifier(1)}, X, Y, groups=groups, cv=5)
    np.testing.assert_array_equal(again.scores[again.names.index("a")], wanted)


def test_regressors_by_r2_or_another_metric():
    X, y = load_diabetes(return_X_y=True)
    pair = {"plain": LinearRegression(), "ridge": Ridge(30.0)}
    assert compare(pair, X, y, cv=5).metric == "r2"
    errors = compare(pair, X, y, cv=5, scoring="neg_mean_squared_error", rope=100)
    assert errors.best == "plain"
    assert (errors.metric, errors.greater_is_better) == ("mean_squared_error", False)
    assert str(errors).startswith("Mean squared error (lower is better) of 2 models")
    assert max(map(len, str(errors).splitlines())) <= 80
    assert compare(pair, X, y).scores.shape == (2, 10)


def test_a_loss_is_shown_with_its_own_sign():
    pair = {"all": GaussianNB(), "flat": GaussianNB(var_smoothing=10.0)}
    for name, scorer in (("log_loss", "neg_log_loss"), ("brier_score", "neg_brier_score")):
        found, again = (compare(pair, X, Y, cv=5, scoring=one) for one in (name, scorer))
        assert found.metric == again.metric == name
        np.testing.assert_allclose(found.scores, again.scores)
        for model, scores in zip(found.names, found.scores, strict=True):
            expected = -cross_val_score(pair[model], X, Y, cv=5, scoring=scorer)
            np.testing.assert_allclose(scores, expected, rtol=1e-10)
            low, high = found.estimates[model].interval()
            assert 0 <= low < scores.mean() < high
        assert found.best == "all"
        _, worse = found.to_frame().iter_rows(named=True)
        assert worse["difference"] > 0
        assert worse["worse"] > worse["better"]
    tables = compare_tables({"one": (X, Y), "two": (X[::2], Y[::2])}, pair, cv=3, scoring="log_loss")
    assert tables.best == "all"
    assert tables.ranks == {"all": 1.0, "flat": 2.0}
    assert tables.pairs["wins"].to_list() == [2]


def test_one_metric_for_all():
    by_auc = GridSearchCV(GaussianNB(), ONE, scoring="roc_auc_ovr")
    with pytest.raises(InputError, match=r"'a' is scored by roc_auc_ovr and 'b' by accuracy.*scoring="):
        compare({"a": by_auc, "b": GaussianNB()}, X, Y)
    found = compare({"a": by_auc, "b": GaussianNB()}, X, Y, cv=3, scoring="accuracy")
    assert found.metric == "accuracy"
    assert found.estimates["a"].search_score is None  # it says an area, not an accuracy
    costs = CostMatrix.zero_one([0, 1, 2])
    assert compare({"a": GaussianNB(), "b": DummyClassifier()}, X, Y, cv=3, scoring=costs).best == "a"
    dearer = CostMatrix([0, 1, 2], [0, 1, 2], 2.0 - 2 * np.eye(3))
    searches = [GridSearchCV(GaussianNB(), ONE, scoring=one) for one in (costs, dearer, CostMatrix.zero_one([0, 1, 2]))]
    with pytest.raises(InputError, match="cost"):
        compare({"a": searches[0], "b": searches[1]}, X, Y)
    assert compare({"a": searches[0], "b": searches[2]}, X, Y, cv=3).metric == "cost"


def test_the_same_metric_is_seen_through_pipelines_and_peers():
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    peer = PeerSearch(GaussianNB(), ONE, cv=3)
    found = compare({"a": pipeline, "b": peer, "c": GaussianNB()}, X, Y, cv=3)
    assert found.metric == "accuracy"
    several = GridSearchCV(GaussianNB(), ONE, scoring=["accuracy", "f1_macro"], refit="f1_macro", cv=3)
    with pytest.raises(InputError, match="f1_macro"):
        compare({"a": several, "b": GaussianNB()}, X, Y)
    alone = GridSearchCV(GaussianNB(), ONE, scoring="f1_macro", cv=3)
    assert compare({"a": several, "b": alone}, X, Y, cv=3).metric == "f1_macro"
    jaccard = GridSearchCV(GaussianNB(), ONE, scoring="jaccard_macro", cv=3)  # a scorer as it is
    assert compare({"a": jaccard, "b": jaccard}, X, Y, cv=3).metric == "jaccard_macro"


def test_fit_params_reach_every_fit(rng):
    weights = rng.exponential(size=150)
    found = compare({"a": GaussianNB(), "b": DummyClassifier()}, X, Y, cv=4, sample_weight=weights)
    wanted = estimate(GaussianNB(), X, Y, cv=4, sample_weight=weights)
    assert found.estimates["a"].value == wanted.value


@pytest.mark.parametrize(
    ("bad", "kind", "words"),
    [
        ({"models": "knn"}, FoldwiseTypeError, "or a dict of models by name, got str"),
        ({"models": {"a": GaussianNB()}}, InputError, "at least two models, got 1"),
        ({"models": {"a": GaussianNB(), 2: GaussianNB()}}, FoldwiseTypeError, "must be strings, got 2"),
        ({"models": {"a": GaussianNB(), "b": GaussianNB}}, FoldwiseTypeError, "GaussianNB is a class.*instance"),
        (
            {"models": {"a": GaussianNB(), "b": [0.9, 0.8]}},
            FoldwiseTypeError,
            "'b' must be an estimator.*Comparison.of",
        ),
        ({"models": {"a": GaussianNB(), "b": LinearRegression()}, "scoring": "accuracy"}, InputError, "'b' is not"),
        ({"models": {"a": AgglomerativeClustering(), "b": AgglomerativeClustering()}}, InputError, "needs a metric"),
        ({"models": pl.DataFrame({"a": [1]})}, FoldwiseTypeError, "a DataFrame. Hint: pass the models first"),
        ({"models": X}, FoldwiseTypeError, "an array. Hint: pass the models first"),
        ({"rope": -0.1}, InputError, "rope must be finite and at least 0"),
        ({"rope": "1%"}, FoldwiseTypeError, "rope must be a number"),
        ({"level": 95}, InputError, "level must be between 0 and 1, got 95"),
        ({"scoring": ["accuracy", "f1_macro"]}, InputError, "a single metric"),
        ({"cv": ShuffleSplit(1, random_state=0)}, InputError, "at least two splits"),
    ],
)
def test_bad_input(bad, kind, words):
    given = {"models": {"a": GaussianNB(), "b": DummyClassifier()}, **bad}
    with pytest.raises(kind, match=words):
        compare(given.pop("models"), X, Y, **given)


def test_an_error_names_its_model():
    with pytest.raises((InputError, AttributeError, ValueError)) as caught:
        compare({"a": GaussianNB(), "svm": LinearSVC()}, X, Y, cv=3, scoring="neg_log_loss")
    assert "raised by model 'svm'" in caught.value.__notes__


class Failing(ClassifierMixin, BaseEstimator):
    """Fails where the row of its number is missing from training."""

    def __init__(self, row=0, tried=0):
        self.row, self.tried = row, tried

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if len(X) > 100 and not (X[:, 0] == self.row).any():
            raise ValueError("row is missing")
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_a_search_without_a_score_on_some_split_is_refused():
    numbered = np.c_[np.arange(150), X]
    search = GridSearchCV(Failing(), {"tried": [0, 1]}, cv=2)
    with (
        pytest.warns(UserWarning, match="an outer fold failed"),
        pytest.raises(InputError, match="score of 'b' on split 0 is nan"),
    ):
        compare({"a": GaussianNB(), "b": search}, numbered, Y, cv=KFold(5))


def test_scores_at_hand(rng):
    scores = {"low": rng.normal(0.7, 0.02, 10), "high": rng.normal(0.8, 0.02, 10).tolist()}
    found = Comparison.of(scores, test_share=1 / 9)
    assert found.names == ("high", "low")
    assert found.tied == ("high",)
    test = corrected_t_test(np.array(scores["high"]) - scores["low"], 1 / 9)
    assert found.test("high", "low") == test
    half = found.estimates["low"].interval()[1] - found.estimates["low"].value
    assert half == pytest.approx(2.262157 * np.std(scores["low"], ddof=1) * np.sqrt(1 / 10 + 1 / 9))
    with pytest.raises(InputError, match=r"sizes of training and test sets.*pass test_share"):
        Comparison.of(scores)
    with pytest.raises(InputError, match=r"'low' was tested on 10 splits and 'high' on 9.*compare\(models, X, y\)"):
        Comparison.of({**scores, "high": scores["high"][:9]}, test_share=1 / 9)
    with pytest.raises(InputError, match="at least two splits"):
        Comparison.of({"a": [0.5], "b": [0.6]}, test_share=1)
    with pytest.raises(InputError, match="score of 'a' on split 1 is nan"):
        Comparison.of({"a": [0.5, np.nan], "b": [0.6, 0.7]}, test_share=1)
    with pytest.raises(FoldwiseTypeError, match=r"is an estimator.*compare\(models, X, y\)"):
        Comparison.of({"a": [0.5, 0.6], "b": GridSearchCV(GaussianNB(), ONE, cv=3).fit(X, Y)}, test_share=1)
    with pytest.raises(FoldwiseTypeError, match="'b' must be scores"):
        Comparison.of({"a": [0.5, 0.6], "b": {"fold": "text"}}, test_share=1)


def test_nested_results_must_be_of_the_same_rows():
    search, other = (GridSearchCV(GaussianNB(), grid, cv=3) for grid in (ONE, {"var_smoothing": [1e-9, 1.0]}))
    a, b = nested_cv(search, X, Y, cv=FOLDS), nested_cv(other, X, Y, cv=FOLDS)
    found = Comparison.of({"a": a, "b": b})
    assert found.metric == "accuracy"
    assert found.test_share == compare({"a": search, "b": other}, X, Y, cv=FOLDS).test_share
    assert found.estimates["a"] is a.estimate
    elsewhere = nested_cv(other, X, Y, cv=KFold(8, shuffle=True, random_state=4))
    with pytest.raises(
        InputError, match=r"'a' and 'b' were tested on different rows: 8 of 8 splits differ.*same splits"
    ):
        Comparison.of({"a": a, "b": elsewhere})
    with pytest.raises(InputError, match=r"tested on 8 splits and 'b' on 5"):
        Comparison.of({"a": a, "b": nested_cv(other, X, Y, cv=5)})
    by_f1 = nested_cv(GridSearchCV(GaussianNB(), ONE, cv=3, scoring="f1_macro"), X, Y, cv=FOLDS)
    with pytest.raises(InputError, match="'a' is scored by accuracy and 'b' by f1_macro"):
        Comparison.of({"a": a, "b": by_f1})
    peer = nested_cv(PeerSearch(GaussianNB(), ONE, cv=3), X, Y, cv=FOLDS)
    assert Comparison.of({"a": a, "peer": peer}).to_frame()["p"][1] == 1.0


def test_it_prints_within_80_columns(result):
    text = str(result)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("Accuracy of 3 models on the same 8 splits")
    assert "* bayes" in text
    assert "  one column" in text
    assert all(line == line.rstrip() for line in text.splitlines())
    long = Comparison.of(
        {f"a model with a very long name {i}": np.linspace(0.5, 0.9, 5) + i / 9 for i in range(4)}, test_share=1 / 4
    )
    assert max(map(len, str(long).splitlines())) <= 80
    fits = Comparison.of({name: [0.8, 0.7] for name in ("logistic_regression", "knn")}, test_share=1 / 4)
    assert "logistic_regression  " in str(fits)
    page = result._repr_html_()
    assert page.count("<tr>") == 4
    assert "&lt;" in page or "P(&gt;)" in page


def test_the_pictures(result):
    ax = result.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == list(result.names)
    assert "Accuracy, with 95% interval" in ax.get_xlabel()
    _, labels = ax.get_legend_handles_labels()
    assert set(labels) == {"Best, or statistically tied with it", "Worse than the best", "Search score (optimistic)"}
    assert result.plot(ax) is ax
    assert "one column" in result.posterior("bayes", "one column").plot(names=("bayes", "one column")).get_xlabel()
    same = Comparison.of({"a": [0.5, 0.6], "b": [0.5, 0.6]}, test_share=1)
    same.posterior("a", "b").plot()
    mpl.pyplot.close("all")


def test_a_missing_library_says_how_to_get_it(result, no_matplotlib):
    no_matplotlib()
    with pytest.raises(ImportError, match=r"foldwise\[plots\]"):
        result.plot()


@pytest.mark.slow  # a simulation
def test_holm_over_all_pairs_keeps_the_level_though_the_best_is_chosen(rng):
    """Five equal models: the best, chosen for being so, may be told from some other in 5 % of cases at most."""
    told = 0
    for _ in range(400):
        scores = rng.normal(size=(5, 30))
        found = Comparison.of(dict(zip("abcde", scores, strict=True)), test_share=1e-9)
        told += len(found.tied) < 5
    assert told / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_repeats_are_read_once():
    splits = iter(list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, Y)))
    assert compare({"a": GaussianNB(), "b": DummyClassifier()}, X, Y, cv=splits).scores.shape == (2, 6)


def test_a_cost_matrix_is_named_in_short_whoever_scored():
    costs = CostMatrix.from_dict({k: {j: int(j != k) for j in range(3)} for k in range(3)})
    search = GridSearchCV(GaussianNB(), ONE, scoring=costs, cv=3)
    found = nested_cv(search, X, Y, cv=FOLDS)
    assert str(Comparison.of({"a": found, "b": found})).startswith("Mean cost (lower is better) of 2 models")


def test_classifiers_and_regressors_are_told_apart_before_their_metrics_are():
    with pytest.raises(InputError, match="'a' is a classifier but 'b' is not"):
        compare({"a": GaussianNB(), "b": Ridge()}, X, Y)


def test_errors_are_practically_equal_within_a_percent_of_the_best(rng):
    X = rng.normal(size=(60, 3))
    y = 1000 * (X[:, 0] + rng.normal(size=60))
    models = {"ridge": Ridge(), "dummy": DummyRegressor()}
    found = compare(models, X, y, cv=5, scoring="root_mean_squared_error")
    assert found.rope == pytest.approx(0.01 * found.scores[0].mean(), rel=0.05)
    assert compare(models, X, y, cv=5).rope == compare(models, X, y, cv=5, scoring="r2").rope == 0.01


def test_models_of_a_list_are_named_after_their_classes():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(KNNClassifier(), {"n_neighbors": [1, 5]})
    found = compare([NaiveBayes(), NaiveBayes(var_floor=0.5), search, make_pipeline(GaussianNB())], X, y)
    names = {"NaiveBayes 1", "NaiveBayes 2", "GridSearchCV of KNNClassifier", "GaussianNB"}
    assert set(found.to_frame()["model"]) == names
    assert set(compare([("a", NaiveBayes()), ("b", KNNClassifier())], X, y).to_frame()["model"]) == {"a", "b"}
    with pytest.raises(TypeError, match="models must be estimators, but NaiveBayes is a class"):
        compare([NaiveBayes, KNNClassifier()], X, y)
    with pytest.raises(TypeError, match="models must be estimators, got the text 'knn'"):
        compare(["knn", "naive_bayes"], X, y)


def test_splits_by_name_are_repeated_stratified_folds():
    X, y = load_iris(return_X_y=True)
    models = {"bayes": NaiveBayes(), "knn": KNNClassifier()}
    named = compare(models, X, y, cv="2x5", random_state=3)
    same = compare(models, X, y, cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=3))
    np.testing.assert_array_equal(named.scores, same.scores)
    assert named.scores.shape == (2, 10)
    often = compare({"even": NaiveBayes(), "uneven": NaiveBayes(priors=[0.6, 0.2, 0.2])}, X, y, cv="10x10")
    same = compare({"even": NaiveBayes(), "uneven": NaiveBayes(priors=[0.6, 0.2, 0.2])}, X, y,
                   cv=RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0))  # fmt: skip
    assert often.scores.shape == (2, 100)
    np.testing.assert_array_equal(often.scores, same.scores)
    with pytest.raises(InputError, match="cv must be a number of folds"):
        compare(models, X, y, cv="many")
