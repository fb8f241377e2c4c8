"""Tall tables: nested subsamples of training rows, and a schedule in which the best models climb to more rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise.app import subsamples
from foldwise.app.config import FitConfig
from foldwise.app.model_plan import ModelPlan
from foldwise.app.setup import RunSetup
from foldwise.app.subsamples import RowSamples, stratified_ranks, with_fewer_tested
from foldwise.app.task import make_task
from foldwise.evaluation.metrics import class_metric
from foldwise.folds.splits import Split
from tests.app.fakes import fake_fit
from tests.app.test_schedule import SPACE, Simulation

N_ROWS = 900


@pytest.fixture(autouse=True)
def small_rungs(monkeypatch):
    """Rungs of a table that is quick to make."""
    monkeypatch.setattr(subsamples, "TALL", 500)
    monkeypatch.setattr(subsamples, "RUNGS", (60, 180))
    monkeypatch.setattr(subsamples, "MOST_TEST", 80)


def frame(n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    y = rng.random(n_rows) < 0.2
    columns = {"x": rng.normal(size=n_rows) + y, "z": rng.normal(size=n_rows), "who": np.arange(n_rows) // 6}
    return pl.DataFrame({**columns, "day": rng.permutation(n_rows), "y": np.where(y, "rare", "usual")})


def setup_of(**options):
    options = {"target": "y", "budget": 20, **options}
    named = {name: options.get(name) for name in ("groups", "time")}
    task = make_task(frame(), "y", **named)
    return RunSetup.make(FitConfig(**options), task, class_metric(None, task.classes, None, None), 2)


def test_rungs_are_nested_and_stratified_and_keep_to_the_training_rows():
    setup = setup_of()
    assert setup.samples.sizes[:2] == (60, 180)
    for k, split in enumerate(setup.splits):
        small, middle = setup.samples.train(k, 0), setup.samples.train(k, 1)
        assert setup.samples.train(k, 2) is None
        assert set(small) < set(middle) < set(split.train)
        assert len(split.test) == 80
        assert not set(split.test) & set(split.train)
        for rows in (small, middle, split.test):
            share = (setup.task.y[rows] == 0).mean()
            assert share == pytest.approx((setup.task.y == 0).mean(), abs=4 / len(rows))


def test_the_final_model_of_a_rung_learns_from_as_large_a_share_of_all_rows():
    samples = setup_of().samples
    assert len(samples.refit(0)) == round(60 / samples.sizes[-1] * N_ROWS)
    assert samples.refit(2) is None


def test_groups_stay_together_and_with_a_time_column_the_latest_rows_are_taken():
    setup = setup_of(groups="who")
    rows = setup.samples.train(0, 0)
    whole = np.bincount(setup.task.groups[rows])
    assert (whole > 0).sum() <= 11  # ten groups of six rows, and one that is cut
    setup = setup_of(time="day")
    last = len(setup.splits) - 1
    rows, train = setup.samples.train(last, 0), setup.splits[last].train
    assert setup.task.moments[rows].min() > np.delete(setup.task.moments[train], np.searchsorted(train, rows)).max()


def test_a_table_that_is_not_tall_has_one_rung(monkeypatch):
    monkeypatch.setattr(subsamples, "TALL", 1000)
    setup = setup_of()
    assert len(setup.samples.sizes) == 1
    assert setup.samples.train(0, 0) is None
    assert setup.predict_job(type("Batch", (), {"model": "knn", "settings": (), "rung": 0}), [], 0).rows is None


def test_many_held_out_rows_are_sampled_and_the_words_say_so(monkeypatch):
    codes = np.arange(900) % 3
    splits = [Split(np.arange(300, 900), np.arange(300)), Split(np.arange(300), np.arange(300, 900))]
    monkeypatch.setattr(subsamples, "MOST_TEST_SHORT", 90)
    fewer, words = with_fewer_tested(splits, "2 folds", codes, 0, short=True)
    assert words == "2 folds, each tested on 90 of its held-out rows"
    for few, all_ in zip(fewer, splits, strict=True):
        assert (few.train == all_.train).all()
        assert set(few.test) <= set(all_.test)
        assert np.bincount(codes[few.test]).tolist() == pytest.approx([30, 30, 30], abs=5)
    monkeypatch.setattr(subsamples, "MOST_TEST", 600)
    assert with_fewer_tested(splits, "2 folds", codes, 0, short=False) == (splits, "2 folds")


def test_ranks_of_a_class_are_evenly_spaced():
    ranks = stratified_ranks(np.array([0] * 10 + [1] * 40), np.random.default_rng(0))
    assert np.diff(np.sort(ranks[:10])) == pytest.approx(0.1)
    assert (np.sort(ranks)[:25] == np.sort(np.sort(ranks)[:25])).all()


class TestClimbing:
    """The best of the finished models go on to more rows."""

    def simulation(self, **options):
        models = {f"m{i}": ModelPlan(f"m{i}", 0.5, SPACE, growth=(1.0, 5.0, 25.0)) for i in range(10)}
        return Simulation(models, {name: i / 10 for i, name in enumerate(models)}, n_splits=3, **options)

    def test_the_best_climb_once_eight_models_are_finished(self):
        found = self.simulation(end=200.0).run()
        climbed = [one for one in found.state.batches if one.rung]
        first = climbed[0].number
        assert len({one.model for one in found.state.batches[:first] if one.complete(3)}) >= 8
        assert climbed[0].model in ("m8", "m9")
        assert max(one.rung for one in climbed) == 2
        assert all(one.climbed_from is not None for one in climbed)
        assert found.now <= 200.0 + 12.5

    def test_each_batch_climbs_once_and_a_rung_is_finished_before_the_next_job(self):
        found = self.simulation(end=200.0).run()
        sources = [one.climbed_from for one in found.state.batches if one.rung]
        assert len(sources) == len(set(sources))
        numbers = [number for _, number, _ in found.jobs]
        for one in found.state.batches:
            if one.rung and one.complete(3):
                at = [i for i, number in enumerate(numbers) if number == one.number]
                assert at == list(range(at[0], at[0] + 3))

    def test_a_rung_that_does_not_fit_into_the_time_left_is_not_begun(self):
        found = self.simulation(end=30.0).run()
        assert max(one.rung for one in found.state.batches) <= 1
        assert found.now <= 30.0 + 2.5


def test_a_run_on_a_tall_table_climbs_and_its_final_model_follows_its_rung():
    def seconds(job):
        rows = getattr(job, "rows", None)
        return 0.05 if rows is not None and not isinstance(rows, tuple) else 0.4

    found = fake_fit(
        frame().drop("who", "day"),
        target="y",
        budget=30,
        models=["naive_bayes", "decision_tree", "logistic_regression"],
        seconds=seconds,
    )
    assert found.estimate.value < found.facts["headline"]["baseline"]["value"]
    assert found.facts["task"]["n_rows"] == N_ROWS
    assert found.predict_proba(frame().drop("y")[:5]).shape == (5, 2)


def test_row_samples_of_a_small_table_are_all_rows():
    task = make_task(frame(200), "y")
    assert RowSamples.of(task, [type("Split", (), {"train": np.arange(100)})], 0).train(0, 0) is None
