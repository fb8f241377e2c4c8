"""Decodes the predictions of members with recoded classes (`OutputCodes`) into predictions of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of
from foldwise.ensembles.blocks import Combiner
from foldwise.ensembles.combiners.averages import softmax
from foldwise.ensembles.protocol import MemberPredictions

WAYS = ["coupling", "hamming", "absolute", "squared", "log"]
SURE = 1e-6  # probabilities are clipped to this distance from 0 and 1 in "coupling" and "log"
STEPS, STILL = 1000, 1e-8


@dataclass(repr=False, eq=False)
class Decode(Combiner):
    """Predict the class whose code word is closest to the predictions of members.

    Parameters
    ----------
    by : {"coupling", "hamming", "absolute", "squared", "log"}, default="coupling"
        "hamming" counts wrong labels, with ties broken by "absolute". "absolute", "squared" and "log" sum losses of
        the members' probabilities. "coupling" finds the class probabilities that fit those of the members best.

    Notes
    -----
    Probabilities are normalized values of 1 - mean loss, and for "log" normalized likelihoods.

    References
    ----------
    B. Zadrozny (2002). Reducing multiclass to binary by coupling probability estimates. NIPS 14.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from foldwise.ensembles import Decode, Ensemble, OutputCodes
    >>> model = Ensemble(GaussianNB(), diversity=OutputCodes("pairs"), combiner=Decode("hamming"))
    """

    by: str = "coupling"
    needs: ClassVar[str] = "any"
    decodes: ClassVar[bool] = True

    def combine(self, predictions: MemberPredictions) -> Floats:
        one_of("by", self.by, WAYS)
        assert predictions.code is not None
        letters = (
            predictions.proba[:, :, 1].T if predictions.proba is not None else predictions.labels().T.astype(np.float64)
        )
        if self.by == "coupling":
            return coupled(letters, predictions.code, predictions.weights)
        seen = (predictions.code >= 0).T * predictions.weights  # (classes, members)
        word = np.maximum(predictions.code, 0).T
        if self.by == "log":
            p = np.clip(letters, SURE, 1 - SURE)
            scores = np.log(p) @ (seen * word).T + np.log(1 - p) @ (seen * (1 - word)).T
            return softmax(scores)
        kept = 1 - losses(self.by, letters, word, seen) / seen.sum(axis=1)
        total = kept.sum(axis=1, keepdims=True)
        return np.where(total > 0, kept / np.where(total > 0, total, 1), 1 / predictions.n_classes)


def losses(by: str, letters: Floats, word: NDArray[np.int8], seen: Floats) -> Floats:  # (rows, classes)
    """The summed loss of the code word of each class, by matrix products."""
    heavy, light = (seen * word).T, (seen * (1 - word)).T
    absolute = (1 - letters) @ heavy + letters @ light
    if by == "absolute":
        return np.asarray(absolute)
    if by == "squared":
        return np.asarray((1 - letters) ** 2 @ heavy + letters**2 @ light)
    rounded = (letters > 0.5).astype(np.float64)
    wrong = (1 - rounded) @ heavy + rounded @ light
    return np.asarray(wrong + absolute / (1e3 * (1 + seen.sum(axis=1))))


def coupled(letters: Floats, code: NDArray[np.int8], weights: Floats) -> Floats:  # (rows, classes)
    """Class probabilities p whose Σ_{positive} p / Σ_{seen} p fit the members' probabilities, by iterative scaling."""
    r = np.clip(letters, SURE, 1 - SURE)
    positive, negative = ((code == letter).astype(np.float64) for letter in (1, 0))  # (members, classes)
    mine = (r * weights) @ positive + ((1 - r) * weights) @ negative
    p = np.full((len(letters), code.shape[1]), 1.0 / code.shape[1])
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
