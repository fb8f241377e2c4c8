"""The progress of `foldwise tune`: one line with the phase, the fits scored so far and the time."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from foldwise.app.cli.output import ProgressLine, bar, duration
from foldwise.app.timing import PROGRESS_TICK
from foldwise.data.notes import counted


class TuneProgress:
    """Shows what is done, and remembers how long each phase took. Silent if not wanted."""

    def __init__(self, wanted: bool, budget: float | None) -> None:
        self._line, self._budget = ProgressLine(wanted), budget
        self._start = time.monotonic()
        self._phase, self._began, self._n_models = "", self._start, 0
        self._phases: list[tuple[str, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)

    def begin(self, phase: str) -> None:
        """Begin a phase."""
        self._end_phase()
        self._phase = phase
        self._show()

    def count(self, n: int) -> None:
        """Count n more models as scored."""
        self._n_models += n

    @property
    def phases(self) -> tuple[tuple[str, float], ...]:
        """The phases and their seconds."""
        return tuple(self._phases)

    def text(self, seconds: float) -> str:
        """The line after some seconds.

        >>> TuneProgress(False, 60.0).text(15)
        '██████·················· 45 s left'
        >>> TuneProgress(False, None).text(15)
        '15 s'
        """
        now = duration(seconds)
        if self._budget is not None:
            now = f"{bar(seconds / self._budget)} {duration(self._budget - seconds)} left"
        models = f"{counted(self._n_models, 'fit')} scored" if self._n_models else ""
        return " · ".join(one for one in (now, self._phase, models) if one)

    def __enter__(self) -> Self:
        self._line.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_phase()
        self._over.set()
        self._thread.join()
        self._line.__exit__(kind, error, trace)

    def _end_phase(self) -> None:
        now = time.monotonic()
        if self._phase:
            self._phases.append((self._phase, now - self._began))
        self._began = now

    def _repeat(self) -> None:
        while not self._over.wait(PROGRESS_TICK):
            self._show()

    def _show(self) -> None:
        self._line.show(self.text(time.monotonic() - self._start), self._phase)
