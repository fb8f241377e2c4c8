"""How a command ends: 0, or 2 with one sentence on what was given, 130 when interrupted; a bug keeps its traceback."""

from __future__ import annotations

import functools
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import typer

from foldwise.app.cli import INTERRUPTED

BAD_INPUT = 2
EXIT_INTERRUPTED = 130

Command = TypeVar("Command", bound=Callable[..., None])


def guarded(command: Command) -> Command:
    """The command with its errors turned into a sentence and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from foldwise.errors import FoldwiseWarning

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of libraries; what is worth knowing is said in words of ours
                warnings.showwarning = show
                warnings.filterwarnings("default", category=FoldwiseWarning)
                command(*args, **kwargs)
        except KeyboardInterrupt:
            with suppress(ValueError):  # not in the main thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would only break the way out
            print(INTERRUPTED, file=sys.stderr)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except Exception as error:
            sentence = bad_input(error)
            if sentence is None:
                raise
            say(sentence)
            raise typer.Exit(BAD_INPUT) from None

    return run  # type: ignore[return-value]


def bad_input(error: Exception) -> str | None:
    """The sentence about what was given; None where the error is ours."""
    from foldwise.errors import FoldwiseError

    if isinstance(error, FoldwiseError):
        return str(error)
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError | PermissionError):
        return f"{error.filename!r} cannot be used: {(error.strerror or 'an error of the system').lower()}."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename!r} cannot be used: {error.strerror.lower()}."
    return None


def say(sentence: str) -> None:
    print(f"foldwise: {sentence}", file=sys.stderr)


def show(message: Warning | str, *rest: Any, **more: Any) -> None:
    say(f"note: {message}")
