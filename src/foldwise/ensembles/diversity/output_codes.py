"""Output codes: each member separates some classes from others, and a `Decode` combiner decodes their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.ensembles.blocks import Diversity
from foldwise.ensembles.protocol import MemberSpec, TrainingData
from foldwise.errors import InputError

Code = NDArray[np.int8]  # (members, classes): 1, 0, or -1 for classes that a member does not see
CODES = ("rest", "pairs", "exhaustive", "random", "auto")
EXHAUSTIVE = 7  # classes; 2^(7-1) - 1 = 63 members
TRIES = 100  # random codes, of which the best is taken


@dataclass(repr=False, eq=False)
class OutputCodes(Diversity):
    """Recode the classes as binary code words, and train each member to predict one bit.

    Parameters
    ----------
    code : {"auto", "rest", "pairs", "exhaustive", "random"} or array of shape (members, classes), default="auto"
        "rest" is one class against all others, "pairs" one class against another, "exhaustive" every division of the
        classes into two parts. "auto" is exhaustive for at most 7 classes, otherwise random. An array contains 0, 1,
        and -1 for classes whose rows a member does not see.
    length : int, optional
        The number of members of a random code; by default 10·log2(classes).

    References
    ----------
    T. Dietterich and G. Bakiri (1995). Solving multiclass learning problems via error-correcting output codes. JAIR 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from foldwise.ensembles import Ensemble, OutputCodes
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Ensemble(GaussianNB(), diversity=OutputCodes("pairs"), combiner="decode").fit(X, y)
    >>> len(model.members_)
    3
    """

    code: Any = "auto"
    length: int | None = None

    def n_members(self, data: TrainingData) -> int | None:
        return 1

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        if data.n_classes < 1:
            raise InputError("OutputCodes needs a classification target.", "leave OutputCodes out for regression.")
        found = []
        for spec in specs:
            for number, letters in enumerate(self._letters(spec, data.n_classes)):
                seed = None if spec.seed is None else int((spec.seed + 7919 * number) % (2**31 - 1))
                found.append(replace(spec, name=f"{spec.name}:{number}", code=letters, seed=seed))
        return found

    def _letters(self, spec: MemberSpec, n_classes: int) -> Code:
        """The label of each class for each member."""
        if not isinstance(self.code, str):
            return check_code(self.code, n_classes)
        if self.code not in CODES:
            raise InputError(f"code must be one of {', '.join(map(repr, CODES))}, or an array, got {self.code!r}.")
        if n_classes <= 2:
            return np.arange(n_classes, dtype=np.int8)[None]
        kind = self.code
        if kind == "auto":
            kind = "exhaustive" if n_classes <= EXHAUSTIVE else "random"
        if kind == "rest":
            return np.eye(n_classes, dtype=np.int8)
        if kind == "pairs":
            return pairwise_code(n_classes)
        if kind == "exhaustive":
            return exhaustive_code(n_classes)
        return random_code(spec.random_state(), n_classes, self.length)


def pairwise_code(n_classes: int) -> Code:
    """One member for each pair of classes: 0 for the first, 1 for the second."""
    found = np.full((n_classes * (n_classes - 1) // 2, n_classes), -1, dtype=np.int8)
    for j, (a, b) in enumerate(combinations(range(n_classes), 2)):
        found[j, [a, b]] = 0, 1
    return found


def exhaustive_code(n_classes: int) -> Code:
    """All divisions of the classes into two parts: 2^(K-1) - 1 members; any two words differ in 2^(K-2) labels."""
    if n_classes > 12:
        raise InputError(
            f"code='exhaustive' would need {2 ** (n_classes - 1) - 1:,} members for {n_classes} classes.",
            "use code='random'.",
        )
    numbers = np.arange(1, 2 ** (n_classes - 1))
    letters = (numbers[:, None] >> np.arange(n_classes - 1)[::-1]) & 1
    return np.column_stack([np.zeros(len(numbers)), letters]).astype(np.int8)


def random_code(rng: np.random.RandomState, n_classes: int, length: int | None) -> Code:
    """The random code, of many, whose two most similar words differ most."""
    n = int(np.ceil(10 * np.log2(n_classes))) if length is None else length
    if n < np.log2(n_classes):
        raise InputError(f"length={n} is too small to distinguish {n_classes} classes.", "increase length.")
    best, most = None, -1
    for _ in range(TRIES):
        code = rng.randint(0, 2, (n, n_classes)).astype(np.int8)
        flat = np.flatnonzero(code.min(axis=1) == code.max(axis=1))  # useless: the same for all classes
        code[flat, rng.randint(0, n_classes, len(flat))] ^= 1
        least = int(min((code[:, a] != code[:, b]).sum() for a, b in combinations(range(n_classes), 2)))
        if least > most:
            best, most = code, least
    assert best is not None
    if most == 0:
        raise InputError(f"no code of length {n} was found that distinguishes {n_classes} classes.", "increase length.")
    return best


def check_code(code: Any, n_classes: int) -> Code:
    """A code that the user passed, checked."""
    letters = np.asarray(code)
    if letters.ndim != 2 or letters.shape[1] != n_classes or not np.isin(letters, [-1, 0, 1]).all():
        raise InputError(
            f"code must be an array of -1, 0 and 1 with one row per member and one column for each of the {n_classes} "
            f"classes, got shape {letters.shape}.",
        )
    one_sided = np.flatnonzero(~((letters == 0).any(axis=1) & (letters == 1).any(axis=1)))
    if one_sided.size:
        raise InputError(f"each row of code must contain 0 and 1, but row {one_sided[0]} does not.")
    return letters.astype(np.int8)
