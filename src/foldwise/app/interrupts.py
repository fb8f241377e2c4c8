"""Interrupts while a run is being finished: the first lets it finish, the second stops it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def finish_despite_interrupt(interrupted: bool = False) -> Iterator[None]:
    """Ignore one interrupt, unless there was one before.

    This applies only in the main thread and with Python's default handler. A caller's own handler is kept.
    """
    ours = threading.current_thread() is threading.main_thread()
    if interrupted or not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def pass_once(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, pass_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
