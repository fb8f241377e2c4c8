"""A line on the terminal for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 2.0  # seconds before the first word
EVERY = 0.2  # seconds between words
WIDTH = 24
LINE = 79


class Progress:
    """Counts models scored; a bar with the time left appears on a terminal's stderr after two seconds.

    Nothing is written where no one looks: in a pipe or a log only with `always`.
    """

    def __init__(self, what: str = "models", *, stream: Any = None, always: bool = False) -> None:
        self._what, self._stream = what, sys.stderr if stream is None else stream
        self._shown = always or bool(getattr(self._stream, "isatty", lambda: False)())
        self._start = self._last = time.monotonic()
        self._done = self._expected = 0
        self._written = False

    def expect(self, n: int) -> None:
        """So many more are to come."""
        self._expected += n

    def advance(self, n: int) -> None:
        """So many more are done."""
        self._done += n
        now = time.monotonic()
        if self._shown and now - self._start > PATIENCE and now - self._last > EVERY:
            self._last = now
            self._written = True
            self._stream.write("\r" + self.line(now - self._start))
            self._stream.flush()

    def line(self, seconds: float) -> str:
        """The bar, as text."""
        share = self._done / max(1, self._expected)
        bar = ("█" * round(WIDTH * share)).ljust(WIDTH, "·")
        left = seconds * (1 - share) / share if share else float("inf")
        line = f"{bar} {self._done:,} of {self._expected:,} {self._what}, {seconds:.0f} s, {left:.0f} s left"
        return line.ljust(LINE)  # what a longer line left behind is covered

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written:
            self._stream.write("\r" + " " * LINE + "\r")
            self._stream.flush()
