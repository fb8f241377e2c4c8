"""`RunQueue`: runs that wait for their turn, and the processes that were started. Everything is a file in FOLDER.

A run is a process of its own in a session of its own, so it survives the server. Its entry says how it was started.
Its folder says how far it came.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from foldwise.app.recording.lock import LOCK
from foldwise.app.recording.status import RunStatus
from foldwise.app.run_folder import HELD_OUT, OPTIONS, write_whole
from foldwise.app.timing import STARTING_SECONDS
from foldwise.app.workbench.folder import WorkFolder
from foldwise.errors import InputError

ViewState = Literal["queued", "starting", "running", "stopping", "interrupted", "failed", "finished"]
ACTIVE = ("starting", "running", "stopping")
LOG_END = 4096  # bytes of a log that may hold the reason of a failure


@dataclass(frozen=True)
class RunView:
    """A run as pages show it.

    Parameters
    ----------
    name : str
        Name of its folder.
    folder : Path
        Its folder, which may not exist yet.
    state : str
        What the run is doing.
    has_result : bool
        Whether there is a model with its report.
    progress : mapping
        What the run wrote last, see `RunStatus`.
    error : str
        Why it failed.
    command : str
        How it was started here; empty if it was started elsewhere.
    """

    name: str
    folder: Path
    state: ViewState
    has_result: bool = False
    progress: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    command: tuple[str, ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether a process works on it."""
        return self.state in ACTIVE

    @property
    def changed(self) -> float | None:
        """When it was last updated, in seconds since 1970. An exploration writes no progress, only its folder."""
        if isinstance(updated := self.progress.get("updated"), int | float):
            return updated
        with suppress(OSError):
            return self.folder.stat().st_mtime
        return None

    @property
    def is_exploration(self) -> bool:
        """Whether it explores a table without a target, so that it has no target to predict and no record to resume."""
        if not self.has_result:
            return self.command[:1] == ("explore",)
        return not any((self.folder / name).is_file() for name in (OPTIONS, HELD_OUT))

    @property
    def can_resume(self) -> bool:
        """Whether more time can be given to it."""
        is_idle = not self.is_active and self.state != "queued"
        return is_idle and self.folder.is_dir() and not self.is_exploration


