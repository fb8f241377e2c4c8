"""What every engine must do: the facts of a local pass, and the models that follow from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pytest
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, facts_of
from foldwise.engines.drawing import draw
from foldwise.evaluation import nested_in_engine
from foldwise.folds import fit_facts
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.values import values_of
from tests.engines.conftest import loader, postgres_loader
from tests.engines.tables import NESTED, assert_same_facts, local_gram, mixed_table
from tests.slow import slow


def test_facts_models_and_folds(load: Any) -> None:
    frame = mixed_table()
    table = load(frame)
    facts = facts_of(table, "label", folds=NESTED, values=["whole", "gaps"])
    assert_same_facts(facts, frame)
    X = frame.drop("id", "label")
    families = {"whole": "binned", "gaps": "kde"}
    for parameters in ({}, {"families": families}, {"families": {"whole": "categorical"}, "missing": "category"}):
        local = NaiveBayes(**parameters).fit(X, frame["label"])
        found = NaiveBayes(**parameters).fit_facts(facts)
        np.testing.assert_allclose(found.predict_log_proba(X), local.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    assert "far" in facts.sql()


@pytest.mark.parametrize("engine", ["duckdb", *slow("sqlite", "postgres", "spark")])
def test_values(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    from foldwise.data.view import view

    frame = mixed_table()
    with loader(engine, request, tmp_path) as load:
        facts = facts_of(load(frame), "label", values=["whole", "gaps"], max_values=400)
    assert facts.valued == ("whole",)  # the other has too many
    assert facts.classes is not None
    codes = np.searchsorted(facts.classes, frame["label"].to_numpy())
    wanted = values_of(view(frame.select("whole")), [0], ThreadShare.of(codes, 3), lambda *cells: None)
    found = facts.total.values
    assert [a.tolist() for a in found.columns[0].arrays] == [a.tolist() for a in wanted.columns[0].arrays]


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_linear_models(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table().drop("gaps")
    names = ("far", "whole", "by class")
    with loader(engine, request, tmp_path) as load:
        table = load(frame)
        facts = facts_of(table, "label", columns=names, gram=True)
        quantity = facts_of(table, "by class", columns=["far", "whole"], gram=True)
        assert facts.classes is not None
    assert facts.total.grams is not None
    for label, gram in zip(facts.classes, facts.total.grams, strict=True):
        wanted = local_gram(frame.filter(pl.col("label") == label), names)
        root = np.sqrt(np.diag(wanted.products))
        assert (np.abs(gram.products - wanted.products) <= 1e-11 * np.multiply.outer(root, root)).all()
    X = frame.select(names).to_numpy().astype(np.float64)
    X[:, 0] -= 1e8  # scikit-learn itself loses digits at this mean, so it is compared without it
    model = fit_facts(RidgeClassifier(alpha=0.5), facts)
    peer = RidgeClassifier(alpha=0.5).fit(X, frame["label"].to_numpy())
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-9)
    assert (model.get_params(), model.classes_.tolist()) == (peer.get_params(), peer.classes_.tolist())
    rows = pd.DataFrame(frame.select(names).to_numpy().astype(np.float64), columns=names)
    scores = model.decision_function(rows)
    expected = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
    assert (model.predict(rows) == model.classes_[expected.astype(int)]).all()
    assert quantity.classes is None
    for estimator in (LinearRegression(), Ridge(alpha=2.0)):
        peer = estimator.fit(X[:, :2], X[:, 2])
        np.testing.assert_allclose(fit_facts(estimator, quantity).coef_, peer.coef_, rtol=1e-8)


def test_folds_do_not_depend_on_the_language_of_a_database(postgresql_server: str) -> None:
    """In Danish, texts that begin with "aa" come last, as does the least md5 of the third of three folds."""
    url, frame = postgresql_server.replace("+psycopg", ""), mixed_table(300)
    options = "template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C' locale_provider icu icu_locale 'da'"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create database danish {options}")
    with psycopg.connect(url.replace("/postgres?", "/danish?"), autocommit=True) as connection:
        assert connection.execute("select 'aa' < 'b'").fetchone() == (False,)
        table = postgres_loader(connection)(frame)
        assert_same_facts(facts_of(table, "label", folds=NESTED), frame)
        names = ["id", "color", "label"]  # floats are written differently
        tables = (table.select(names), ibis.duckdb.connect().create_table("t", frame.select(names).to_arrow()))
        drawn = [draw(one, "label", 100, seed=1) for one in tables]
    for name in ("sample", "kept_out"):
        found = [set(getattr(one, name)["id"].to_list()) for one in drawn]
        assert found[0] == found[1]


def test_folds_do_not_depend_on_the_language_of_duckdb() -> None:
    frame = mixed_table(300)
    backend = ibis.duckdb.connect()
    table = backend.create_table("t", frame.to_arrow())
    backend.con.execute("set default_collation='da'")
    assert backend.con.execute("select 'aa' < 'b'").fetchone() == (False,)
    assert_same_facts(facts_of(table, "label", folds=NESTED), frame)
    assert backend.con.execute("select 'aa' < 'b'").fetchone() == (False,)  # as the user wants it
    backend.disconnect()


def test_a_table_of_this_machine() -> None:
    frame = mixed_table(300)
    table = ibis.memtable(frame.to_arrow())
    assert_same_facts(facts_of(table, "label", folds=NESTED), frame)
    huge = frame.with_columns(pl.Series("id", [2**63 + i for i in range(300)], dtype=pl.UInt64))  # beyond int64
    for rows in (frame, huge):
        table = ibis.memtable(rows.to_arrow())
        found = nested_in_engine(NaiveBayes(), [{}], table, "label", key="id", outer=2, inner=2)
        first = KeyFolds("id", 2, 2).assign(rows["id"].to_list())[:, 0] == 0
        model = NaiveBayes().fit(rows.drop("id", "label").filter(~first), rows["label"].filter(~first))
        shares = model.predict_proba(rows.drop("id", "label").filter(first))
        own = shares[np.arange(first.sum()), np.searchsorted(model.classes_, rows["label"].filter(first).to_numpy())]
        assert found.fold_scores[0] == pytest.approx(-np.log(own).mean(), rel=1e-6)
