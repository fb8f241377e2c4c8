"""Terminal output at 80 columns: progress on stderr, results on stdout, or one JSON document."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from foldwise.addresses import masked
from foldwise.app.plain_values import plain
from foldwise.app.progress import RunProgress
from foldwise.app.timing import PROGRESS_LINES

WIDTH = 80
BAR = 24


class ProgressLine:
    """One live line on a terminal, or a new line every few seconds elsewhere. Silent if not wanted."""

    def __init__(self, wanted: bool = True, *, always: bool = True) -> None:
        self._live: Any = None
        self._terminal = sys.stderr.isatty()
        self._wanted = wanted and (self._terminal or always)
        self._last = -math.inf
        self._phase = ""

    def __enter__(self) -> Self:
        if self._wanted and self._terminal:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, line: str, phase: str = "") -> None:
        """Replace the line. Without a terminal, print it when the phase changes or after ten seconds."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line[: WIDTH * 3]), refresh=True)
        elif self._wanted:
            now = time.monotonic()
            if phase != self._phase or now - self._last >= PROGRESS_LINES:
                self._phase, self._last = phase, now
                try:
                    print(line, file=sys.stderr, flush=True)
                except BrokenPipeError:  # nobody reads any more, which must not end the run
                    self._wanted = False


def counted_names(names: Iterable[str]) -> str:
    """List names, each once, with the number of times that it occurs.

    >>> counted_names(["knn", "mlp", "knn"])
    'knn ×2, mlp'
    """
    return ", ".join(name if n == 1 else f"{name} ×{n}" for name, n in Counter(names).items())


def bar(share: float, width: int = BAR) -> str:
    """Draw a bar that is filled from the left.

    >>> bar(0.5, 4)
    '██··'
    """
    return ("█" * round(width * min(1.0, max(0.0, share)))).ljust(width, "·")


def duration(seconds: float) -> str:
    """Format seconds for people.

    >>> duration(7.2), duration(75), duration(3700)
    ('7 s', '1 min 15 s', '1 h 1 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def progress_text(now: RunProgress, done: Sequence[str], doing: str) -> str:
    """Format the progress of a run as one line: the time left, the phase, what was done, what is being done."""
    left = max(0.0, now.budget - now.elapsed)
    parts = [f"{bar(now.elapsed / now.budget)} {duration(left)} left", now.phase, *done]
    if now.doing:
        parts.append(f"{doing}: {clipped(counted_names(now.doing), 40)}")
    return " · ".join(parts)


def typed_command() -> str:
    """Return the command that was typed, as it is stored with a run: without passwords."""
    return shlex.join(["foldwise", *map(masked, sys.argv[1:])])


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(plain(value), ensure_ascii=False, indent=1, allow_nan=False))


def clipped(text: Any, width: int) -> str:
    """Put a text on one line and cut it to a width.

    >>> clipped("a long name", 6)
    'a lon…'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"
