"""The tests against other people's programs and published figures: Weka, R, baycomp, scipy, Demšar's worked example."""

from __future__ import annotations

import json
from pathlib import Path

import baycomp
import numpy as np
import polars as pl
import pytest
from scipy import stats

from foldwise.evaluation import (
    TablesComparison,
    bayesian_signed_rank,
    corrected_t_test,
    correlated_bayesian_t,
    critical_difference,
    friedman_test,
    holm,
    signed_rank_test,
)
from foldwise.evaluation.comparing.ranked import rank_error, shares_beyond

HERE = Path(__file__).parent / "oracles"
WEKA = json.loads((HERE / "weka.json").read_text())
R = json.loads((HERE / "r.json").read_text())


@pytest.fixture(scope="module")
def demsar() -> pl.DataFrame:
    return pl.read_csv(HERE / "demsar.csv")


@pytest.mark.parametrize("case", WEKA["cases"], ids=lambda case: f"{len(case['first'])} splits")
def test_corrected_t_is_wekas(case):
    test = corrected_t_test(np.subtract(case["first"], case["second"]), case["test_share"])
    assert test.difference == pytest.approx(case["difference"], rel=1e-9)
    assert test.p == pytest.approx(case["p"], rel=1e-6)  # Weka's own F distribution
    assert (test.p < 0.05) == (case["verdict"] != 0)


def test_without_a_share_it_is_the_paired_t_test(rng):
    a, b = rng.normal(size=(2, 12))
    test, peer = corrected_t_test(a - b, 0), stats.ttest_rel(a, b)
    assert (test.t, test.p, test.freedom) == pytest.approx((peer.statistic, peer.pvalue, peer.df), rel=1e-12)
    np.testing.assert_allclose(test.interval(0.9), peer.confidence_interval(0.9), rtol=1e-12)


@pytest.mark.parametrize(("runs", "rope"), [(1, 0.01), (1, 0.0), (10, 0.01), (10, 0.002), (5, 0.1)])
def test_correlated_t_is_baycomps(rng, runs, rope):
    first = rng.normal(0.8, 0.03, 10 * runs)
    second = first + rng.normal(0.01, 0.02, 10 * runs)
    ours = correlated_bayesian_t(second - first, 1 / 9, rope)
    theirs = baycomp.CorrelatedTTest.probs(first, second, rope=rope, runs=runs)
    wanted = theirs if rope else (theirs[0], 0.0, theirs[1])
    np.testing.assert_allclose([ours.worse, ours.equal, ours.better], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [[0.0] * 10, [0.02] * 10, [0.01] * 10, [-0.02] * 10])
@pytest.mark.parametrize("rope", [0.0, 0.01])
def test_correlated_t_without_spread_is_baycomps(d, rope):
    d = np.array(d)
    ours = correlated_bayesian_t(d, 1 / 9, rope)
    theirs = baycomp.CorrelatedTTest.probs(np.zeros(10), d, rope=rope)
    wanted = theirs if rope else (theirs[0], 0.0, theirs[1])
    assert (ours.worse, ours.equal, ours.better) == pytest.approx(wanted)


@pytest.mark.parametrize("rope", [0.0, 0.01])
def test_drawn_shares_are_baycomps(rng, rope):
    d = rng.normal(0.01, 0.02, 12).round(3)
    draws = np.random.RandomState(5).dirichlet(np.r_[0.5, np.ones(12)], 300)  # its own generator
    theirs = baycomp.SignedRankTest.sample(np.zeros(12), d, rope=rope, nsamples=300, random_state=5)
    np.testing.assert_allclose(shares_beyond(np.r_[0.0, d], rope, draws), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rope", [0.0, 0.01])
def test_bayesian_signed_rank_is_baycomps(demsar, rope):
    for a, b in [("C4.5", "C4.5+m"), ("C4.5+cf", "C4.5+m+cf"), ("C4.5", "C4.5+cf")]:
        x, y = demsar[a].to_numpy(), demsar[b].to_numpy()
        ours = bayesian_signed_rank(y - x, rope)
        theirs = baycomp.SignedRankTest.probs(x, y, rope=rope, nsamples=20_000, random_state=1)
        wanted = theirs if rope else (theirs[0], 0.0, theirs[1])
        np.testing.assert_allclose([ours.worse, ours.equal, ours.better], wanted, rtol=0, atol=0.02)


def test_demsars_worked_example(demsar):
    result = TablesComparison.of(demsar)
    assert {name: round(rank, 3) for name, rank in result.ranks.items()} == {
        "C4.5+m+cf": 1.964,
        "C4.5+m": 2.0,
        "C4.5+cf": 2.893,
        "C4.5": 3.143,
    }
    published = friedman_test(result.scores, correct_ties=False)
    assert (round(published.chi2, 2), round(published.f, 2)) == (9.28, 3.69)
    assert round(critical_difference(4, 14), 2) == 1.25
    assert round(critical_difference(4, 14, 0.9), 2) == 1.12
    z = (result.ranks["C4.5"] - result.ranks["C4.5+m+cf"]) / rank_error(4, 14)
    assert z == pytest.approx(2.416, abs=0.001)  # the paper divides by a rounded 0.488


def test_ranks_and_friedman_are_rs_and_scipys(demsar):
    scores = demsar[:, 1:].to_numpy()
    ours = friedman_test(scores)
    assert (ours.chi2, ours.p) == pytest.approx((*R["chi2"], *R["p"]), rel=1e-12)
    peer = stats.friedmanchisquare(*scores.T)
    assert (ours.chi2, ours.p) == pytest.approx((peer.statistic, peer.pvalue), rel=1e-12)
    result = TablesComparison.of(demsar)
    np.testing.assert_allclose([result.ranks[name] for name in demsar.columns[1:]], R["ranks"], rtol=1e-12)
    assert result.critical_difference == pytest.approx(R["critical"][0], rel=1e-5)
    found = {frozenset(row[:2]): row for row in result.pairs.select("first", "second", "p_nemenyi").iter_rows()}
    names = demsar.columns[1:]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    np.testing.assert_allclose([found[frozenset(pair)][2] for pair in pairs], R["nemenyi"], rtol=1e-4)


def test_holm_is_rs():
    np.testing.assert_allclose(holm(R["t"]), R["holm"], rtol=1e-12)


def test_wilcoxon_is_scipys(demsar):
    for a, b in [("C4.5", "C4.5+m"), ("C4.5", "C4.5+m+cf")]:
        d = (demsar[b] - demsar[a]).to_numpy()
        assert signed_rank_test(d) == stats.wilcoxon(d, zero_method="zsplit").pvalue
        # zeros shared out: nearly what R says without them
        assert signed_rank_test(d) == pytest.approx(R["wilcoxon_without_zeros"][0 if b == "C4.5+m" else 2], abs=0.01)


def test_wilcoxon_of_few_tables_is_exact():
    assert signed_rank_test([0.1, 0.2, 0.3, 0.4, 0.5]) == pytest.approx(2 / 2**5)
    assert signed_rank_test([0.0, 0.0, 0.0]) == 1.0
    assert signed_rank_test([0.1, -0.1]) == 1.0
