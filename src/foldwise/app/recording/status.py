"""The status of a run by its folder alone: whether it runs, ended or was killed, and how far it came.

`progress.json` is written about twice per second. Whether the run is alive is not decided by it, but by the lock of the
folder, which no killed process holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from foldwise.app.recording.lock import is_locked
from foldwise.app.run_folder import FACTS, OPTIONS, PROGRESS, current, write_whole

RunState = Literal["running", "interrupted", "failed", "finished"]


@dataclass(frozen=True)
class RunStatus:
    """What a run folder says about its run.

    Attributes
    ----------
    state : {"running", "interrupted", "failed", "finished"}
        A run is interrupted if its process was stopped or killed, and failed if it ended with an error.
    has_result : bool
        Whether there is a model with its report. A finished run that is being resumed keeps the earlier ones.
    progress : mapping
        What the run wrote last: `phase`, `elapsed`, `budget`, `n_models`, `n_settings`, `best`, `doing`, `session`,
        `pid`, `host`, `updated` (seconds since 1970) and `error`, and in the end `result`, the honest estimate.

    Examples
    --------
    >>> import tempfile
    >>> from foldwise.app.recording.status import RunStatus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     RunStatus.of(folder).state
    'interrupted'
    """

    state: RunState
    has_result: bool
    progress: Mapping[str, Any]

    @classmethod
    def of(cls, folder: str | Path) -> RunStatus:
        """Read the status of a run folder.

        Parameters
        ----------
        folder : path
            The run folder.

        Returns
        -------
        RunStatus
            The status at this moment.
        """
        folder = Path(folder)
        has_result = current(folder, FACTS).is_file()
        progress = read_progress(folder)
        said = progress.get("state", "finished" if has_result else "interrupted")
        state: RunState = "interrupted"
        if is_locked(folder):
            state = "running"
        elif said in ("failed", "finished"):
            state = said
        return cls(state, has_result, progress)

    @property
    def is_unfinished(self) -> bool:
        """Whether the run has not come to a result, and may be resumed."""
        return not self.has_result and self.state != "finished"


def is_recorded(folder: Path) -> bool:
    """Whether a folder belongs to a run that was recorded, whether or not it is finished."""
    return (folder / OPTIONS).is_file()


def read_progress(folder: Path) -> dict[str, Any]:
    """Read what a run wrote last; empty where that is missing or damaged."""
    try:
        found = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def write_progress(folder: Path, progress: Mapping[str, Any]) -> None:
    """Replace what a run wrote last."""
    write_whole(folder / PROGRESS, json.dumps(progress))
