"""Falling back to a refit: the one place where it happens, is reported, and is turned into an error in strict mode.

A session that cannot answer by shared work refits. That hides mistakes of ours, so strict mode (`FOLDWISE_STRICT=1`,
or `with strict():`) raises what the shared work raised, unless the refit fails too: then nothing was hidden.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from foldwise.errors import FoldwiseWarning
from foldwise.folds.protocol import Answer, Failure

VARIABLE = "FOLDWISE_STRICT"

Result = TypeVar("Result")

_reported: set[tuple[str, str]] = set()


class FallbackWarning(FoldwiseWarning):
    """Models are refitted one by one, because the installed version of a library is not one that was tested."""


def is_strict() -> bool:
    """Whether an exception of shared work is raised where a refit would hide it."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def strict(on: bool = True) -> Iterator[None]:
    """Switch strict mode on or off. Threads, and processes started inside, see it too."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1" if on else "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def attempt(shared: Callable[[], Result]) -> tuple[Result | None, Exception | None]:
    """The result of shared work, or the exception it raised. Whoever then refits calls `refitted`."""
    try:
        return shared(), None
    except Exception as error:  # handed on: `refitted` raises it in strict mode
        return None, error


def refitted(answer: Result, error: Exception | None) -> Result:
    """The answer of a refit that followed an exception of shared work, if there was one."""
    if error is not None and is_strict() and not has_failed(answer):
        raise error
    return answer


def has_failed(answer: object) -> bool:
    """Whether a refit raised, or its model predicts nothing and comes along for the scorers to ask."""
    if isinstance(answer, Answer):
        return answer.labels is None and answer.values is None and answer.probabilities() is None
    return isinstance(answer, Failure)


def report_fallback(library: str, reason: str) -> None:
    """Warn that models of a library are refitted; once for each reason."""
    if (library, reason) not in _reported:
        _reported.add((library, reason))
        message = f"{library}: {reason}, so models are refitted one by one. Results are right, but slower."
        warnings.warn(message, FallbackWarning, stacklevel=2)
