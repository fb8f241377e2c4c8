"""The queue of runs: one at a time, in order, and everything is known again from files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldwise.app.recording.lock import FolderLock
from foldwise.app.workbench.choices import CostTable, TableChoices, read_choices, write_choices
from foldwise.app.workbench.folder import WorkFolder
from foldwise.app.workbench.queue import RunQueue
from foldwise.errors import InputError
from tests.app.workbench.running import wait_for


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[RunQueue]:
    queue = RunQueue(WorkFolder(tmp_path))
    yield queue
    wait_for(lambda: (queue.step(), not queue._children)[1])


def run_folder(queue: RunQueue, name: str, **progress: object) -> Path:
    folder = queue.folder.path / name
    folder.mkdir()
    (folder / "options.json").write_text("{}")
    (folder / "progress.json").write_text(json.dumps(progress))
    return folder


def test_a_run_waits_while_another_one_runs(queue: RunQueue) -> None:
    lock = FolderLock(run_folder(queue, "elsewhere"))  # started on the command line
    queue.add(queue.folder.path / "second", ["version"])
    queue.step()
    assert [(one.name, one.state) for one in queue.views()] == [("elsewhere", "running"), ("second", "queued")]
    lock.close()
    queue.step()
    again = RunQueue(queue.folder)  # a server that was started again
    wait_for(lambda: (queue.step(), again.view("second").state == "failed")[1])
    assert again.view("elsewhere").state == "interrupted"
    again.remove("second")
    assert again.view("second") is None


def test_the_reason_of_a_refused_run_is_shown(queue: RunQueue) -> None:
    queue.add(queue.folder.path / "r", ["fit", "missing.csv", "--target=y", "--out=r"])
    queue.step()
    wait_for(lambda: (queue.step(), queue.view("r").state == "failed")[1])
    assert "'missing.csv' does not exist" in queue.view("r").error


def test_a_folder_does_not_decide_which_process_is_stopped(queue: RunQueue) -> None:
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        lock = FolderLock(run_folder(queue, "forged", pid=victim.pid, host=os.uname().nodename))
        with pytest.raises(InputError, match="cannot be stopped from here"):
            queue.stop("forged")
        assert victim.poll() is None
        lock.close()
    finally:
        victim.kill()
        victim.wait()


def test_the_process_that_holds_the_lock_is_stopped(queue: RunQueue) -> None:
    folder = run_folder(queue, "run")
    code = (
        "import os, sys, json, time, platform, pathlib\n"
        "from foldwise.app.recording.lock import FolderLock\n"
        "folder = pathlib.Path(sys.argv[1]); lock = FolderLock(folder)\n"
        "about = {'pid': os.getpid(), 'host': platform.node()}\n"
        "(folder / 'progress.json').write_text(json.dumps(about)); time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(folder)])
    wait_for(lambda: queue.view("run").progress.get("pid") == child.pid)
    queue.stop("run")
    assert child.wait(10) == -signal.SIGTERM


def test_choices_become_options_and_are_kept(queue: RunQueue) -> None:
    form = {"target": "a b", "separator": ";", "kind:x,y": "drop", "kind:z": "text", "kind:q": "nonsense"}
    form |= {"classes": '["no", "yes"]', "cost:0:1": "5", "cost:0:0": "0", "cost:1:0": "1", "cost:1:1": "0"}
    (queue.folder.path / "t.csv").write_text("a")
    choices = TableChoices.of_form(form, TableChoices(target="a b"))
    write_choices(queue.folder, "t.csv", choices)
    assert read_choices(queue.folder, "t.csv") == choices
    table = queue.folder.table("t.csv")
    words = choices.arguments(table, queue.folder.path / "t-run", queue.folder)
    costs = next(one for one in words if one.startswith("--costs="))
    assert [one for one in words if one != costs] == [
        *("fit", "t.csv", "--target=a b", "--budget=60s", "--separator=;", "--kind=z=text", '--drop="x,y"'),
        "--out=t-run",
    ]
    text = (queue.folder.path / costs.removeprefix("--costs=")).read_text()
    assert text == ",no,yes\nno,0,5\nyes,1,0\n"
    with pytest.raises(InputError, match="every cost must be a number"):
        CostTable(("a", "b"), (("x", "1"), ("1", "0"))).text()
    assert read_choices(queue.folder, "other.csv") == TableChoices()


@pytest.mark.parametrize("content", ["", "[]", '{"kinds": 3}', '{"kinds": {}, "costs": 1}', "[" * 100_000])
def test_damaged_choices_are_those_of_foldwise(queue: RunQueue, content: str) -> None:
    write_choices(queue.folder, "t.csv", TableChoices(target="y"))
    for path in (queue.folder.path / ".foldwise" / "tables").iterdir():
        path.write_text(content)
    assert read_choices(queue.folder, "t.csv") == TableChoices()


@pytest.mark.slow
def test_a_table_is_explored_without_a_target(queue: RunQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    (queue.folder.path / "a.csv").write_text("x,z\n" + "".join(f"{i % 7},{i * 3 % 11}\n" for i in range(80)))
    file = queue.folder.table("a.csv")
    assert file is not None
    choices = TableChoices(separator=",", table="t", budget="5s", kinds={"x": "numeric"})
    out = queue.folder.new_run_path(file.path, "explore")
    assert choices.exploring(file, out) == [
        "explore", "a.csv", "--budget=5s", "--separator=,", "--table=t", "--kind=x=numeric", "--out=a-explore",
    ]  # fmt: skip
    monkeypatch.setattr("foldwise.app.workbench.queue.STARTING_SECONDS", 0.0)
    queue.add(out, TableChoices(budget="60s").exploring(file, out))
    queue.step()
    # the command line of a process can be read a moment after its start
    wait_for(lambda: queue.view("a-explore").state == "running", 10.0)
    wait_for(lambda: (queue.step(), queue.view("a-explore").state == "finished")[1], 120.0)
    assert queue.view("a-explore").has_result
