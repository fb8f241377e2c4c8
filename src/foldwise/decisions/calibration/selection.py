"""The methods by name, and the choice among them by cross-validated log loss on the out-of-fold scores.

"auto" starts from temperature, the simplest, and takes another method only for a gain in log loss that is greater than
its standard error; so small tables stay with one parameter. How strongly Dirichlet maps are held is chosen likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foldwise.decisions.calibration.dirichlet import PENALTIES, fit_dirichlet
from foldwise.decisions.calibration.isotonic import fit_isotonic
from foldwise.decisions.calibration.scores import CalibrationData, Calibrator, Floats, IdentityCalibrator
from foldwise.decisions.calibration.sigmoid import fit_sigmoid
from foldwise.decisions.calibration.temperature import fit_temperature

METHODS = ("auto", "temperature", "sigmoid", "isotonic", "dirichlet", "none")

Learner = Callable[[CalibrationData], Calibrator]

FOLDS = 5
LEAST_LOG = float(np.log(np.finfo(np.float64).eps))  # as log loss cuts it
ROWS_A_PARAMETER = 5  # fewer, and a Dirichlet map is not tried by "auto"
ISOTONIC_ROWS = 1000  # with fewer, "auto" does not try steps: where classes part without a mistake they know no doubt
DIRICHLET_CLASSES = 12  # nor with more classes: it takes too long for what it may gain

DIRICHLET: tuple[tuple[str, Learner], ...] = tuple(
    ("dirichlet", partial(fit_dirichlet, penalty=penalty)) for penalty in PENALTIES
)


def fit_calibrator(method: str, data: CalibrationData) -> tuple[str, Calibrator]:
    """The map of a method, and the name of the method that was taken."""
    if method == "none" or data.n_classes == 1 or not data.weights.sum() > 0:
        return "none", IdentityCalibrator()
    options = candidates(method, data)
    name, learner = options[0] if len(options) == 1 else choose(options, data)
    return name, learner(data)


def candidates(method: str, data: CalibrationData) -> list[tuple[str, Learner]]:
    """The learners to choose from; the first is taken unless another is better."""
    simple: dict[str, Learner] = {
        "temperature": fit_temperature,
        "sigmoid": fit_sigmoid,
        "isotonic": fit_isotonic,
    }
    if method in simple:
        return [(method, simple[method])]
    if method == "dirichlet":
        return list(DIRICHLET)
    if len(data.codes) < ISOTONIC_ROWS:
        del simple["isotonic"]
    k = data.n_classes
    rich = k <= DIRICHLET_CLASSES and len(data.codes) >= ROWS_A_PARAMETER * k * (k + 1)
    return [*simple.items(), *(DIRICHLET if rich else ())]


def choose(options: list[tuple[str, Learner]], data: CalibrationData) -> tuple[str, Learner]:
    """The learner of least cross-validated log loss, if it is better than the first by more than a standard error."""
    fold = folds_of(data.codes, data.n_classes)
    losses = np.array([cross_validated(learner, data, fold) for _, learner in options])  # (options, rows)
    share = data.weights / data.weights.sum()
    gains = losses[0] - losses
    means = gains @ share
    spread = np.sqrt(((gains - means[:, None]) ** 2) @ share**2)
    worth = np.where(means > spread, means, -np.inf)
    worth[0] = 0.0
    return options[int(worth.argmax())]


def cross_validated(learner: Learner, data: CalibrationData, fold: NDArray[np.intp]) -> Floats:  # (rows,)
    """The log loss of each row under the map learned from the other folds."""
    losses = np.empty(len(data.codes))
    for number in range(FOLDS):
        rows = np.flatnonzero(fold == number)
        rest = data.take(np.flatnonzero(fold != number))
        if not rows.size:
            continue
        log_proba = (learner(rest) if rest.weights.sum() > 0 else IdentityCalibrator()).log_proba(
            data.scores.take(rows)
        )
        losses[rows] = -np.maximum(log_proba[np.arange(len(rows)), data.codes[rows]], LEAST_LOG)
    return losses


def folds_of(codes: NDArray[np.integer], n_classes: int) -> NDArray[np.intp]:
    """A fold for each row: the rows of a class are dealt in turn, each class going on where the last one stopped."""
    order = np.argsort(codes, kind="stable")
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order] = np.arange(len(codes)) % FOLDS
    return fold
