"""Selection of columns as a transformer: what comes in and goes out, weights and scorers, and inside folds."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn import model_selection as peer
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldwise import CostMatrix, GridSearchCV, NaiveBayes, SelectFeatures, nested_cv
from foldwise.errors import InputError
from foldwise.folds.audit import AuditError
from tests.conftest import mixed_columns

# as a transformer


def test_what_comes_in_goes_out(rng):
    cells = mixed_columns(rng, 90)
    y = (np.arange(90) % 3).astype(str)
    select = SelectFeatures(NaiveBayes(), n_features=2, cv=3)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = make(cells)
        out = select.fit(frame, y).transform(frame)
        assert type(out) is type(frame)
        names = list(out.column_names if isinstance(out, pa.Table) else out.columns)
        assert names == select.get_feature_names_out().tolist() == [n for n in cells if n in names]
        assert select.feature_names_in_.tolist() == list(cells)
        with pytest.raises(ValueError, match=r"name|column"):
            select.transform(
                frame.rename_columns(list("abcde"))
                if make is pa.table
                else make(dict(zip("abcde", cells.values(), strict=True)))
            )
    X = rng.normal(size=(90, 4))
    assert type(select.fit_transform(X, y)) is np.ndarray
    assert select.get_feature_names_out().tolist() == [f"x{j}" for j in select.get_support(indices=True)]
    back = select.inverse_transform(select.transform(X))
    assert (back[:, select.support_] == X[:, select.support_]).all()
    assert (back[:, ~select.support_] == 0).all()


def test_sparse_counts_stay_sparse(rng):
    X, y = sp.csr_array(rng.poisson(1.0, (80, 5))), rng.integers(0, 2, 80)
    for model in (NaiveBayes(), MultinomialNB()):
        out = SelectFeatures(model, n_features=3, cv=3).fit_transform(X, y)
        assert sp.issparse(out)
        assert out.shape == (80, 3)
        dense = SelectFeatures(MultinomialNB(), n_features=3, cv=3).fit_transform(X.toarray(), y)
        np.testing.assert_array_equal(out.toarray(), dense)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    X, y = load_iris(return_X_y=True, as_frame=True)
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    for given in (X, X.to_numpy()):
        select = SelectFeatures(GaussianNB(), n_features=2, cv=3).set_output(transform=library)
        out = select.fit(given, y).transform(given)
        assert type(out) is kind
        assert list(out.columns) == select.get_feature_names_out().tolist()
        np.testing.assert_array_equal(out.to_numpy(), X.to_numpy()[:, select.support_])


def test_set_output_from_another_library_keeps_types(rng):
    X, y = pl.DataFrame(mixed_columns(rng, 90)), np.arange(90) % 3
    select = SelectFeatures(NaiveBayes(), n_features=4, cv=3)
    out = select.set_output(transform="pandas").fit(X, y).transform(X)
    pd.testing.assert_frame_equal(out, X.select(select.get_feature_names_out()).to_pandas())
    out = select.set_output(transform="polars").fit_transform(X.to_pandas(), y)
    assert out.equals(X.select(select.get_feature_names_out()))


def test_columns_named_by_parameters_are_those_of_the_whole_table(rng):
    X, y = pl.DataFrame(mixed_columns(rng, 120)), rng.integers(0, 2, 120)
    model = NaiveBayes(families={"size": "binned", "rings": "poisson"}, bins={"size": 4})
    select = SelectFeatures(model, direction="backward", n_features=3, cv=3, scoring="neg_log_loss").fit(X, y)
    assert select.session_ == "terms"
    kept = select.get_feature_names_out().tolist()
    scores = cross_val_score(model.set_params(columns=kept), X, y, cv=3, scoring="neg_log_loss")
    assert select.history_["score"][-1] == pytest.approx(scores.mean(), rel=1e-12)


def test_cloned_and_pickled():
    X, y = load_iris(return_X_y=True)
    select = SelectFeatures(NaiveBayes(alpha=2), n_features=2, cv=3, floating=True).fit(X, y)
    again = pickle.loads(pickle.dumps(select))
    np.testing.assert_array_equal(again.transform(X), select.transform(X))
    assert again.history_.equals(select.history_)
    fresh = clone(select)
    assert not hasattr(fresh, "support_")
    assert fresh.get_params()["estimator__alpha"] == 2


def test_weights_groups_costs_and_scorers(rng):
    X, y = pl.DataFrame(mixed_columns(rng, 120)), np.array(["a", "b"])[rng.integers(0, 2, 120)]
    groups = np.arange(120) // 6
    select = SelectFeatures(NaiveBayes(), n_features=2, cv=GroupKFold(4))
    assert select.fit(X, y, groups=groups, sample_weight=rng.random(120)).n_features_ == 2
    with pytest.raises(InputError, match="needs groups, but groups is None"):
        select.fit(X, y)
    costs = CostMatrix.from_dict({"a": {"a": 0, "b": 5}, "b": {"a": 1, "b": 0}})
    assert SelectFeatures(NaiveBayes(), n_features=2, scoring=costs, cv=3).fit(X, y).session_ == "terms"
    plain = SelectFeatures(NaiveBayes(), n_features=2, scoring="accuracy", cv=3).fit(X, y)
    for scorer in (
        make_scorer(lambda truth, label: float(np.mean(truth == label))),
        lambda model, X, y: float(np.mean(model.predict(X) == y)),
    ):
        for model in (NaiveBayes(), NaiveBayes(columns=None, families="best")):
            other = SelectFeatures(model, n_features=2, scoring=scorer, cv=3).fit(X, y)
            assert other.session_ == ("terms" if model.families == "auto" else "refit")
            if model.families == "auto":
                assert other.history_.equals(plain.history_)


def test_a_scorer_that_looks_into_the_model_sees_the_subset():
    X, y = load_iris(return_X_y=True)

    def scorer(model, X, y):
        assert model.n_features_in_ == X.shape[1]
        return model.score(X, y)

    own = SelectFeatures(GaussianNB(), n_features=2, scoring=scorer, cv=3).fit(X, y)
    by_name = SelectFeatures(GaussianNB(), n_features=2, cv=3).fit(X, y)
    ends = ["low", "high"]  # what a scorer of one's own may reach is not known
    assert own.history_.drop(ends).equals(by_name.history_.drop(ends))


def test_jobs_change_nothing():
    X, y = load_iris(return_X_y=True)
    for model in (NaiveBayes(), GaussianNB()):
        one, two = (SelectFeatures(model, n_features=2, cv=3, n_jobs=n).fit(X, y).history_ for n in (None, 2))
        assert one.equals(two)


def test_the_audit_compares_with_a_refit(monkeypatch):
    from foldwise.bayes import subsets

    X, y = load_iris(return_X_y=True)
    terms = subsets.SubsetsByTerms._terms
    monkeypatch.setattr(subsets.SubsetsByTerms, "_terms", lambda *a: terms(*a) * 1.01)
    with pytest.raises(AuditError, match="differ from those of a refit"):
        SelectFeatures(NaiveBayes(), n_features=2, cv=3).fit(X, y)
    assert SelectFeatures(NaiveBayes(), n_features=2, cv=3, audit=False).fit(X, y).n_features_ == 2


# inside folds


@pytest.mark.slow  # a simulation
def test_selection_inside_the_folds_is_at_chance_on_noise_and_before_them_is_not():
    inside, before = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 80)), rng.permutation(np.arange(100) % 2)
        select = SelectFeatures(NaiveBayes(), n_features=4, cv=3, audit=False)
        pipeline = make_pipeline(select, NaiveBayes())
        search = GridSearchCV(pipeline, {"naivebayes__var_floor": [1e-9, 0.5]}, cv=2, audit=False)
        inside.append(nested_cv(search, X, y, cv=4).estimate.value)
        leaked = select.fit_transform(X, y)
        before.append(cross_val_score(NaiveBayes(), leaked, y, cv=4).mean())
    assert abs(np.mean(inside) - 0.5) < 0.08
    assert np.mean(before) > 0.6


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_one_path_answers_every_number_of_columns(monkeypatch):
    X, y = load_wine(return_X_y=True)
    X = X[:, -9:]
    asked = []
    from foldwise.tuning.select_features import SubsetEvaluation

    scores = SubsetEvaluation.scores
    monkeypatch.setattr(
        SubsetEvaluation, "scores", lambda self, subsets: asked.extend(subsets) or scores(self, subsets)
    )
    select = SelectFeatures(NaiveBayes(), cv=3)
    space = {
        "selectfeatures__n_features": [1, 2, 4, 0.9, "auto"],
        "selectfeatures__floating": [False, True],
        "naivebayes__var_floor": [1e-9, 0.5],
    }
    for scaler in ("passthrough", StandardScaler()):
        pipeline = make_pipeline(scaler, select, NaiveBayes())
        asked.clear()
        ours = GridSearchCV(pipeline, space, cv=2, refit=False, audit=False).fit(X, y)
        assert ours.fits_done_ == 2
        assert len(asked) <= 2 * (9 + 8 + 7 + 6 + 5 + 4 + 3 + 2 + 40)  # paths of 8 columns, once a split
        theirs = peer.GridSearchCV(pipeline, space, cv=2, refit=False).fit(X, y)
        np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    space = {"selectfeatures__n_features": [2, 99], "selectfeatures__direction": ["forward", "backward"]}
    with pytest.warns(FitFailedWarning, match="n_features=99 is out of range"):
        some = GridSearchCV(make_pipeline(select, NaiveBayes()), space, cv=2, refit=False).fit(X, y)
    assert np.isnan(some.cv_results_["mean_test_score"]).tolist() == [False, True, False, True]
