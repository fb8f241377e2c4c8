"""A progress bar on the terminal, for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

PATIENCE = 2.0  # seconds before the bar appears
EVERY = 0.2  # seconds between updates
WIDTH = 24
LINE = 79
LISTENER: ContextVar[Callable[[int], None] | None] = ContextVar("listener", default=None)


@contextmanager
def counting_to(listener: Callable[[int], None]) -> Iterator[None]:
    """Within this context, call `listener` with the number of newly scored models, and show no bars."""
    token = LISTENER.set(listener)
    try:
        yield
    finally:
        LISTENER.reset(token)


class Progress:
    """Counts scored models and shows a bar with the remaining time on stderr.

    Nothing is written if stderr is not a terminal, except with `always`, or if another display counts the models.
    """

    def __init__(self, what: str = "models", *, stream: Any = None, always: bool = False) -> None:
        self._what, self._stream = what, sys.stderr if stream is None else stream
        self._listener = LISTENER.get()
        self._shown = always or bool(getattr(self._stream, "isatty", lambda: False)())
        self._start = self._last = time.monotonic()
        self._done = self._expected = 0
        self._written = False

    def expect(self, n: int) -> None:
        """Expect n more."""
        self._expected += n

    def advance(self, n: int) -> None:
        """Count n more as done."""
        self._done += n
        if self._listener is not None:
            self._listener(n)
            return
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
        return line.ljust(LINE)  # overwrites a longer line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written:
            self._stream.write("\r" + " " * LINE + "\r")
            self._stream.flush()
