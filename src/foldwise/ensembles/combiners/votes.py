"""Votes: each member has as many as its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldwise.ensembles.protocol import Combiner, Floats, Panel


@dataclass(repr=False, eq=False)
class Vote(Combiner):
    """The majority of labels; probabilities are shares of the votes. A tie goes to the first class."""

    needs: ClassVar[str] = "labels"

    def combine(self, panel: Panel) -> Floats:
        return vote_shares(panel)


def vote_shares(panel: Panel) -> Floats:  # (rows, classes)
    """The share of the members' weight that is for each class."""
    labels = panel.as_labels()
    rows = np.arange(labels.shape[1])
    shares = np.zeros((labels.shape[1], panel.n_classes))
    for weight, said in zip(panel.weights, labels, strict=True):
        shares[rows, said] += weight
    return np.asarray(shares / panel.weights.sum())
