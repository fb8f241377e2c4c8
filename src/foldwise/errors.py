"""The error kinds of Foldwise: each says what must hold, what came and what to do.

They derive from `ValueError` or `TypeError`, so code written for scikit-learn catches them unchanged.
"""

from __future__ import annotations

__all__ = ["FoldwiseError", "FoldwiseTypeError", "FoldwiseWarning", "ForgetError", "InputError", "PlotError"]


class FoldwiseError(Exception):
    """Base of all errors raised here; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message} Hint: {hint}" if hint else message)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        # the default would pass the joined text as `message` and lose the hint on the way through a process pool
        return type(self), (self.message, self.hint)


class InputError(FoldwiseError, ValueError):
    """A table, a target, a weight or a parameter does not hold what it must."""


class FoldwiseTypeError(FoldwiseError, TypeError):
    """A thing of the wrong type came."""


class ForgetError(InputError):
    """Rows cannot be removed: they were never learned, or too little precision would be left."""

    def __init__(self, message: str, hint: str = "", index: tuple[int | None, int] | None = None) -> None:
        super().__init__(message, hint)
        self.index = index  # class and column, for a caller that knows their names


class PlotError(FoldwiseError, ImportError):
    """A picture was asked for, and the library that draws is missing."""


class FoldwiseWarning(UserWarning):
    """Something worth knowing happened; the answer is still defined."""
