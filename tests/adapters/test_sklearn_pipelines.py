"""Pipelines: the fold law on many kinds, what is fitted how often, and what is refitted because it must be."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import model_selection as peer
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, f_classif, f_regression, mutual_info_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from foldwise import GridSearchCV, NaiveBayes, nested_cv
from foldwise.adapters.sklearn_pipelines import PipelineSession, open_folds
from foldwise.folds import Failure, Need, RefitSession, freeze_splits, open_session
from foldwise.folds.audit import AuditError, check_one
from foldwise.folds.groups import group_settings
from foldwise.folds.tolerance import are_close
from foldwise.testing import check_foldable
from tests.conftest import mixed_columns
from tests.searches import assert_same_choice, assert_same_ranks, first_best
from tests.slow import slow
from tests.tuning.test_search import assert_same_results

FITS: list[tuple[str, int]] = []


class Counting(TransformerMixin, BaseEstimator):
    """Adds a number, and tells of its fits."""

    def __init__(self, plus=0.0, name="first"):
        self.plus, self.name = plus, name

    def fit(self, X, y=None, sample_weight=None):
        FITS.append((self.name, len(X)))
        self.weight_ = None if sample_weight is None else float(np.sum(sample_weight))
        return self

    def transform(self, X):
        return X * (1.0 if self.weight_ is None else self.weight_) + self.plus


class CountingModel(ClassifierMixin, BaseEstimator):
    """Predicts the sign of the first column against a number, and tells of its fits."""

    def __init__(self, cut=0.0):
        self.cut = cut

    def fit(self, X, y):
        FITS.append(("last", len(X)))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > self.cut).astype(int)]


def splits_of(rng, n):
    bootstrap = rng.integers(0, n, n)
    first, *_, last = KFold(4).split(np.zeros(n))
    return [first, last, (bootstrap, np.setdiff1d(np.arange(n), bootstrap))]


def shared(estimator, X, y, settings, splits, params=None):
    """The law, on a session that does share."""
    assert open_session(estimator, X, y, params).shares == "pipeline"
    check_foldable(estimator, X, y, settings, splits, params)


def frame(rng, n, library=pd):
    columns = mixed_columns(rng, n)
    columns["member"] = [None if v is None else str(v) for v in columns["member"]]
    return library.DataFrame(columns)


@pytest.mark.parametrize(
    "last", [NaiveBayes(), GaussianNB(), LogisticRegression(), DecisionTreeClassifier(random_state=0)]
)
def test_scaled_numbers_with_a_rare_class(rng, numbers, last):
    X, y = numbers
    settings = [{}, {"scale__with_mean": False}, {"scale": "passthrough"}, {"scale": None}, {"scale__with_std": 7}]
    name = next(n for n in ("var_floor", "var_smoothing", "C", "ccp_alpha") if n in last.get_params())
    settings += [{f"clf__{name}": v} for v in (1e-3, 0.1, -1.0)]
    settings += [{"scale__with_std": False, f"clf__{name}": 0.1}, {"clf__unknown": 1}, {"scale__unknown": 1}]
    settings += [{"bogus__x": 1}, {"clf": GaussianNB(), "clf__var_smoothing": 0.2}, {"clf": SVC(kernel="linear")}]
    shared(Pipeline([("scale", StandardScaler()), ("clf", last)]), X, y, settings, splits_of(rng, 60))


@pytest.mark.parametrize(
    ("library", "output"),
    [(pd, "default"), (pl, "pandas"), (pd, "polars"), *slow((pd, "pandas"), (pl, "default"), (pl, "polars"))],
)
def test_mixed_frames(rng, library, output):
    X, y = frame(rng, 60, library), np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    text = Pipeline(
        [
            ("fill", SimpleImputer(strategy="most_frequent", missing_values=None if library is pd else np.nan)),
            ("code", OneHotEncoder(handle_unknown="ignore", sparse_output=output == "default")),
        ]
    )
    number = Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler())])
    prep = ColumnTransformer([("num", number, ["size", "rings"]), ("text", text, ["color", "grade"])])
    if library is pl:  # None of a text column is no NaN for scikit-learn
        X = X.with_columns(pl.col("color", "grade").fill_null("none"))
    pipeline = Pipeline([("prep", prep), ("clf", LogisticRegression())]).set_output(transform=output)
    settings = [{}, {"clf__C": 0.1}, {"prep__num__fill__strategy": "median"}, {"prep__num__scale": "passthrough"}]
    settings += [{"prep__num__fill__strategy": "median", "clf__C": 0.1}, {"prep__num__fill__strategy": "bad"}]
    settings += [{"clf": NaiveBayes(), "clf__alpha": 0.5}, {"prep__text__code__handle_unknown": "error"}]
    splits = splits_of(rng, 60)[1:]
    shared(pipeline, X, y, settings, splits)


def test_supervised_selection_and_decomposition(rng, numbers):
    X, y = numbers
    pipeline = Pipeline([("kbest", SelectKBest(f_classif, k=2)), ("clf", NaiveBayes())])
    settings = [{"kbest__k": k, "clf__var_floor": v} for k in (1, 3, "all", -3) for v in (1e-9, 0.2)]
    shared(pipeline, X, y, settings, splits_of(rng, 60))
    pipeline = Pipeline([("scale", StandardScaler()), ("pca", PCA()), ("clf", GaussianNB())])
    settings = [{"pca__n_components": k, "clf__var_smoothing": v} for k in (1, 3, None, 99) for v in (1e-9, 0.2)]
    shared(pipeline, X, y, settings, splits_of(rng, 60))


@pytest.mark.parametrize("container", [list, pd.Series, *slow(partial(np.array, dtype=object), np.array)])
@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer()])
def test_texts(rng, container, vectorizer):
    words = ["red", "green", "blue", "cheap", "dear", "old", "new", "fine"]
    X = container([" ".join(rng.choice(words, 5)) for _ in range(40)])
    y = rng.integers(0, 3, 40)
    pipeline = Pipeline([("words", vectorizer), ("clf", MultinomialNB())])
    settings = [{"words__binary": b, "clf__alpha": a} for b in (False, True) for a in (0.1, 1.0, -1.0)]
    settings += [{"words__min_df": 99}, {"words__ngram_range": (1, 2)}, {"clf": NaiveBayes(families="multinomial")}]
    shared(pipeline, X, y, settings, splits_of(rng, 40)[1:])
    grid = {"words__binary": [False, True], "clf__alpha": [0.1, 1.0]}
    ours, theirs = (module(pipeline, grid, cv=3).fit(X, y) for module in (GridSearchCV, peer.GridSearchCV))
    assert_same_results(ours, theirs)


def test_regressors(rng):
    X = rng.normal(size=(50, 6))
    y = X[:, 0] + rng.normal(size=50) * 0.1
    pipeline = Pipeline([("scale", StandardScaler()), ("kbest", SelectKBest(f_regression)), ("reg", Ridge())])
    settings = [{"kbest__k": k, "reg__alpha": a} for k in (1, 4) for a in (0.1, 10.0)]
    settings += [{"reg": SVR(), "kbest__k": 2, "reg__C": 3.0}, {"reg": LogisticRegression()}, {"reg": "passthrough"}]
    shared(pipeline, X, y, settings[:5], splits_of(rng, 50))
    session = open_session(pipeline, X, y)
    assert [bool(session.lazy(setting)) for setting in settings] == [True] * 5 + [False] * 2
    grid = {"kbest__k": [1, 4], "reg__alpha": [0.1, 10.0]}
    for scoring in (None, "neg_mean_absolute_error"):
        options = {"cv": 3, "scoring": scoring, "return_train_score": True}
        ours = GridSearchCV(pipeline, grid, **options).fit(X, y)
        assert_same_results(ours, peer.GridSearchCV(pipeline, grid, **options).fit(X, y))
        assert ours.session_ == "pipeline"


def test_rows_are_learned_as_fit_transform_gives_them(rng):
    X, y = rng.integers(0, 6, (80, 2)).astype(str), rng.integers(0, 2, 80)
    encoder = TargetEncoder(cv=StratifiedKFold(3, shuffle=True, random_state=0))
    pipeline = Pipeline([("code", encoder), ("clf", LogisticRegression())])
    settings = [{"code__smooth": s, "clf__C": c} for s in (1.0, 20.0) for c in (0.1, 10.0)]
    shared(pipeline, X, y, settings, splits_of(rng, 80))
    shared(clone(pipeline).set_params(clf=NaiveBayes()), X, y, [{}, {"clf__var_floor": 0.1}], splits_of(rng, 80))


def test_unions_functions_and_nested_pipelines(rng, numbers):
    X, y = numbers
    union = FeatureUnion([("all", "passthrough"), ("pca", PCA(2, svd_solver="full"))])
    inside = Pipeline([("kbest", SelectKBest(k=3)), ("clf", NaiveBayes())])
    pipeline = Pipeline([("f", FunctionTransformer(np.tanh)), ("union", union), ("inside", inside)])
    settings = [{}, {"union__pca__n_components": 1}, {"union__pca": "drop"}, {"f__func": np.exp}, {"f": "passthrough"}]
    settings += [{"inside__kbest__k": 1, "inside__clf__var_floor": v} for v in (1e-9, 0.3)]
    shared(pipeline, X, y, settings, splits_of(rng, 60))


def test_a_pipeline_of_one_step_and_one_of_passed_steps(rng, numbers):
    X, y = numbers
    shared(Pipeline([("clf", NaiveBayes())]), X, y, [{}, {"clf__var_floor": 0.2}], splits_of(rng, 60))
    pipeline = Pipeline([("a", "passthrough"), ("b", None), ("clf", NaiveBayes())])
    shared(pipeline, X, y, [{}, {"clf__var_floor": 0.2}, {"b": StandardScaler()}], splits_of(rng, 60))


def test_routed_fit_parameters(rng, numbers):
    X, y = numbers
    w = rng.integers(1, 4, 60).astype(float)
    pipeline = Pipeline([("scale", StandardScaler()), ("more", Counting()), ("clf", NaiveBayes())])
    settings = [{}, {"clf__var_floor": 0.3}, {"more__plus": 2.0}, {"more": "passthrough"}, {"more": None}]
    params = {"scale__sample_weight": w, "clf__sample_weight": w[::-1].tolist(), "more__sample_weight": w}
    shared(pipeline, X, y, settings, splits_of(rng, 60), params)
    assert open_session(pipeline, X, y, {"sample_weight": w}).shares == "refit"
    assert open_session(pipeline, X, y, {"other__sample_weight": w}).shares == "refit"


def test_weights_of_test_rows_are_not_learned(rng, numbers):
    X, y = numbers
    train, test = np.arange(1, 60, 2), np.arange(0, 60, 2)
    w = rng.exponential(size=60)
    other = w.copy()
    other[test] = np.nan
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", NaiveBayes())])
    found = [
        next(iter(open_session(pipeline, X, y, {"clf__sample_weight": v}).answer([{}], train, test, Need.PROBA))).answer
        for v in (w, other)
    ]
    assert are_close(found[0].log_proba, found[1].log_proba)


def test_each_step_is_fitted_once_for_each_training_set_and_its_parameters(numbers):
    X, y = numbers[0], numbers[1] % 2
    pipeline = Pipeline(
        [("a", Counting(name="a")), ("b", Counting(name="b")), ("c", "passthrough"), ("clf", CountingModel())]
    )
    settings = [
        {"clf__cut": c, "b__plus": b, "a__plus": a} for c in (0.0, 0.5, 1.0) for b in (0.0, 1.0) for a in (0, 0.0, 2)
    ]
    session = open_session(pipeline, X, y)
    splits = freeze_splits(3, X, y, n_rows=60)
    FITS.clear()
    answers = [list(session.answer(settings, split.train, split.test, Need.LABELS)) for split in splits]
    assert [len(blocks) for blocks in answers] == [18] * 3
    fits = [name for name, _ in FITS]
    assert {name: fits.count(name) for name in ("a", "b", "last")} == {"a": 9, "b": 18, "last": 54}
    assert {n for _, n in FITS} == {40}
    assert [len(group) for group in group_settings(session, settings)] == [6, 6, 6]  # by the first step: 0, 0.0 and 2
    FITS.clear()
    search = GridSearchCV(pipeline, {"clf__cut": [0.0, 0.5], "b__plus": [0.0, 1.0]}, cv=3, audit=False, refit=False)
    assert search.fit(X, y).fits_done_ == 3
    fits = [name for name, _ in FITS]
    assert {name: fits.count(name) for name in ("a", "b", "last")} == {"a": 3, "b": 6, "last": 12}


def test_groups_of_settings(numbers):
    X, y = numbers
    pipeline = Pipeline([("scale", StandardScaler()), ("pca", PCA(2)), ("clf", LogisticRegression())])
    session = open_session(pipeline, X, y)
    assert group_settings(session, [{"clf__C": 1}, {"clf__C": 2, "pca__n_components": 3}, {"pca": None}]) == [[0, 1, 2]]
    by_first = [{"scale__with_mean": True}, {"scale__with_mean": False, "clf__C": 3}, {"scale__with_mean": False}]
    assert group_settings(session, by_first) == [[0], [1, 2]]
    passed = [{"scale": None, "pca__n_components": k, "clf__C": c} for k in (1, 2) for c in (1, 2)]
    assert group_settings(session, passed) == [[0, 1], [2, 3]]
    replaced = {"clf": SVC(), "clf__gamma": 0.1}
    assert group_settings(session, [replaced, {**replaced, "clf__gamma": 1}]) == [[0, 1]]
    assert not session.lazy({"memory": None})
    assert not session.lazy({"clf__solver": "saga"})
    assert session.lazy({"clf__solver": "saga", "clf__random_state": 3})


def test_answers_that_were_given_together_stay_together(numbers):
    X, y = numbers
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", NaiveBayes())])
    settings = [{"clf__var_floor": v} for v in (1e-9, 0.1, 0.2)] + [{"scale__copy": False}, {"clf__var_floor": 0.3}]
    blocks = list(open_session(pipeline, X, y).answer(settings, np.arange(0, 60, 2), np.arange(1, 60, 2), Need.LABELS))
    assert [(b.start, b.stop) for b in blocks] == [(0, 3), (3, 4), (4, 5)]
    assert blocks[0].answer.labels.shape == (3, 30)


def test_a_refusal_leaves_the_others_alone(numbers):
    X, y = numbers
    pipeline = Pipeline([("kbest", SelectKBest(k=2)), ("clf", GaussianNB())])
    grid = {"kbest__k": [1, -1, 3], "clf__var_smoothing": [1e-9, -1.0]}
    results = []
    for search in (GridSearchCV, peer.GridSearchCV):
        with pytest.warns(FitFailedWarning, match="12 fits failed"), pytest.warns(UserWarning, match="non-finite"):
            results.append(search(pipeline, grid, cv=3).fit(X, y))
    assert_same_results(*results)
    session = open_session(pipeline, X, y)
    settings = [
        {"kbest__k": 2, "clf__nonsense": 1},
        {"kbest__k": -1, "clf__nonsense": 1},
        {"kbest": KMeans(2), "clf__var_smoothing": 1},
    ]
    answers = [b.answer for b in session.answer(settings, np.arange(0, 60, 2), np.arange(1, 60, 2), Need.LABELS)]
    assert all(isinstance(one, Failure) for one in answers[:2])
    assert [type(one.error) for one in answers[:2]] == [ValueError, ValueError]


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_errors_of_test_rows(rng):
    X = pd.DataFrame({"c": list("aabb" * 5 + "c" * 4)})
    y = np.arange(24) % 2
    pipeline = Pipeline([("code", OneHotEncoder()), ("clf", LogisticRegression())])
    settings = [{}, {"clf__C": -1.0}, {"code__handle_unknown": "ignore"}]
    shared(pipeline, X, y, settings, [(np.arange(20), np.arange(20, 24)), (np.arange(4, 24), np.arange(4))])


@pytest.mark.parametrize(
    ("scoring", "n_jobs"), [("balanced_accuracy", 1), (["accuracy", "neg_log_loss", "f1_macro"], 1), *slow((None, 2))]
)
def test_searches_are_those_of_scikit_learn(rng, scoring, n_jobs):
    X, y = rng.normal(size=(90, 6)), rng.integers(0, 3, 90)
    pipeline = Pipeline([("scale", StandardScaler()), ("kbest", SelectKBest(k=3)), ("clf", NaiveBayes())])
    grid = [
        {"kbest__k": [2, 4], "clf__var_floor": [1e-9, 0.1, 0.5]},
        {"scale": [None, StandardScaler(with_mean=False)], "clf": [LogisticRegression()], "clf__C": [0.1, 1.0]},
    ]
    options = {"scoring": scoring, "cv": 4, "refit": "accuracy" if isinstance(scoring, list) else True}
    ours = GridSearchCV(pipeline, grid, **options, n_jobs=n_jobs).fit(X, y)
    theirs = peer.GridSearchCV(pipeline, grid, **options).fit(X, y)
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        if key.startswith(("split", "mean_test")):
            np.testing.assert_allclose(ours.cv_results_[key], expected, rtol=1e-9)
        elif key.startswith("rank"):
            assert_same_ranks(ours.cv_results_, theirs.cv_results_, key.removeprefix("rank_test_"))
    assert ours.session_ == "pipeline"
    if assert_same_choice(ours, theirs, "accuracy" if isinstance(scoring, list) else "score"):
        assert (ours.predict(X) == theirs.predict(X)).all()


def test_nested_scores_are_those_of_scikit_learn(rng):
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 2, 90)
    pipeline = Pipeline([("scale", StandardScaler()), ("pca", PCA(2)), ("clf", GaussianNB())])
    grid = {"pca__n_components": [1, 3], "clf__var_smoothing": [1e-9, 0.5]}
    result = nested_cv(GridSearchCV(pipeline, grid, cv=3), X, y, cv=4)
    search = peer.GridSearchCV(pipeline, grid, cv=3, refit=first_best)
    theirs = cross_validate(search, X, y, cv=4, return_estimator=True)
    assert result.scores.tolist() == theirs["test_score"].tolist()
    assert list(result.best_params) == [search.best_params_ for search in theirs["estimator"]]


def test_scorers_that_look_into_the_pipeline(numbers):
    X, y = numbers

    def look(model, X, y):
        assert isinstance(model, Pipeline)
        return float(model["scale"].mean_[0] + model.predict(X).sum() + model[-1].classes_.sum() + model.n_features_in_)

    for last in (LogisticRegression(), NaiveBayes(), DecisionTreeClassifier(random_state=0)):
        pipeline = Pipeline([("scale", StandardScaler()), ("clf", last)])
        grid = {"scale__with_std": [True, False], "clf": [last, GaussianNB()]}
        ours = GridSearchCV(pipeline, grid, scoring=look, cv=3, refit=False).fit(X, y)
        theirs = peer.GridSearchCV(pipeline, grid, scoring=look, cv=3, refit=False).fit(X, y)
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10
        )
    session = open_session(pipeline, X, y)
    model = session.model({"clf__max_depth": 1}, np.arange(0, 60, 2))
    assert model[-1].get_depth() == 1
    found = next(iter(session.answer([{"clf__max_depth": 1}], np.arange(0, 60, 2), np.arange(1, 60, 2), Need.MODEL)))
    assert (found.answer.models[0].predict(X) == model.predict(X)).all()


class Leaky(PipelineSession):
    """Its earlier steps learn from the test rows too."""

    def prepare(self, name, asked, rows, question):
        both = PipelineSession.prepare(self, name, asked, rows, question)
        step = clone(both.steps[-1][1]).fit(np.vstack([rows.train, rows.test]))
        return type(rows)(step.transform(rows.train), step.transform(rows.test), (*rows.steps, (name, step)))


def test_a_session_that_leaks_is_caught(numbers):
    X, y = numbers
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression())])
    with pytest.raises(AuditError, match="differ from those of a refit"):
        check_one(Leaky(pipeline, X, y), [{}], freeze_splits(3, X, y, n_rows=60), Need.PROBA, np.random.default_rng(0))


@pytest.mark.parametrize(
    "pipeline",
    [
        make_pipeline(StandardScaler(), "passthrough"),
        make_pipeline(StandardScaler(), None),
        make_pipeline(StandardScaler(), PCA()),
        make_pipeline(StandardScaler(), KMeans(2, random_state=0)),
        make_pipeline(StandardScaler(), RandomForestClassifier()),
        make_pipeline(TruncatedSVD(), NaiveBayes()),
        make_pipeline(StandardScaler(copy=False), NaiveBayes()),
        make_pipeline(SelectKBest(mutual_info_classif), NaiveBayes()),
        make_pipeline(StandardScaler(), NaiveBayes(), transform_input=["sample_weight"]),
        Pipeline([("a", StandardScaler()), ("a", NaiveBayes())]),
        Pipeline([("memory", StandardScaler()), ("a", NaiveBayes())]),
        Pipeline([("a__b", StandardScaler()), ("a", NaiveBayes())]),
        Pipeline([("a", StandardScaler(), 3), ("b", NaiveBayes())]),
        Pipeline([]),
    ],
)
def test_what_is_refitted_as_a_whole(numbers, pipeline):
    assert open_folds(pipeline, *numbers, {}) is None


def test_routing_several_targets_and_subclasses_are_refitted(numbers):
    X, y = numbers
    pipeline = make_pipeline(StandardScaler(), Ridge())
    assert isinstance(open_session(pipeline, X, np.c_[y, y]), RefitSession)
    with sklearn.config_context(enable_metadata_routing=True):
        assert isinstance(open_session(make_pipeline(StandardScaler(), NaiveBayes()), X, y), RefitSession)

    class Other(Pipeline):
        pass

    assert isinstance(open_session(Other(pipeline.steps), X, y), RefitSession)


def test_more_rows_than_the_table_has_may_make_a_step_random(rng):
    X, y = rng.normal(size=(400, 60)), rng.integers(0, 2, 400)
    pipeline = Pipeline([("pca", PCA(2)), ("clf", NaiveBayes())])
    session = open_session(pipeline, X, y)
    assert session.shares == "pipeline"
    assert session.can_share({}, 400)
    assert not session.can_share({}, 520)  # a bootstrap of 520 rows: PCA turns to a randomized solver


def test_memory_and_verbose_change_nothing(tmp_path, numbers, rng, capsys):
    X, y = numbers
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", NaiveBayes())], memory=str(tmp_path), verbose=True)
    shared(pipeline, X, y, [{}, {"clf__var_floor": 0.1}, {"memory": None}, {"verbose": False}], splits_of(rng, 60)[:2])
    assert "Processing scale" in capsys.readouterr().out  # of the refits that it is compared with


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_random_setting_is_refitted_and_not_audited(numbers):
    X, y = numbers
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression(max_iter=5))])
    grid = {"clf__solver": ["sag", "saga"]}  # without a seed no refit is like another
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert (search.session_, search.fits_done_) == ("refit", 6)
