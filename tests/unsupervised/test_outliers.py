"""Outliers: tails and conformal p-values against scipy and plain counts, planted errors, false alarms, bad input."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, genpareto
from sklearn.ensemble import IsolationForest

from foldwise import find_outliers
from foldwise.errors import InputError
from foldwise.unsupervised.encoded_rows import encode_table
from foldwise.unsupervised.outliers.cells import fit_cells, fit_predictor, learn_scales
from foldwise.unsupervised.outliers.finding import conformal_p_values, size_note
from foldwise.unsupervised.outliers.row_scores import fit_forest, fit_neighbors
from foldwise.unsupervised.outliers.tails import LOG_SCALES, PRIOR, SHAPES, fit_tail
from tests.unsupervised.clean_tables import CLEAN, planted

mpl.use("Agg")


def test_p_values_of_the_tail_equal_an_integral_over_the_posterior():
    scores = np.random.default_rng(0).exponential(size=200)
    tail = fit_tail(scores)
    top = tail.top - tail.threshold
    unit = (tail.excesses.sum() + tail.n_censored * top) / len(tail.excesses)
    x = scores.max() + 2.0

    nodes, weights = np.polynomial.legendre.leggauss(300)
    shape = (SHAPES[0] + SHAPES[1] + (SHAPES[1] - SHAPES[0]) * nodes) / 2
    log_scale = (LOG_SCALES[0] + LOG_SCALES[1] + (LOG_SCALES[1] - LOG_SCALES[0]) * nodes) / 4  # half of the box
    law = genpareto(shape[:, None], scale=unit * np.exp(log_scale))
    log = sum(law.logpdf(excess) for excess in tail.excesses) + tail.n_censored * law.logsf(top)
    log -= 0.5 * ((shape[:, None] - PRIOR[0]) / PRIOR[1]) ** 2
    posterior = np.exp(log - log.max()) * weights[:, None] * weights
    beyond = law.sf(x - tail.threshold) / np.maximum(law.sf(top), 1e-300)
    expected = (posterior * beyond).sum() / posterior.sum()
    assert tail.p_values(np.array([x]))[0] == pytest.approx(tail.n_censored / 200 * expected, rel=0.02)


def test_a_gross_outlier_does_not_hide_itself():
    scores = np.random.default_rng(0).normal(size=300)
    before = fit_tail(scores).p_values(np.array([30.0]))
    scores[0] = 30.0
    after = fit_tail(scores).p_values(np.array([30.0]))
    assert after[0] == pytest.approx(before[0], rel=1.0)
    assert after[0] < 1e-5


def test_scores_with_few_values_get_ranks():
    tail = fit_tail(np.repeat([0.0, 1.0, 2.0], 50))
    assert tail.excesses is None
    assert tail.p_values(np.array([2.0, 3.0, np.nan])).tolist() == [51 / 151, 1 / 151, 1.0]


def test_a_wrong_rating_stands_out():
    ratings = np.random.default_rng(0).integers(1, 6, size=(400, 2))
    ratings[9, 1] = 55
    assert find_outliers(ratings, method="cells").rows.tolist() == [9]


def test_neighbor_scores_are_distances_to_the_kth_other_row():
    frame = pl.DataFrame({"a": [0.0, 1.0, 4.0, 10.0, None], "b": ["x", "x", "y", "y", "x"]})
    _, _, rows = encode_table(frame)
    scores, nearest = fit_neighbors(rows, "gower", 2, 100, np.random.default_rng(0), 1).own(rows)
    a, b = np.array([0, 0.1, 0.4, 1, np.nan]), np.array([0, 0, 1, 1, 0])
    distances = np.nanmean([np.abs(a[:, None] - a), (b[:, None] != b).astype(float)], axis=0)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_allclose(scores, np.sort(distances, axis=1)[:, 1])
    assert nearest.shape == (5, 2)


def test_forest_scores_are_those_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(100, 3))
    _, _, rows = encode_table(X)
    theirs = IsolationForest(n_estimators=100, max_samples=100, random_state=3).fit(X)
    np.testing.assert_allclose(fit_forest(rows, 3).of(rows), -theirs.score_samples(X))


def test_predictions_of_numbers_are_conditional_means():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    X = np.column_stack([x, x @ [1.0, -1.0] + 0.1 * rng.normal(size=4000)])
    _, _, rows = encode_table(X)
    predicted, _ = fit_predictor(learn_scales(rows), rows).predict(rows)
    actual = learn_scales(rows).standardized(rows)[:, 2]
    inside = np.abs(actual) < 1.5
    assert (
        np.std(actual[inside] - predicted[inside, 2]) < 0.15
    )  # 0.07 by construction; clipped predictors cost a little


def test_predictions_of_a_row_do_not_use_the_row():
    rng = np.random.default_rng(0)
    _, _, rows = encode_table(rng.normal(size=(40, 30)))
    folds = [np.arange(20), np.arange(20, 40)]
    held_out = fit_cells(rows, folds).own_deviations.residuals
    numbers = rows.numbers.copy()
    numbers[21:] += 1.0 * (numbers[21:] > 0)  # rows of the other fold than row 20, and row 20 stays
    scales = learn_scales(rows)
    same = fit_predictor(scales, rows.take(folds[0])).predict(rows.take(folds[1]))[0]
    np.testing.assert_allclose(held_out[20:], scales.standardized(rows)[20:] - same)


def test_conformal_p_values_are_counted():
    p = conformal_p_values(np.array([5.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert p.tolist() == [1 / 4, 4 / 4, 3 / 4]


def test_a_reference_that_is_too_small_is_named():
    assert size_note(1999, 4000, 100, 0.05) == ""
    assert "at least 2 of the 100 rows" in size_note(1998, 4000, 100, 0.05)
    rng = np.random.default_rng(0)
    found = find_outliers(rng.normal(size=(100, 2)), reference=rng.normal(size=(60, 2)))
    assert found.guaranteed
    assert any("too small to flag a single row" in note for note in found.notes)


def test_rows_far_from_the_reference_are_flagged():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    rows[7, 2] = 9.0
    found = find_outliers(rows, reference=rng.normal(size=(2000, 3)), n_jobs=1)
    assert found.rows.tolist() == [7]
    assert found.outliers[0].cells[0].column == "x2"
    assert not any("too small" in note for note in found.notes)


def test_the_reference_may_have_categories_that_the_table_lacks():
    rng = np.random.default_rng(0)
    normal = pl.DataFrame({"a": rng.normal(size=300), "b": rng.choice(["x", "y", "z"], 300)})
    rows = pl.DataFrame({"a": rng.normal(size=5), "b": ["x", "y", "x", "x", "new"]})
    assert find_outliers(rows, reference=normal).p_values.shape == (5,)


@pytest.mark.parametrize("kind", CLEAN)
def test_a_planted_typing_error_is_found(kind):
    frame, row, column = planted(kind, seed=0)
    found = find_outliers(frame)
    assert row in found.rows
    assert column in [cell.column for cell in next(one for one in found if one.row == row).cells]


def test_a_cell_that_contradicts_the_others_is_found():
    rng = np.random.default_rng(0)
    height = rng.normal(170, 10, 500)
    weight = 0.9 * height - 85 + rng.normal(0, 2, 500)
    row = int(np.argmin(np.abs(height - 185)))
    weight[row] = 50.0  # usual in its column, not for someone so tall
    found = find_outliers(pl.DataFrame({"height": height, "weight": weight}))
    assert found.rows.tolist() == [row]
    assert {cell.column for cell in found.outliers[0].cells} <= {"height", "weight"}
    assert any("expected given the other columns" in cell.reason for cell in found.outliers[0].cells)


def test_a_category_that_contradicts_the_others_is_found():
    rng = np.random.default_rng(0)
    city = rng.choice(["Graz", "Wien", "Linz"], 600)
    frame = pl.DataFrame({"city": city, "code": [f"code of {one}" for one in city], "x": rng.normal(size=600)})
    wrong = frame["code"].to_list()
    wrong[5] = "code of Graz" if city[5] != "Graz" else "code of Wien"
    assert find_outliers(frame).rows.tolist() == []
    found = find_outliers(frame.with_columns(code=pl.Series(wrong)), method="cells")
    assert found.rows.tolist() == [5]


def test_results_are_shown():
    frame, row, _ = planted("mixed", seed=1)
    found = find_outliers(frame.with_columns(number=pl.int_range(500)))
    assert f"row {row}" in str(found)
    assert "Rows are judged by approximate p-values" in str(found)
    assert "'number' (identifier" in str(found)
    assert "<table" in found._repr_html_()
    table = found.to_frame()
    assert table.height == 500
    assert table["row"][0] == row
    assert table["outlier"].sum() == len(found)
    assert found.plot().get_ylabel().startswith("Score")
    assert "No outliers" in str(find_outliers(np.random.default_rng(0).normal(size=(60, 2))))


def test_the_same_seed_gives_the_same_result():
    X = np.random.default_rng(0).normal(size=(80, 4))
    first, second = find_outliers(X, random_state=3), find_outliers(X, random_state=3, n_jobs=1)
    np.testing.assert_allclose(first.p_values, second.p_values)


@pytest.mark.parametrize("method", ["cells", "neighbors", "forest"])
def test_methods_run_alone(method):
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[3] = 8.0
    found = find_outliers(X, method=method, distance="heom")
    assert list(found.by_method) == [method]
    assert found.to_frame()["row"][0] == 3


def test_bad_input_gives_one_sentence():
    for table in (np.ones((5, 2)), np.full((5, 2), np.nan), [[f"text {i}"] for i in range(30)]):
        with pytest.raises(InputError, match="all are left out"):
            find_outliers(np.asarray(table))
    with pytest.raises(InputError, match="at least 3 rows, got 2"):
        find_outliers(np.arange(4.0).reshape(2, 2))
    with pytest.raises(InputError, match="infinity"):
        find_outliers([[1.5], [np.inf], [2.5], [3.0]])
    with pytest.raises(InputError, match="alpha"):
        find_outliers(np.eye(3), alpha=2.0)
    with pytest.raises(InputError, match="columns of the table"):
        find_outliers(pl.DataFrame({"a": [1.0, 2.0]}), reference=pl.DataFrame({"b": [1.0] * 20}))


def test_small_and_odd_tables_get_an_answer():
    rng = np.random.default_rng(0)
    assert len(find_outliers(rng.normal(size=(3, 2)))) == 0
    assert any("At least 20 rows are needed" in note for note in find_outliers(rng.normal(size=(3, 2))).notes)
    assert len(find_outliers(rng.normal(size=(100, 1)))) == 0
    assert len(find_outliers(rng.choice(["a", "b"], size=(100, 4)))) == 0
    assert len(find_outliers(rng.choice(["a", "b"], size=(10, 2)))) == 0
    holes = np.where(rng.random((200, 4)) < 0.5, np.nan, rng.normal(size=(200, 4)))
    assert len(find_outliers(holes)) == 0
    wide = rng.normal(size=(30, 1000))
    wide[3, 4] = 1e6
    assert find_outliers(wide, method="cells").rows.tolist() == [3]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLEAN)
def test_clean_tables_rarely_cause_an_alarm(kind):
    n_runs = 100
    alarms = sum(len(find_outliers(CLEAN[kind](np.random.default_rng([7, run])))) > 0 for run in range(n_runs))
    assert alarms <= binom.ppf(0.999, n_runs, 0.05)


@pytest.mark.slow
def test_the_share_of_false_alarms_is_kept_with_a_reference():
    shares = []
    for run in range(100):
        rng = np.random.default_rng([8, run])
        rows = rng.standard_t(3, size=(100, 3))
        rows[:20] += 15.0
        found = find_outliers(rows, reference=rng.standard_t(3, size=(1000, 3)), alpha=0.2)
        shares.append(np.mean(found.rows >= 20) if len(found) else 0.0)
    assert np.mean(shares) <= 0.2 * 0.8 + 3 * np.std(shares) / 10
