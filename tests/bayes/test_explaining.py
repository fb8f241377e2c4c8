"""The probability table and the worked calculation: what they hold, and how they look."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from foldwise import NaiveBayes
from foldwise.errors import FoldwiseWarning


@pytest.fixture
def weather(worked):
    example = worked["weather_numeric"]
    frame = pl.DataFrame(example["rows"], schema=example["columns"], orient="row")
    return NaiveBayes(alpha=0).fit(frame.drop("play"), frame["play"]), pl.DataFrame([example["query"]])


TABLE = """\
attribute    parameter       no      yes
----------------------------------------
(class)      prior         5/14     9/14
----------------------------------------
outlook      overcast       0/5      4/9
             rainy          2/5      3/9
             sunny          3/5      2/9
----------------------------------------
temperature  mean          74.6       73
             sd         7.89303  6.16441
             count            5        9
----------------------------------------
humidity     mean          86.2  79.1111
             sd         9.73139  10.2157
             count            5        9
----------------------------------------
windy        false          2/5      6/9
             true           3/5      3/9"""

CALCULATION = """\
Predicted: 'no' (probability 0.792098). Log-odds compare 'no' with 'yes'.
                            no          yes  log-odds
-----------------------------------------------------
prior                     5/14         9/14   -0.5878
outlook = sunny            3/5          2/9   +0.9933
temperature = 66     0.0279176    0.0339635   -0.1960
humidity = 90         0.037986    0.0221275   +0.5404
windy = true               3/5          3/9   +0.5878
-----------------------------------------------------
product            0.000136347  3.57871e-05   +1.3376
÷ sum 0.000172134     0.792098     0.207902"""


def test_the_table_in_a_terminal(weather):
    assert str(weather[0].table()) == TABLE
    assert repr(weather[0].table()) == TABLE


def test_the_calculation_in_a_terminal(weather):
    model, query = weather
    assert str(model.explain(query)) == CALCULATION


def test_both_in_a_notebook(weather):
    model, query = weather
    for html in (model.table().to_html(), model.explain(query).to_html(), model.explain(query)._repr_html_()):
        assert html.count("<tr>") >= 8
        assert "3/5" in html
    evil = NaiveBayes().fit(pl.DataFrame({"<b>": ["<script>", "x"]}), ["<i>", "k"])
    for html in (evil.table()._repr_html_(), evil.explain(pl.DataFrame({"<b>": ["<script>"]}))._repr_html_()):
        assert "<script>" not in html
        assert "<i>" not in html


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_table_is_a_frame_of_the_library_that_came_in(library):
    model = NaiveBayes().fit(library({"a": ["x", "y", "x"]}), [0, 1, 1])
    frame = model.table().to_frame()
    assert isinstance(frame, type(library({"a": [1]})))
    assert list(pd.DataFrame({c: np.asarray(frame[c]) for c in ["attribute", "parameter", "0", "1"]}).iloc[1]) == [
        "a",
        "x",
        "2/3",
        "2/4",
    ]
    assert np.asarray(model.table().to_frame(numeric=True)["1"]).tolist() == [2 / 3, 0.5, 0.5]
    assert isinstance(NaiveBayes().fit(np.eye(2), [0, 1]).table().to_frame(), pl.DataFrame)


def test_smoothed_fractions_and_broken_weights():
    frame = pl.DataFrame({"a": ["x", "y", "x"]})
    shown = NaiveBayes(alpha=0.5).fit(frame, [0, 1, 1]).table().to_frame()
    assert shown["1"].to_list() == ["2/3", "0.5", "0.5"]
    shown = NaiveBayes().fit(frame, [0, 1, 1], sample_weight=[0.3, 1, 2]).table()
    assert shown.to_frame()["1"].to_list()[1:] == ["3/5", "2/5"]
    assert shown.to_frame()["0"].to_list()[1:] == ["0.565217", "0.434783"]


def test_what_is_left_out_says_so():
    X = pl.DataFrame({"a": ["x", "y"], "v": [1.0, 2.0], "c": [5.0, 5.0]})
    model = NaiveBayes().fit(X, [0, 1])
    text = str(model.explain(pl.DataFrame({"a": ["z"], "v": [None], "c": [6.0]}, schema=X.schema)))
    assert "unseen, ignored" in text
    assert "missing, ignored" in text
    assert "constant in the training rows, ignored" in text
    evidence = NaiveBayes(missing="category", unseen="smooth").fit(
        pl.DataFrame({"a": ["x", None, "y"], "v": [None, 2.0, 3.0]}), [0, 1, 1]
    )
    rows = evidence.explain(
        pl.DataFrame({"a": [None, "q"], "v": [None, 2.0]}, schema={"a": pl.String, "v": pl.Float64})
    )
    notes = [[factor.note for factor in row.factors] for row in rows]
    assert notes[0] == ["missing, treated as a category"] * 2
    assert notes[1] == ["unseen, smoothed", "includes the probability that the value is present"]
    assert [str(f) for f in rows[0].factors[1].fractions] == ["2/3", "1/4"]
    assert "(missing)" in str(evidence.table())
    assert "(unseen)" in str(evidence.table())


def test_the_dict_goes_to_json_and_sums(weather):
    model, query = weather
    facts = model.explain(query)[0].to_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["predicted"] == "no"
    assert facts["factors"][0]["fractions"] == ["3/5", "2/9"]
    for c in (0, 1):
        terms = [facts["prior"]["log"][c], *(f["log"][c] for f in facts["factors"]), -facts["log_normalizer"]]
        assert math.fsum(terms) == pytest.approx(facts["log_proba"][c], rel=1e-12)
    assert model.explain(query).to_dict() == [facts]


def test_contradictory_evidence_is_explained():
    model = NaiveBayes(alpha=0).fit(pl.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}), ["p", "q"])
    query = pl.DataFrame({"a": ["x"], "b": ["y"]})
    explanation = model.explain(query)[0]
    assert explanation.contradictory
    with pytest.warns(FoldwiseWarning):
        assert explanation.proba == pytest.approx(model.predict_proba(query)[0])
    assert "every class is impossible" in str(explanation)
    assert "0/1" in str(explanation)


def test_many_classes_and_rows_stay_within_80_columns(rng):
    X = pl.DataFrame({"a column with quite a long name": rng.normal(size=200), "b": ["some long category text"] * 200})
    model = NaiveBayes().fit(X, rng.integers(0, 26, 200).astype(str))
    text = f"{model.table()}\n{model.explain(X[:2])}"
    assert max(len(line) for line in text.split("\n")) <= 80
    assert "23 less probable classes are not shown" in text
    assert "more classes are not shown" in text
    assert re.search(r"a col[a-z ]*… = -?\d", text)  # a long name leaves room for the value
    assert "b = some long category …" in text
    assert model.table().to_frame().shape == (5, 28)
    assert len(model.explain(X[:5])[1:3]) == 2


def test_products_far_below_a_float(rng):
    X = rng.normal(size=(50, 900))
    model = NaiveBayes().fit(X, np.arange(50) % 2)
    assert "e-5" in str(model.explain(X[:1])).split("product")[1].split("\n")[0]


def test_counts_are_shown_as_powers():
    model = NaiveBayes(families="multinomial").fit(pl.DataFrame({"w": [2, 0, 1], "v": [0, 3, 1]}), [0, 1, 1])
    text = str(model.explain(pl.DataFrame({"w": [2], "v": [0]})))
    assert "(3/4)^2" in text
    assert "(2/7)^2" in text


def test_a_class_called_like_a_column():
    model = NaiveBayes().fit(pl.DataFrame({"a": [1.0, 2.0]}), ["attribute", "parameter"])
    assert model.table().to_frame().columns == ["attribute", "parameter", "class attribute", "class parameter"]
