"""`explain` shows the probabilities and values that `predict` writes, for every kind of final model."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from foldwise import Calibrated, explain, open_model
from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.explaining import worked_tables
from foldwise.bayes.probability_table import number_text
from foldwise.decisions.calibration import CalibrationData, ClassScores, fit_calibrator
from foldwise.decisions.calibration.scores import model_scores
from foldwise.decisions.calibration.temperature import Temperature
from foldwise.models import catalogue, outline
from tests.app.command_line import ask
from tests.app.runs import TABLE, folder_of

ROWS = (0, 17, 63)
LABELS, CODES = np.unique(TABLE.y, return_inverse=True)
SHARES = np.bincount(CODES) / len(CODES)
CONFIDENT = Temperature(0.4)  # makes naive Bayes, which is too sure of itself, less sure

KINDS = [
    pytest.param(("naive_bayes",), None, id="naive Bayes"),
    pytest.param(("naive_bayes",), CONFIDENT, id="calibrated naive Bayes"),
    pytest.param(("logistic_regression",), CONFIDENT, id="calibrated logistic regression"),
    pytest.param(("decision_tree",), None, id="tree"),
    pytest.param(("hist_gradient_boosting",), CONFIDENT, id="calibrated boosting", marks=pytest.mark.slow),
    pytest.param(("knn",), CONFIDENT, id="calibrated kNN", marks=pytest.mark.slow),
    pytest.param(("linear_svm",), None, id="decision values"),
    pytest.param(("naive_bayes", "decision_tree", "linear_svm"), CONFIDENT, id="calibrated ensemble"),
]


def final_model(names, temper):
    """A model as a run stores it."""
    members = [catalogue()[name].pipeline(outline(TABLE)).fit(TABLE.X, CODES) for name in names]
    weights = (np.arange(len(names)) + 1.0) / sum(range(len(names) + 1))
    maps = [None if hasattr(one, "predict_proba") else sigmoid_of(one) for one in members]
    doubt = 1 / (len(CODES) + len(LABELS))
    return Blend(members, weights.tolist(), maps, temper, SHARES.tolist(), doubt, LABELS.tolist())


def sigmoid_of(member):
    scores: ClassScores = model_scores(member, TABLE.X)
    return fit_calibrator("sigmoid", CalibrationData(scores, CODES, np.ones(len(CODES))))[1]


def written(run, table, out):
    """What `predict` writes."""
    assert ask("predict", run, table, "-o", out)[0] == 0
    return pl.read_csv(out)


@pytest.mark.parametrize(("names", "temper"), KINDS)
def test_probabilities(names, temper, here, new):
    run = folder_of(here / "run", final_model(names, temper), TABLE.X)
    predicted = written(run, new, "out.csv")
    for row in ROWS:
        proba = {label: predicted[f"predicted_p_{label}"][row] for label in LABELS.tolist()}
        best = max(proba, key=proba.__getitem__)
        text = ask("explain", run, new, "--row", row, "--samples", 80)[1]
        said = json.loads(ask("explain", run, new, "--row", row, "--samples", 80, "--json")[1])
        assert said["proba"] == pytest.approx(proba, abs=1e-9)
        if names == ("naive_bayes",):
            assert f"Predicted: {best!r} (probability {number_text(proba[best])})." in text
            assert said["worked"]["predicted"] == predicted["predicted_class"][row]
            assert dict(zip(LABELS, said["worked"]["proba"], strict=True)) == pytest.approx(proba, abs=1e-9)
            assert text.count("naive Bayes before calibration") == 1
            [shown] = re.findall(r"^ *calibrated +(.+)$", text, flags=re.MULTILINE)
            assert shown.split() == [number_text(proba[label]) for label in LABELS]
        else:
            assert all(f"P({label}) = {share:.3g}" in text for label, share in proba.items())
            odds = np.log(proba[best] / (1 - proba[best]))
            assert said["total"] == pytest.approx(odds, abs=1e-6)
            total = float(re.search(r"this row \(sum of the above\) +(\S+)", text)[1])
            assert total == pytest.approx(odds, abs=1e-3)


@pytest.mark.parametrize("temper", [None, CONFIDENT])
def test_probabilities_in_python(temper, here):
    run = folder_of(here / "run", final_model(("naive_bayes",), temper), TABLE.X)
    model = open_model(run / "model.foldwise")
    rows = TABLE.X[list(ROWS)]
    proba = model.predict_proba(rows)
    np.testing.assert_allclose([one.proba for one in explain(model, rows, TABLE.X[:20], n_samples=40)], proba)
    np.testing.assert_allclose([one.proba for one in worked_tables(model, rows)], proba, atol=1e-9)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "dirichlet"])
def test_a_calibrated_naive_bayes(method):
    inner = catalogue()["naive_bayes"].pipeline(outline(TABLE))
    model = Calibrated(inner, method=method, cv=3).fit(TABLE.X, TABLE.y)
    rows = TABLE.X[list(ROWS)]
    for one, proba, label in zip(
        worked_tables(model, rows), model.predict_proba(rows), model.predict(rows), strict=True
    ):
        np.testing.assert_allclose(one.proba, proba, atol=1e-9)
        np.testing.assert_allclose(np.exp(one.log_proba), proba, atol=1e-9)
        assert one.predicted == label
        assert number_text(max(proba)) in str(one).splitlines()[0]
        assert "before calibration" in one.to_html()


def test_values(here, new):
    y = TABLE.X["size"].fill_null(0).to_numpy() * 2.0 + np.arange(TABLE.X.height) / 40
    about = outline(replace(TABLE, y=y))
    names = ("ridge", "decision_tree")
    members = [catalogue()[name].suited("regression").pipeline(about).fit(TABLE.X, y) for name in names]
    run = folder_of(here / "run", ValueBlend(members, (0.25, 0.75)), TABLE.X)
    predicted = written(run, new, "out.csv")["predicted_value"]
    for row in ROWS:
        text = ask("explain", run, new, "--row", row, "--samples", 80)[1]
        said = json.loads(ask("explain", run, new, "--row", row, "--samples", 80, "--json")[1])
        assert said["total"] == pytest.approx(predicted[row], abs=1e-9)
        shown = text.split("predicted value ")[1].split("\n")[0].replace(",", "")
        assert float(shown) == pytest.approx(predicted[row], rel=1e-3)
