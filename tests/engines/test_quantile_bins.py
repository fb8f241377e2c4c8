"""Columns with too many distinct values: bins at the quantiles of the engine, for naive Bayes with binned columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, facts_of
from foldwise.engines.quantile_bins import checked, edges_of
from foldwise.errors import InputError
from tests.engines.conftest import loader
from tests.slow import slow


def skewed_table(n: int = 3000) -> pl.DataFrame:
    """Two numbers with many distinct values, one of which is often 0, and missing cells."""
    rng = np.random.default_rng(1)
    label = rng.choice(["a", "b"], n)
    x = rng.normal(size=n) + (label == "a")
    often = np.where(rng.random(n) < 0.3, 0.0, rng.exponential(size=n))
    gaps = [None if i % 20 == 0 else value for i, value in enumerate(x.tolist())]
    return pl.DataFrame({"id": np.arange(n), "x": gaps, "often": often, "label": label})


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_rows_between_quantiles_are_counted_exactly(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    frame = skewed_table()
    X, y = frame.select("x", "often"), frame["label"].to_numpy()
    with loader(engine, request, tmp_path) as load:
        table = load(frame)
        given = {"columns": ["x", "often"], "values": ["x", "often"], "max_values": 500}
        facts = facts_of(table, "label", **given)
        folded = facts_of(table, "label", folds=KeyFolds("id", outer=3), cuts=facts.cuts, **given)
    assert facts.valued == ()
    for name in ("x", "often"):
        edges, cells = facts.cuts[name], frame.filter(pl.col(name).is_not_null())
        wanted = np.quantile(cells[name], np.arange(1, 100) / 100)
        assert 60 < len(edges) <= 102
        exact = engine in ("postgres", "sqlite")
        ranks = np.searchsorted(np.sort(cells[name]), edges[1:-1]) / cells.height
        assert np.diff(ranks).max() < (0.011 if exact else 0.03) + 0.3 * (name == "often")
        if exact:
            assert np.abs(wanted[:, None] - np.asarray(edges)).min(axis=1).max() < 0.2  # an edge at each quantile
        # the counts of a column equal those of its values, cut at the same points
        local = NaiveBayes(families="binned").fit(cells.select(name), cells["label"].to_numpy())
        counted = local.facts_.summaries[0].columns[0].between(edges)
        found = facts.total.bins.columns[list(facts.cuts).index(name)]
        assert found.x.tolist() == counted.x.tolist()
        assert found.rows.tolist() == counted.rows.tolist()
        assert folded.total.bins.columns[list(facts.cuts).index(name)].rows.tolist() == counted.rows.tolist()
    model = NaiveBayes(families="binned", cuts="frequency").fit_facts(facts)
    near = NaiveBayes(families="binned", cuts="frequency").fit(X, y)
    assert np.abs(model.predict_proba(X) - near.predict_proba(X)).mean() < 0.01
    with pytest.raises(InputError, match="'kde' needs the distinct values of column 'x'"):
        NaiveBayes(families="kde").fit_facts(facts)


def test_models_of_bins_are_stored_updated_and_reduced(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    frame = skewed_table()
    first, second = frame[:2000], frame[2000:]
    with loader("duckdb", request, tmp_path) as load:
        given = {"columns": ["x", "often"], "values": ["x", "often"], "max_values": 100}
        facts = facts_of(load(first), "label", **given)
        more = facts_of(load(second), "label", cuts=facts.cuts, **given)
        other = facts_of(load(second), "label", **given)
    for cuts in ("width", "frequency", "entropy"):
        whole = NaiveBayes(families="binned", cuts=cuts).fit_facts(facts + more)
        grown = NaiveBayes(families="binned", cuts=cuts).fit_facts(facts).partial_fit(more)
        rows = NaiveBayes(families="binned", cuts=cuts).fit_facts(facts)
        rows.partial_fit(second.select("x", "often"), second["label"].to_numpy())
        reduced = NaiveBayes(families="binned", cuts=cuts).fit_facts(facts + more)
        reduced.forget(second.select("x", "often"), second["label"].to_numpy())
        X = frame.select("x", "often")
        for model in (grown, rows, NaiveBayes.from_json(whole.to_json())):
            np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
        before = NaiveBayes(families="binned", cuts=cuts).fit_facts(facts)
        np.testing.assert_allclose(reduced.predict_proba(X), before.predict_proba(X), rtol=1e-9)
    with pytest.raises(InputError, match="different cut points"):
        facts + other
    with pytest.raises(InputError, match="increasing"):
        checked("x", [2.0, 1.0])


def test_a_frequent_value_is_a_bin_of_its_own() -> None:
    edges = edges_of([0.0, 0.0, 0.0, 1.0, 2.0])
    assert edges[0] < 0.0
    assert edges[1:].tolist() == [0.0, 1.0, 2.0]


def test_counts_of_events(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The families "poisson" and "binomial" are fitted to distinct values, which must be counts."""
    rng = np.random.default_rng(3)
    label = rng.choice(["a", "b"], 200)
    events = [None if i % 9 == 0 else int(n) for i, n in enumerate(rng.poisson(2 + (label == "a")))]
    frame = pl.DataFrame({"events": events, "share": rng.random(200), "label": label})
    X = frame.select("events")
    with loader("duckdb", request, tmp_path) as load:
        table = load(frame)
        facts = facts_of(table, "label", columns=["events"], values=["events"])
        shares = facts_of(table, "label", columns=["share"], values=["share"])
    for family in ("poisson", "binomial"):
        found = NaiveBayes(families=family).fit_facts(facts)
        local = NaiveBayes(families=family).fit(X, label)
        np.testing.assert_allclose(found.predict_log_proba(X), local.predict_log_proba(X), rtol=1e-12)
        found.partial_fit(facts).forget(facts)
        np.testing.assert_allclose(found.predict_log_proba(X), local.predict_log_proba(X), rtol=1e-12)
        with pytest.raises(InputError, match=r"column 'share' must contain .*, got 0\.\d+\. Hint"):
            NaiveBayes(families=family).fit_facts(shares)
