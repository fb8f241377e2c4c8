"""Slices: scores equal those of fairlearn's MetricFrame, verdicts are rare by chance, small slices get none."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairlearn.metrics import MetricFrame
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score, root_mean_squared_error

from foldwise import CostMatrix, score_slices
from foldwise.errors import FoldwiseError
from foldwise.evaluation.slices import slice_names


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    columns = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.integers(18, 80, n)),
            "class": rng.choice([1, 2, 3], n),
        }
    ).with_columns(pl.col("age").fill_nan(None))
    p = rng.uniform(0.02, 0.98, n)
    return columns, np.column_stack([1 - p, p]), (rng.uniform(size=n) < p).astype(int)


def test_scores_of_slices_and_of_the_rest_equal_those_of_fairlearn():
    columns, proba, y = table()
    names = ["log_loss", "accuracy", "balanced_accuracy", "roc_auc"]
    found = score_slices(y, proba, columns, "sex,class", metrics=names).to_frame()
    label = proba.argmax(axis=1)
    peers = {
        "accuracy": (accuracy_score, label),
        "balanced_accuracy": (balanced_accuracy_score, label),
        "log_loss": (lambda t, p: log_loss(t, p, labels=[0, 1]), proba[:, 1]),
        "roc_auc": (roc_auc_score, proba[:, 1]),
    }
    for name, (score, predicted) in peers.items():
        for column in ("sex", "class"):
            keys = columns[column].cast(pl.String).to_list()
            oracle = MetricFrame(metrics=score, y_true=y, y_pred=predicted, sensitive_features=keys)
            for level, value in oracle.by_group.items():
                row = found.filter(metric=name, column=column, slice=level).row(0, named=True)
                inside = [key == level for key in keys]
                rest = MetricFrame(metrics=score, y_true=y, y_pred=predicted, sensitive_features=inside).by_group[False]
                assert row["value"] == pytest.approx(value, rel=1e-10)
                assert row["rest"] == pytest.approx(rest, rel=1e-10)
                assert row["difference"] == pytest.approx(value - rest, abs=1e-10)
                assert row["rows"] == sum(inside)


def test_slices_of_a_quantity_equal_those_of_fairlearn():
    columns, _, _ = table()
    rng = np.random.default_rng(1)
    y = rng.normal(size=600)
    predicted = y + rng.normal(size=600)
    found = score_slices(y, predicted, columns, ["sex"], metrics=["rmse"])
    oracle = MetricFrame(
        metrics=root_mean_squared_error, y_true=y, y_pred=predicted, sensitive_features=columns["sex"].to_list()
    )
    rows = {one.label: one for one in found.scores if one.metric == "root_mean_squared_error"}
    assert {label: one.value for label, one in rows.items()} == pytest.approx(dict(oracle.by_group), rel=1e-10)
    bias = {one.label: one for one in found.scores if one.metric == "calibration"}
    inside = (columns["sex"] == "f").to_numpy()
    assert bias["f"].value == pytest.approx(np.mean(y[inside] - predicted[inside]))
    assert bias["f"].observed == pytest.approx(np.mean(y[inside]))
    assert bias["f"].predicted == pytest.approx(np.mean(predicted[inside]))


def test_numbers_are_cut_at_stated_edges_and_missing_cells_are_a_slice():
    columns, proba, y = table()
    found = score_slices(y, proba, columns, "age", metrics="accuracy")
    edges = found.edges["age"]
    rows = {one.label: one.n_rows for one in found.scores if one.metric == "accuracy"}
    age = columns["age"]
    assert len(edges) == 3
    assert rows["missing"] == age.null_count()
    assert rows[f"up to {edges[0]:g}"] == (age <= edges[0]).sum()
    assert rows[f"over {edges[2]:g}"] == (age > edges[2]).sum()
    again = score_slices(y, proba, columns, "age", metrics="accuracy", bins={"age": [40, 65]})
    labels = [one.label for one in again.scores if one.metric == "accuracy"]
    assert labels == ["up to 40", "over 40 to 65", "over 65", "missing"]


def test_costs_are_realized_by_slice():
    columns, proba, y = table()
    costs = CostMatrix.from_dict({"act": {0: 1.0, 1: 0.0}, "wait": {0: 0.0, 1: 5.0}})
    found = score_slices(y, proba, columns, "sex", metrics="accuracy", costs=costs)
    acts = proba[:, 0] * 1.0 < proba[:, 1] * 5.0
    cost = np.where(acts, y == 0, 5.0 * (y == 1))
    inside = (columns["sex"] == "f").to_numpy()
    (row,) = [one for one in found.scores if one.metric == "cost" and one.label == "f"]
    assert row.value == pytest.approx(cost[inside].mean())


def test_a_planted_difference_is_found_and_a_small_slice_gets_no_verdict():
    columns, proba, y = table(2_000)
    worse = (columns["sex"] == "f").to_numpy()
    y = np.where(worse, np.random.default_rng(2).integers(0, 2, 2_000), y)
    found = score_slices(y, proba, columns.with_columns(rare=pl.Series(["x"] * 20 + ["y"] * 1_980)), "sex,rare")
    verdicts = {(one.label, one.metric): one.verdict for one in found.scores}
    assert verdicts["f", "log_loss"] == "worse"
    assert verdicts["m", "log_loss"] == "better"
    assert {verdicts["x", metric] for metric in found.overall} == {"not tested"}
    assert found.n_tests == len(found.overall)  # one column with two slices; the other has too few rows
    assert found.clear[0].column == "sex"


def test_without_a_difference_a_verdict_is_rare():
    wrong = 0
    for seed in range(60):
        columns, proba, y = table(400, seed)
        wrong += bool(score_slices(y, proba, columns).clear)
    assert wrong <= 8  # at most 5% of 60 are expected; more than 8 have a probability of 0.8%


def test_rows_of_a_group_count_as_one():
    columns, proba, y = table(300)
    alone = score_slices(y, proba, columns, "sex", metrics="log_loss")
    copies = np.repeat(np.arange(300), 5)
    five = score_slices(y[copies], proba[copies], columns[copies.tolist()], "sex", metrics="log_loss", groups=copies)
    assert five.scores[0].value == pytest.approx(alone.scores[0].value)
    width = [one.scores[0].high - one.scores[0].low for one in (alone, five)]
    assert width[1] == pytest.approx(width[0], rel=0.02)


def test_a_slice_of_few_groups_is_not_tested_and_the_note_says_why():
    columns, proba, y = table(600)
    found = score_slices(y, proba, columns, "sex", metrics="log_loss", groups=np.repeat(np.arange(6), 100))
    assert {one.verdict for one in found.scores} == {"not tested"}
    assert "No slice was tested." in found.note()
    assert "from at least 10 groups" in found.note()
    assert "groups" not in score_slices(y, proba, columns, "sex", metrics="log_loss").note()
    assert "Observed − predicted: the share of the positive class minus its mean" in found.note()


def test_result_is_a_frame_text_html_json_and_picture():
    columns, proba, y = table()
    columns = columns.with_columns(sex=pl.Series(["<b>f</b>", "m"] * 300))
    found = score_slices(y, proba, columns, metrics="all")
    assert max(map(len, repr(found).splitlines())) <= 80
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>f" not in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["rows"] == 600
    assert found.plot("accuracy").get_xlabel() == "Accuracy"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slices": "height"}, "no column 'height'"),
        ({"slices": " , "}, "at least one column"),
        ({"metrics": ["speed"]}, "unknown classification metric"),
        ({"positive": "maybe"}, "positive must be one of the classes"),
        ({"weights": [-1.0] * 600}, "weights must be finite"),
        ({"classes": ["a", "b"]}, "pass the estimator's classes_"),
        ({"groups": [1]}, "one value per row"),
        ({"least_rows": 1}, "at least 2"),
    ],
)
def test_bad_arguments_are_refused(change, words):
    columns, proba, y = table()
    with pytest.raises(FoldwiseError, match=words):
        score_slices(y, proba, columns, **change)


def test_names_are_listed_once():
    assert slice_names("sex, age,sex") == ["sex", "age"]


@pytest.mark.parametrize("kind", ["bool", "boolean", "integers", "strings", "categories", "polars"])
def test_one_probability_per_row_is_that_of_the_second_class(kind):
    columns, proba, codes = table()
    y = {
        "bool": codes.astype(bool),
        "boolean": pd.Series(codes.astype(bool), dtype="boolean"),
        "integers": codes,
        "strings": np.where(codes, "yes", "no"),
        "categories": pd.Series(np.where(codes, "yes", "no"), dtype="category"),
        "polars": pl.Series(codes.astype(bool)),
    }[kind]
    whole = score_slices(y, proba, columns, "sex").to_frame()
    assert set(whole["metric"]) == {"log_loss", "accuracy", "balanced_accuracy", "roc_auc", "calibration"}
    for predicted in (proba[:, 1], pl.Series(proba[:, 1]), proba[:, 1].tolist()):
        found = score_slices(y, predicted, columns, "sex").to_frame()
        assert found.columns == whole.columns
        np.testing.assert_allclose(found["value"].to_numpy(), whole["value"].to_numpy(), rtol=1e-12)


def test_predicted_labels_have_metrics_of_labels():
    columns, proba, codes = table()
    for names in (np.array([False, True]), np.array(["no", "yes"]), np.array([1, 2])):
        y, labels = names[codes], names[proba.argmax(axis=1)]
        found = score_slices(y, labels, columns, "sex", metrics=["accuracy"])
        assert found.overall["accuracy"] == pytest.approx(accuracy_score(y, labels))
        with pytest.raises(FoldwiseError, match=r"predicted contains labels, but 'log_loss' must be computed"):
            score_slices(y, labels, columns, "sex", metrics="log_loss")
    found = score_slices(np.array(["no", "yes"])[codes], np.array(["no", "yes"])[codes], columns, "sex")
    assert list(found.overall) == ["accuracy", "balanced_accuracy", "calibration"]
    with pytest.raises(FoldwiseError, match=r"predicted contains 'maybe', but the classes are 'no', 'yes'"):
        score_slices(np.array(["no", "yes"])[codes], ["maybe"] * 600, columns, "sex")


def test_numbers_stay_quantities_and_unclear_predictions_are_refused():
    columns, proba, codes = table()
    assert "root_mean_squared_error" in score_slices(codes * 3.5, proba[:, 1], columns, "sex").overall
    assert "root_mean_squared_error" in score_slices(codes, codes, columns, "sex").overall
    with pytest.raises(FoldwiseError, match=r"pass the probabilities of all classes"):
        score_slices(columns["class"].cast(pl.String), proba[:, 1], columns, "sex")
    with pytest.raises(FoldwiseError, match=r"probabilities between 0 and 1, or labels: the classes are False, True"):
        score_slices(codes > 0, proba[:, 1] * 3, columns, "sex")
