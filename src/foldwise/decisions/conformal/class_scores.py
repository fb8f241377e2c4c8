"""Scores of classes: how badly each class fits a row, from the probabilities of a model.

A class belongs to the set of a row if its score is at most the quantile of the calibration scores.
"""

from __future__ import annotations

import numpy as np

from foldwise.arrays import Floats


def class_scores(score: str, proba: Floats, random_state: int) -> Floats:  # (rows, classes)
    """Return the score of every class of each row.

    Parameters
    ----------
    score : {"lac", "aps"}
        "lac" is 1 - p. "aps" is the mass of all classes that are at least as probable, minus a random part of p.
    proba : array of shape (n_rows, n_classes)
        Probabilities.
    random_state : int
        Seed of the random parts, of which each row has one.

    Returns
    -------
    array of shape (n_rows, n_classes)
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> class_scores("lac", np.array([[0.75, 0.25]]), 0)
    array([[0.25, 0.75]])
    """
    if score == "lac":
        return 1.0 - proba
    order = np.argsort(-proba, axis=1, kind="stable")
    mass = np.cumsum(np.take_along_axis(proba, order, axis=1), axis=1)
    found = np.empty_like(proba)
    np.put_along_axis(found, order, mass, axis=1)
    part = np.random.RandomState(random_state).uniform(size=(len(proba), 1))  # as in MAPIE
    return found - part * proba
