"""The estimators of Foldwise, which read tables directly: naive Bayes, nearest neighbors and rule lists."""

from __future__ import annotations

from typing import Any

from scipy.stats import loguniform, randint

from foldwise.bayes import NaiveBayes
from foldwise.models.column_roles import Outline
from foldwise.models.date_features import PLAIN_PARTS, SMOOTH_PARTS, feature_names
from foldwise.models.preprocessing import as_frame
from foldwise.models.spec import BOTH, Cost, ModelSpec
from foldwise.rules import RuleList

MOST_NEIGHBORS = 50
MANY_ROWS = 20_000


def likelihoods(outline: Outline, numbers: str) -> dict[str, str]:
    """Choose a distribution family per column: "text" for texts, `numbers` for numbers. Categories need no choice."""
    dates = [part for name, shape in outline.date_shapes.items() for part in feature_names(name, shape, PLAIN_PARTS)]
    measured = [*outline.columns("number"), *dates]
    return {**dict.fromkeys(outline.columns("text"), "text"), **dict.fromkeys(measured, numbers)}


def make_bayes(outline: Outline, seed: int) -> NaiveBayes:
    # real columns are rarely normal; kernel densities of very many rows are too slow for the first setting
    usual = "kde" if outline.n_rows <= MANY_ROWS else "binned"
    families = likelihoods(outline, usual)
    return NaiveBayes(families=families, missing="category", unseen="smooth", var_floor=1e-3, n_jobs=1)


def search_bayes(outline: Outline) -> dict[str, Any]:
    space: dict[str, Any] = {"alpha": loguniform(0.01, 10.0), "missing": ["ignore", "category"]}
    if outline.columns("number", "date"):
        space["families"] = [likelihoods(outline, name) for name in ("gaussian", "kde", "binned")]
        space["var_floor"] = loguniform(1e-6, 0.1)
        space["bins"] = [5, 10, 20]
    return space


def make_neighbors(outline: Outline, seed: int) -> Any:
    from foldwise.neighbors import KNNClassifier, KNNRegressor

    k = max(1, min(15, outline.n_rows // 4))
    if outline.task == "regression":
        return KNNRegressor(n_neighbors=min(k, 10), metric="heom", weights="distance", n_jobs=1)
    return KNNClassifier(n_neighbors=k, metric="heom", weights="distance", laplace=0.5, n_jobs=1)


def search_neighbors(outline: Outline) -> dict[str, Any]:
    most = max(1, min(MOST_NEIGHBORS, outline.n_rows // 4))  # nested training sets are smaller than the table
    space = {
        "n_neighbors": randint(1, most + 1),
        "weights": ["uniform", "distance", "triangular", "epanechnikov", "gaussian"],
    }
    if outline.task == "regression":  # distances between categories by their class rates need classes
        return {**space, "metric": ["gower", "heom"]}
    return {**space, "metric": ["gower", "heom", "hvdm"], "laplace": loguniform(0.05, 2.0)}


SPECS = (
    ModelSpec(
        name="naive_bayes",
        title="naive Bayes",
        make=make_bayes,
        prepare=lambda outline: as_frame(outline, "number", "category", "text"),
        search=search_bayes,
        cost=Cost(cell=3e-8, start=0.01, each_class=True, column=1e-3),
        selects=True,
        shares=("alpha", "missing", "families", "var_floor", "bins"),
    ),
    ModelSpec(
        name="knn",
        title="nearest neighbors",
        make=make_neighbors,
        prepare=lambda outline: as_frame(outline, "number", "category", parts=SMOOTH_PARTS),
        search=search_neighbors,
        cost=Cost(cell=1.5e-11, power=2.0, start=0.05, column=8e-4),
        roles=("number", "category", "date"),
        scales=True,
        selects=True,
        shares=("n_neighbors", "weights", "laplace"),
        tasks=BOTH,
        regression={"shares": ("n_neighbors", "weights")},
        notes={"distance": "mixed distances scale columns themselves, and accept missing values"},
    ),
    ModelSpec(
        name="rule_list",
        title="rule list",
        make=lambda outline, seed: RuleList(random_state=seed),
        prepare=lambda outline: as_frame(outline, "number", "category"),
        search=lambda outline: {
            "min_rows": [1, 2, 3, 5, 10, 20],
            "n_optimizations": [0, 1, 2],
            "laplace": loguniform(0.1, 5.0),
        },
        cost=Cost(cell=1.5e-6, power=1.1, start=0.03, each_class=True, column=1e-3),
        roles=("number", "category", "date"),
    ),
)
