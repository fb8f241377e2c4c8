"""Nested scores inside an engine equal those of a local run with the same folds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import SVR

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, beside, scans
from foldwise.errors import InputError
from foldwise.evaluation import nested_in_engine
from foldwise.evaluation.engine_nested import EngineNestedResult
from foldwise.evaluation.metrics import METRICS, find_metric
from tests.engines.conftest import loader
from tests.engines.tables import LocalNested, local_nested, mixed_table
from tests.slow import slow

GRID = [{"alpha": a, "var_floor": f} for a in (0.1, 5.0) for f in (1e-9, 0.3)]


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_naive_bayes(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(800)
    with loader(engine, request, tmp_path) as load:
        found = nested_in_engine(NaiveBayes(), GRID, load(frame), "label", key="id", outer=3, inner=2, seed=4)
    plain = local_nested(frame, "label", KeyFolds("id", 3, 2, 4), NaiveBayes(), GRID)
    assert found.sample_rows == 800  # the sample is the whole table, so that inner scores are equal as well
    assert_same_scores(found, plain)
    assert "sample of 800 rows" in repr(found)


def assert_same_scores(found: EngineNestedResult, plain: LocalNested) -> None:
    np.testing.assert_allclose(found.inner_scores, plain.inner, rtol=1e-9)
    assert list(found.best_params) == plain.best
    np.testing.assert_allclose(found.fold_scores, plain.outer, rtol=1e-9)
    assert found.standard_error == pytest.approx(plain.standard_error, rel=1e-8)
    assert found.sample_error == pytest.approx(plain.sample_error, rel=1e-8)


@pytest.mark.parametrize("engine", ["duckdb", *slow("sqlite", "postgres", "spark")])
def test_a_sample_of_some_rows(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Models of inner folds learn from all training rows, and are scored on those that are in the sample."""
    frame, folds = mixed_table(1000), KeyFolds("id", 3, 2)
    with loader(engine, request, tmp_path) as load:
        found = nested_in_engine(NaiveBayes(), GRID, load(frame), "label", key="id", outer=3, inner=2, sample=400)
    sampled = folds.sampled(frame["id"].to_list(), 0.4)
    assert found.sample_rows == sampled.sum()
    assert 300 < sampled.sum() < 500
    assert_same_scores(found, local_nested(frame, "label", folds, NaiveBayes(), GRID, sampled))
    assert f"sample of {sampled.sum()} rows (standard error" in repr(found)