class RunQueue:
    """The runs of a folder: those that wait, run and ended, started here or elsewhere."""

    def __init__(self, folder: WorkFolder) -> None:
        self.folder = folder
        self._children: list[subprocess.Popen[bytes]] = []

    def add(self, run: Path, arguments: Sequence[str]) -> None:
        """Let a run wait for its turn. A run that exists is resumed."""
        self._write(run.name, {"arguments": list(arguments), "queued": time.time(), "state": "queued"})

    def remove(self, name: str) -> None:
        """Take a run that still waits, or never began, from the list."""
        if (entry := self._entries().get(name)) is not None and entry.get("state") in ("queued", "started"):
            self._file(name).unlink(missing_ok=True)

    def step(self) -> None:
        """Start the run that has waited longest, unless another one is running in the folder."""
        self._children = [one for one in self._children if one.poll() is None]  # ended children are collected
        entries = self._entries()
        waiting = [(entry.get("queued", 0.0), name) for name, entry in entries.items() if entry["state"] == "queued"]
        if waiting and not any(view.is_active for view in self.views()):
            self._start(min(waiting)[1])

    def _start(self, name: str) -> None:
        entry = {**self._entries()[name], "state": "started", "started": time.time(), "pid": None}
        self._write(name, entry)  # first, so that a run is never started twice
        log = os.open(self.folder.state("logs") / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            child = subprocess.Popen(
                [sys.executable, "-m", "foldwise.app.cli", *entry["arguments"]],
                cwd=self.folder.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._children.append(child)
        self._write(name, {**entry, "pid": child.pid})

    def stop(self, name: str) -> None:
        """Ask a run to stop and to keep what it found, as Ctrl-C does."""
        view = self.view(name)
        if view is None or not view.is_active:
            return
        pid, entry = self._pid_of(view), self._entries().get(name, {})
        if pid is None:
            raise InputError("the process of this run is on another computer, so it cannot be stopped from here.")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        self._write(name, {"arguments": [], **entry, "state": "started", "stopped": time.time()})

    def _pid_of(self, view: RunView) -> int | None:
        """The process of a run. A file must not decide which process gets a signal, so the lock is looked for."""
        pid = view.progress.get("pid")
        if isinstance(pid, int) and view.progress.get("host") == platform.node() and holds_lock(pid, view.folder):
            return pid
        own = self._entries().get(view.name, {}).get("pid")
        return next((one.pid for one in self._children if one.pid == own and one.poll() is None), None)

    def views(self) -> list[RunView]:
        """All runs: those that wait or run first, then the latest."""
        entries, runs = self._entries(), {run.name: run for run in self.folder.runs()}
        found = [self._view(name, runs.get(name), entries.get(name)) for name in {**entries, **runs}]
        order = {"running": 0, "stopping": 0, "starting": 0, "queued": 1}
        return sorted(found, key=lambda one: (order.get(one.state, 2), -self._when(one, entries), one.name))

    def view(self, name: str) -> RunView | None:
        """One run; None if there is none of this name."""
        entry, run = self._entries().get(name), self.folder.run(name)
        return None if entry is None and run is None else self._view(name, run, entry)

    def _view(self, name: str, run: Path | None, entry: Mapping[str, Any] | None) -> RunView:
        folder, entry = self.folder.path / name, entry or {}
        command = tuple(map(str, entry.get("arguments", ())))
        status = None if run is None else RunStatus.of(run)
        state: ViewState
        error = ""
        if status is not None and status.state == "running":
            stopped, updated = entry.get("stopped", 0.0), entry.get("started", 0.0)
            state = "stopping" if stopped > updated else "running"
        elif entry.get("state") == "queued":
            state = "queued"
        elif self._is_starting(entry, status):
            state = "starting"
        elif status is None and works_on(entry.get("pid"), name):  # an exploration, whose folder appears at its end
            state = "running"
        elif status is not None:
            state, error = status.state, str(status.progress.get("error") or "")
            if self._was_refused(entry, status):
                error = self._last_words(name)
        else:
            state = "failed" if entry.get("pid") else "interrupted"
            error = self._last_words(name) or "The run ended before it had tried a model."
        if status is None:
            return RunView(name, folder, state, error=error, command=command)
        return RunView(name, folder, state, status.has_result, status.progress, error, command)

    def _is_starting(self, entry: Mapping[str, Any], status: RunStatus | None) -> bool:
        """Whether a process was started that has not locked its folder yet."""
        pid, started = entry.get("pid"), entry.get("started", 0.0)
        if entry.get("state") != "started" or not isinstance(pid, int) or time.time() - started > STARTING_SECONDS:
            return False
        if status is not None and status.progress.get("updated", 0.0) >= started:
            return False
        return is_alive(pid)

    def _was_refused(self, entry: Mapping[str, Any], status: RunStatus) -> bool:
        """Whether the last session ended before it wrote any progress."""
        return bool(entry.get("started")) and status.progress.get("updated", 0.0) < entry["started"]

    def _last_words(self, name: str) -> str:
        """The sentence with which a process ended."""
        try:
            with (self.folder.state("logs") / f"{name}.log").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_END))
                lines = file.read().decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        said = [line.removeprefix("foldwise: ") for line in lines if line.startswith("foldwise: ")]
        return said[-1] if said else ""

    def _when(self, view: RunView, entries: Mapping[str, Any]) -> float:
        entry = entries.get(view.name, {})
        if view.state == "queued":
            return -float(entry.get("queued", 0.0))
        with suppress(OSError):
            return max(float(view.progress.get("updated") or 0.0), view.folder.stat().st_mtime)
        return float(entry.get("started") or 0.0)

    def _file(self, name: str) -> Path:
        return self.folder.state("runs") / f"{name}.json"

    def _write(self, name: str, entry: Mapping[str, Any]) -> None:
        write_whole(self._file(name), json.dumps(entry))

    def _entries(self) -> dict[str, dict[str, Any]]:
        found = {}
        for path in self.folder.state("runs").glob("*.json"):
            with suppress(OSError, ValueError):
                entry = json.loads(path.read_text(encoding="utf-8"))
                if isinstance(entry, dict) and "state" in entry and not path.name.startswith("."):
                    found[path.stem] = entry
        return found


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    with suppress(OSError, IndexError):  # an ended child that nobody asked for is a zombie
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return not Path("/proc").is_dir()


def works_on(pid: Any, name: str) -> bool:
    """Whether a process is a command that writes to the folder of this name."""
    with suppress(OSError, TypeError, ValueError):
        return f"--out={name}" in Path(f"/proc/{pid:d}/cmdline").read_text(errors="replace").split("\0")
    return False


def holds_lock(pid: int, folder: Path) -> bool:
    """Whether a process has opened the lock file of a run folder."""
    lock = str((folder / LOCK).resolve())
    try:
        names = [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return lock in names
