"""docs/how-to-add.md is true: its code adds a metric, a model, a strategy, a session, a family and a report section."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import expon
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

from foldwise import GridSearchCV as FoldwiseGridSearchCV
from foldwise import NaiveBayes, read_table
from foldwise.bayes.families import FAMILIES
from foldwise.evaluation.metrics import METRICS, find_metric
from foldwise.folds import opening
from foldwise.models import catalogue, models_for, outline, unregister
from foldwise.report import html, render
from foldwise.testing import check_family
from tests.searches import assert_same_choice
from tests.tables import table_path

PAGE = (Path(__file__).parents[1] / "docs" / "how-to-add.md").read_text()
CHAPTERS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
SCREEN = 50  # lines


def run(title: str) -> dict[str, Any]:
    """What the code of a chapter defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in re.findall(r"```python\n(.*?)```", CHAPTERS[title], re.DOTALL):
        exec(compile(block, "docs/how-to-add.md", "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("title", CHAPTERS)
def test_a_chapter_fits_on_a_screen(title):
    assert len(CHAPTERS[title].splitlines()) <= SCREEN


def test_every_path_that_is_named_exists():
    root = Path(__file__).parents[1]
    assert [path for path in re.findall(r"`((?:src|tests)/[\w/.]+)`", PAGE) if not (root / path).exists()] == []


def test_a_metric(monkeypatch):
    names = run("A metric")
    ours, metric = names["search"], names["max_error"]
    theirs = GridSearchCV(ours.estimator, ours.param_grid, scoring="neg_max_error", cv=3).fit(names["X"], names["y"])
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10)
    assert_same_choice(ours, theirs)
    monkeypatch.setitem(METRICS, metric.name, metric)
    assert find_metric("max_error")(np.array([1.0, 2.0]), np.array([1.0, 5.0])) == 3.0


def test_a_model():
    run("A model of the catalog")
    try:
        table = read_table(table_path("penguins"), target="species")
        [spec] = models_for(table, ["nearest_centroid"])
        model = spec.pipeline(outline(table)).fit(table.X[::2], table.y[::2])
        assert (model.predict(table.X[1::2]) == table.y[1::2]).mean() > 0.8
        assert list(spec.space(outline(table))) == ["model__shrink_threshold"]
    finally:
        unregister("nearest_centroid")
    assert "nearest_centroid" not in catalogue()


def test_a_search_strategy():
    search = run("A search strategy")["search"]
    tried = search.cv_results_["param_n_neighbors"].tolist()
    assert tried == [2**i for i in range(len(tried))]
    assert len(tried) > 1
    scores = search.cv_results_["mean_test_score"]
    assert (np.diff(scores[:-1]) > 0).all()
    assert scores[-1] <= scores[-2]


def test_a_fold_session(monkeypatch):
    monkeypatch.setattr(opening, "_REGISTERED", {})
    names = run("A fold session")
    search = FoldwiseGridSearchCV(names["estimator"], {"threshold": [0.2, 0.5, 0.8]}, cv=3).fit(names["X"], names["y"])
    assert search.session_ == "threshold"
    assert (search.models_scored_, search.fits_done_) == (9, 3)


def test_a_distribution_family(monkeypatch):
    monkeypatch.setitem(FAMILIES, "exponential", run("A distribution family of naive Bayes")["Exponential"]())
    check_family("exponential", cells=lambda rng, n: rng.exponential(2.0, n))
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.exponential(1.0 + y)[:, None]
    proba = NaiveBayes(families="exponential", priors="uniform").fit(X, y).predict_proba(X)
    densities = np.stack([expon(scale=X[y == k].mean()).pdf(X[:, 0]) for k in (0, 1)], axis=1)
    np.testing.assert_allclose(proba, densities / densities.sum(axis=1, keepdims=True), rtol=1e-10)


def test_a_report_section(monkeypatch):
    section = run("A section of the report")["table_size"]
    monkeypatch.setattr(html, "SECTIONS", (*html.SECTIONS, section))
    X, _ = load_wine(return_X_y=True)
    page = render({"task": {"n_rows": len(X), "n_columns": X.shape[1]}})
    assert "Size of the table" in page
    assert '<td>rows</td><td class="right">178</td>' in page
    assert "Size of the table" not in render({})
