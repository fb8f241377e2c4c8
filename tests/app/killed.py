"""A run of the real command line that is killed with SIGKILL at random moments and resumed.

After every kill, its folder is read as another program would read it: its status must be "interrupted", every fold that
was recorded before must be there with the same scores and must not have been started again.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldwise.app.recording.status import RunStatus
from foldwise.app.run_folder import open_run, read_facts

TABLE = Path(__file__).parents[2] / "examples" / "loans.csv"
N_JOBS = 2


@dataclass
class KilledRun:
    """A run that is killed again and again, and what was seen."""

    folder: Path
    options: Sequence[str]
    budget: float
    seen: dict[Any, Any] = field(default_factory=dict)  # recorded folds: result and number of starts
    n_lost: int = 0
    n_repeated: int = 0
    n_open: list[int] = field(default_factory=list)  # folds under way, by kill
    phases: list[str] = field(default_factory=list)  # by kill
    ended: list[float] = field(default_factory=list)  # seconds of the sessions that ended
    kept_results: list[bool] = field(default_factory=list)
    has_result: bool = False

    def command(self) -> list[str]:
        """Begin the run, or resume it if its folder is there."""
        fit = [sys.executable, "-m", "foldwise.app.cli", "fit", "--budget", f"{self.budget:g}s", "--jobs", str(N_JOBS)]
        if self.folder.exists():
            return [*fit, "--resume", str(self.folder), "--quiet"]
        return [*fit, str(TABLE), *self.options, "--out", str(self.folder), "--quiet"]

    def kill_after(self, seconds: float) -> None:
        """Start a session, kill it after so many seconds, and look at its folder."""
        start = time.monotonic()
        process = subprocess.Popen(self.command(), stderr=subprocess.PIPE, text=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.look(killed=process.pid)
            return
        errors = process.communicate()[1]
        if "must be at least" in errors:  # the machine is so busy that loading took all of the budget
            print(errors.strip(), flush=True)
            return
        if code != 0:
            raise RuntimeError(f"a session ended with exit code {code}: {errors}")
        self.ended.append(time.monotonic() - start)
        self.has_result = True
        self.look()

    def look(self, killed: int | None = None) -> None:
        """Compare the folder with what it was before, after a process was killed or has ended."""
        if not self.folder.exists():
            self.phases.append("starting")
            return
        status = RunStatus.of(self.folder)
        is_new = status.progress.get("pid") == killed  # else the progress is of the session before
        allowed = ["finished"] * (killed is None or bool(self.ended and not is_new))
        assert status.state in [*allowed, *["interrupted"] * (killed is not None)], status
        if killed is not None:
            self.phases.append(status.progress["phase"] if is_new else "starting")
        if self.has_result:  # that of a session before
            facts = read_facts(self.folder)
            self.kept_results.append(bool(open_run(self.folder).model) and facts["format"] == 1)
        folds, n_open = self.folds()
        if killed is not None:
            self.n_open.append(n_open)
        self.n_lost += sum(folds.get(key, (None,))[0] != result for key, (result, _) in self.seen.items())
        self.n_repeated += sum(key in folds and folds[key][1] != n for key, (_, n) in self.seen.items())
        self.seen = folds

    def folds(self) -> tuple[dict[Any, Any], int]:
        """The recorded folds, and how many are under way."""
        file = self.folder / "trials.sqlite"
        if not file.exists():
            return {}, 0
        with closing(sqlite3.connect(file)) as connection:
            if not connection.execute("select name from sqlite_master where name = 'blocks'").fetchall():
                return {}, 0  # killed between the creation of the file and of its tables
            rows = connection.execute(
                "select study_id, first_trial, split, state, result, lease from blocks"
            ).fetchall()
        done = {row[:3]: (json.loads(row[4]), row[5]) for row in rows if row[3] == "done"}
        return done, sum(row[3] == "running" for row in rows)


def killed_run(folder: Path, options: Sequence[str], n_kills: int, budget: float, seed: int = 0) -> KilledRun:
    """Kill and resume a run so many times, then let it finish."""
    moments, run = random.Random(seed), KilledRun(folder, options, budget)
    while len(run.phases) < n_kills:
        run.kill_after(moments.uniform(0.0, 1.05 * budget))
        print(f"{len(run.phases)} kills, {len(run.seen)} folds", flush=True)
    n_ended = len(run.ended)
    while len(run.ended) == n_ended:
        run.kill_after(600.0)
    return run
