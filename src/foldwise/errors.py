"""The errors and warnings of Foldwise. Each says what must hold, what came and what to do.

They derive from `ValueError`, `TypeError`, `RuntimeError` or `ImportError`, so code written for scikit-learn catches
them unchanged.
"""

from __future__ import annotations

__all__ = [
    "EngineError",
    "FoldwiseError",
    "FoldwiseTypeError",
    "FoldwiseWarning",
    "ForgetError",
    "InputError",
    "MissingMethodError",
    "PlotError",
]


class FoldwiseError(Exception):
    """Base of all errors of Foldwise.

    Parameters
    ----------
    message : str
        What must hold, and what came.
    hint : str
        What to do about it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message} Hint: {hint}" if hint else message)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        # the default would pass the joined text as `message`, so the hint would be lost in a process pool
        return type(self), (self.message, self.hint)


class InputError(FoldwiseError, ValueError):
    """A table, a target, a weight or a parameter has an invalid value."""


class FoldwiseTypeError(FoldwiseError, TypeError):
    """An argument has the wrong type."""


class MissingMethodError(InputError, AttributeError):
    """A model does not have the method that is asked for; scikit-learn raises an AttributeError."""


class ForgetError(InputError):
    """Rows cannot be removed from a model: it never learned them, or too little precision would be left.

    Parameters
    ----------
    message, hint : str
        As in `FoldwiseError`.
    index : tuple of int, optional
        Class and column of the problem, for a caller that knows their names.
    """

    def __init__(self, message: str, hint: str = "", index: tuple[int | None, int] | None = None) -> None:
        super().__init__(message, hint)
        self.index = index


class EngineError(FoldwiseError, RuntimeError):
    """A database or Spark could not answer, or its table changed while it was asked."""


class PlotError(FoldwiseError, ImportError):
    """Plotting needs a library that is not installed."""


class FoldwiseWarning(UserWarning):
    """A result is valid, but something about it needs attention."""
