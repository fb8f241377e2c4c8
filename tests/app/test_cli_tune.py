"""`foldwise tune`: the honest estimate comes first, and the files are those that were asked for."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression

from foldwise import open_model
from foldwise.app.cli.compare import ComparisonRequest, print_once
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.cli.tune import SMOOTH, TuneRequest, check_smooth, score_of_test, task_of, tune
from foldwise.errors import InputError, PlotError
from foldwise.fold_plan import FoldPlan
from foldwise.report.formatting import number
from foldwise.report.sections.tuning import KINDS
from tests.slow import slow


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    path = tmp_path_factory.mktemp("tune") / "iris.csv"
    table = load_iris()
    kinds = pl.Series("kind", table.target_names[table.target])
    pl.DataFrame(table.data, schema=["a", "b", "c", "d"]).with_columns(kinds).write_csv(path)
    return path


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Restored after each test, because the command sets it for its worker processes."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")


def request(table, **options):
    defaults = {"model": "rbf_svm", "strategy": "evolutionary", "trials": 8, "budget": None, "metric": None}
    defaults |= {"seed": 0, "jobs": 1, "out": None, "settings": None, "plot": None}
    return TuneRequest(table, TableOptions(), "kind", **{**defaults, **options})


def test_the_honest_estimate_comes_first(iris, tmp_path, capsys):
    files = {"out": tmp_path / "m.foldwise", "settings": tmp_path / "s.csv", "plot": tmp_path / "p.png"}
    tune(request(iris, **files), as_json=False, quiet=False)
    text = capsys.readouterr().out
    assert text.index("Honest estimate (nested cross-validation, 5 × 5 folds)") < text.index(
        "search score (optimistic)"
    )
    assert text.index("search score (optimistic)") < text.index("Best of 8 settings, strategy evolutionary")
    assert max(map(len, text.splitlines())) <= 100
    settings = pl.read_csv(files["settings"])
    assert settings.height == 8
    assert settings.columns == ["model__C", "model__gamma", "score", "std"]
    assert settings["model__C"].min() >= 0.03
    assert settings["model__gamma"].max() <= 8
    assert files["plot"].stat().st_size > 10_000
    model = open_model(files["out"])
    assert model.predict_proba(pl.read_csv(iris).drop("kind")).shape == (150, 3)


def test_json(iris, capsys):
    tune(request(iris, model="knn", metric="log_loss", trials=5), as_json=True, quiet=False)
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == 5
    assert found["estimate"]["low"] < found["estimate"]["value"] < found["estimate"]["high"]
    assert found["estimate"]["metric"] == "log loss"


def test_a_metric_of_probabilities_calibrates_the_svm(iris, capsys, monkeypatch):
    monkeypatch.setattr("foldwise.app.cli.tune.OUTER", FoldPlan(2))
    monkeypatch.setattr("foldwise.app.cli.tune.INNER", FoldPlan(2))
    tune(request(iris, metric="log_loss", trials=2), as_json=False, quiet=False)
    assert "log loss" in capsys.readouterr().out


@pytest.mark.slow
def test_a_budget_instead_of_trials(iris, capsys):
    tune(request(iris, model="decision_tree", strategy="random", trials=None, budget="2s"), as_json=True, quiet=False)
    assert 1 <= json.loads(capsys.readouterr().out)["settings"] < 10_000  # the space has no end, the budget has


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": "5s"}, "--trials and --budget cannot be combined"),
        ({"model": "forest"}, "forest"),
        ({"strategy": "guess"}, "strategy must be one of"),
        ({"model": "naive_bayes", "metric": "guess"}, "unknown metric"),
    ],
)
def test_bad_input(iris, options, words):
    with pytest.raises(InputError, match=words):
        tune(request(iris, **options), as_json=False, quiet=True)


@pytest.mark.parametrize(
    ("model", "strategy", "metric", "kinds"),
    [
        ("rbf_svm", "bayesian", None, ["heat_map", "process", "best_so_far", "importance"]),
        *slow(
            ("rbf_svm", "evolutionary", "log_loss", ["heat_map", "generations", "best_so_far", "importance"]),
            ("logistic_regression", "gradient", "log_loss", ["process", "paths", "best_so_far"]),
            ("decision_tree", "random", None, ["parallel", "best_so_far", "importance"]),
        ),
    ],
)
def test_the_report_shows_the_strategy(model, strategy, metric, kinds, iris, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foldwise.app.cli.tune.OUTER", FoldPlan(2))
    monkeypatch.setattr("foldwise.app.cli.tune.INNER", FoldPlan(2))
    path = tmp_path / "report.html"
    options = {"model": model, "strategy": strategy, "metric": metric, "trials": 10, "report": path}
    tune(request(iris, **options), as_json=True, quiet=False)
    found, page = json.loads(capsys.readouterr().out), path.read_text()
    captions = re.findall(r"<figcaption>([^<]*)</figcaption><img", page)
    assert captions == [KINDS[kind][0] for kind in kinds]
    for encoded in re.findall(r'src="data:image/png;base64,([^"]+)"', page):
        assert base64.b64decode(encoded, validate=True).startswith(b"\x89PNG")
    estimate, best = found["estimate"], found["best"]
    interval = f"{number(estimate['value'])} (95% interval {number(estimate['low'])} to {number(estimate['high'])})"
    assert f"Expected {estimate['metric']} on new data: {interval}" in page
    assert f"{found['settings']} settings tried, best {estimate['metric']} {number(best['score'])} on 2 of 2" in page
    assert "Search score (optimistic)" in page
    assert "Baseline" in page
    assert len(page) < 1_000_000


def test_the_report_of_a_quantity(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foldwise.app.cli.tune.OUTER", FoldPlan(2))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(kind=X[:, 0] + rng.normal(size=60))
    frame.write_csv(tmp_path / "t.csv")
    path = tmp_path / "r.html"
    tune(request(tmp_path / "t.csv", model="ridge", strategy="grid", trials=5, report=path), as_json=False, quiet=False)
    assert f"report   {path}" in capsys.readouterr().out
    page = path.read_text()
    assert "root mean squared error, lower is better" in page
    assert "predicts the mean" in page
    assert ": 5 settings tried" in page  # quantiles of the distribution of alpha


def test_a_picture_without_matplotlib_is_refused_first(iris, tmp_path, no_matplotlib):
    no_matplotlib()
    with pytest.raises(PlotError, match=r"plots need matplotlib.*foldwise\[plots\]"):
        tune(request(iris, plot=tmp_path / "picture.png"), as_json=False, quiet=True)


def test_a_file_that_cannot_be_written_is_refused_first(iris, tmp_path):
    with pytest.raises(InputError, match=r"--plot must end in .png, .svg or .pdf, got 'picture.docx'"):
        tune(request(iris, plot=tmp_path / "picture.docx"), as_json=False, quiet=True)
    with pytest.raises(InputError, match="--report must be a file in an existing folder"):
        tune(request(iris, report=tmp_path / "nowhere" / "r.html"), as_json=False, quiet=True)


@pytest.mark.parametrize("metric", ["neg_max_error", "rmse", "pinball_loss_0.9"])
def test_errors_are_positive_whoever_defines_the_metric(metric, tmp_path, capsys, rng):
    """Also those of scikit-learn's scorers that the registry does not have, and of metrics without a scorer's name."""
    x = rng.normal(size=(2, 40))
    for name, column in zip(("train", "test"), x, strict=True):
        pl.DataFrame({"x": column, "y": 3 * column + rng.normal(size=40)}).write_csv(tmp_path / f"{name}.csv")
    options = {"model": "ridge", "metric": metric, "test": tmp_path / "test.csv"}
    asked = replace(request(tmp_path / "train.csv", **options), target="y")
    task = task_of(asked)
    tested = score_of_test(asked, task, SimpleNamespace(best_estimator_=LinearRegression()))
    assert tested > 0
    comparison = ComparisonRequest(asked.table, TableOptions(), "y", ["ridge"], "0.5", metric, 0, 1)
    print_once(comparison, task.rows, [("ridge", -tested)], as_json=True, quiet=False)
    shown = json.loads(capsys.readouterr().out)
    assert shown["models"] == [{"model": "ridge", "score": pytest.approx(tested)}]
    assert not shown["metric"].startswith("neg_")


def test_progress_without_a_report_of_the_strategy(iris, capsys, monkeypatch):
    monkeypatch.setattr("foldwise.app.cli.tune.OUTER", FoldPlan(2))
    monkeypatch.setattr("foldwise.app.cli.tune.INNER", FoldPlan(2))
    tune(request(iris, model="knn", trials=2), as_json=False, quiet=False)
    assert "estimating by nested cross-validation, 2 searches" in capsys.readouterr().err
    tune(request(iris, model="knn", trials=2), as_json=True, quiet=False)
    assert not capsys.readouterr().err


def test_a_budget_that_was_exceeded_is_noted(iris, capsys, monkeypatch):
    monkeypatch.setattr("foldwise.app.timing.MOST_OVERRUN", 0.0)
    monkeypatch.setattr("foldwise.app.table_facts.MOST_OVERRUN", 0.0)
    given = {"model": "decision_tree", "strategy": "random", "trials": None, "budget": "2s"}
    tune(request(iris, **given), as_json=True, quiet=False)
    [note] = json.loads(capsys.readouterr().out)["notes"]
    assert "more than its budget of 2 s. Its longest phase was 'estimating by nested cross-validation" in note


@pytest.mark.parametrize(
    ("target", "able", "others"),
    [("kind", SMOOTH[False], ["decision_tree"]), ("a", SMOOTH[True], ["lasso", "decision_tree"])],
)
def test_gradient_search_of_models_of_the_catalog(iris, target, able, others):
    def check(model):
        given = request(iris, model=model, strategy="gradient")
        task = task_of(replace(given, target=target, task="regression" if target == "a" else None))
        check_smooth(model, task.spec.pipeline(task.outline, 0), task.spec.space(task.outline), task.is_quantity)

    for model in able:
        check(model)
    for model in others:
        with pytest.raises(InputError, match=f"pass --model {' or '.join(able)}, or another strategy"):
            check(model)
