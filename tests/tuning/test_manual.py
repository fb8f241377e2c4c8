"""Settings chosen by a person: lists, tables that are edited, ask and tell, and the pictures of a search."""

from __future__ import annotations

import sys
import types

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from foldwise import GridSearchCV, NaiveBayes, SearchCV
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.tuning import (
    CMAES,
    AskTell,
    Bayesian,
    Choice,
    Evolutionary,
    Float,
    Int,
    LivePlot,
    Manual,
    Racing,
    Trial,
    plot_search,
)
from tests.slow import slow

mpl.use("Agg")
X, y = load_iris(return_X_y=True)
SPACE = {"C": Float(0.01, 100, log=True), "kernel": ["linear", "rbf"], "gamma": Float(1e-4, 10, when={"kernel": "rbf"})}


def test_a_table_that_is_edited_between_rounds(tmp_path):
    path = tmp_path / "settings.csv"
    pl.DataFrame({"C": [1.0, 10.0], "kernel": ["linear", "rbf"], "gamma": [None, 0.5]}).write_csv(path)
    search = SearchCV(SVC(), SPACE, strategy=Manual(path)).fit(X, y)
    assert search.cv_results_["params"] == [{"C": 1.0, "kernel": "linear"}, {"C": 10.0, "kernel": "rbf", "gamma": 0.5}]
    table = search.to_frame()
    assert table.columns == ["C", "kernel", "gamma", "score", "std"]
    more = pl.DataFrame({"C": [3.0], "kernel": ["linear"], "gamma": [None], "score": [None], "std": [None]})
    pl.concat([table, more.cast(table.schema)]).write_csv(path)
    again = SearchCV(SVC(), SPACE, strategy=Manual(path), initial_settings=[{"C": 1.0, "kernel": "linear"}]).fit(X, y)
    assert [one["C"] for one in again.cv_results_["params"]] == [1.0, 10.0, 3.0]


def test_the_table_shows_the_metric_that_selects():
    both = ["accuracy", "neg_log_loss"]
    search = SearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.5]}, scoring=both, refit="neg_log_loss").fit(X, y)
    table = search.to_frame()
    np.testing.assert_array_equal(table["score"], search.cv_results_["mean_test_neg_log_loss"])
    np.testing.assert_array_equal(table["std"], search.cv_results_["std_test_neg_log_loss"])


def test_cells_become_values_of_the_space():
    space = {"layers": Choice([(8,), (8, 4), None]), "n": Int(1, 100), "flag": [True, False], "C": Float(0, 9)}
    frame = pl.DataFrame({"layers": ["[8, 4]", "[8]"], "n": [3.0, 4.0], "flag": [True, False], "C": [3.0, 1.5]})
    found = Manual(frame).propose(space, [], None)
    assert found == [
        {"layers": (8, 4), "n": 3, "flag": True, "C": 3.0},
        {"layers": (8,), "n": 4, "flag": False, "C": 1.5},
    ]
    assert isinstance(found[0]["n"], int)
    assert isinstance(found[0]["C"], float)
    assert Manual(frame.to_pandas()).propose(space, [], None) == found


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ([{"C": 1000.0, "kernel": "linear"}], InputError, "not in the search space"),
        (3, FoldwiseTypeError, "list of dicts"),
    ],
)
def test_settings_outside_the_space(settings, error, words):
    with pytest.raises(error, match=words):
        Manual(settings).propose(SPACE, [], None)


