"""The lock of a run folder: one process writes to a run at a time. The system frees it when that process ends."""

from __future__ import annotations

import os
import time
from pathlib import Path

from foldwise.app.timing import LOCK_PAUSE, LOCK_WAIT
from foldwise.errors import InputError

LOCK = ".lock"


class FolderLock:
    """An exclusive lock, held until it is closed or the process ends in any way."""

    def __init__(self, folder: Path) -> None:
        until = time.monotonic() + LOCK_WAIT
        self._file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        while not locked(self._file, exclusive=True):
            if time.monotonic() > until:
                os.close(self._file)
                raise InputError(
                    f"only one process may write to the run {str(folder)!r}, but another one is writing to it now.",
                    "wait until it ends, or stop it.",
                )
            time.sleep(LOCK_PAUSE)

    def close(self) -> None:
        """Free the lock. A second call does no harm."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def is_locked(folder: Path) -> bool:
    """Whether a process is writing to a run folder."""
    try:
        file = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not locked(file, exclusive=False)
    finally:
        os.close(file)


def locked(file: int, *, exclusive: bool) -> bool:
    """Try to lock an open file. False where somebody else holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
