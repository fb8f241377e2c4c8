"""Fits and metrics that failed: raised or reported as warnings, and replaced by `error_score`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import FitFailedWarning

from foldwise.data.notes import counted
from foldwise.errors import FoldwiseError, InputError
from foldwise.folds.engine import Outcome


def check_error_score(error_score: Any) -> None:
    """Raise an error unless `error_score` is a number or "raise"."""
    if not (
        isinstance(error_score, int | float | np.number) or (isinstance(error_score, str) and error_score == "raise")
    ):
        raise InputError(f"error_score must be a number or 'raise', got {error_score!r}.")


def report_failures(
    outcome: Outcome,
    unscored: Sequence[Any],
    where: Callable[[int, int], str],
    error_score: Any,
    stacklevel: int,
    hint: str = "",
) -> None:
    """Raise the first error if `error_score` is "raise", otherwise warn; `where` names a setting and a split."""
    if outcome.failures:
        i, number, error = outcome.failures[0]
        n_failed, n_models = len(outcome.failures), outcome.seconds.size
        said, advice = (error.message, error.hint) if isinstance(error, FoldwiseError) else (str(error), "")
        first = f"The first was {where(i, number)}: {type(error).__name__}: {said}"
        if error_score == "raise":
            error.add_note(f"raised by {where(i, number)}")
            raise error
        if n_failed == n_models:
            raise InputError(
                f"All the {n_failed} fits failed. {sentence(first)}",
                advice or "pass error_score='raise' to see the traceback.",
            ) from error
        score = f"their score is {error_score}"
        hint = hint or (f" Hint: {advice}" if advice else "")
        message = f"{n_failed} fits failed out of a total of {n_models}; {score}. {sentence(first)}{hint}"
        warnings.warn(message, FitFailedWarning, stacklevel=stacklevel)
    if unscored:
        i, number, name, error = unscored[0]
        if error_score == "raise":
            error.add_note(f"raised by the metric {name!r} for {where(i, number)}")
            raise error
        warnings.warn(
            # the first words are those of scikit-learn, whose users filter warnings by them
            "Scoring failed. The score on this train-test partition for these parameters will be set to "
            f"{error_score}. Details: \n{counted(len(unscored), 'score')} could not be computed. The first was "
            f"{name!r} for {where(i, number)}: {type(error).__name__}: {error}",
            UserWarning,
            stacklevel=stacklevel,
        )


def sentence(text: str) -> str:
    """End a text with one period.

    >>> sentence("no rows"), sentence("no rows. Hint: pass some.")
    ('no rows.', 'no rows. Hint: pass some.')
    """
    return text if text.endswith((".", "!", "?")) else f"{text}."


def with_error_score(
    table: dict[str, NDArray[Any]], failures: Sequence[Any], unscored: Sequence[Any], error_score: Any
) -> dict[str, NDArray[np.float64]]:
    """Return the scores with `error_score` where a fit or a metric failed."""
    scores = spread_dicts(table)
    for values in scores.values():
        for i, number, _ in failures:
            values[i, number] = error_score
    for i, number, name, _ in unscored:
        for values in [scores[name]] if name in scores else scores.values():
            values[i, number] = error_score
    return scores


def spread_dicts(scores: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """Turn a score that is a dict of numbers into one score per key."""
    found: dict[str, NDArray[np.float64]] = {}
    for name, values in scores.items():
        if values.dtype != object:
            found[name] = values
            continue
        for key in next(one for one in values.flat if isinstance(one, dict)):
            flat = [one[key] if isinstance(one, dict) else np.nan for one in values.flat]
            found[key] = np.array(flat, dtype=np.float64).reshape(values.shape)
    return found
