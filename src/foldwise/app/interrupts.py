"""An interrupt while a run is being finished: the first lets it end, which takes seconds; the next one stops it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def finish_despite_interrupt(interrupted: bool = False) -> Iterator[None]:
    """Let one interrupt pass, unless there was one before.

    Only where Python itself answers interrupts: who has a handler of their own keeps it, and threads have none.
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
