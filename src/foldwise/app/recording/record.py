"""`RunRecord`: the folder of a run while a process works on it, from the first second to the result.

The folder is locked, its options and progress are files that anybody may read, and its trials are in a store. Model,
report and facts appear when the run ends. Those of an earlier session stay until then.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from foldwise.addresses import masked
from foldwise.app.config import FitConfig
from foldwise.app.progress import RunProgress
from foldwise.app.recording.lock import LOCK, FolderLock
from foldwise.app.recording.options import read_options, resumed, to_stored, write_options
from foldwise.app.recording.status import RunStatus, write_progress
from foldwise.app.run_folder import TRIALS, check_writable, finish_replacing, new_folder, replace_results
from foldwise.app.timing import PROGRESS_WRITES, SHORT, Clock, seconds_of
from foldwise.errors import InputError
from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import estimate_text

if TYPE_CHECKING:
    from foldwise.app.recording.trials import TrialRecord
    from foldwise.app.result import Run
    from foldwise.app.setup import RunSetup


@dataclass
class RunRecord:
    """A run folder that this process writes to.

    Use it as a context manager: the folder is unlocked at the end, and it says whether the run came to a result. The
    folder of a new run without a single trial is removed.
    """

    folder: Path
    table: Any
    config: FitConfig
    command: str | None
    stored: dict[str, Any]  # the options, as written
    lock: FolderLock
    is_new: bool  # whether the folder was made here, and may be removed
    replaces: bool = False  # whether the trials of another run are replaced
    is_finished: bool = False
    trials: TrialRecord | None = None
    _shown: float = 0.0
    _progress: dict[str, Any] = field(default_factory=dict)
    _before: dict[str, Any] = field(default_factory=dict)  # the progress at the end of the last session

    @classmethod
    def begin(
        cls,
        folder: str | os.PathLike[str],
        table: Any,
        config: FitConfig,
        *,
        force: bool = False,
        command: str | None = None,
    ) -> RunRecord:
        """Begin a run in a folder, which must be new, empty, or of a run that may be replaced."""
        folder = Path(folder)
        check_writable(folder, force)
        stored = to_stored(table, config, few_splits=seconds_of(config.budget) <= SHORT)
        given = (table, config, command, stored)
        if folder.exists() and any(folder.iterdir()):
            return cls(folder, *given, locked(folder), is_new=False, replaces=True)
        with new_folder(folder) as inside:
            lock = FolderLock(inside)
            try:
                write_options(inside, stored)
                if folder.exists():
                    folder.rmdir()
                os.replace(inside, folder)  # appears with its lock and its options
            except BaseException:
                lock.close()
                raise
        return cls(folder, *given, lock, is_new=True)

    @classmethod
    def resume(
        cls,
        folder: str | os.PathLike[str],
        table: Any,
        given: FitConfig,
        budget: float | str | None,
        *,
        command: str | None = None,
    ) -> RunRecord:
        """Open the folder of a run to continue it. Options at their defaults are those of the run."""
        folder = Path(folder)
        stored = read_options(folder)
        table, config = resumed(folder, stored, table, given, budget)
        status = RunStatus.of(folder)
        record = cls(folder, table, config, command, stored, locked(folder), is_new=False)
        record._before = dict(status.progress)
        if (status.has_result or status.progress.get("session")) and not (folder / TRIALS).is_file():
            record.lock.close()
            raise InputError(
                f"the run {str(folder)!r} cannot be resumed, because {TRIALS} is missing.", "start a new run."
            )
        return record

    @property
    def is_resumed(self) -> bool:
        """Whether the run was begun by an earlier process."""
        return not self.is_new and not self.replaces

    @property
    def call(self) -> str:
        """The call in Python that repeats this session."""
        if self.is_resumed:
            data = "" if self.stored.get("table") else f"{self.config.data_code(self.table)}, "
            return f"foldwise.fit({data}resume={str(self.folder)!r}, budget={self.config.budget!r})"
        return f"{self.config.python_call(self.table).removesuffix(')')}, out={str(self.folder)!r})"

    @property
    def few_splits(self) -> bool:
        """Whether the run has few splits, because its first budget was short."""
        return bool(self.stored.get("few_splits"))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say in an error about a missing target that it was passed when the run began."""
        try:
            yield
        except InputError as error:
            message = error.message.replace("passed as target=", f"the target of the run {str(self.folder)!r}")
            if not self.is_resumed or message == error.message:
                raise
            raise InputError(message, "pass the table of this run, or omit it.") from error

    def open_trials(self, setup: RunSetup, clock: Clock) -> TrialRecord:
        """Open the store of the run, once its table and options are known to be valid."""
        from foldwise.app.recording.trials import TrialRecord

        if self.replaces:
            for name in (TRIALS, f"{TRIALS}-wal", f"{TRIALS}-shm"):
                (self.folder / name).unlink(missing_ok=True)
        elif not self.is_new:
            finish_replacing(self.folder)
        self.trials = TrialRecord.open(self.folder / TRIALS, setup, clock, self.command or self.call)
        if not self.trials.earlier:
            budget = self.stored["options"]["budget"]
            self.stored = to_stored(self.table, self.config, few_splits=self.few_splits)
            self.stored["options"]["budget"] = budget
            write_options(self.folder, self.stored)
        return self.trials

    def show(self, now: RunProgress) -> None:
        """Write the progress for readers of the folder, at most twice per second except where a phase begins."""
        if now.phase == self._progress.get("phase") and time.monotonic() - self._shown < PROGRESS_WRITES:
            return
        self._shown = time.monotonic()
        self._write_progress("running", vars(now))

    def _write_progress(self, state: str, more: Mapping[str, Any]) -> None:
        session = self._before.get("session") if self.trials is None else self.trials.session.number
        about = {"format": 1, "pid": os.getpid(), "host": platform.node(), "session": session, "updated": time.time()}
        if not self.replaces or self.trials is not None:  # before that, the folder still belongs to the earlier run
            self._progress = {**self._progress, **about, **more, "state": state}
            with suppress(OSError):  # a full disk is reported by what must be written
                write_progress(self.folder, self._progress)

    def save(self, run: Run) -> None:
        """Write model, report and facts. They replace those of an earlier session at one moment."""
        replace_results(self.folder, run.write)
        estimate = ReportFacts(run.facts).part("headline", "estimate")
        self._progress["result"] = f"{estimate.text('title')} {estimate_text(estimate)}"
        self.is_finished = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = "finished" if self.is_finished else "failed" if isinstance(error, Exception) else "interrupted"
        has_begun = self.trials is not None and self.trials.has_begun
        try:
            if self.trials is not None:
                with suppress(*[InputError] * (error is not None)):  # the first error says more
                    self.trials.close(ended)
        finally:
            if self.is_new and not self.is_finished and not self._has_trials:
                shutil.rmtree(self.folder, ignore_errors=True)
            elif has_begun:
                self._write_progress(ended, {"doing": [], "error": masked(str(error)) if ended == "failed" else ""})
            elif self.is_resumed:  # the session was refused
                write_progress(self.folder, self._before)
            self.lock.close()

    @property
    def _has_trials(self) -> bool:
        return self.trials is not None and self.trials.has_trials


def locked(folder: Path) -> FolderLock:
    """Lock a folder. Raise if it cannot be written."""
    try:
        return FolderLock(folder)
    except OSError as error:
        raise InputError(
            f"the run folder {str(folder)!r} must be writable, but {LOCK} cannot be written: "
            f"{(error.strerror or '').lower()}.",
            "change its permissions, or copy the folder. Nothing was changed.",
        ) from error
