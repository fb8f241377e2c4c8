"""Logistic regression and support vector machines; SVMs with columns in [0, 1] and wide ranges, as libsvm recommends.

SVMs predict decision values. These are converted to probabilities with the held-out rows of the search, which costs
nothing, whereas the built-in calibration of libsvm needs five more fits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from foldwise.models.column_roles import Outline
from foldwise.models.preprocessing import scaled
from foldwise.models.spec import Cost, ModelSpec

MOST_STEPS = 200_000  # of libsvm: a large C on noise would take hours


def in_unit_range(outline: Outline) -> Any:
    return scaled(outline, "minmax")


svm = partial(ModelSpec, prepare=in_unit_range, answers="decision", scales=True, selects=True)
SPECS = (
    ModelSpec(
        name="logistic_regression",
        title="logistic regression",
        make=lambda outline, seed: LogisticRegression(max_iter=1000),
        prepare=scaled,
        search=lambda outline: {"C": loguniform(1e-3, 1e3)},
        cost=Cost(cell=4e-7, each_class=True),
        scales=True,
        general="linear",
    ),
    svm(
        name="linear_svm",
        title="linear SVM",
        make=lambda outline, seed: LinearSVC(random_state=seed),
        search=lambda outline: {"C": loguniform(0.03, 30_000.0)},
        cost=Cost(cell=3e-7, each_class=True),
    ),
    svm(
        name="rbf_svm",
        title="SVM with a radial kernel",
        make=lambda outline, seed: SVC(gamma=0.1, max_iter=MOST_STEPS, random_state=seed),
        search=lambda outline: {"C": loguniform(0.03, 30_000.0), "gamma": loguniform(0.00003, 8.0)},
        cost=Cost(cell=4e-10, power=2.0, start=0.05),
    ),
)
