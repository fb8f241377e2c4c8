"""The smooth loss of naive Bayes equals that of refits, and its gradient equals finite differences of these."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldwise import NaiveBayes, SearchCV
from foldwise.errors import InputError
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split
from foldwise.tuning import Float, Grid
from foldwise.tuning.smooth_losses import SearchData, open_smooth_loss, smooth_names

RNG = np.random.default_rng(0)
N = 150
Y = RNG.integers(0, 3, N)
SPLITS = list(KFold(4, shuffle=True, random_state=1).split(np.arange(N)))
STEP = 1e-4  # of the logarithm


def with_gaps(values):
    return [None if gap else value for value, gap in zip(values.tolist(), RNG.random(N) < 0.15, strict=True)]


MIXED = pl.DataFrame(
    {
        "kind": with_gaps(np.where(RNG.random(N) < 0.4, Y, RNG.integers(0, 6, N)).astype(str)),
        "size": with_gaps(RNG.normal(Y, 1.5)),
        "narrow": RNG.normal(0, 0.2 + Y, N),
        "words": [" ".join(RNG.choice(["win", "cash", "no", f"w{c}"], 4)) for c in Y],
        "flag": RNG.integers(0, 2, N),
    }
)
FAMILIES = {"words": "text", "flag": "bernoulli"}


def refitted_loss(estimator, X, values, weight=None):
    losses = []
    for train, test in SPLITS:
        params = {} if weight is None else {"sample_weight": weight[train]}
        model = clone(estimator).set_params(**values).fit(take_rows(X, train), Y[train], **params)
        losses.append(log_loss(Y[test], model.predict_proba(take_rows(X, test)), labels=[0, 1, 2]))
    return np.mean(losses)


def check_against_refits(estimator, X, values, weight=None):
    options = {} if weight is None else {"sample_weight": weight}
    data = SearchData(estimator, X, Y, [Split(*one) for one in SPLITS], options)
    assert values.keys() <= smooth_names(clone(estimator).set_params(**values))
    loss, gradient = open_smooth_loss(estimator, data.folds(), list(values)).loss_and_gradient(values)
    assert loss == pytest.approx(refitted_loss(estimator, X, values, weight), rel=1e-12)
    for name, value in values.items():
        up, down = (refitted_loss(estimator, X, {**values, name: value * np.exp(h)}, weight) for h in (STEP, -STEP))
        assert gradient[name] != 0
        assert gradient[name] == pytest.approx((up - down) / (2 * STEP), rel=1e-4)


@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_tables_with_columns_of_every_kind(missing, unseen):
    model = NaiveBayes(families=FAMILIES, missing=missing, unseen=unseen)
    check_against_refits(model, MIXED, {"alpha": 0.7})
    check_against_refits(model, MIXED, {"alpha": 0.1, "var_floor": 0.3})


@pytest.mark.parametrize("family", ["multinomial", "bernoulli", "binned", "categorical"])
def test_families_of_counts(family):
    X = RNG.integers(0, 2, (N, 6)) * (1 if family == "bernoulli" else RNG.integers(1, 5, (N, 6)))
    check_against_refits(NaiveBayes(families=family), X, {"alpha": 2.0})
    if family in ("multinomial", "bernoulli"):
        check_against_refits(NaiveBayes(families=family), sp.csr_array(X), {"alpha": 0.3})


def test_weights_and_priors():
    model = NaiveBayes(families=FAMILIES, priors=[0.2, 0.3, 0.5], columns=["kind", "narrow", "words"])
    check_against_refits(model, MIXED, {"alpha": 0.5, "var_floor": 0.2}, weight=RNG.random(N) * 3)


WEIGHTS = {"column_weights__kind": 0.7, "column_weights__size": 1.4, "column_weights__words": 0.3}
PRIORS = {"priors__0": 0.5, "priors__1": 1.3, "priors__2": 0.9}


@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_priors_temperature_and_column_weights(missing):
    model = NaiveBayes(families=FAMILIES, missing=missing)
    values = {**WEIGHTS, **PRIORS, "temperature": 1.7, "alpha": 0.4, "var_floor": 0.3}
    check_against_refits(model, MIXED, values)
    given = NaiveBayes(families=FAMILIES, missing=missing, column_weights={"flag": 3.0}, priors={0: 1, 1: 2, 2: 3})
    check_against_refits(given, MIXED, {"column_weights__kind": 0.2, "priors__1": 0.4}, weight=RNG.random(N) * 3)


@pytest.mark.parametrize("family", ["multinomial", "poisson", "kde", "binomial", "binned", "categorical"])
def test_weights_of_columns_of_every_family(family):
    X = RNG.integers(0, 5, (N, 4))
    values = {"column_weights__x0": 0.4, "column_weights__x2": 2.0, "temperature": 0.6}
    check_against_refits(NaiveBayes(families=family), X, values)


def test_other_families_do_not_depend_on_alpha():
    table = MIXED.select("kind", "size").with_columns(size=pl.col("size").fill_null(0.0))
    check_against_refits(NaiveBayes(families={"size": "kde"}, missing="category"), table, {"alpha": 0.5})
    data = SearchData(NaiveBayes(families={"size": "kde"}), table, Y, [Split(*one) for one in SPLITS])
    with pytest.raises(InputError, match=r"var_floor does not support.*'kde'"):
        open_smooth_loss(data.estimator, data.folds(), ["var_floor"])


def test_what_is_not_smooth():
    assert smooth_names(NaiveBayes(families="best")) == set()

    class Own(NaiveBayes):
        """A subclass may be fitted differently."""

    assert smooth_names(Own()) == set()


def test_a_search_tunes_weights_priors_and_temperature_together():
    # the second column repeats the first, so together they count twice
    y = RNG.integers(0, 2, 300)
    first = RNG.normal(y, 1.5)
    X = np.column_stack([first, first, RNG.normal(y, 2.0), RNG.normal(size=300)])
    space = {f"column_weights__x{j}": Float(0.01, 10, log=True) for j in range(4)}
    space |= {"priors__0": Float(0.1, 10, log=True), "temperature": Float(0.1, 10, log=True)}
    model = NaiveBayes(priors={0: 1.0, 1: 1.0})
    found = SearchCV(model, space, strategy="gradient", scoring="neg_log_loss", random_state=0).fit(X, y)
    plain = SearchCV(model, {"temperature": [1.0]}, strategy="grid", scoring="neg_log_loss").fit(X, y)
    assert found.best_score_ > plain.best_score_ + 0.01
    weights = [found.best_params_[f"column_weights__x{j}"] / found.best_params_["temperature"] for j in range(4)]
    assert weights[0] + weights[1] < 1.5


def test_a_search_finds_what_a_fine_grid_finds():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), NaiveBayes())
    space = {"naivebayes__var_floor": Float(0.01, 10, log=True)}
    options = {"scoring": "neg_log_loss", "random_state": 0}
    found = SearchCV(model, space, strategy="gradient", **options).fit(X, y)
    grid = SearchCV(model, space, strategy=Grid(60), **options).fit(X, y)
    assert found.best_score_ >= grid.best_score_ - 1e-3 * abs(grid.best_score_)
    assert found.models_scored_ < 0.2 * grid.models_scored_
