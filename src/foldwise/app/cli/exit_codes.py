"""Exit codes: 0 success, 1 internal error, 2 invalid input, 3 changes found (`check`), 130 interrupted, 141 no reader.

Invalid input is explained in one sentence. An internal error keeps its traceback. Passwords of addresses are replaced
in whatever is printed here, so no command needs to think of them.
"""

from __future__ import annotations

import errno
import functools
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

import typer

from foldwise.addresses import masked
from foldwise.app.cli import interrupted
from foldwise.app.option_words import with_options

BAD_INPUT = 2
CHANGED = 3
EXIT_INTERRUPTED = 130

Command = TypeVar("Command", bound=Callable[..., None])


def guarded(command: Command) -> Command:
    """Wrap a command so that errors become one sentence and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from foldwise.errors import FoldwiseWarning

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of libraries; Foldwise reports what matters itself
                warnings.showwarning = show
                warnings.filterwarnings("default", category=FoldwiseWarning)
                command(*args, **kwargs)
        except KeyboardInterrupt:
            with suppress(ValueError):  # not in the main thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would only disturb the exit
            print(interrupted(), file=sys.stderr)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except Exception as error:  # invalid input is printed, and any other error is raised again
            sentence = bad_input(error)
            if sentence is None:
                raise
            say(sentence)
            raise typer.Exit(BAD_INPUT) from None

    return run  # type: ignore[return-value]


def bad_input(error: Exception) -> str | None:
    """Describe invalid input in one sentence, without passwords. None means an internal error."""
    sentence = described(error)
    return None if sentence is None else masked(sentence)


def described(error: Exception) -> str | None:
    """Describe invalid input in one sentence."""
    from foldwise.errors import FoldwiseError

    if isinstance(error, FoldwiseError):
        return with_options(str(error))
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError | PermissionError):
        return f"{error.filename!r} cannot be used: {(error.strerror or 'system error').lower()}."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename!r} cannot be used: {error.strerror.lower()}."
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "the output cannot be written: no space left on device. Hint: free some space, or write elsewhere."
    return None


def say(sentence: str) -> None:
    """Print a sentence on standard error, without passwords."""
    print(f"foldwise: {masked(sentence)}", file=sys.stderr)


def show(message: Warning | str, *rest: Any, **more: Any) -> None:
    say(f"note: {with_options(str(message))}")


def show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an internal error as Python does, without passwords."""
    print(masked("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)
