"""Reads the answers of members that were told a code of the classes (`Recoded`) as answers about the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import one_of
from foldwise.ensembles.protocol import Combiner, Floats, Panel

WAYS = ["coupling", "hamming", "absolute", "squared", "log"]
SURE = 1e-6  # no letter is surer than this in "coupling" and "log"
STEPS, STILL = 1000, 1e-8


@dataclass(repr=False, eq=False)
class Decode(Combiner):
    """The class whose word is nearest to the letters that members say.

    `by` is the distance: "hamming" counts wrong letters (ties by "absolute"), "absolute" and "squared" sum losses over
    the members' probabilities, "log" their log-losses; probabilities are what is left of the loss, normalised, for
    "log" the normalised likelihood. "coupling" finds the probabilities of classes that explain those of the letters
    best (Hastie & Tibshirani 1998; Zadrozny 2002).
    """

    by: str = "coupling"
    needs: ClassVar[str] = "any"
    decodes: ClassVar[bool] = True

    def combine(self, panel: Panel) -> Floats:
        one_of("by", self.by, WAYS)
        assert panel.code is not None
        said = panel.proba[:, :, 1].T if panel.proba is not None else panel.as_labels().T.astype(np.float64)
        if self.by == "coupling":
            return coupled(said, panel.code, panel.weights)
        seen = (panel.code >= 0).T * panel.weights  # (classes, members)
        word = np.maximum(panel.code, 0).T
        if self.by == "log":
            p = np.clip(said, SURE, 1 - SURE)
            scores = np.log(p) @ (seen * word).T + np.log(1 - p) @ (seen * (1 - word)).T
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(shares / shares.sum(axis=1, keepdims=True))
        kept = 1 - losses(self.by, said, word, seen) / seen.sum(axis=1)
        total = kept.sum(axis=1, keepdims=True)
        return np.where(total > 0, kept / np.where(total > 0, total, 1), 1 / panel.n_classes)


def losses(by: str, said: Floats, word: NDArray[np.int8], seen: Floats) -> Floats:  # (rows, classes)
    """The summed loss of each class's word; letters that are 0 or 1 allow a sum without a look at each."""
    heavy, light = (seen * word).T, (seen * (1 - word)).T
    absolute = (1 - said) @ heavy + said @ light
    if by == "absolute":
        return np.asarray(absolute)
    if by == "squared":
        return np.asarray((1 - said) ** 2 @ heavy + said**2 @ light)
    letters = (said > 0.5).astype(np.float64)
    wrong = (1 - letters) @ heavy + letters @ light
    return np.asarray(wrong + absolute / (1e3 * (1 + seen.sum(axis=1))))


def coupled(said: Floats, code: NDArray[np.int8], weights: Floats) -> Floats:  # (rows, classes)
    """Probabilities p with Σ_{positive} p / Σ_{seen} p as near to each letter's as can be, by iterative scaling."""
    r = np.clip(said, SURE, 1 - SURE)
    positive, negative = ((code == letter).astype(np.float64) for letter in (1, 0))  # (members, classes)
    mine = (r * weights) @ positive + ((1 - r) * weights) @ negative
    p = np.full((len(said), code.shape[1]), 1.0 / code.shape[1])
    for _ in range(STEPS):
        above, below = p @ positive.T, p @ negative.T
        q = above / (above + below)
        theirs = (q * weights) @ positive + ((1 - q) * weights) @ negative
        new = p * mine / theirs
        new /= new.sum(axis=1, keepdims=True)
        moved = np.abs(new - p).max()
        p = new
        if moved < STILL:
            break
    return np.asarray(p)
