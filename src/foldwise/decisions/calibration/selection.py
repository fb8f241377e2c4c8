"""The calibration methods by name, and the choice among them by cross-validated log loss on out-of-fold scores.

"auto" starts from temperature scaling, the simplest method, and takes another one only if it improves the log loss by
more than its standard error. Small tables therefore keep the one-parameter method. The penalty of Dirichlet
calibration is chosen in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.decisions.calibration.dirichlet import PENALTIES, fit_dirichlet
from foldwise.decisions.calibration.isotonic import fit_isotonic
from foldwise.decisions.calibration.scores import CalibrationData, Calibrator, IdentityCalibrator
from foldwise.decisions.calibration.sigmoid import fit_sigmoid
from foldwise.decisions.calibration.temperature import fit_temperature
from foldwise.evaluation.metrics.probabilities import log_losses_of_logs
from foldwise.folds.rows import dealt_folds

METHODS = ("auto", "temperature", "sigmoid", "isotonic", "dirichlet", "none")

Learner = Callable[[CalibrationData], Calibrator]

FOLDS = 5
# "auto" tries the larger methods only within these limits
ROWS_PER_PARAMETER = 5  # for Dirichlet calibration
DIRICHLET_CLASSES = 12  # with more classes it takes too long for its small gain
ISOTONIC_ROWS = 1000  # with fewer rows, isotonic probabilities of separated classes are all 0 or 1

DIRICHLET: tuple[tuple[str, Learner], ...] = tuple(
    ("dirichlet", partial(fit_dirichlet, penalty=penalty)) for penalty in PENALTIES
)


def fit_calibrator(method: str, data: CalibrationData) -> tuple[str, Calibrator]:
    """Fit the calibrator of a method; return the name of the method used and the calibrator."""
    if method == "none" or data.n_classes == 1 or not data.weights.sum() > 0:
        return "none", IdentityCalibrator()
    options = candidates(method, data)
    name, learner = options[0] if len(options) == 1 else choose(options, data)
    return name, learner(data)


def candidates(method: str, data: CalibrationData) -> list[tuple[str, Learner]]:
    """Return the learners to choose from; the first is used unless another is better."""
    simple: dict[str, Learner] = {"temperature": fit_temperature, "sigmoid": fit_sigmoid, "isotonic": fit_isotonic}
    if method in simple:
        return [(method, simple[method])]
    if method == "dirichlet":
        return list(DIRICHLET)
    if len(data.codes) < ISOTONIC_ROWS:
        del simple["isotonic"]
    k = data.n_classes
    rich = k <= DIRICHLET_CLASSES and len(data.codes) >= ROWS_PER_PARAMETER * k * (k + 1)
    return [*simple.items(), *(DIRICHLET if rich else ())]


def choose(options: list[tuple[str, Learner]], data: CalibrationData) -> tuple[str, Learner]:
    """Choose the learner with the lowest log loss if it beats the first by more than one standard error."""
    fold = dealt_folds(data.codes, FOLDS)
    losses = np.array([cross_validated(learner, data, fold) for _, learner in options])  # (options, rows)
    share = data.weights / data.weights.sum()
    gains = losses[0] - losses
    means = gains @ share
    spread = np.sqrt(((gains - means[:, None]) ** 2) @ share**2)
    means = np.where(means > spread, means, -np.inf)
    means[0] = 0.0
    return options[int(means.argmax())]


def cross_validated(learner: Learner, data: CalibrationData, fold: NDArray[np.intp]) -> Floats:  # (rows,)
    """Compute the log loss of each row with a calibrator fitted on the other folds."""
    losses = np.empty(len(data.codes))
    for number in range(FOLDS):
        rows = np.flatnonzero(fold == number)
        rest = data.take(np.flatnonzero(fold != number))
        if not rows.size:
            continue
        calibrator = learner(rest) if rest.weights.sum() > 0 else IdentityCalibrator()
        log_proba = calibrator.log_proba(data.scores.take(rows))
        losses[rows] = log_losses_of_logs(log_proba[np.arange(len(rows)), data.codes[rows]])
    return losses
