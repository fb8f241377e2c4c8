"""Every figure of the hand-worked examples, to 1e-9, unsmoothed."""

from __future__ import annotations

import math

import polars as pl
import pytest

from foldwise import NaiveBayes


def frame_of(example, columns=None):
    frame = pl.DataFrame(example["rows"], schema=example["columns"], orient="row")
    target = example["columns"][-1]
    return frame.drop(target) if columns is None else frame.select(columns), frame[target].to_numpy()


def likelihoods(model, query, schema):
    joint = model.predict_joint_log_proba(pl.DataFrame([query], schema=schema))[0]
    return dict(zip(model.classes_.tolist(), [math.exp(v) for v in joint], strict=True))


def factor(model, query, schema, column):
    explanation = model.explain(pl.DataFrame([query], schema=schema))[0]
    found = next(f for f in explanation.factors if f.column == column)
    return dict(zip(explanation.classes, found.log, strict=True)), found


def test_points(worked):
    example = worked["points"]
    rows = example["rows"]
    X = pl.DataFrame({name: [float(v) for v in rows[name]] for name in ("x1", "x2")})
    model = NaiveBayes(alpha=0).fit(X, rows["y"])
    numbers = model.table().to_frame(numeric=True)
    for label in (0, 1):
        for j, name in enumerate(("x1", "x2")):
            lines = numbers.filter(pl.col("attribute") == name)
            shown = dict(zip(lines["parameter"], lines[str(label)], strict=True))
            assert shown["mean"] == pytest.approx(example["mean"][str(label)][j], abs=1e-9)
            assert shown["sd"] == pytest.approx(example["sd_n_minus_1"][str(label)][j], abs=1e-8)  # printed to 8 digits
            density = factor(model, example["query"], X.schema, name)[0][label]
            assert math.exp(density) == pytest.approx(example["density"][str(label)][j], abs=1e-8)
    found = likelihoods(model, example["query"], X.schema)
    for label in (0, 1):
        assert found[label] == pytest.approx(example["relative_likelihood"][str(label)], abs=1e-9)
    query = pl.DataFrame([example["query"]])
    assert model.predict_proba(query)[0, 0] == pytest.approx(example["posterior_0"]["exact"], abs=1e-9)
    assert model.predict(query)[0] == example["predicted"]


def test_weather_nominal(worked):
    example = worked["weather_nominal"]
    X, y = frame_of(example)
    model = NaiveBayes(alpha=0).fit(X, y)
    found = likelihoods(model, example["query_full"], X.schema)
    for label, text in example["unsmoothed_likelihood"].items():
        product, printed = text.split(" = ")
        assert found[label] == pytest.approx(float(printed), abs=1e-9)
        exact = math.prod(int(a) / int(b) for a, b in (f.split("/") for f in product.split("*")))
        assert found[label] == pytest.approx(exact, abs=1e-12)
    query = pl.DataFrame([example["query_full"]])
    proba = dict(zip(model.classes_, model.predict_proba(query)[0], strict=True))
    assert proba["yes"] == pytest.approx(example["unsmoothed_posterior_yes"]["exact"], abs=1e-9)

    gap = example["query_missing_outlook"]
    found = likelihoods(model, gap, X.schema)
    for label, value in example["missing_likelihood"].items():
        assert found[label] == pytest.approx(value, abs=1e-9)
    proba = model.predict_proba(pl.DataFrame([gap], schema=X.schema))[0]
    assert proba[1] == pytest.approx(example["missing_posterior_yes"]["exact"], abs=1e-9)


def test_the_fractions_of_the_textbook_are_shown(worked):
    example = worked["weather_nominal"]
    X, y = frame_of(example)
    model = NaiveBayes(alpha=0).fit(X, y)
    # the product of the example, in its own order: yes is 2/9*3/9*3/9*3/9*9/14
    explanation = model.explain(pl.DataFrame([example["query_full"]]))[0]
    for label, text in example["unsmoothed_likelihood"].items():
        c = explanation.classes.index(label)
        terms = [str(f.fractions[c]) for f in explanation.factors] + [str(explanation.prior.fractions[c])]
        assert "*".join(terms) == text.split(" = ")[0]


@pytest.mark.parametrize("alpha", [0, 1, 0.5, 3])
def test_zero_frequency(worked, alpha):
    # "(0+b)/(5+3b)": outlook=overcast never occurs with play=no
    X, y = frame_of(worked["weather_nominal"])
    numbers = NaiveBayes(alpha=alpha).fit(X, y).table().to_frame(numeric=True)
    row = numbers.filter((pl.col("attribute") == "outlook") & (pl.col("parameter") == "overcast"))
    assert row["no"][0] == pytest.approx((0 + alpha) / (5 + 3 * alpha), abs=1e-12)


def test_contradictory_evidence(worked):
    from foldwise.errors import FoldwiseWarning

    X = pl.DataFrame({"a": ["x", "y"], "b": ["x", "y"]})
    model = NaiveBayes(alpha=0, priors=[0.3, 0.7]).fit(X, ["p", "q"])
    with pytest.warns(FoldwiseWarning, match="likelihood 0 for 1 of 1 rows"):
        proba = model.predict_proba(pl.DataFrame({"a": ["x"], "b": ["y"]}))
    assert proba.tolist() == [pytest.approx([0.3, 0.7])]


def test_weather_numeric(worked):
    example = worked["weather_numeric"]
    X, y = frame_of(example)
    model = NaiveBayes(alpha=0).fit(X, y)
    numbers = model.table().to_frame(numeric=True)
    for name, by_class in example["mean_sd"].items():
        lines = numbers.filter(pl.col("attribute") == name)
        for label, (mean, sd) in by_class.items():
            shown = dict(zip(lines["parameter"], lines[label], strict=True))
            assert shown["mean"] == pytest.approx(mean, abs=1e-9)
            assert shown["sd"] == pytest.approx(sd, abs=1e-9)
    for name, key in (("temperature", "density_temperature_66"), ("humidity", "density_humidity_90")):
        logs, _ = factor(model, example["query"], X.schema, name)
        for label, density in example[key].items():
            assert math.exp(logs[label]) == pytest.approx(density, abs=1e-9)
    found = likelihoods(model, example["query"], X.schema)
    for label, value in example["unsmoothed_likelihood"].items():
        assert found[label] == pytest.approx(value, rel=1e-9)
    proba = model.predict_proba(pl.DataFrame([example["query"]]))[0]
    assert proba[1] == pytest.approx(example["posterior_yes"]["exact"], abs=1e-9)


def test_loans(worked):
    example = worked["loans"]
    X, y = frame_of(example, ["home_owner", "marital_status", "income"])
    model = NaiveBayes(alpha=0).fit(X, y)
    found = likelihoods(model, example["nominal_query"], X.schema)
    for label, value in example["nominal_likelihood"].items():
        assert found[label] == pytest.approx(value, abs=1e-9)

    X, y = frame_of(example, ["home_owner", "marital_status", "income_k"])
    model = NaiveBayes(alpha=0).fit(X, y)
    logs, _ = factor(model, example["numeric_query"], X.schema, "income_k")
    found = likelihoods(model, example["numeric_query"], X.schema)
    for label in ("yes", "no"):
        assert math.exp(logs[label]) == pytest.approx(example["numeric_density"][label], abs=1e-9)
        assert found[label] == pytest.approx(example["numeric_likelihood"][label], abs=1e-9)
    assert model.predict(pl.DataFrame([example["numeric_query"]]))[0] == example["predicted"]
