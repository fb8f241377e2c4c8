"""`foldwise fit`, killed with SIGKILL at random moments and resumed. Writes benchmarks/killed_fits.md.

    python benchmarks/killed_fits.py [--kills 50] [--budget 30]

After every kill, the folder is read as another program would: its status must be "interrupted", every fold that was
recorded before must be there with the same scores and must not have been started again, and the folds under way are at
most as many as the worker processes. The last resume must come to a result within its budget.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldwise.app.recording.status import RunStatus
from foldwise.app.run_folder import open_run, read_facts

HERE = Path(__file__).parent
TABLE = HERE.parent / "examples" / "loans.csv"
N_JOBS = 2
TEXT = """# Benchmarks: a run that is killed and resumed

Made by `benchmarks/killed_fits.py`: `foldwise fit` on examples/loans.csv, two workers, sessions of {budget:g} s. The
process gets SIGKILL at a random moment between its start and 5% after its budget, and the run is resumed.

| | |
|---|---|
| kills | {kills} |
| of these in the phases | {phases} |
| sessions that ended before their kill | {ended} |
| folds recorded in all | {folds} |
| recorded scores lost or changed | {lost} |
| folds computed again after they were recorded | {repeated} |
| folds under way at a kill, on average and at most | {mean_open:.2f}, {most_open} |
| model and report after a kill, once there were some | {results} |
| folds computed again because they were under way | {again}, {again_share:.1%} of all |
| last session: time of its budget of {budget:g} s | {seconds:.1f} s |
| seconds spent in writing, per session of {budget:g} s that ended | {writing} |
"""


@dataclass
class Killed:
    """A run that is killed again and again, and what was seen."""

    folder: Path
    target: str = "repaid"
    budget: float = 30.0
    table: Path = TABLE
    seen: dict[Any, Any] = field(default_factory=dict)  # recorded folds: result and number of starts
    n_lost: int = 0
    n_repeated: int = 0
    n_open: list[int] = field(default_factory=list)  # folds under way, by kill
    phases: list[str] = field(default_factory=list)  # by kill
    n_ended: int = 0
    kept_results: list[bool] = field(default_factory=list)
    has_result: bool = False

    def command(self) -> list[str]:
        """Begin the run, or resume it if its folder is there."""
        fit = [sys.executable, "-m", "foldwise.app.cli", "fit", "--budget", f"{self.budget:g}s", "--jobs", str(N_JOBS)]
        if self.folder.exists():
            return [*fit, "--resume", str(self.folder), "--quiet"]
        return [*fit, str(self.table), "--target", self.target, "--out", str(self.folder), "--quiet"]

    def kill_after(self, seconds: float) -> None:
        """Start a session, kill it after so many seconds, and look at its folder."""
        process = subprocess.Popen(self.command())
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.look()
            return
        if code != 0:
            raise RuntimeError(f"a session ended with exit code {code}")
        self.n_ended += 1
        self.has_result = True
        self.look(was_killed=False)

    def finish(self) -> float:
        """Resume the run to its end. Returns its seconds."""
        start = time.monotonic()
        subprocess.run(self.command(), check=True)
        seconds = time.monotonic() - start
        self.look(was_killed=False)
        return seconds

    def look(self, *, was_killed: bool = True) -> None:
        """Compare the folder with what it was before."""
        if not self.folder.exists():
            self.phases.append("starting")
            return
        status = RunStatus.of(self.folder)
        assert status.state == ("interrupted" if was_killed else "finished"), status
        if was_killed:
            self.phases.append(status.progress.get("phase", "starting"))
        if self.has_result:  # that of a session before
            facts = read_facts(self.folder)
            self.kept_results.append(bool(open_run(self.folder).model) and facts["format"] == 1)
        folds, n_open = self.folds()
        if was_killed:
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
            rows = connection.execute(
                "select study_id, first_trial, split, state, result, lease from blocks"
            ).fetchall()
        done = {row[:3]: (json.loads(row[4]), row[5]) for row in rows if row[3] == "done"}
        return done, sum(row[3] == "running" for row in rows)


def killed_run(folder: Path, n_kills: int, budget: float, seed: int = 0) -> tuple[Killed, float]:
    """Kill and resume a run so many times, then let it finish; with the seconds of that."""
    moments, run = random.Random(seed), Killed(folder, budget=budget)
    while len(run.phases) < n_kills:
        run.kill_after(moments.uniform(0.0, 1.05 * budget))
        print(f"{len(run.phases)} kills, {len(run.seen)} folds", flush=True)
    return run, run.finish()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--budget", type=float, default=30.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        run, seconds = killed_run(Path(place) / "run", given.kills, given.budget)
        with closing(sqlite3.connect(run.folder / "trials.sqlite")) as connection:
            ended = "select writing from fit_sessions where ended = 'finished'"
            writing = [row[0] for row in connection.execute(ended)]
    names = dict.fromkeys(run.phases)
    again = sum(starts - 1 for _, starts in run.seen.values())
    text = TEXT.format(
        budget=given.budget,
        kills=len(run.phases),
        phases=", ".join(f"{name} {run.phases.count(name)}" for name in names),
        ended=run.n_ended,
        folds=len(run.seen),
        lost=run.n_lost,
        repeated=run.n_repeated,
        mean_open=sum(run.n_open) / max(1, len(run.n_open)),
        most_open=max(run.n_open, default=0),
        results=f"{sum(run.kept_results)} of {len(run.kept_results)} times complete",
        again=again,
        again_share=again / max(1, len(run.seen)),
        seconds=seconds,
        writing=", ".join(f"{one:.2f}" for one in writing[-8:]),
    )
    (HERE / "killed_fits.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