class TestAskTell:
    def test_a_table_in_between(self, tmp_path):
        search = AskTell(SPACE, "random", random_state=0)
        first, second = search.ask(), search.ask()
        search.tell(first, 0.5)
        search.tell({"C": 2.0, "kernel": "linear"}, 0.9)
        assert [one.state for one in search.trials] == ["finished", "running", "finished"]
        frame = search.to_frame()
        assert frame["state"].to_list() == ["finished", "running", "finished"]
        frame = frame.with_columns(score=pl.Series([0.5, 0.7, 0.9]))
        frame.write_csv(tmp_path / "edited.csv")
        other = AskTell(SPACE, "random", random_state=0)
        other.read_frame(tmp_path / "edited.csv")
        assert [one.score for one in other.trials] == [0.5, 0.7, 0.9]
        assert other.trials[1].setting == second
        assert other.best.setting == {"C": 2.0, "kernel": "linear"}
        assert "best score 0.9" in repr(other)

    def test_rows_as_a_list(self):
        search = AskTell(SPACE, "random", random_state=0)
        search.read_frame([{"C": 1.0, "kernel": "linear", "score": 0.5}, {"C": 2.0, "kernel": "linear"}])
        assert [(one.setting["C"], one.state) for one in search.trials] == [(1.0, "finished"), (2.0, "running")]

    def test_a_failed_setting(self):
        search = AskTell({"x": Float(0, 1)}, "evolutionary", random_state=0)
        search.tell(search.ask(), None)
        assert search.trials[0].state == "failed"
        with pytest.raises(InputError, match="no setting has a score"):
            _ = search.best

    def test_a_strategy_that_has_ended(self):
        search = AskTell({"x": [1]}, "grid")
        search.tell(search.ask(), 1.0)
        with pytest.raises(InputError, match="no more settings"):
            search.ask()


