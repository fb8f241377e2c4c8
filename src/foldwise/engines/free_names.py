"""Names of columns that Foldwise adds to a table of a user, who may have used them already."""

from __future__ import annotations

from collections.abc import Iterable


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken: the one that is wanted, or the same with a number.

    Most engines ignore upper and lower case.

    Examples
    --------
    >>> free_name("(fold)", ["color", "(FOLD)"])
    '(fold) 2'
    """
    known, name, n = {one.casefold() for one in taken}, wanted, 1
    while name.casefold() in known:
        n += 1
        name = f"{wanted} {n}"
    return name


def sample_columns(names: Iterable[str]) -> tuple[str, str]:
    """Name the columns of a sample with the class and the key of each row, beside columns with these names."""
    taken = tuple(names)
    return free_name("(label)", taken), free_name("(key)", taken)
