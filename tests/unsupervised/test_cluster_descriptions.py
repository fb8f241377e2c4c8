"""Descriptions of clusters: planted groups, plain formulas, and p-values that hold on pure noise."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, kruskal
from sklearn.cluster import KMeans

from foldwise import describe_clusters
from foldwise.errors import InputError
from foldwise.unsupervised.cluster_descriptions import category_contrast, number_contrast

mpl.use("Agg")


def planted(seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], [100, 60, 40])
    frame = pl.DataFrame(
        {
            "age": rng.normal(np.array([30.0, 60.0, 30.0])[group], 4.0),
            "income": rng.normal(np.array([20.0, 20.0, 50.0])[group], 3.0),
            "city": np.array(["Graz", "Wien"])[(rng.random(200) < np.where(group == 1, 0.9, 0.1)).astype(int)],
            "noise": rng.normal(size=200),
        }
    )
    return frame, group


def without(frame: pl.DataFrame) -> np.ndarray:
    numbers = frame.select(pl.selectors.numeric()).to_numpy()
    return KMeans(3, n_init=3, random_state=0).fit_predict((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))


def test_groups_are_described_by_what_was_planted():
    frame, group = planted()
    found = describe_clusters(frame, group)
    assert [(one.label, one.size) for one in found] == [(0, 100), (1, 60), (2, 40)]
    assert found.profiles[1].contrasts[0].column == "age"
    assert {one.column for one in found.profiles[1].contrasts[:2]} == {"age", "city"}
    assert found.profiles[2].contrasts[0].column == "income"
    assert all(one.contrasts[-1].column == "noise" for one in found)
    assert "age" in found.profiles[1].rule
    assert "income" in found.profiles[2].rule
    assert found.profiles[1].rule_recall > 0.8
    assert found.profiles[1].rule_precision > 0.9
    for one in found:
        assert all(group[row] == one.label for row in one.prototypes)


def test_the_medoid_has_the_smallest_sum_of_distances():
    X = np.random.default_rng(0).normal(size=(41, 1))  # of an even number, the two in the middle would tie
    found = describe_clusters(X, np.zeros(41, dtype=int))
    assert found.profiles[0].prototypes[0] == np.abs(X - X.T).sum(axis=1).argmin()
    assert found.profiles[0].rule == ""


def test_effects_are_those_of_the_formulas():
    rng = np.random.default_rng(0)
    here, there = rng.normal(1, 1, 30), rng.normal(0, 2, 50)
    pooled = np.sqrt((29 * here.var(ddof=1) + 49 * there.var(ddof=1)) / 78)
    assert number_contrast(here, there)[0] == pytest.approx((here.mean() - there.mean()) / pooled)
    effect, words = category_contrast(np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1]), ("a", "b"))
    assert abs(effect) == pytest.approx(2 * (np.arcsin(np.sqrt(0.75)) - np.arcsin(np.sqrt(0.25))))
    assert words == "a in 75% of rows, 25% elsewhere"


def test_p_values_come_from_groups_formed_without_the_column():
    frame, group = planted()
    assert all(c.p_value is None for one in describe_clusters(frame, group) for c in one.contrasts)
    found = describe_clusters(frame, group, recluster=without)
    p = {c.column: c.p_value for c in found.profiles[0].contrasts}
    assert p["city"] < 1e-6
    assert p["noise"] > 0.05
    labels = without(frame.drop("noise"))
    alone = kruskal(*(frame["noise"].to_numpy()[labels == g] for g in range(3))).pvalue
    assert alone <= p["noise"] + 1e-12  # corrected over columns


def test_rows_without_a_group_are_counted():
    frame, group = planted()
    group[:10] = -1
    found = describe_clusters(frame, group)
    assert found.n_unassigned == 10
    assert sum(one.size for one in found) == 190
    assert "10 rows belong to no group" in str(found)


def test_results_are_shown():
    frame, group = planted()
    found = describe_clusters(frame, np.array(["a", "b", "c"])[group])
    assert str(found).startswith("Group a: 100 rows (50%), prototype row ")
    assert found.to_frame().height == 12
    assert "<table" in found._repr_html_()
    assert len(found.plot().get_xticklabels()) == 3


def test_odd_input():
    frame, group = planted()
    with pytest.raises(InputError, match="all rows are unassigned"):
        describe_clusters(frame, [-1] * 200)
    with pytest.raises(InputError, match="one value per row"):
        describe_clusters(frame, group[:5])
    with pytest.raises(InputError, match="at least two columns"):
        describe_clusters(frame.select("age"), group, recluster=without)
    with pytest.raises(InputError, match="all are left out"):
        describe_clusters(np.ones((4, 2)), [0, 0, 1, 1])
    wide = np.random.default_rng(0).normal(size=(40, 1000))
    wide[:20, 7] += 20
    found = describe_clusters(wide, np.repeat([0, 1], 20))
    assert all(one.contrasts[0].column == "x7" for one in found)
    holes = frame.with_columns(age=pl.when(pl.Series(group == 1)).then(None).otherwise(pl.col("age")))
    assert any("missing in all rows" in c.words for one in describe_clusters(holes, group) for c in one.contrasts)


@pytest.mark.slow
def test_noise_is_rejected_at_most_at_the_level():
    rejected = 0
    for run in range(100):
        X = pl.DataFrame(np.random.default_rng([4, run]).normal(size=(100, 4)))
        found = describe_clusters(X, without(X), recluster=without)
        rejected += any(c.p_value <= 0.05 for c in found.profiles[0].contrasts)
    assert rejected <= binom.ppf(0.999, 100, 0.05)
