"""Fallback to a refit: how it is done, reported, and turned into an error in strict mode.

A session refits a setting if its shared work raises an exception. This could hide a bug, so strict mode
(`FOLDWISE_STRICT=1`, or `with strict():`) raises that exception unless the refit fails too.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from foldwise.errors import FoldwiseWarning
from foldwise.folds.protocol import Answer, Failure

VARIABLE = "FOLDWISE_STRICT"
REFITTED = "models are refitted one by one. Results are correct, but take longer."

Result = TypeVar("Result")

_reported: set[tuple[str, str, str]] = set()


class FallbackWarning(FoldwiseWarning):
    """Models are refitted one by one because Foldwise was not tested with the installed version of a library."""


def is_strict() -> bool:
    """Whether strict mode is on."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def strict(on: bool = True) -> Iterator[None]:
    """Turn strict mode on or off, for all threads and for processes that are started inside the block."""
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
    """The result of shared work, or the exception that it raised, which is then passed to `refitted`."""
    try:
        return shared(), None
    except Exception as error:  # returned, and raised by `refitted` in strict mode
        return None, error


def refitted(answer: Result, error: Exception | None) -> Result:
    """The answer of a refit. In strict mode, raise the error of the shared work if the refit did not fail too."""
    if error is not None and is_strict() and not has_failed(answer):
        raise error
    return answer


def refitted_apart(answers: Iterable[Result], error: Exception | None) -> Iterator[Result]:
    """The answers of refits of settings whose shared work failed. In strict mode, raise its error if no refit failed.

    One invalid setting makes the shared work of all of them fail, so a single failure explains the error.
    """
    explained = False
    for answer in answers:
        explained = explained or has_failed(answer)
        yield answer
    if not explained:
        refitted(None, error)


def raise_hidden(error: Exception | None, refit: Callable[[], object]) -> None:
    """In strict mode, raise the error of shared work unless the refit, which is only done then, fails too.

    For work whose error does not reach the settings that are refitted because of it, such as reading the whole table.
    """
    if error is None or not is_strict():
        return
    answer, failed = attempt(refit)
    if failed is None:
        refitted(answer, error)


def has_failed(answer: object) -> bool:
    """Whether a refit raised, or its model cannot predict and is left to the scorers."""
    if isinstance(answer, Answer):
        return answer.labels is None and answer.values is None and answer.probabilities() is None
    return isinstance(answer, Failure)


def report_fallback(library: str, reason: str, otherwise: str = REFITTED) -> None:
    """Warn that shared work for models of a library is off, once for each reason and consequence."""
    if (library, reason, otherwise) not in _reported:
        _reported.add((library, reason, otherwise))
        warnings.warn(f"{library}: {reason}, so {otherwise}", FallbackWarning, stacklevel=2)
