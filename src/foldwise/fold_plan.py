"""`FoldPlan`: what `cv=` asks for: a number of folds, repeated folds, or a single held-out part. Nothing is loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foldwise.errors import InputError

HELD_OUT = 0.25  # of the rows, as scikit-learn's train_test_split
WRITTEN = re.compile(r"\s*(?:(\d+)\s*[x×]\s*)?(\d+)\s*|\s*holdout\s*(?:[:=]\s*(\d*\.?\d+)\s*(%)?)?\s*")


@dataclass(frozen=True)
class FoldPlan:
    """Folds that a user asks for.

    Attributes
    ----------
    folds : int
        Number of folds; 1 for a single held-out part.
    repeats : int
        How often the rows are divided into folds.
    held_out : float, optional
        The share of rows in a single held-out part; None for folds.

    Examples
    --------
    >>> FoldPlan.of("10x5")
    FoldPlan(folds=5, repeats=10, held_out=None)
    >>> FoldPlan.of("holdout").held_out
    0.25
    """

    folds: int
    repeats: int = 1
    held_out: float | None = None

    @classmethod
    def of(cls, cv: str | int) -> FoldPlan:
        """Read 10, "10", "5x10" (repeats x folds), "holdout" or "holdout:0.3".

        Parameters
        ----------
        cv : str or int
            What the user asks for.

        Returns
        -------
        FoldPlan
            The folds.
        """
        found = None if isinstance(cv, bool) else WRITTEN.fullmatch(str(cv))
        if found is not None and found[2] is None:
            share = HELD_OUT if found[3] is None else float(found[3]) / (100 if found[4] else 1)
            if 0 < share < 1:
                return cls(1, 1, share)
            raise InputError(
                f"cv must hold out a share of the rows between 0 and 1, got {cv!r}.", "pass holdout:0.25, for example."
            )
        repeats, folds = (int(found[1] or 1), int(found[2])) if found else (0, 0)
        if repeats < 1 or folds < 2:
            raise InputError(
                f"cv must be a number of folds (at least 2), repeats x folds, or holdout, got {cv!r}.",
                "pass 10, 5x10 or holdout.",
            )
        return cls(folds, repeats)
