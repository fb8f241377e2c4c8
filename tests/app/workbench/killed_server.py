"""A workbench whose server is killed with SIGKILL at random moments, while it takes uploads, choices and runs.

After every kill, its folder is read as another program would read it. Nothing that was confirmed may be missing, no
file may be half-written, and runs must go on without the server.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from foldwise.app.recording.status import RunStatus
from foldwise.app.workbench.folder import WorkFolder
from foldwise.app.workbench.queue import RunQueue, holds_lock
from tests.app.workbench.running import RunningBench, wait_for

TABLE = (Path(__file__).parents[3] / "examples" / "loans.csv").read_bytes()
MOST_WAITING = 2
BUDGET = "20s"


@dataclass
class KilledServer:
    """A folder whose server is killed again and again, and what was seen."""

    folder: Path
    seed: int = 0
    budget: str = BUDGET
    runs: set[str] = field(default_factory=set)  # confirmed to the browser
    tables: set[str] = field(default_factory=set)
    states: Counter[str] = field(default_factory=Counter)  # of confirmed runs, after each kill
    n_kills: int = 0
    n_requests: int = 0
    n_alive: int = 0  # runs that were running at a kill and went on
    most_trials: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.moments = random.Random(self.seed)
        self.folder.mkdir(exist_ok=True)

    def kill_after(self, seconds: float) -> None:
        """Start the server, use it, kill it after so many seconds, and look at its folder."""
        bench = RunningBench(self.folder)
        user = threading.Thread(target=self.use, args=[bench])
        user.start()
        time.sleep(seconds)
        running = self.running()
        bench.stop(signal.SIGKILL)
        user.join()
        self.n_kills += 1
        self.look(running)

    def use(self, bench: RunningBench) -> None:
        """Upload tables, and start, stop and resume runs, until the server is gone."""
        with (
            suppress(httpx.TransportError),
            httpx.Client(base_url=bench.base, headers={"origin": bench.base}) as browser,
        ):
            browser.get(bench.link, follow_redirects=True).raise_for_status()
            while True:
                self.act(browser)
                time.sleep(self.moments.uniform(0.0, 0.2))

    def act(self, browser: httpx.Client) -> None:
        """Do one thing that a user may do."""
        self.n_requests += 1
        views = RunQueue(WorkFolder(self.folder)).views()
        busy = [one for one in views if one.is_active or one.state == "queued"]
        if len(busy) < MOST_WAITING or not self.tables:
            answer = browser.post("/data/upload", params={"name": f"t{self.n_requests}.csv"}, content=TABLE)
            if answer.status_code == 201:
                self.tables.add(answer.text.rpartition("/")[2])
            form = {"target": "repaid", "budget": self.budget, "models": "naive_bayes,logistic_regression"}
            answer = browser.post(f"/data/{self.moments.choice(sorted(self.tables))}/run", data=form)
            if answer.status_code == 303:
                self.runs.add(answer.headers["location"].rpartition("/")[2])
        elif self.moments.random() < 0.1 and (ended := [one for one in views if one.can_resume]):
            browser.post(f"/runs/{self.moments.choice(ended).name}/resume", data={"budget": self.budget})
        else:
            browser.get(f"/data/{self.moments.choice(sorted(self.tables))}")

    def running(self) -> list[tuple[Path, int]]:
        """The runs that are running, with their processes."""
        found = []
        for run in WorkFolder(self.folder).runs():
            pid = RunStatus.of(run).progress.get("pid")
            if isinstance(pid, int) and holds_lock(pid, run):
                found.append((run, pid))
        return found

    def look(self, running: list[tuple[Path, int]]) -> None:
        """Compare the folder with what was confirmed before the kill."""
        folder = WorkFolder(self.folder)
        names = {one.name for one in folder.tables()}
        assert self.tables <= names, "a table is lost"
        assert all((self.folder / name).read_bytes() == TABLE for name in names), "a table is half-written"
        for path in (*self.folder.glob(".foldwise/*/*.json"), *self.folder.glob("*/*.json")):
            if not path.name.startswith("."):
                json.loads(path.read_text())
        views = {one.name: one for one in RunQueue(folder).views()}
        assert self.runs <= set(views), "a run is lost"
        for run, pid in running:
            if holds_lock(pid, run):
                self.n_alive += 1
            else:  # it ended by itself in the meantime
                assert RunStatus.of(run).state == "finished"
        for run in folder.runs():
            trials = n_trials(run)
            assert trials >= self.most_trials[run.name], "a trial is lost"
            self.most_trials[run.name] = trials
        self.states.update(views[name].state for name in self.runs)

    def finish(self) -> Counter[str]:
        """Let all runs end under a last server, and count how they ended."""
        with RunningBench(self.folder):
            queue = RunQueue(WorkFolder(self.folder))
            wait_for(lambda: not any(one.is_active or one.state == "queued" for one in queue.views()), 300)
        views = {one.name: one for one in RunQueue(WorkFolder(self.folder)).views()}
        return Counter(
            "result" if views[name].has_result else "can be resumed" if views[name].can_resume else views[name].error
            for name in self.runs
        )


def n_trials(run: Path) -> int:
    """The folds that a run has recorded."""
    if not (run / "trials.sqlite").exists():
        return 0
    with closing(sqlite3.connect(run / "trials.sqlite")) as connection, suppress(sqlite3.OperationalError):
        return int(connection.execute("select count(*) from blocks where state = 'done'").fetchone()[0])
    return 0


def killed_server(folder: Path, n_kills: int, longest: float = 8.0, seed: int = 0) -> tuple[KilledServer, Counter[str]]:
    """Kill the server so many times at random moments, then let its runs end."""
    found = KilledServer(folder, seed)
    while found.n_kills < n_kills:
        found.kill_after(random.Random(seed + found.n_kills).uniform(0.0, longest))
        print(f"{found.n_kills} kills, {len(found.runs)} runs, {dict(found.states)}", flush=True)
    return found, found.finish()
