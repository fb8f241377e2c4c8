"""Blocks are claimed by one process at a time, taken over when it ends, and recorded exactly once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foldwise.errors import InputError
from foldwise.folds.scoring import ScoreTable, TaskResult
from foldwise.tuning.store import TrialStore
from foldwise.tuning.store import study as study_module
from foldwise.tuning.store.encoding import decode_result, decode_settings, encode_result, encode_settings
from foldwise.tuning.store.study import (
    Claim,
    Stage,
    StoredBlock,
    Study,
    begin,
    exchange,
    extend,
    has_ended,
    holder,
    open_study,
    release,
    results,
)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return new_study(TrialStore(tmp_path / "trials.sqlite"))


def new_study(store: TrialStore) -> Study:
    return open_study(store, "a", "rows", {"space": "1"}, {}, lambda: 7, {"C": [1, 2]}, ())[0]


def result(score: float) -> TaskResult:
    table = ScoreTable(["score"], 1, 1)
    table.scores["score"][0, 0] = score
    return TaskResult(table, ScoreTable([], 1, 1), 0.5)


def stage_of(study: Study, n_blocks: int = 3) -> Stage:
    stage = Stage(study.id, 0)
    begin(study.store, [(stage, [StoredBlock((i,), 0) for i in range(n_blocks)])])
    return stage


def claimed(study: Study, stage: Stage, most: int) -> list[Claim]:
    return exchange(study.store, [stage], most).claims


def record(study: Study, claim: Claim, found: TaskResult) -> list[Claim]:
    return exchange(study.store, [claim.stage], 0, [(claim, found)]).refused


def n_left(study: Study, stage: Stage, n_blocks: int) -> int:
    return n_blocks - len(results(study.store, stage, range(n_blocks)))


def test_a_block_is_claimed_once(study: Study) -> None:
    stage = stage_of(study)
    assert [one.number for one in claimed(study, stage, 2)] == [0, 1]
    assert [one.number for one in claimed(study, stage, 2)] == [2]
    assert claimed(study, stage, 2) == []
    assert n_left(study, stage, 3) == 3


def test_a_lease_that_has_ended_is_taken_over_and_a_late_result_is_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(study, 1)
    monkeypatch.setattr(study_module, "LEASE", -1.0)
    [late] = claimed(study, stage, 1)
    monkeypatch.undo()
    [claim] = claimed(study, stage, 1)
    assert claim.lease == late.lease + 1
    assert record(study, late, result(0.1)) == [late]
    assert record(study, claim, result(0.2)) == []
    assert record(study, claim, result(0.3)) == [claim]  # done is done
    assert results(study.store, stage, [0])[0].test.scores["score"].item() == 0.2
    assert n_left(study, stage, 1) == 0


def test_a_lease_that_is_extended_is_not_taken_over(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(study, 1)
    monkeypatch.setattr(study_module, "LEASE", -1.0)
    claims = claimed(study, stage, 1)
    monkeypatch.undo()
    extend(study.store, claims)
    assert claimed(study, stage, 1) == []
    release(study.store, claims)
    assert len(claimed(study, stage, 1)) == 1


def test_blocks_of_a_process_that_has_ended_are_free_at_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(study, 1)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    mine = holder()
    node, _, mark = mine.split(" ")
    monkeypatch.setattr(study_module, "holder", lambda: f"{node} {child} {mark}")
    claimed(study, stage, 1)
    monkeypatch.undo()
    assert len(claimed(study, stage, 1)) == 1
    assert not has_ended(mine)
    assert has_ended(f"{node} {os.getpid()} other")
    assert not has_ended("elsewhere 1 x")


def test_the_first_proposals_stay(study: Study) -> None:
    assert study.proposed(0, lambda: [{"C": 1}]) == [{"C": 1}]
    again = new_study(study.store)
    assert again.proposed(0, lambda: pytest.fail("proposed again")) == [{"C": 1}]
    assert study.proposed(0, lambda: [{"C": 2}]) == [{"C": 1}]  # another process was faster
    assert study.proposed(1, lambda: []) == []


def test_a_study_divided_otherwise_is_refused(study: Study) -> None:
    stage = stage_of(study)
    with pytest.raises(InputError, match="differently than this process"):
        begin(study.store, [(stage, [StoredBlock((0, 1), 0), StoredBlock((2,), 0)])])


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
