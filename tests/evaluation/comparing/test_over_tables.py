"""Models over several tables."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from foldwise import NaiveBayes, compare, compare_tables, read_table
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation import TablesComparison, critical_difference, friedman_test, signed_rank_test
from foldwise.evaluation.comparing.critical import cliques

mpl.use("agg")
TABLES = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
MODELS = {"none": DummyClassifier(), "bayes": GaussianNB()}


def drawn(rng, n_tables=12, n_models=4):
    scores = 0.7 + rng.normal(0, 0.05, (n_tables, 1)) + rng.normal(0, 0.02, (n_tables, n_models))
    return scores + 0.03 * np.arange(n_models)


def test_each_table_is_a_comparison(tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.assign(kind=y).to_csv(tmp_path / "cancer.csv", index=False)
    tables = {**TABLES, "cancer": read_table(tmp_path / "cancer.csv", target="kind")}
    found = compare_tables(tables, MODELS, cv=5)
    assert found.names == ("bayes", "none")
    assert found.tables == ("iris", "wine", "cancer")
    alone = compare(MODELS, *TABLES["wine"], cv=5)
    assert found.scores_to_frame().row(1) == ("wine", alone.estimates["bayes"].value, alone.estimates["none"].value)
    np.testing.assert_array_equal(found.comparisons["wine"].scores, alone.scores)
    assert found.metric == "accuracy"
    assert found.ranks == {"bayes": 1.0, "none": 2.0}
    assert max(map(len, str(found).splitlines())) <= 80


def test_the_same_scores_in_any_shape(rng):
    scores = drawn(rng)
    names, tables = ["a", "b", "c", "d"], [f"table {i}" for i in range(12)]
    wanted = TablesComparison.of({t: dict(zip(names, row, strict=True)) for t, row in zip(tables, scores, strict=True)})
    for frame in (
        pl.DataFrame({"set": tables} | dict(zip(names, scores.T, strict=True))),
        pd.DataFrame(scores, columns=names, index=tables),
        pd.DataFrame({"set": tables} | dict(zip(names, scores.T, strict=True))),
    ):
        found = TablesComparison.of(frame)
        assert found.pairs.equals(wanted.pairs)
        assert found.scores_to_frame().equals(wanted.scores_to_frame())
    assert TablesComparison.of(pl.DataFrame(scores, schema=names)).tables[:2] == ("0", "1")


def test_the_table_says_what_the_tests_say(rng):
    found = TablesComparison.of(pl.DataFrame(drawn(rng), schema=["a", "b", "c", "d"]))
    assert found.best == "d"
    row = found.to_frame().filter(pl.col("model") == "a").row(0, named=True)
    d = (found.scores_to_frame()["a"] - found.scores_to_frame()["d"]).to_numpy()
    assert row["p"] == signed_rank_test(d)
    assert row["worse"] > 0.95
    assert not row["tied"]
    pair = found.pairs.row(found.pairs.select("first", "second").rows().index(("d", "a")), named=True)
    assert pair["wins"] == (d < 0).sum()
    assert pair["difference"] == pytest.approx(-d.mean())
    assert pair["better"] == row["worse"]
    assert found.tied == tuple(found.to_frame().filter(pl.col("tied"))["model"])


def test_equal_models_are_tied():
    found = TablesComparison.of({t: {"a": 0.5, "b": 0.5, "c": 0.5} for t in "xyz"})
    assert found.tied == ("a", "b", "c")
    assert (found.friedman.chi2, found.friedman.p) == (0.0, 1.0)
    assert list(found.pairs["equal"]) == [1.0, 1.0, 1.0]
    unroped = TablesComparison.of({t: {"a": 0.5, "b": 0.5} for t in "xyz"}, rope=0)
    assert (unroped.pairs["better"][0], unroped.pairs["worse"][0]) == (0.5, 0.5)


def test_cliques():
    assert cliques([1.0, 1.5, 2.2, 3.9], 0.8) == [(0, 1), (1, 2)]
    assert cliques([1.0, 3.0], 0.8) == []
    assert cliques([1.0, 1.1, 1.2], 0.8) == [(0, 2)]


def test_it_prints_and_draws(rng):
    names = [f"a model of number {i}" for i in range(9)]
    found = TablesComparison.of(pl.DataFrame(drawn(rng, 12, 9), schema=names))
    assert max(map(len, str(found).splitlines())) <= 80
    assert "Friedman test of equal ranks: chi2" in str(found)
    assert found._repr_html_().count("<tr>") == 10 + 13
    ax = found.plot()
    written = " ".join(text.get_text() for text in ax.texts)
    assert all(name in written for name in names)
    assert f"Critical difference {found.critical_difference:.2f}" in written
    assert found.plot(ax) is ax
    mpl.pyplot.close("all")


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: compare_tables([1], MODELS), FoldwiseTypeError, "tables must be a dict"),
        (lambda: compare_tables({"iris": TABLES["iris"]}, MODELS), InputError, "at least two tables"),
        (lambda: compare_tables(TABLES, {"a": GaussianNB()}), InputError, "at least two models"),
        (lambda: compare_tables({"a": 1, "b": 2}, MODELS), FoldwiseTypeError, "'a' must be a Table or a pair"),
        (lambda: TablesComparison.of([[0.5, 0.6]]), FoldwiseTypeError, "or a frame, got list"),
        (lambda: TablesComparison.of({"t": [0.5, 0.6]}), FoldwiseTypeError, "must be a mapping"),
        (lambda: TablesComparison.of({"t": {"a": 1, "b": 0}, "u": {"a": 1}}), InputError, "'u' has no score of 'b'"),
        (lambda: TablesComparison.of(pl.DataFrame({"a": [1.0], "b": [0.5]})), InputError, "two models and two tables"),
        (
            lambda: TablesComparison.of(pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})),
            InputError,
            "the scores of 'b' must be numbers",
        ),
        (
            lambda: TablesComparison.of(pl.DataFrame({"a": [1.0, 2.0], "b": [0.5, None]})),
            InputError,
            "'b' has no score on table '1'",
        ),
    ],
)
def test_bad_input(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_an_error_names_its_table():
    X, y = TABLES["wine"]
    with pytest.raises(ValueError, match=r".") as caught:
        compare_tables({"iris": TABLES["iris"], "broken": (X, y[:-1])}, {"a": NaiveBayes(), "b": GaussianNB()}, cv=5)
    assert "raised on table 'broken'" in caught.value.__notes__


def test_a_table_without_a_target(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    table = read_table(tmp_path / "a.csv")
    with pytest.raises(InputError, match="has no target"):
        compare_tables({"a": table, "b": TABLES["iris"]}, MODELS)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.1, 0.2], "one row per table"),
        ([[0.1], [0.2]], "two models"),
        ([[0.1, np.nan], [0.2, 0.3]], "model 1 on table 0 has nan"),
    ],
)
def test_scores_that_cannot_be_ranked(scores, message):
    with pytest.raises(InputError, match=message):
        friedman_test(scores)


def test_a_critical_difference_is_of_two_models():
    with pytest.raises(InputError, match="n_models must be an integer of at least 2"):
        critical_difference(1, 5)
