"""The command line: `foldwise fit`, `explore`, `predict`, `explain`, `inspect`, `compare`, `tune`, `serve`, `report`.

Nothing that computes is imported before a command needs it, so `--help` answers at once.
"""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

LOADED = time.monotonic()
OUTPUT_CLOSED = 141  # as shells report a program that writes to a closed pipe
started: float | None = None  # when the program began: a budget covers the loading of libraries
run_folder: Path | None = None  # of a run that was begun


def main() -> None:
    """Run the program `foldwise`."""
    global started
    started = LOADED
    signal.signal(signal.SIGTERM, end_as_by_interrupt)
    try:
        run()
    except KeyboardInterrupt:  # while libraries are loaded
        print(interrupted(), file=sys.stderr)
        sys.exit(130)
    except SystemExit as end:
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):  # typer does not report it
            print(interrupted(), file=sys.stderr)
        if is_output_closed(end):
            sys.exit(OUTPUT_CLOSED)
        raise


def is_output_closed(end: SystemExit) -> bool:
    """Whether the reader of the output has gone, as in `foldwise inspect table.csv | head`. Nothing more is printed."""
    if not isinstance(end.__context__, BrokenPipeError):  # which typer turns into exit code 1
        try:
            sys.stdout.flush()
            return False
        except BrokenPipeError:
            pass
    with suppress(OSError, ValueError):  # without a file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
    return True


def interrupted() -> str:
    """What to print after Ctrl-C. Only `fit` and `explore` have a result that could have been saved."""
    if run_folder is not None and run_folder.is_dir():
        return f"foldwise: interrupted. To continue: foldwise fit --resume {shlex.quote(str(run_folder))}"
    if sys.argv[1:2] in (["fit"], ["explore"]):
        return "foldwise: interrupted before there was a result to save."
    return "foldwise: interrupted."


def end_as_by_interrupt(number: int, frame: FrameType | None) -> None:
    """Treat SIGTERM as Ctrl-C, even if the parent process ignores Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def run() -> None:
    """Find the command and run it."""
    from typer.main import get_command

    from foldwise.app.cli.commands import app
    from foldwise.app.cli.exit_codes import show_traceback

    sys.excepthook = show_traceback
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # for terminals that cannot show bars and symbols
    command, name, arguments = get_command(app), "foldwise", sys.argv[1:]
    inner = getattr(command, "commands", {}).get(arguments[0]) if arguments else None
    if inner is not None:  # call the command directly, which saves typer 0.3 s
        command, name, arguments = inner, f"{name} {arguments[0]}", arguments[1:]
    try:
        command.main(arguments, prog_name=name, help_option_names=["-h", "--help"])
    finally:
        if "duckdb" not in sys.modules:  # it would report its objects as leaked
            gc.freeze()  # at its end Python would look for cycles among all objects, which takes 0.6 s after a fit
