"""`compare` and `tune` with `--groups`, `--time` and `--weights`: the same splits and weights as in `fit`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, root_mean_squared_error

import foldwise
from foldwise.folds.forward_splits import forward_splits
from foldwise.models import catalogue, outline
from tests.app.command_line import ask, refused

N = 120


@pytest.fixture
def sales(here):
    """Rows of 30 days in any order, with stores, weights and a target of which the rule changes over time."""
    rng = np.random.default_rng(0)
    day = rng.permutation(np.repeat(np.arange(30), N // 30))
    x = rng.normal(size=N)
    frame = pl.DataFrame(
        {
            "day": pl.Series(day).cast(pl.Int64),
            "store": day // 4,
            "weight": rng.integers(0, 4, N),
            "x": x,
            "z": rng.normal(size=N),
            "sold": np.where((x + rng.normal(size=N) > 0) ^ (day > 20), "yes", "no"),
            "amount": 3 * x + rng.normal(size=N),
        }
    ).with_columns(day=pl.date(2024, 1, 1) + pl.duration(days="day"))
    frame.write_csv(here / "sales.csv")
    return frame


def said(*arguments):
    code, out, error = ask(*arguments, "--json")
    assert (code, error) == (0, "")
    return json.loads(out)


def scores_of(name, X, y, splits, metric, weights=None):
    """Scores of fits by hand, on training rows of weight above 0."""
    others = [name for name in ("day", "store", "weight", "sold", "amount") if name != y.name]
    table = foldwise.read_table("sales.csv", target=y.name, drop=others)
    about = outline(table)
    found = []
    for split in splits:
        given = {} if weights is None else {"model__sample_weight": weights[split.train]}
        model = catalogue()[name].pipeline(about).fit(X[split.train], y[split.train].to_numpy(), **given)
        given = {} if weights is None else {"sample_weight": weights[split.test]}
        found.append(metric(y[split.test].to_numpy(), model.predict(X[split.test]), **given))
    return np.array(found)


class TestCompare:
    words = ("compare", "sales.csv", "--models", "logistic_regression,decision_tree")

    def test_rows_are_tested_by_models_of_earlier_rows(self, sales):
        told = said(*self.words, "--target", "sold", "--drop", "amount,store,weight", "--time", "day")
        splits = forward_splits(sales["day"].rank("dense").to_numpy().astype(int), 5)
        assert told["splits"] == len(splits) == 5
        by_hand = scores_of("logistic_regression", sales.select("x", "z"), sales["sold"], splits, accuracy_score)
        score = {one["model"]: one["score"] for one in told["models"]}["logistic_regression"]
        assert score == pytest.approx(by_hand.mean())
        shuffled = said(*self.words, "--target", "sold", "--drop", "amount,store,weight,day", "--cv", "5")
        best = max(one["score"] for one in shuffled["models"])
        assert score < best  # the rule changes, which random folds cannot see

    @pytest.mark.parametrize(
        ("target", "model", "metric"),
        [("sold", "logistic_regression", accuracy_score), ("amount", "ridge", root_mean_squared_error)],
    )
    def test_weights_count_in_training_and_in_scores(self, sales, target, model, metric):
        other = "amount" if target == "sold" else "sold"
        words = ("compare", "sales.csv", "--models", f"{model},decision_tree", "--target", target)
        told = said(*words, "--drop", f"{other},store", "--weights", "weight", "--time", "day")
        kept = sales.filter(pl.col("weight") > 0)
        splits = forward_splits(kept["day"].rank("dense").to_numpy().astype(int), 5)
        weights = kept["weight"].to_numpy().astype(float)
        by_hand = scores_of(model, kept.select("x", "z"), kept[target], splits, metric, weights)
        score = {one["model"]: one["score"] for one in told["models"]}[model]
        assert score == pytest.approx(by_hand.mean(), rel=1e-6)

    def test_calibrated_models_get_weights_too(self, sales):
        words = ("compare", "sales.csv", "--target", "sold", "--drop", "amount,store,day", "--weights", "weight")
        told = said(*words, "--models", "linear_svm,naive_bayes", "--metric", "log_loss", "--cv", "3")
        assert all(0 < one["score"] < 1 for one in told["models"])

    def test_one_split_in_time(self, sales):
        told = said(*self.words, "--target", "sold", "--drop", "amount", "--time", "day", "--cv", "holdout")
        assert told["splits"] == 1

    def test_columns_are_named_as_left_out(self, sales):
        _, _, error = ask(
            *(*self.words, "--target", "sold", "--drop", "amount"),
            *("--time", "day", "--groups", "store", "--weights", "weight"),
        )
        for name, what in (("store", "groups"), ("day", "time"), ("weight", "weights")):
            assert f"{name!r} was used as {what} and left out of the features." in error
        assert "with weight 0 were dropped." in error

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--time", "dya"), "the table has no column 'dya', passed as --time. Hint: did you mean 'day'?"),
            (("--time", "sold"), "'sold' is the target, so it cannot be used as --time."),
            (("--time", "day", "--cv", "2x5"), "folds in order of time cannot be repeated, got"),
            (("--weights", "day"), "the weight column 'day' must hold one number per row, but it contains"),
            (("--weights", "x"), "must hold finite numbers of at least 0, but row 0 holds -"),
            (("--groups", "store", "--cv", "9"), "--cv must be at most 8, the number of groups, got 9 folds."),
            (("--time", "day", "--test", "sales.csv"), "--test cannot be combined with --cv, --groups or --time"),
            (
                ("--weights", "weight", "--models", "rule_list,knn"),
                "the model 'rule_list' does not support row weights.",
            ),
        ],
    )
    def test_bad_input(self, sales, options, words):
        assert words in refused(*self.words, "--target", "sold", *options)

    def test_a_metric_without_weights_is_refused(self, sales):
        words = ("compare", "sales.csv", "--models", "ridge,decision_tree", "--target", "amount")
        found = refused(*words, "--weights", "weight", "--metric", "neg_max_error")
        assert "the metric 'neg_max_error' does not support row weights." in found


class TestTune:
    words = ("tune", "sales.csv", "--target", "sold", "--drop", "amount", "--strategy", "grid")

    def test_searches_use_earlier_rows_only(self, sales, monkeypatch):
        """Both the splits that estimate and those inside them keep the order of time, with groups apart."""
        seen = []
        monkeypatch.setattr(
            "foldwise.folds.forward_splits.forward_splits",
            lambda moments, k, groups=None: seen.append((moments, groups)) or forward_splits(moments, k, groups),
        )
        special = ("--time", "day", "--groups", "store", "--weights", "weight")
        told = said(*self.words, "--model", "decision_tree", *special, "--cv", "2")
        assert told["settings"] > 1
        assert 0 <= told["estimate"]["value"] <= 1
        assert all(groups is not None for _, groups in seen)
        assert len({len(moments) for moments, _ in seen}) == 3  # all rows, and the training rows of two splits

    @pytest.mark.slow
    def test_the_search_score_is_weighted(self, sales):
        told = said(*self.words, "--model", "naive_bayes", "--time", "day", "--weights", "weight", "--cv", "holdout")
        kept = sales.filter(pl.col("weight") > 0)
        splits = forward_splits(kept["day"].rank("dense").to_numpy().astype(int), 5)
        table = foldwise.read_table("sales.csv", target="sold", drop=["amount", "day", "weight"])
        model = catalogue()["naive_bayes"].pipeline(outline(table)).set_params(**told["best"]["setting"])
        weights = kept["weight"].to_numpy().astype(float)
        X, y = kept.select("store", "x", "z"), kept["sold"].to_numpy()
        by_hand = [
            accuracy_score(
                y[one.test],
                model.fit(X[one.train], y[one.train], model__sample_weight=weights[one.train]).predict(X[one.test]),
                sample_weight=weights[one.test],
            )
            for one in splits
        ]
        assert told["best"]["score"] == pytest.approx(np.mean(by_hand))

    def test_words_and_report(self, sales):
        words = ("tune", "sales.csv", "--target", "amount", "--drop", "sold", "--strategy", "grid", "--model", "ridge")
        special = ("--time", "day", "--groups", "store", "--weights", "weight")
        code, out, error = ask(*words, *special, "--cv", "2", "--report", "r.html")
        assert code == 0, error
        assert "nested cross-validation, 2 × 5 folds in order of day and by store" in out
        assert "folds in order of day and by store" in Path("r.html").read_text()
        for name, what in (("store", "groups"), ("day", "time"), ("weight", "weights")):
            assert f"{name!r} was used as {what} and left out of the features." in error

    def test_repeated_folds(self, sales):
        """There are six searches that estimate, each with its own test rows, and one on all rows."""
        words = (*self.words[:-2], "--model", "decision_tree", "--strategy", "random", "--trials", "2", "--jobs", "1")
        code, out, error = ask(*words, "--cv", "2x3")
        assert code == 0, error
        assert "nested cross-validation, 2 × 3 × 5 folds" in out
        assert "\n76 fits in " in out  # 7 searches of 2 settings on 5 folds, and 6 models on the outer ones

    def test_a_test_table_is_scored_once(self, sales):
        """The model of the best setting, fitted on the whole table, as scikit-learn scores it."""
        sales[:80].write_csv("train.csv")
        sales[80:].write_csv("test.csv")
        words = ("tune", "train.csv", "--target", "sold", "--drop", "amount,day", "--strategy", "random", "--cv", "2")
        told = said(*words, "--model", "naive_bayes", "--trials", "2", "--jobs", "1", "--test", "test.csv")
        table = foldwise.read_table("train.csv", target="sold", drop=["amount", "day"])
        model = catalogue()["naive_bayes"].pipeline(outline(table)).set_params(**told["best"]["setting"])
        model.fit(table.X, table.y)
        by_hand = model.score(sales[80:].select(table.X.columns), sales["sold"][80:].to_numpy())
        assert told["estimate"]["test"] == pytest.approx(by_hand)
