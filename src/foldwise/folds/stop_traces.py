"""Hides the traceback of a thread of joblib whose processes were stopped at a deadline."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

POOL_THREAD = "ExecutorManagerThread"  # of joblib's processes


class StopTraceFilter:
    """Replaces `threading.excepthook` as long as a pool may end; pools may overlap."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._usual: Callable[[Any], Any] = threading.excepthook

    def install(self) -> None:
        """Hide tracebacks of pools until `remove` was called as often."""
        with self._lock:
            if self._users == 0:
                self._usual, threading.excepthook = threading.excepthook, self.print_others
            self._users += 1

    def remove(self, stopped: Sequence[threading.Thread] = ()) -> None:
        """Undo one `install` when these threads have ended."""
        for thread in stopped:
            thread.join()
        with self._lock:
            self._users -= 1
            if self._users == 0 and threading.excepthook == self.print_others:
                threading.excepthook = self._usual

    def print_others(self, found: threading.ExceptHookArgs) -> None:
        """Print the traceback of any other thread."""
        if not (found.exc_type is KeyError and found.thread is not None and found.thread.name == POOL_THREAD):
            self._usual(found)


FILTER = StopTraceFilter()


@contextmanager
def without_stop_traces(*, stops: bool = False) -> Iterator[None]:
    """Do not print that the thread of a stopped pool missed a job: it may still get results of jobs that are gone.

    The thread may do so until it ends, which takes long on a busy machine. So if the pool was stopped, another thread
    waits for that.
    """
    FILTER.install()
    try:
        yield
    except multiprocessing.TimeoutError:
        stops = True
        raise
    finally:
        stopped = [thread for thread in threading.enumerate() if stops and thread.name == POOL_THREAD]
        if stopped:
            threading.Thread(target=FILTER.remove, args=(stopped,), daemon=True).start()
        else:
            FILTER.remove()
