"""Rule lists: what they find where rules are known, how they treat cells they cannot compare, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

from foldwise.data.view import view
from foldwise.errors import InputError
from foldwise.rules import RuleList
from foldwise.rules.conditions import cut_points, fit_scheme, matches
from foldwise.rules.ripper import RipperLearner, subset_bits
from tests.models.tables import real
from tests.tables import needs_real_tables


def test_the_eight_ways_to_win_are_found():
    """Tic-tac-toe is decided by eight lines of three: RIPPER finds all of them, as Cohen's paper says it should."""
    table = real("tic_tac_toe", 958)
    model = RuleList().fit(table.X, table.y)
    assert len(model.rules_) == 9
    assert all(len(rule.conditions) == 3 and {c.value for c in rule.conditions} == {"o"} for rule in model.rules_[:-1])
    assert (model.predict(table.X) == table.y).mean() > 0.98


@needs_real_tables
def test_mushrooms_are_classified_by_odor():
    table = real("mushroom", 2000)
    model = RuleList().fit(table.X[:1500], table.y[:1500])
    assert str(model).startswith("if odor = ")
    assert (model.predict(table.X[1500:]) == table.y[1500:]).mean() > 0.98


@pytest.mark.slow
@needs_real_tables
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_as_accurate_as_weka():
    """Ten folds each; Weka's JRip is the same algorithm with other draws, so only means over tables can agree."""
    theirs = json.loads((Path(__file__).parent / "oracles" / "jrip.json").read_text())
    ours = {}
    for name in theirs:
        table = real(name, 10**9)
        folds = StratifiedKFold(10, shuffle=True, random_state=1)
        ours[name] = cross_val_score(RuleList(), table.X, table.y, cv=folds).mean()
    apart = {name: ours[name] - theirs[name] for name in theirs}
    assert np.mean(list(apart.values())) > -0.015, apart
    assert min(apart.values()) > -0.06, apart


def test_noise_has_no_rules():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    found = [len(RuleList(random_state=seed).fit(X, rng.permutation([0, 1] * 150)).rules_) for seed in range(10)]
    assert np.mean(found) < 2.5


def test_the_first_rule_that_fits_answers_by_its_rows():
    rng = np.random.default_rng(1)
    X = pl.DataFrame({"c": rng.choice(["u", "v", "w"], 200), "x": rng.normal(size=200)})
    y = np.where((X["c"] == "u").to_numpy() & (X["x"].to_numpy() > 0), "rare", "usual")
    model = RuleList(laplace=1.0).fit(X, y)
    order = [str(rule) for rule in model.rules_]
    assert len(order) == 2
    assert set(order[0].replace("> 0", "> ").split(" and ")[0:1]) <= {"c = u", order[0].split(" and ")[0]}
    first = model.rules_[0]
    hit = model.predict_proba(X)[(X["c"] == "u").to_numpy() & (X["x"].to_numpy() > 0.5)][0]
    np.testing.assert_allclose(hit, (np.array(first.counts) + 1) / (sum(first.counts) + 2))
    unknown = pl.DataFrame({"c": ["z", None], "x": [9.0, 9.0]})  # neither is "u"
    assert model.predict(unknown).tolist() == ["usual", "usual"]
    missing = pl.DataFrame({"c": ["u"], "x": [None]}, schema={"c": pl.String, "x": pl.Float64})
    assert model.predict(missing).tolist() == ["usual"]


def test_counts_are_of_all_rows_and_sum_up():
    table_x, y = np.random.default_rng(0).normal(size=(120, 3)), np.array(list("abc") * 40)
    model = RuleList().fit(table_x + (y == "a")[:, None] * 2, y)
    assert sum(sum(rule.counts) for rule in model.rules_) == 120


def test_the_best_test_is_that_of_the_greatest_gain():
    """Held against a plain loop over all tests."""
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"x": rng.integers(0, 9, 80).astype(float), "c": rng.choice(["u", "v", "w"], 80)})
    X = X.with_columns(x=pl.when(pl.Series(rng.random(80) < 0.1)).then(None).otherwise("x"))
    positive = rng.random(80) < 0.4
    scheme = fit_scheme(view(X))
    codes = scheme.codes(view(X))
    learner = RipperLearner(codes, positive, scheme, rng)
    best, found = 0.0, None
    before = np.log2(positive.mean())
    for j, column in enumerate(("x", "c")):
        signs = ("<=", ">") if column == "x" else ("=",)
        for sign in signs:
            for code in range(scheme.n_codes(j) - (column == "x")):
                value = scheme.condition(j, sign, code).value
                cells = X[column]
                hit = {"<=": lambda c, v: c <= v, ">": lambda c, v: c > v, "=": lambda c, v: c == v}[sign](cells, value)
                hit = hit.fill_null(False).to_numpy()
                np.testing.assert_array_equal(hit, matches(codes, [(j, sign, code)]))
                p = (hit & positive).sum()
                if p and hit.sum() < 80:
                    gain = p * (np.log2(p / hit.sum()) - before)
                    if gain > best + 1e-12:
                        best, found = gain, (j, sign, code)
    assert learner.best_test(codes, positive) == found


def test_cut_points_lie_between_values():
    assert cut_points(np.array([1.0, 3.0, 3.0])) == (2.0,)
    assert cut_points(np.array([4.0])) == ()
    many = cut_points(np.random.default_rng(0).normal(size=5000))
    assert len(many) == 63
    assert (np.diff(many) > 0).all()


def test_lengths_are_those_of_a_code():
    assert subset_bits(0, 0) == 0.0
    assert subset_bits(8, 0) == pytest.approx(np.log2(9))
    assert subset_bits(8, 4) == pytest.approx(np.log2(9) + 8)


def test_seeds_repeat_and_parameters_are_checked():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 4)), rng.integers(0, 3, 100)
    model = RuleList(random_state=3).fit(X, y)
    assert clone(model).fit(X, y).rules_ == model.rules_
    with pytest.raises(InputError, match="min_rows must be an integer of at least 1"):
        RuleList(min_rows=0).fit(X, y)
