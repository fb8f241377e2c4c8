"""The record of a search: what is stored when, and what a search continues from after a kill."""

from __future__ import annotations

import datetime
import json
import sqlite3

import numpy as np
import polars as pl
import pytest

import foldwise
from foldwise.app.recording import trials
from foldwise.app.recording.fingerprint import digest_of_column
from foldwise.app.recording.trials import TrialRecord
from foldwise.tuning.store import StoreError
from tests.app.fakes import STRENGTH
from tests.app.recorded import Killed, recorded_search


def stored_folds(file):
    """Every recorded fold: its scores, and how often it was started."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        query = "select study_id, first_trial, split, result, lease from blocks where state = 'done'"
        return {row[:3]: (json.loads(row[3])["scores"], row[4]) for row in connection.execute(query)}


def asked(job):
    return job.model, repr(job.settings), job.split


def test_killed_again_and_again_a_search_loses_no_score_and_repeats_no_finished_fold(tmp_path):
    file, rng, before, done = tmp_path / "trials.sqlite", np.random.default_rng(0), {}, []
    for kill_at in [*rng.integers(0, 12, size=8).tolist(), None]:
        search, clock = recorded_search(file, STRENGTH, kill_at)
        if kill_at is None:
            search.run(lambda: None)
        else:
            with pytest.raises(Killed):
                search.run(lambda: None)
        done += [asked(job) for job in search.executor.done]
        now = stored_folds(file)
        assert {key: now[key] for key in before} == before
        assert len(now) == len(done)
        before = now
    assert len(set(done)) == len(done)
    assert all(lease <= 9 for _, lease in now.values())
    assert search.record.session.number == 9
    assert search.end - 0.2 <= clock.elapsed < 20.0
    assert {one.model for one in search.state.finished} == set(STRENGTH)


def test_a_search_continues_from_the_state_and_the_predictions_that_it_had(tmp_path):
    search, _ = recorded_search(tmp_path / "trials.sqlite", {**STRENGTH, "random_forest": None}, 40)
    with pytest.raises(Killed):
        search.run(lambda: None)
    again, _ = recorded_search(tmp_path / "trials.sqlite", {**STRENGTH, "random_forest": None})
    pending = search.state.without_pending()
    assert again.state.to_dict() == pending.to_dict()
    assert any(one.kept for one in again.state.batches)
    assert any(one.stopped == "failed" for one in again.state.batches)
    needed = [(one.number, k) for one in pending.batches if one.stopped not in trials.UNNEEDED for k in one.scores]
    assert sorted(again.predictions._values) == sorted(needed)
    for key in needed:
        np.testing.assert_array_equal(again.predictions.stored(*key), search.predictions.stored(*key))
    assert again.predictions._kept == search.predictions._kept


def test_more_time_improves_on_what_is_there(tmp_path):
    first, _ = recorded_search(tmp_path / "trials.sqlite", STRENGTH, budget=16.0)
    first.run(lambda: None)
    again, _ = recorded_search(tmp_path / "trials.sqlite", STRENGTH, budget=30.0)
    assert not any(one.stopped == "not finished" for one in again.state.batches)
    again.run(lambda: None)
    assert len(again.state.finished) > len(first.state.finished)
    assert max(one.best_mean for one in again.state.finished) >= max(one.best_mean for one in first.state.finished)
    opened = [one.opened for one in again.state.batches]
    assert opened == sorted(opened)
    assert opened[-1] > again.record.session.before >= 10.0


def test_what_was_too_slow_is_tried_again_only_with_much_more_time(tmp_path):
    def seconds(job):
        return 0.2 if job.model == "naive_bayes" else 30.0

    strength = {"naive_bayes": 1.0, "random_forest": 2.0}
    search, _ = recorded_search(tmp_path / "trials.sqlite", strength, budget=20.0, seconds=seconds)
    search.run(lambda: None)
    slow = search.state.of_model("random_forest")[0]
    assert slow.stopped == "too slow"
    assert search.state.reopened(1.5 * slow.spent).batches[slow.number].stopped == "too slow"
    assert search.state.reopened(2.5 * slow.spent).batches[slow.number].stopped == ""


def test_a_record_can_be_read_as_searches_while_it_is_written(tmp_path):
    search, _ = recorded_search(tmp_path / "trials.sqlite", STRENGTH, 25)
    with pytest.raises(Killed):
        search.run(lambda: None)
    found = foldwise.open_search(tmp_path / "trials.sqlite", "logistic_regression")
    ours = search.state.of_model("logistic_regression")
    assert len(found.trials) == sum(len(one.settings) for one in ours)
    assert found.description["metric"] == "neg_log_loss"
    best = max((one for one in ours if one.complete(10)), key=lambda one: one.best_mean)
    assert np.mean(found.best.scores["neg_log_loss"]) == pytest.approx(best.best_mean)


def test_predictions_that_nobody_needs_are_dropped_from_the_file(tmp_path):
    search, _ = recorded_search(tmp_path / "trials.sqlite", {"naive_bayes": 1.0})
    search.run(lambda: None)
    batch = search.state.finished[0]
    with sqlite3.connect(tmp_path / "trials.sqlite") as connection:
        (packed,) = connection.execute("select answers from blocks where first_trial = 0 and split = 1").fetchone()
    ((_, n_kept, answer),) = trials.decode_answers(packed)
    assert n_kept == len(batch.kept) < len(batch.settings)
    np.testing.assert_array_equal(answer["values"], search.predictions.stored(batch.number, 1))


class TestFaults:
    """One sentence, and nothing is changed."""

    @pytest.fixture
    def file(self, tmp_path):
        search, _ = recorded_search(tmp_path / "trials.sqlite", STRENGTH, budget=16.0)
        search.run(lambda: None)
        search.record.close("finished")
        return tmp_path / "trials.sqlite"

    def refused(self, file, words):
        before = file.read_bytes()
        with pytest.raises(StoreError, match=words):
            recorded_search(file, STRENGTH)
        assert file.read_bytes() == before

    def test_a_file_that_is_not_a_store(self, file):
        file.write_bytes(b"years of work" * 1000)
        self.refused(file, "file is not a database")

    def test_a_page_that_was_overwritten(self, file):
        content = bytearray(file.read_bytes())
        content[4096:20480] = bytes(16384)
        file.write_bytes(content)
        self.refused(file, "damaged|malformed")

    def test_predictions_that_were_changed(self, file):
        with sqlite3.connect(file) as connection:
            key, packed = connection.execute("select id, answers from blocks where answers not null").fetchone()
            broken = bytearray(packed)
            broken[len(broken) // 2] ^= 1
            connection.execute("update blocks set answers = ? where id = ?", (bytes(broken), key))
        connection.close()
        self.refused(file, "trials.sqlite are damaged: BadZipFile")

    def test_a_newer_version(self, file):
        with sqlite3.connect(file) as connection:
            connection.execute("update foldwise_store set version = 1000")
        connection.close()
        self.refused(file, "has version 1000")

    def test_a_full_disk(self, file):
        search, _ = recorded_search(file, STRENGTH)
        search.record.store.database.connection.execute("pragma max_page_count = 1")  # as many as there are
        before = stored_folds(file)
        with pytest.raises(
            StoreError, match=r"database or disk is full\. Hint: free some space .* then continue with resume="
        ):
            search.run(lambda: None)
        assert before.items() <= stored_folds(file).items()


def test_what_must_be_the_same(tmp_path):
    recorded_search(tmp_path / "trials.sqlite", STRENGTH, seed=1)
    with pytest.raises(foldwise.errors.InputError, match=r"These differ: seed \(1 before, 2 now\)\. Hint: pass"):
        recorded_search(tmp_path / "trials.sqlite", STRENGTH, seed=2)
    with pytest.raises(foldwise.errors.InputError, match=r"models \(naive_bayes, .* before, naive_bayes now\)"):
        recorded_search(tmp_path / "trials.sqlite", {"naive_bayes": 1.0}, seed=1)


def test_the_seconds_of_writing_are_counted(tmp_path):
    search, _ = recorded_search(tmp_path / "trials.sqlite", STRENGTH)
    search.run(lambda: None)
    *_, last = search.record.sessions()
    assert isinstance(search.record, TrialRecord)
    assert 0 < last.writing < 60


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["ab", None, ""], ["ab", "", None]),
        ([1.0, None, 0.0], [1.0, 0.0, None]),
        ([True, None], [None, True]),
        ([datetime.date(2024, 1, 1)], [datetime.date(2024, 1, 2)]),
    ],
)
def test_other_cells_have_another_digest(first, second):
    assert digest_of_column(pl.Series(first)) != digest_of_column(pl.Series(second))
    assert digest_of_column(pl.Series(first)) == digest_of_column(pl.Series([*first, *second])[: len(first)])


def test_a_category_is_text():
    column = pl.Series(["b", None, "a"])
    assert digest_of_column(column.cast(pl.Categorical)) == digest_of_column(column)
