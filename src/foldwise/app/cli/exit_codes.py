"""Exit codes: 0 success, 2 invalid input with one sentence, 130 interrupted. An internal error keeps its traceback."""

from __future__ import annotations

import functools
import re
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import typer

from foldwise.app.cli import interrupted

BAD_INPUT = 2
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
    """Describe invalid input in one sentence. None means an internal error."""
    from foldwise.errors import FoldwiseError

    if isinstance(error, FoldwiseError):
        sentence = with_options(str(error))
        return f"{sentence} {IN_PYTHON}" if PYTHON_ONLY.search(sentence) else sentence
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError | PermissionError):
        return f"{error.filename!r} cannot be used: {(error.strerror or 'system error').lower()}."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename!r} cannot be used: {error.strerror.lower()}."
    return None


# what the command line cannot set
PYTHON_ONLY = re.compile(
    r"\b(separator|quote|encoding|decimal|header|skip_rows|names|kinds|missing_values|table|sheet|index)="
)
IN_PYTHON = "Arguments with = are those of foldwise.read_table in Python. Pass the table it returns to foldwise.fit."

# how arguments of Python functions are called on the command line
OPTIONS = {
    "drop_unlabeled=True": "--drop-unlabeled",
    "force=True": "--force",
    "rows=False": "--no-rows",
    "n_jobs=": "--jobs ",
    "about=": "--class ",
    "n_samples=": "--samples ",
}
SAME_NAME = (
    "background budget costs cv groups keep metric models out positive resume seed target task test time weights"
)
OPTIONS |= {f"{name}=": f"--{name} " for name in SAME_NAME.split()}


def with_options(sentence: str) -> str:
    """Replace arguments of Python functions with the options of the command line.

    >>> with_options("pass target='play', or drop_unlabeled=True.")
    "pass --target 'play', or --drop-unlabeled."
    >>> with_options("n_jobs must be at least 1.")
    '--jobs must be at least 1.'
    >>> with_options("the table has no column 'z', passed as groups=.")
    "the table has no column 'z', passed as --groups."
    """
    arguments = "|".join(re.escape(name) for name in OPTIONS)
    sentence = re.sub(r"^(\w+)(?= must )", r"\1=", sentence)
    text = re.sub(rf"(?<![\w'\"-])(?:{arguments})", lambda found: OPTIONS[found[0]], sentence)
    text = re.sub(r"^(\w+)=(?= must )", r"\1", text)  # not an option
    return re.sub(r"(--[a-z-]+) +(?=[.,;: ])", r"\1", text)  # an option without a value


def say(sentence: str) -> None:
    print(f"foldwise: {sentence}", file=sys.stderr)


def show(message: Warning | str, *rest: Any, **more: Any) -> None:
    say(f"note: {message}")
