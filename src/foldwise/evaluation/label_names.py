"""Labels of actions and classes: converted to Python objects, and matched by value or by text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.schema import listing
from foldwise.errors import InputError


def check_names(names: tuple[Any, ...], what: str) -> None:
    """Raise an error for an empty axis, and for duplicate or missing names."""
    if not names:
        raise InputError(f"a cost matrix needs at least one {what}.", "pass {action: {true class: cost}}.")
    if any(name is None or name != name for name in names):
        raise InputError(f"every {what} of a cost matrix needs a name, but one is missing.", "name rows and columns.")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InputError(f"{what} {listing(twice)} occurs twice in the cost matrix.", "use each name once.")


def indices_of(names: Sequence[Any], known: tuple[Any, ...], what: str) -> NDArray[np.intp]:
    """Return the index of each name on an axis of the matrix."""
    found: dict[Any, int | None] = {name: find(name, known) for name in dict.fromkeys(names)}
    if unknown := [name for name, index in found.items() if index is None]:
        plural = f"{what}es" if what.endswith("s") else f"{what}s"
        words = f"{what} {listing(unknown)} is" if len(unknown) == 1 else f"{plural} {listing(unknown)} are"
        raise InputError(
            f"the {words} not in the cost matrix, which has {listing(known)}.",
            f"add {'it' if len(unknown) == 1 else 'them'} to the cost matrix, or check the spelling.",
        )
    return np.array([found[name] for name in names], dtype=np.intp)


def find(name: Any, known: Sequence[Any]) -> int | None:
    """Return the index of a name: by value, else by its text, where 1.0 reads as 1."""
    for texts in (False, True):
        for index, one in enumerate(known):
            if text(one) == text(name) if texts else one == name:
                return index
    return None


def text(name: Any) -> str:
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def plain(name: Any) -> Any:
    """Convert a label to a Python object."""
    return name.item() if isinstance(name, np.generic) else name


def names_of(labels: Any) -> list[Any]:
    """Convert labels in any container to a list of Python objects."""
    if hasattr(labels, "to_list"):
        return list(labels.to_list())
    return [plain(label) for label in labels] if isinstance(labels, list | tuple) else np.asarray(labels).tolist()


def label_array(names: Sequence[Any]) -> NDArray[Any]:
    """Convert names to an array of their common type, or of objects if their types differ."""
    if len({type(name) for name in names}) == 1 and isinstance(names[0], str | bool | int | float):
        return np.array(names)
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array
