"""Blocks are claimed by one process at a time, taken over when it ends, and recorded exactly once."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foldwise.errors import InputError
from foldwise.folds.scoring import ScoreTable, TaskResult
from foldwise.tuning.store import TrialStore
from foldwise.tuning.store import study as study_module
from foldwise.tuning.store.encoding import decode_result, decode_settings, encode_result, encode_settings
from foldwise.tuning.store.schema import VERSION
from foldwise.tuning.store.study import Stage, StoredBlock, Study, has_ended, holder, open_study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return begin(TrialStore(tmp_path / "trials.sqlite"))


def begin(store: TrialStore) -> Study:
    return open_study(store, "a", "rows", {"space": "1"}, {}, lambda: 7, {"C": [1, 2]}, ())[0]


def result(score: float) -> TaskResult:
    table = ScoreTable(["score"], 1, 1)
    table.scores["score"][0, 0] = score
    return TaskResult(table, ScoreTable([], 1, 1), 0.5)


def stage_of(study: Study, n_blocks: int = 3) -> Stage:
    stage = Stage(study.id, 0)
    study.begin(stage, [StoredBlock((i,), 0) for i in range(n_blocks)])
    return stage


def test_a_block_is_claimed_once(study: Study) -> None:
    stage = stage_of(study)
    assert [one.number for one in study.claim(stage, 2)] == [0, 1]
    assert [one.number for one in study.claim(stage, 2)] == [2]
    assert study.claim(stage, 2) == []
    assert study.n_left(stage) == 3


def test_a_lease_that_has_ended_is_taken_over_and_a_late_result_is_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(study, 1)
    monkeypatch.setattr(study_module, "LEASE", -1.0)
    [late] = study.claim(stage, 1)
    monkeypatch.undo()
    [claim] = study.claim(stage, 1)
    assert claim.lease == late.lease + 1
    assert study.record([(late, result(0.1))]) == [late]
    assert study.record([(claim, result(0.2))]) == []
    assert study.record([(claim, result(0.3))]) == [claim]  # done is done
    assert study.results(stage)[0].test.scores["score"].item() == 0.2
    assert study.n_left(stage) == 0


def test_a_lease_that_is_extended_is_not_taken_over(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(study, 1)
    monkeypatch.setattr(study_module, "LEASE", -1.0)
    claims = study.claim(stage, 1)
    monkeypatch.undo()
    study.extend(claims)
    assert study.claim(stage, 1) == []
    study.release(claims)
    assert len(study.claim(stage, 1)) == 1


def test_blocks_of_a_process_that_has_ended_are_free_at_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(study, 1)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    mine = holder()
    node, _, mark = mine.split(" ")
    monkeypatch.setattr(study_module, "holder", lambda: f"{node} {child} {mark}")
    study.claim(stage, 1)
    monkeypatch.undo()
    assert len(study.claim(stage, 1)) == 1
    assert not has_ended(mine)
    assert has_ended(f"{node} {os.getpid()} other")
    assert not has_ended("elsewhere 1 x")


def test_the_first_proposals_stay(study: Study) -> None:
    assert study.proposed(0, lambda: [{"C": 1}]) == [{"C": 1}]
    assert study.proposed(0, lambda: pytest.fail("proposed again")) == [{"C": 1}]
    assert study.proposed(1, lambda: []) == []


def test_a_study_divided_otherwise_is_refused(study: Study) -> None:
    stage = stage_of(study)
    with pytest.raises(InputError, match="differently than this process"):
        study.begin(stage, [StoredBlock((0, 1), 0), StoredBlock((2,), 0)])


class Thing:
    pass


def test_settings_come_back_as_they_were() -> None:
    thing = Thing()
    space = {"a": [thing, None], "b": [(1, 2)], "c": [np.array([1.0])]}
    settings: list[dict[str, Any]] = [
        {"a": thing, "b": (1, 2), "c": space["c"][0]},
        {"a": None, "b": [1, "x"], "d": 0.1 + 0.2, "e": np.float64(1e-300), "f": True, "g": float("inf")},
    ]
    back = decode_settings(encode_settings(settings, space, ()), space, ())
    assert back[0]["a"] is thing
    assert back[0]["c"] is space["c"][0]
    assert back[0]["b"] == (1, 2)
    assert back[1] == settings[1]
    assert type(back[1]["f"]) is bool
    with pytest.raises(InputError, match="values that its space lists"):
        encode_settings([{"a": Thing()}], space, ())


def test_results_come_back_as_they_were() -> None:
    found = TaskResult(ScoreTable(["score"], 2, 1), ScoreTable([], 2, 1), 1.5, 3)
    found.test.scores["score"][:] = [[0.1 + 0.2], [np.nan]]
    found.test.unscored = [(1, 0, "score", ValueError("no"))]
    found.failed = [(1, 0, RuntimeError("bad"))]
    found.recorded = [(0, 2, {"labels": np.array([[1, 2], [0, 0]], dtype=np.int16), "losses": np.eye(2)})]
    back = decode_result(*encode_result(found))
    np.testing.assert_array_equal(back.test.scores["score"], found.test.scores["score"])
    assert (back.seconds, back.fits) == (1.5, 3)
    assert str(back.failed[0][2]) == "RuntimeError: bad"
    assert str(back.test.unscored[0][3]) == "ValueError: no"
    [(first, last, parts)] = back.recorded
    assert (first, last) == (0, 2)
    assert parts["labels"].dtype == np.int16
    np.testing.assert_array_equal(parts["losses"], np.eye(2))


def test_a_newer_store_is_refused_and_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "trials.sqlite"
    TrialStore(file)
    with sqlite3.connect(file) as raw:
        raw.execute("update foldwise_store set version = ?", [VERSION + 1])
    with pytest.raises(InputError, match=f"has version {VERSION + 1}.*upgrade Foldwise"):
        TrialStore(file)


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("not a database, but long enough to be read as one" * 50)
    with pytest.raises(InputError, match="file is not a database"):
        TrialStore(text)
    assert text.read_text().startswith("not a database")
    with pytest.raises(InputError, match="folder of a store must exist"):
        TrialStore(tmp_path / "none" / "trials.sqlite")
    with pytest.raises(InputError, match="the database says"):
        TrialStore(tmp_path)  # a folder


def test_a_full_disk_is_one_sentence_and_keeps_what_is_there(tmp_path: Path) -> None:
    store = TrialStore(tmp_path / "trials.sqlite")
    study = begin(store)
    stage = stage_of(study, 1)
    [claim] = study.claim(stage, 1)
    with store.engine.connect() as connection:
        size = connection.exec_driver_sql("pragma page_count").scalar_one()
        connection.exec_driver_sql(f"pragma max_page_count={size}")
        big = result(0.5)
        big.recorded = [(0, 1, {"losses": np.zeros((1, 10**6))})]
    with pytest.raises(InputError, match="database or disk is full"):
        study.record([(claim, big)])
    assert study.n_left(stage) == 1
    assert study.record([(claim, result(0.5))]) == []