def test_the_statements_can_be_run_again(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """`sql()` has each statement that was run: the last one gives the scores, fold by fold."""
    with loader("postgres", request, tmp_path) as load:
        table = load(mixed_table(500))
        found = nested_in_engine(NaiveBayes(), GRID, table, "label", key="id", outer=3, inner=2)
        statements = found.sql().split(";\n\n")
        assert statements == list(found.statements)
        answers = [table.get_backend().con.execute(text).fetchall() for text in statements]
    assert sum(n for _, n, _, _ in answers[-1]) == 500
    assert [s / n for _, n, s, _ in sorted(answers[-1])] == pytest.approx(found.fold_scores.tolist())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SVR(), "SVR cannot be fitted to facts, because it needs more than counts and sums"),
        (LogisticRegression(), "LogisticRegression cannot be fitted to facts"),
    ],
)
def test_estimators_that_need_rows_are_refused(
    estimator: Any, message: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Before any statement is run: the column of the target does not even exist."""
    with loader("duckdb", request, tmp_path) as load, pytest.raises(InputError, match=message):
        nested_in_engine(estimator, [{}], load(mixed_table(50)), "nothing", key="id")


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])  # joined logarithms, and cases
def test_the_first_class_may_be_missing_from_a_fold(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Scores are differences to the first class with training rows, which is another one in this fold."""
    frame, folds = mixed_table(400).drop("far"), KeyFolds("id", 3, 2)  # means of 1e8 round by 1e-8, merged or not
    only = folds.assign(frame["id"].to_list())[:, 0] == 1
    labels = np.where(only & (np.arange(400) % 4 == 0), "a rare class", frame["label"].to_numpy())
    frame = frame.with_columns(label=pl.Series(labels.tolist()))
    with loader(engine, request, tmp_path) as load:
        found = nested_in_engine(NaiveBayes(), GRID[:1], load(frame), "label", key="id", outer=3, inner=2)
    assert found.missing_classes == ("class 'a rare class' has no training rows in fold 1",)
    plain = local_nested(frame, "label", folds, NaiveBayes(), GRID[:1])
    np.testing.assert_allclose(found.fold_scores, plain.outer, rtol=1e-9)


def test_three_scans(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """DuckDB counts the categories and draws the sample in the scan of the sums, unless a column has too many.

    The folds of a dense integer key become bits when the key is checked, so that each key is hashed once.
    """
    frame, found = mixed_table(3000).drop("by class"), []  # its pivot is poor, so that it is summed twice
    sparse = frame.with_columns(pl.when(pl.col("id") == 7).then(10**12).otherwise("id").alias("id"))
    with loader("duckdb", request, tmp_path) as load:
        for rows, few in ((frame, 1000), (frame, 2), (sparse, 1000)):
            monkeypatch.setattr(scans, "FEW_LEVELS", few)
            table = load(rows)
            found.append(nested_in_engine(NaiveBayes(), GRID, table, "label", key="id", outer=3, inner=2))
    hashed = [sum("md5" in text.lower() for text in one.statements) for one in found]
    assert hashed == [1, 1, 2]  # the check of the key; or facts and scores
    # classes, the key on its own, whether it is unique, pivots from 1,000 rows, facts, scores
    assert len(found[0].statements) == 6
    np.testing.assert_allclose(found[0].inner_scores, found[1].inner_scores, rtol=1e-12)
    np.testing.assert_allclose(found[0].fold_scores, found[1].fold_scores, rtol=1e-12)


@pytest.mark.parametrize("engine", ["postgres", *slow("spark")])
def test_three_scans_by_grouping_sets(
    engine: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Classes and key, facts and sample, scores; the pivots come from 1,000 rows."""
    frame, found = mixed_table(3000).drop("by class"), []
    with loader(engine, request, tmp_path) as load:
        table = load(frame)
        for most in (beside.MOST_SET_SUMS, 0):
            monkeypatch.setattr(beside, "MOST_SET_SUMS", most)
            options = {"key": "id", "outer": 3, "inner": 2, "sample": 1000}
            found.append(nested_in_engine(NaiveBayes(), GRID, table, "label", **options))
    assert [len(one.statements) for one in found] == [4, 6]
    assert found[0].sample_rows == int(KeyFolds("id", 3, 2).sampled(frame["id"].to_list(), 1 / 3).sum())
    np.testing.assert_allclose(found[0].inner_scores, found[1].inner_scores, rtol=1e-12)
    np.testing.assert_allclose(found[0].fold_scores, found[1].fold_scores, rtol=1e-12)


def test_the_bits_of_folds_are_dropped(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Also in a transaction of the user's own, which goes on."""
    with loader("duckdb", request, tmp_path) as load:
        table = load(mixed_table(200))
        raw = table.get_backend().con
        raw.execute("begin transaction")
        nested_in_engine(NaiveBayes(), [{}], table, "label", key="id", outer=2, inner=2)
        assert raw.execute("select count(*) from duckdb_tables() where temporary").fetchone() == (0,)
        raw.execute("rollback")


@pytest.mark.parametrize(
    ("engine", "metric"),
    [
        ("duckdb", "accuracy"),
        ("postgres", "accuracy"),
        *slow(("duckdb", "brier_score"), ("postgres", "brier_score"), ("sqlite", "accuracy")),
    ],
)
def test_other_metrics(engine: str, metric: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(500)
    folds = KeyFolds("id", 3, 2)
    with loader(engine, request, tmp_path) as load:
        found = nested_in_engine(
            NaiveBayes(families={"whole": "binned"}, column_weights={"color": 0.5}, temperature=2.0),
            [{}], load(frame), "label", key="id", outer=3, inner=2, metric=metric, values=["whole"], sample=250,
        )  # fmt: skip
    assert found.sample_rows == int(folds.sampled(frame["id"].to_list(), 0.5).sum())
    assigned = folds.assign(frame["id"].to_list())[:, 0]
    X, y = frame.drop("id", "label"), frame["label"].to_numpy()
    for o in range(3):
        model = NaiveBayes(families={"whole": "binned"}, column_weights={"color": 0.5}, temperature=2.0)
        shares = model.fit(X.filter(assigned != o), y[assigned != o]).predict_proba(X.filter(assigned == o))
        truth = y[assigned == o][:, None] == model.classes_
        wanted = (
            truth[np.arange(len(shares)), shares.argmax(axis=1)]
            if metric == "accuracy"
            else ((shares - truth) ** 2).sum(axis=1)
        )
        assert found.fold_scores[o] == pytest.approx(wanted.mean(), rel=1e-9)


@pytest.mark.parametrize("engine", ["duckdb", *slow("sqlite", "postgres", "spark")])
def test_ridge_from_gram_matrices(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(400)
    grid = {"alpha": [0.1, 1000.0]}
    with loader(engine, request, tmp_path) as load:
        found = nested_in_engine(
            Ridge(), grid, load(frame), "by class", columns=["far", "whole"], key="id", outer=3, inner=2
        )
    assigned = KeyFolds("id", 3, 2).assign(frame["id"].to_list())[:, 0]
    X, y = frame.select("far", "whole").to_numpy() - [1e8, 0], frame["by class"].to_numpy()
    for o, setting in enumerate(found.best_params):
        model = Ridge(**setting).fit(X[assigned != o], y[assigned != o])
        error = np.sqrt(np.mean((model.predict(X[assigned == o]) - y[assigned == o]) ** 2))
        assert found.fold_scores[o] == pytest.approx(error, rel=1e-9)
    assert found.sample_rows is None
    # rows and key, which DuckDB reads on its own; pivots from 1,000 rows; sums; products
    assert len(found.statements) == (5 if engine == "duckdb" else 4)


@pytest.mark.parametrize(
    ("engine", "classes"),
    [
        ("duckdb", "three"),
        ("duckdb", "two"),
        ("sqlite", "one is missing from a fold"),
        ("postgres", "one is missing from a fold"),
        *slow(("duckdb", "one is missing from a fold"), ("postgres", "three"), ("spark", "one is missing from a fold")),
    ],
)
def test_ridge_classifier(engine: str, classes: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Its models come from sums of products, and its accuracy from scores of rows."""
    frame, folds = mixed_table(800), KeyFolds("id", 3, 2, 1)
    assigned = folds.assign(frame["id"].to_list())
    label = {
        "three": frame["label"].to_numpy(),
        "two": frame["label"].to_numpy() == "no",
        "one is missing from a fold": np.where(
            (assigned[:, 0] == 1) & (np.arange(800) % 4 == 0), "a rare class", np.where(frame["flag"], "yes", "no")
        ),
    }[classes]
    noise = np.random.default_rng(0).normal(size=(2, 800)) + (label == label[0])
    frame = frame.with_columns(label=pl.Series(label.tolist()), here=noise[0], there=noise[1] * 1e-3)
    names, settings = ["far", "whole", "here", "there"], [{"alpha": 1e-3}, {"alpha": 1e4}]
    if engine == "spark":  # it would compile a program for each statement
        request.getfixturevalue("spark_interpreter")
    with loader(engine, request, tmp_path) as load:
        found = nested_in_engine(
            RidgeClassifier(), settings, load(frame), "label",
            columns=names, key="id", outer=3, inner=2, seed=1, sample=400,
        )  # fmt: skip
    X, y = frame.select(names).to_numpy() - [1e8, 0, 0, 0], frame["label"].to_numpy()  # scikit-learn would lose digits
    sampled = folds.sampled(frame["id"].to_list(), 0.5)

    def right(setting: Any, train: Any, test: Any) -> Any:
        return RidgeClassifier(**setting).fit(X[train], y[train]).predict(X[test]) == y[test]

    every = []
    for o in range(3):
        rest, parts = assigned[:, 0] != o, [assigned[:, 1] == i for i in range(2)]
        inner = [
            np.concatenate([right(one, rest & ~part, rest & part & sampled) for part in parts]).mean()
            for one in settings
        ]
        assert found.inner_scores[o] == pytest.approx(inner, abs=1e-12)
        assert found.best_params[o] == settings[int(np.argmax(inner))]
        every.append(right(found.best_params[o], rest, ~rest))
        assert found.fold_scores[o] == pytest.approx(every[-1].mean(), abs=1e-12)
    assert (found.metric, found.sample_rows, found.n_rows) == ("accuracy", int(sampled.sum()), 800)
    whole = np.concatenate(every)
    assert found.standard_error == pytest.approx(whole.std() / np.sqrt(800))
    assert found.score == pytest.approx(whole.mean())
    assert 0.5 < whole.mean() < 0.95
    assert len(found.missing_classes) == (classes == "one is missing from a fold")


def test_metrics_of_classifiers_without_probabilities(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """They are refused before any statement is run: the column of the target does not even exist."""
    with loader("duckdb", request, tmp_path) as load:
        for metric in ("log_loss", "brier"):
            with pytest.raises(InputError, match=f"'{metric}' needs probabilities, which RidgeClassifier does not"):
                nested_in_engine(RidgeClassifier(), [{}], load(mixed_table(50)), "nothing", key="id", metric=metric)


TWO = {"log_loss": "log_loss", "brier": "brier_score", "neg_brier_score": "brier_score", "accuracy": "accuracy"}


@pytest.mark.parametrize(("asked", "name"), TWO.items())
def test_metrics_of_two_classes_are_those_of_the_registry(
    asked: str, name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The Brier score counts one class of two: it is (p - y)², not twice that."""
    frame = mixed_table(300).drop("far").with_columns(label=pl.col("flag").cast(pl.String)).drop("flag")
    folds, model, options = KeyFolds("id", 2, 2), NaiveBayes(), {"key": "id", "outer": 2, "inner": 2}
    with loader("duckdb", request, tmp_path) as load:
        found = nested_in_engine(model, [{}], load(frame), "label", metric=asked, **options)
    assert found.metric == name
    assert repr(found).startswith(METRICS[name].title)
    assigned = folds.assign(frame["id"].to_list())
    X, y = frame.drop("id", "label"), (frame["label"] == "true").to_numpy().astype(int)
    parts = [(assigned[:, 0] != o, assigned[:, 0] == o) for o in range(2)]
    for o, (train, test) in enumerate(parts):
        proba = model.fit(X.filter(train), y[train]).predict_proba(X.filter(test))
        assert found.fold_scores[o] == pytest.approx(METRICS[name](y[test], proba), rel=1e-9)
        inner = [(train & (assigned[:, 1] != i), train & (assigned[:, 1] == i)) for i in range(2)]
        scores = [
            METRICS[name].by_row(y[one], model.fit(X.filter(rest), y[rest]).predict_proba(X.filter(one)))
            for rest, one in inner
        ]
        assert found.inner_scores[o, 0] == pytest.approx(np.concatenate(scores).mean(), rel=1e-9)


def test_metrics_of_a_quantity_have_the_names_of_the_registry(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    options = {"columns": ["whole"], "key": "id", "outer": 2, "inner": 2}
    with loader("duckdb", request, tmp_path) as load:
        table = load(mixed_table(100))
        of_values = (Ridge(), [{}], table, "by class")
        root, square = (nested_in_engine(*of_values, metric=one, **options) for one in ("rmse", "mse"))
        assert (root.metric, square.metric) == ("root_mean_squared_error", "mean_squared_error")
        assert square.score == pytest.approx(root.score**2)
        assert repr(square).startswith("mean squared error ")
        for metric in ("accuracy", "mae", "speed"):
            with pytest.raises(InputError, match=f"one of root_mean_squared_error, mean_squared_error .*'{metric}'"):
                nested_in_engine(*of_values, metric=metric, **options)
        with pytest.raises(InputError, match=r"one of log_loss, brier_score, accuracy .* got 'roc_auc'"):
            nested_in_engine(NaiveBayes(), [{}], table, "label", metric="roc_auc", key="id", outer=2, inner=2)
    assert not find_metric(root.metric).greater_is_better


@pytest.mark.parametrize("scale", [1.0, 1e-7])
def test_the_first_of_tied_settings_wins(scale: float, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(200).with_columns(pl.col("by class") * 1e-6 * scale, near=pl.col("far") - 1e8).drop("far")
    options = {"key": "id", "outer": 2, "inner": 2}
    alphas = [1.0, 1.0 + 1e-10, 1.0 - 1e-10]  # their scores differ by 1e-12 and less
    with loader("duckdb", request, tmp_path) as load:
        table = load(frame)
        for some in (alphas, alphas[::-1]):
            clearly_worse = [{"alpha": 1e9}, *({"alpha": one} for one in some)]
            linear = nested_in_engine(Ridge(), clearly_worse, table, "by class", columns=["near"], **options)
            assert linear.best_params == ({"alpha": some[0]},) * 2
            settings = [{"alpha": one} for one in some]
            bayes = nested_in_engine(NaiveBayes(), settings, table, "label", **options)
            assert bayes.best_params == (settings[0],) * 2


def test_settings_that_are_no_settings(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with loader("duckdb", request, tmp_path) as load:
        table = load(mixed_table(50))
        for given in (None, "alpha", ["alpha"], 1):
            with pytest.raises(TypeError, match="settings must be a grid or a list of dicts, got"):
                nested_in_engine(NaiveBayes(), given, table, "label", key="id")  # type: ignore[arg-type]


def test_errors_of_small_quantities_have_three_digits(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(60).select("id", "whole").with_columns(y=pl.int_range(60).sin() * 1e-4)
    with loader("duckdb", request, tmp_path) as load:
        found = nested_in_engine(Ridge(), [{}], load(frame), "y", key="id", columns=["whole"], outer=2, inner=2)
    assert re.match(
        r"root mean squared error 0\.0000\d\d\d? on 60 rows|root mean squared error \d\.\d+e-05 on", repr(found)
    )
