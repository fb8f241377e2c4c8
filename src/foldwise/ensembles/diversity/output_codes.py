"""Output codes: each member learns to tell some classes from others; a `Decode` combiner reads their predictions.

One against the rest, one against one, and error-correcting codes (Dietterich & Bakiri 1995): exhaustive for few
classes, random beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.ensembles.protocol import Diversity, MemberSpec, TrainingData
from foldwise.errors import InputError

Code = NDArray[np.int8]  # (members, classes): 1, 0, or -1 for classes that a member does not see
CODES = ("rest", "pairs", "exhaustive", "random", "auto")
EXHAUSTIVE = 7  # classes; 2^(7-1) - 1 = 63 members
TRIES = 100  # random codes, of which that with the farthest classes is taken


@dataclass(repr=False, eq=False)
class OutputCodes(Diversity):
    """The classes as words of a code with one letter per member.

    `code` is "rest", "pairs", "exhaustive", "random", "auto" (exhaustive up to 7 classes), or an array (members,
    classes) of 1, 0, and -1 for classes whose rows a member does not see. `length` is that of random words.
    """

    code: Any = "auto"
    length: int | None = None

    def n_members(self, data: TrainingData) -> int | None:
        return 1

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        if data.n_classes < 1:
            raise InputError("a target of numbers has no classes to recode.", "use OutputCodes with Ensemble only.")
        found = []
        for spec in specs:
            for number, letters in enumerate(self.letters(spec, data.n_classes)):
                seed = None if spec.seed is None else int((spec.seed + 7919 * number) % (2**31 - 1))
                found.append(replace(spec, name=f"{spec.name}:{number}", code=letters, seed=seed))
        return found

    def letters(self, spec: MemberSpec, n_classes: int) -> Code:
        """The label of each class for each member."""
        if not isinstance(self.code, str):
            return check_code(self.code, n_classes)
        if self.code not in CODES:
            raise InputError(f"there is no code {self.code!r}.", f"one of {', '.join(CODES)}, or an array.")
        if n_classes <= 2:
            return np.arange(n_classes, dtype=np.int8)[None]
        kind = self.code
        if kind == "auto":
            kind = "exhaustive" if n_classes <= EXHAUSTIVE else "random"
        if kind == "rest":
            return np.eye(n_classes, dtype=np.int8)
        if kind == "pairs":
            return pairwise_code(n_classes)
        return (
            exhaustive_code(n_classes)
            if kind == "exhaustive"
            else random_code(spec.random_state(), n_classes, self.length)
        )


def pairwise_code(n_classes: int) -> Code:
    """One member for each two classes: 0 for the first, 1 for the second."""
    found = np.full((n_classes * (n_classes - 1) // 2, n_classes), -1, dtype=np.int8)
    for j, (a, b) in enumerate(combinations(range(n_classes), 2)):
        found[j, [a, b]] = 0, 1
    return found


def exhaustive_code(n_classes: int) -> Code:
    """Every way to part the classes in two: 2^(K-1) - 1 members, words 2^(K-2) letters apart."""
    if n_classes > 12:
        raise InputError(
            f"an exhaustive code of {n_classes} classes has {2 ** (n_classes - 1) - 1} members.", "take code='random'."
        )
    numbers = np.arange(1, 2 ** (n_classes - 1))
    letters = (numbers[:, None] >> np.arange(n_classes - 1)[::-1]) & 1
    return np.column_stack([np.zeros(len(numbers)), letters]).astype(np.int8)


def random_code(rng: np.random.RandomState, n_classes: int, length: int | None) -> Code:
    """Of many random codes, the one whose nearest two words are farthest apart."""
    n = int(np.ceil(10 * np.log2(n_classes))) if length is None else length
    if n < np.log2(n_classes):
        raise InputError(f"words of {n} letters cannot tell {n_classes} classes apart.", "raise length.")
    best, most = None, -1
    for _ in range(TRIES):
        code = rng.randint(0, 2, (n, n_classes)).astype(np.int8)
        flat = np.flatnonzero(code.min(axis=1) == code.max(axis=1))  # a letter that is the same for all says nothing
        code[flat, rng.randint(0, n_classes, len(flat))] ^= 1
        least = int(min((code[:, a] != code[:, b]).sum() for a, b in combinations(range(n_classes), 2)))
        if least > most:
            best, most = code, least
    assert best is not None
    if most == 0:
        raise InputError(f"no code of {n} letters was found that tells {n_classes} classes apart.", "raise length.")
    return best


def check_code(code: Any, n_classes: int) -> Code:
    """A code that the user gave, checked."""
    letters = np.asarray(code)
    if letters.ndim != 2 or letters.shape[1] != n_classes or not np.isin(letters, [-1, 0, 1]).all():
        raise InputError(
            f"a code must have one row per member and one column for each of the {n_classes} classes, of -1, 0 and 1; "
            f"it has shape {letters.shape}.",
        )
    one_sided = np.flatnonzero(~((letters == 0).any(axis=1) & (letters == 1).any(axis=1)))
    if one_sided.size:
        raise InputError(f"row {one_sided[0]} of the code parts no classes.", "each row needs a 0 and a 1.")
    return letters.astype(np.int8)