class TestPictures:
    def test_a_grid_is_a_heat_map(self):
        search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1, 10]}).fit(X, y)
        ax = search.plot()
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("C", "gamma")
        [mesh] = [one for one in ax.collections if hasattr(one, "get_array") and one.get_array() is not None]
        assert mesh.get_array().size == 12
        assert np.nanmax(mesh.get_array()) == search.best_score_
        assert [one.get_text() for one in ax.get_xticklabels()] == ["0.1", "1", "10"]

    @pytest.mark.parametrize("kind", ["best_so_far", "parallel", "importance", "generations", "heat_map"])
    def test_other_kinds(self, kind):
        space = {"C": Float(0.01, 100, log=True), "gamma": Float(1e-4, 10, log=True)}
        search = SearchCV(SVC(), space, strategy=Evolutionary(population=4), n_trials=12, random_state=0).fit(X, y)
        ax = search.plot(kind)
        assert ax.has_data() or ax.patches
        ax.figure.canvas.draw()

    @pytest.mark.parametrize("n_parameters", [1, 2])
    def test_the_process_and_the_next_setting(self, n_parameters):
        names = ["x", "y"][:n_parameters]
        search = AskTell({name: Float(0, 1) for name in names}, Bayesian(), random_state=0)
        for _ in range(9):
            setting = search.ask()
            search.tell(setting, -sum((value - 0.6) ** 2 for value in setting.values()))
        ax = search.plot("process")
        ax.figure.canvas.draw()
        assert ax.get_xlabel() == "x"
        labels = [one.get_text() for one in ax.get_legend().get_texts()]
        assert "next setting" in labels
        if n_parameters == 1:
            mean = ax.lines[0]
            assert abs(mean.get_xdata()[np.argmax(mean.get_ydata())] - 0.6) < 0.1

    def test_conditional_parameters_are_gaps(self):
        search = AskTell({**SPACE, "degree": Int(2, 5)}, "random", random_state=0)
        for _ in range(12):
            search.tell(search.ask(), 0.5)
        ax = search.plot()
        assert len(ax.lines) == 12
        assert any(np.isnan(line.get_ydata()).any() for line in ax.lines)

    def test_the_parameter_that_matters_is_the_important_one(self):
        rng = np.random.default_rng(0)
        trials = [Trial({"a": a, "b": b}, -((a - 0.3) ** 2)) for a, b in rng.random((60, 2))]
        ax = plot_search({"a": Float(0, 1), "b": Float(0, 1)}, trials, "importance")
        widths = {t.get_text(): bar.get_width() for t, bar in zip(ax.get_yticklabels(), ax.patches, strict=True)}
        assert widths["a"] > 0.9

    @pytest.mark.parametrize(
        ("strategy", "label"),
        [
            (Bayesian(), "Expected score (higher is better)"),
            ("cma-es", "Generation"),
            ("random", "Share of the variation of scores"),
            *slow(
                (Racing(Bayesian()), "Expected score (higher is better)"),
                (Evolutionary(population=4), "Generation"),
            ),
        ],
    )
    def test_an_overview_shows_what_the_strategy_did(self, strategy, label):
        space = {"C": Float(0.01, 100, log=True), "gamma": Float(1e-4, 10, log=True)}
        search = SearchCV(SVC(), space, strategy=strategy, n_trials=12, random_state=0).fit(X, y)
        figure = search.plot("overview").figure
        figure.canvas.draw()
        labels = [text for ax in figure.axes for text in (ax.get_xlabel(), ax.get_ylabel())]
        assert {"gamma", "Trial", "Share of the variation of scores", label} <= set(labels)

    @pytest.mark.parametrize(
        ("strategy", "size"),
        [
            (Evolutionary(population=4), 4),
            (Racing(Evolutionary(population=3)), 3),
            (CMAES(population=5), 5),
            (CMAES(), 6),  # 4 + 3 log 2
            (None, 12),
        ],
    )
    def test_generations_have_the_size_of_the_strategy(self, strategy, size):
        space = {"C": Float(0.01, 100, log=True), "gamma": Float(1e-4, 10, log=True), "kernel": ["rbf", "linear"]}
        trials = [Trial({"C": 1.0, "gamma": 0.1, "kernel": "rbf"}, i / 24) for i in range(24)]
        drawn = plot_search(space, trials, "generations", strategy=strategy).get_lines()[0]
        assert drawn.get_xdata().tolist() == [1 + i // size for i in range(24)]

    def test_the_process_of_a_race_is_that_of_its_strategy(self):
        trials = [Trial({"a": one}, -((one - 0.3) ** 2)) for one in (0.0, 0.2, 0.6, 1.0)]
        drawn = [
            plot_search({"a": Float(0, 1)}, trials, strategy=strategy).figure.axes[-1].get_lines()[0].get_ydata()
            for strategy in (Racing(Bayesian(acquisition="ucb")), Bayesian(acquisition="ucb"), Bayesian())
        ]
        np.testing.assert_array_equal(drawn[0], drawn[1])
        assert not np.allclose(drawn[0], drawn[2])

    def test_an_overview_of_gradient_search_shows_its_paths(self):
        space = {"C": Float(0.01, 10, log=True)}
        search = SearchCV(LogisticRegression(max_iter=2000), space, strategy="gradient", random_state=0).fit(X, y)
        labels = [ax.get_ylabel() for ax in search.plot("overview").figure.axes]
        assert "Mean out-of-fold loss (lower is better)" in labels
        with pytest.raises(InputError, match="several axes"):
            search.plot("overview", ax=search.plot("best_so_far"))

    def test_bad_kinds(self):
        trials = [Trial({"a": 0.5}, 1.0)]
        with pytest.raises(InputError, match="kind must be one of"):
            plot_search({"a": Float(0, 1)}, trials, "pie")
        with pytest.raises(InputError, match="two varied parameters, got 1"):
            plot_search({"a": Float(0, 1)}, trials, "heat_map")
        with pytest.raises(InputError, match="nothing to draw"):
            plot_search({"a": Float(0, 1)}, [])
        with pytest.raises(InputError, match="only gradient search"):
            plot_search({"a": Float(0, 1)}, trials, "paths")


def test_a_search_can_be_watched(monkeypatch):
    shown = []

    class Handle:
        def update(self, figure):
            shown.append(figure)

    def display(figure, display_id):
        shown.append(figure)
        return Handle()

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: object()
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    space = {"C": Float(0.1, 10, log=True)}
    watched = SearchCV(SVC(), space, strategy=Evolutionary(population=4), n_trials=12, watch=LivePlot(space))
    watched.fit(X, y)
    assert len(shown) == 3  # once per generation
    assert shown[0].axes[0].get_xlabel() == "Trial"


def test_values_that_are_not_cells_appear_as_text():
    space = {"hidden_layer_sizes": [(4,), (8, 4)], "max_iter": [5]}
    with pytest.warns(ConvergenceWarning):
        frame = GridSearchCV(MLPClassifier(random_state=0), space, cv=2).fit(X, y).to_frame()
    assert frame["hidden_layer_sizes"].to_list() == ["[4]", "[8, 4]"]
