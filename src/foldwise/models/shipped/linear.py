"""Linear models for classes and for quantities, and support vector machines.

SVMs see columns in [0, 1], and wide ranges are searched, as libsvm recommends. For classes they predict
decision values. These are converted to probabilities with the held-out rows of the search, which costs nothing, whereas
the built-in calibration of libsvm needs five more fits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from scipy.stats import loguniform
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from foldwise.models.column_roles import Outline
from foldwise.models.preprocessing import scaled
from foldwise.models.spec import BOTH, Cost, ModelSpec

MOST_SWEEPS = 3_000  # of coordinate descent
MOST_STEPS = 200_000  # of libsvm: a large C on noise would take hours


def in_unit_range(outline: Outline) -> Any:
    return scaled(outline, "minmax")


def with_means(outline: Outline) -> Any:
    """Prepare columns by sums only, so that `refit` can add rows without the old ones."""
    return scaled(outline, fill="mean")


def make_radial(outline: Outline, seed: int) -> Any:
    if outline.task == "regression":  # epsilon and C are in units of the target
        return SVR(gamma=0.1, max_iter=MOST_STEPS)
    return SVC(gamma=0.1, max_iter=MOST_STEPS, random_state=seed)


def spread(outline: Outline) -> float:
    """Return the standard deviation of the target: penalties of absolute coefficients are in its units."""
    return 1.0 if outline.target is None else outline.target.spread


def penalties(outline: Outline) -> dict[str, Any]:
    """Return penalties from nearly none to one that leaves hardly any coefficient."""
    return {"alpha": loguniform(1e-4 * spread(outline), spread(outline))}


svm = partial(ModelSpec, prepare=in_unit_range, answers="decision", scales=True, selects=True)
regressor = partial(
    ModelSpec, prepare=with_means, cost=Cost(cell=1e-7), answers="values", scales=True, tasks=("regression",)
)
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
        make=make_radial,
        search=lambda outline: {"C": loguniform(0.03, 30_000.0), "gamma": loguniform(0.00003, 8.0)},
        cost=Cost(cell=4e-10, power=2.0, start=0.05),
        tasks=BOTH,
        regression={
            "transform": "scale",
            "cost": Cost(cell=1.4e-9, power=2.0, start=0.05),
            "search": lambda outline: {
                "C": loguniform(0.03, 3_000.0),
                "gamma": loguniform(0.00003, 8.0),
                "epsilon": loguniform(0.003, 0.5),
            },
        },
    ),
    regressor(
        name="linear_regression",
        title="linear regression",
        make=lambda outline, seed: LinearRegression(),
        search=lambda outline: {},
    ),
    regressor(
        name="ridge",
        title="ridge regression",
        make=lambda outline, seed: Ridge(),
        search=lambda outline: {"alpha": loguniform(1e-3, 1e5)},
        shares=("regressor__alpha",),
        transform="none",
        general="linear",
    ),
    regressor(
        name="lasso",
        title="lasso",
        make=lambda outline, seed: Lasso(alpha=0.01 * spread(outline), max_iter=MOST_SWEEPS),
        search=penalties,
        shares=("alpha",),
        cost=Cost(cell=2e-7),
    ),
    regressor(
        name="elastic_net",
        title="elastic net",
        make=lambda outline, seed: ElasticNet(alpha=0.01 * spread(outline), max_iter=MOST_SWEEPS),
        search=lambda outline: {**penalties(outline), "l1_ratio": [0.1, 0.3, 0.5, 0.7, 0.9]},
        shares=("alpha",),
        cost=Cost(cell=2e-7),
    ),
)
