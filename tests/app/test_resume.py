"""Runs that are recorded, killed and resumed: what their folder shows, keeps and refuses."""

from __future__ import annotations

import json
import os

import numpy as np
import polars as pl
import pytest

import foldwise
from foldwise.app.recording import lock
from foldwise.app.recording.lock import FolderLock
from foldwise.app.recording.status import RunStatus
from foldwise.app.run_folder import current, open_run, read_facts, replace_results
from foldwise.errors import InputError
from foldwise.report import render
from tests.app.command_line import ask, refused
from tests.app.fakes import FRAME
from tests.app.recorded import recorded_fit
from tests.slow import slow

RESULTS = {"model.foldwise", "run.json", "report.html"}


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A run that was killed, resumed and killed, and resumed again; with what its folder showed in between."""
    folder, seen = tmp_path_factory.mktemp("runs") / "run", []

    def look(run):
        files = {path.name for path in folder.iterdir()}
        seen.append((RunStatus.of(folder), files, run))

    look_of = []
    recorded_fit(folder, kill_at=4, watch=lambda now: look_of.append(RunStatus.of(folder).state))
    look(None)
    look(recorded_fit(folder, is_resumed=True))
    recorded_fit(folder, is_resumed=True, kill_at=7)
    look(None)
    look(recorded_fit(folder, is_resumed=True, budget=12))
    return folder, seen, look_of


def test_a_killed_run_can_be_seen_and_is_not_taken_for_a_finished_one(history):
    _, ((status, files, _), *_), look_of = history
    assert set(look_of) == {"running"}
    assert status.state == "interrupted"
    assert status.is_unfinished
    assert status.progress["phase"] == "trying models"
    assert status.progress["session"] == 1
    assert status.progress["pid"] == os.getpid()
    assert {"options.json", "progress.json", "trials.sqlite"} <= files
    assert not files & RESULTS


def test_a_finished_run_keeps_its_result_while_it_is_resumed_and_when_that_is_killed(history):
    _, (_, (before, files, _), (killed, kept, _), (after, _, _)), _ = history
    assert (before.state, killed.state, after.state) == ("finished", "interrupted", "finished")
    assert all(one.has_result and not one.is_unfinished for one in (before, killed, after))
    assert files >= RESULTS
    assert kept >= RESULTS
    assert before.progress["error"] == ""


def test_the_result_and_the_report_are_of_all_sessions(history):
    folder, ((*_,), (*_, first), (*_,), (*_, last)), _ = history
    sessions = last.facts["history"]
    assert [one["number"] for one in sessions] == [1, 2, 3, 4]
    assert [one["ended"] for one in sessions] == ["killed", "finished", "killed", "finished"]
    assert [one["budget"] for one in sessions] == [8, 8, 8, 12]
    assert all(one["seconds"] <= 1.05 * one["budget"] for one in sessions)
    assert sum(one["n_settings"] for one in sessions) == last.facts["made"]["n_settings"]
    assert sum(one["n_models"] for one in sessions) == last.facts["made"]["n_models"]
    assert last.facts["made"]["n_settings"] > first.facts["made"]["n_settings"]
    scores = [one["score"] for one in sessions if one["score"] is not None]
    assert scores == sorted(scores, reverse=True)  # a loss
    assert sessions[0]["command"].startswith("foldwise.fit(table, target='y'")
    assert sessions[1]["command"].startswith("foldwise.fit(table, resume=")
    assert "12" in sessions[3]["command"]
    assert read_facts(folder) == json.loads(json.dumps(last.facts))
    page = render(last.facts)
    assert "Models evaluated in each session" in page
    assert "<td>killed</td>" in page
    assert " over 4 sessions" in str(last)
    assert open_run(folder).model.predict(FRAME.drop("y")).shape == (120,)


def test_other_rows_options_and_tables_are_refused_and_nothing_is_changed(history):
    folder = history[0]
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != ".lock"}
    other = FRAME.with_columns(pl.col("x") + 1)
    with pytest.raises(InputError, match=r"These differ: training rows \(other values\)\."):
        recorded_fit(folder, other, is_resumed=True)
    with pytest.raises(InputError, match=r"training rows \(120 rows and 1 column before, 119 rows and 1 column now"):
        recorded_fit(folder, FRAME[:-1], is_resumed=True)
    with pytest.raises(InputError, match=r"These differ: metric \(log_loss before, accuracy now\)\."):
        recorded_fit(folder, is_resumed=True, metric="accuracy")
    with pytest.raises(InputError, match=r"the run .* does not contain the table, .* pass the same table again"):
        foldwise.fit(resume=folder)
    with pytest.raises(InputError, match="resume= cannot be combined with out="):
        foldwise.fit(FRAME, resume=folder, out="else")
    held = FolderLock(folder)
    try:
        assert RunStatus.of(folder).state == "running"
        with pytest.raises(InputError, match="another one is writing to it now"):
            recorded_fit(folder, is_resumed=True)
        with pytest.raises(InputError, match="is still running"):
            recorded_fit(folder, force=True)
    finally:
        held.close()
    with pytest.raises(InputError, match="already contains a run"):
        recorded_fit(folder)
    after = {name: (folder / name).read_bytes() for name in before}
    assert after == before
    assert RunStatus.of(folder).state == "finished"


def test_a_positive_class_of_text_is_recorded(tmp_path):
    folder = tmp_path / "run"
    assert recorded_fit(folder, positive="yes").facts["task"]["positive"] == "yes"
    assert recorded_fit(folder, is_resumed=True).facts["task"]["positive"] == "yes"


def test_another_target_is_named_even_if_other_options_use_it(tmp_path):
    recorded_fit(tmp_path / "run", kill_at=4, slices="x")
    with pytest.raises(InputError, match=r"These differ: target \('y' before, 'x' now\)\. Hint: pass the same"):
        recorded_fit(tmp_path / "run", is_resumed=True, target="x")


def test_another_version_of_a_library_is_refused(tmp_path, monkeypatch):
    recorded_fit(tmp_path / "run", kill_at=2)
    found = {"foldwise": "0.0.1", "scikit-learn": "0.1"}
    monkeypatch.setattr("foldwise.app.recording.fingerprint.versions", lambda: found)
    with pytest.raises(InputError, match=r"version of scikit-learn \(.* before, 0\.1 now\)"):
        recorded_fit(tmp_path / "run", is_resumed=True)


def test_a_run_of_a_newer_format_or_with_damaged_options_is_refused(tmp_path):
    folder = tmp_path / "run"
    recorded_fit(folder, kill_at=2)
    options = json.loads((folder / "options.json").read_text())
    (folder / "options.json").write_text(json.dumps({**options, "format": 2}))
    with pytest.raises(InputError, match=r"is in format 2, but .* reads up to format 1\. Hint: upgrade Foldwise"):
        recorded_fit(folder, is_resumed=True)
    (folder / "options.json").write_text("{")
    with pytest.raises(InputError, match=r"options\.json in .* is damaged"):
        recorded_fit(folder, is_resumed=True)
    (folder / "options.json").write_text(json.dumps(options))
    (folder / "trials.sqlite").unlink()
    with pytest.raises(InputError, match=r"trials\.sqlite is missing"):
        recorded_fit(folder, is_resumed=True)
    with pytest.raises(InputError, match=r"options\.json is missing"):
        recorded_fit(tmp_path, is_resumed=True)


def test_a_folder_does_not_decide_what_is_imported(tmp_path):
    folder = tmp_path / "run"
    recorded_fit(folder, kill_at=2)
    options = json.loads((folder / "options.json").read_text())
    for models in (["naive_bayes", "antigravity.Model"], "antigravity.Model"):
        changed = {**options, "options": {**options["options"], "models": models}}
        (folder / "options.json").write_text(json.dumps(changed))
        with pytest.raises(InputError, match=r"the estimator 'antigravity\.Model', which is not imported"):
            recorded_fit(folder, is_resumed=True)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    recorded_fit(tmp_path / "run", kill_at=2)

    def read_only(path, *_):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(lock.os, "open", read_only)
    with pytest.raises(InputError, match=r"must be writable, but \.lock cannot be written: read-only file system\."):
        recorded_fit(tmp_path / "run", is_resumed=True)


def test_a_run_without_a_trial_leaves_no_folder(tmp_path):
    with pytest.raises(InputError, match="no column 'z'"):
        recorded_fit(tmp_path / "run", target="z")
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_what_was_recorded(tmp_path):
    def fail(now):
        if now.n_settings:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        recorded_fit(tmp_path / "run", watch=fail)
    assert RunStatus.of(tmp_path / "run").state == "failed"
    assert recorded_fit(tmp_path / "run", is_resumed=True).facts["history"][0]["ended"] == "failed"


def test_force_keeps_the_run_of_before_until_the_new_one_is_known_to_be_valid(tmp_path):
    folder = tmp_path / "run"
    recorded_fit(folder, budget=6)
    before = (folder / "trials.sqlite").read_bytes()
    with pytest.raises(InputError, match="no column 'z'"):
        recorded_fit(folder, force=True, target="z")
    assert (folder / "trials.sqlite").read_bytes() == before
    assert RunStatus.of(folder).state == "finished"
    recorded_fit(folder, force=True, kill_at=3, seed=5)
    assert RunStatus.of(folder).state == "interrupted"
    assert read_facts(folder)["made"]["seed"] == 0
    assert recorded_fit(folder, is_resumed=True, budget=6).facts["made"]["seed"] == 5
    assert read_facts(folder)["made"]["n_sessions"] == 2


def test_results_replace_those_of_before_at_one_moment(tmp_path, monkeypatch):
    def write(text):
        def write_all(inside):
            for name in RESULTS:
                (inside / name).write_text(text)

        return write_all

    replace_results(tmp_path, write("old"))
    (tmp_path / "background.parquet").write_text("old")
    with pytest.raises(ZeroDivisionError):
        replace_results(tmp_path, lambda inside: 1 / 0)
    assert {current(tmp_path, name).read_text() for name in RESULTS} == {"old"}
    moved, move = [], os.replace

    def killed(source, target):
        if len(moved) == 2:
            raise KeyboardInterrupt
        moved.append(move(source, target))

    monkeypatch.setattr("foldwise.app.run_folder.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        replace_results(tmp_path, write("new"))
    assert sorted((tmp_path / name).read_text() for name in RESULTS) == ["new", "old", "old"]
    assert {current(tmp_path, name).read_text() for name in RESULTS} == {"new"}
    monkeypatch.setattr("foldwise.app.run_folder.os.replace", move)
    replace_results(tmp_path, write("newer"))
    assert {path.name for path in tmp_path.iterdir()} == RESULTS
    assert {(tmp_path / name).read_text() for name in RESULTS} == {"newer"}


@pytest.mark.parametrize(
    "options", [{"target": "q", "groups": "g"}, *slow({"time": "g"}, {"weights": "w"}, {"costs": "costs"}, {"test": 1})]
)
def test_with_every_kind_of_table(tmp_path, options):
    rng = np.random.default_rng(1)
    table = FRAME.with_columns(
        g=pl.Series(np.arange(FRAME.height) // 6), w=pl.Series(rng.uniform(1, 2, FRAME.height)), q=pl.col("x") ** 2
    )
    if "target" in options:
        table = table.drop("y")
        options = {**options, "models": ["ridge", "decision_tree"]}
    if "costs" in options:
        (tmp_path / "costs.csv").write_text("action,no,yes\nact,0,3\nwait,1,0\n")
        options = {"costs": tmp_path / "costs.csv"}
    table.write_csv(tmp_path / "table.csv")
    if "test" in options:
        options = {"test": str(tmp_path / "table.csv")}
    recorded_fit(tmp_path / "run", tmp_path / "table.csv", kill_at=5, **options)
    run = recorded_fit(tmp_path / "run", None, is_resumed=True)
    assert run.facts["made"]["n_sessions"] == 2
    assert (tmp_path / "run" / "report.html").is_file()


class TestCommandLine:
    """`foldwise fit --resume`, where nothing has to be fitted."""

    def test_what_is_missing(self, here):
        assert refused("fit", "--target", "y").startswith(
            "TABLE is missing. Hint: pass the path of a table, or --resume"
        )
        assert "run 'nothing' does not exist" in refused("fit", "--resume", "nothing")
        (here / "t.csv").write_text("a,y\n1,2\n")
        assert "stays in its folder" in refused("fit", "t.csv", "--resume", "nothing", "--force")
        (here / "mine").mkdir()
        assert "cannot be resumed, because options.json is missing" in refused("fit", "--resume", "mine")

    def test_a_table_that_was_moved(self, here):
        FRAME.write_csv(here / "t.csv")
        recorded_fit(here / "run", here / "t.csv", kill_at=3)
        (here / "t.csv").rename(here / "moved.csv")
        words = refused("fit", "--resume", "run")
        assert "the run 'run' needs its table, but " in words
        assert "t.csv' does not exist. Hint: pass the new path as well." in words
        assert "has no result, because it was not finished. Hint: finish it with foldwise fit --resume run." in refused(
            "predict", "run", "moved.csv"
        )
        assert "continue it with --resume run" in refused("fit", "moved.csv", "--target", "y", "--out", "run")
        assert recorded_fit(here / "run", here / "moved.csv", is_resumed=True, budget=6) is not None
        assert ask("predict", "run", "moved.csv", "-o", "out.csv")[0] == 0


def test_a_table_without_the_target_of_the_run(history, here):
    pl.DataFrame({"a": [1, 2, 3]}).write_csv("other.csv")
    with pytest.raises(
        InputError, match=r"other.csv has no column 'y', the target of the run .* Hint: pass the table of"
    ):
        foldwise.fit("other.csv", resume=history[0])


def test_a_run_that_was_killed_before_its_store_had_tables_is_resumed(tmp_path):
    recorded_fit(tmp_path / "run", kill_at=4)
    for path in (tmp_path / "run").glob("trials.sqlite*"):
        path.unlink()
    (tmp_path / "run" / "trials.sqlite").touch()
    assert recorded_fit(tmp_path / "run", is_resumed=True) is not None
    assert RunStatus.of(tmp_path / "run").state == "finished"
