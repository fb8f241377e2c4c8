"""The names of parameters in settings: an unknown one is refused before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from sklearn.base import clone

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.protocol import Params


def check_names(estimator: Any, settings: Sequence[Params]) -> None:
    """Raise an error for a parameter that the estimator does not have."""
    if not hasattr(estimator, "get_params"):
        raise FoldwiseTypeError(f"estimator must have a method get_params, but {estimator!r} does not.")
    known = estimator.get_params(deep=True)
    for setting in settings:
        for name in setting:
            if name in known:
                continue
            owner = name.rpartition("__")[0]
            # a part that the setting replaces may have other parameters
            if not any(part in setting for part in owners(owner)) and not accepts(estimator, name, setting[name]):
                inside = [one for one in known if one.startswith(f"{owner}__")] if owner in known else list(known)
                near = get_close_matches(name, inside, n=3, cutoff=0.5) or sorted(inside)[:12]
                raise InputError(
                    f"Invalid parameter {name!r} for estimator {type(estimator).__name__}.",
                    f"its parameters include {', '.join(near)}.",
                )


def accepts(estimator: Any, name: str, value: Any) -> bool:
    """Whether `set_params` takes a parameter that `get_params` does not name."""
    try:
        clone(estimator).set_params(**{name: clone(value, safe=False)})
    except Exception:  # the caller says what is wrong
        return False
    return True


def owners(name: str) -> list[str]:
    """Return a nested name and all of its prefixes, e.g. a__b and a for a__b."""
    found = []
    while name:
        found.append(name)
        name = name.rpartition("__")[0]
    return found
