"""Named ensembles: each a short composition of the four blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise.ensembles.combiners import ArbiterTree, Decode, Grading, Stacking, Weighted
from foldwise.ensembles.dependency import AdaBoost, Decorate, Residuals
from foldwise.ensembles.diversity import Bootstrap, OutputCodes, Pasting, RowParts, Subspaces
from foldwise.ensembles.ensemble import Ensemble, EnsembleRegressor
from foldwise.ensembles.sizes import GreedySelection

__all__ = [
    "adaboost",
    "arbiter_tree",
    "bagging",
    "boosted_trees",
    "decorate",
    "ecoc",
    "grading",
    "greedy_selection",
    "majority_vote",
    "pasting",
    "random_forest",
    "random_subspaces",
    "stacking",
    "weighted_vote",
]

Several = Sequence[Any] | Mapping[str, Any]


def composed(members: Any, **blocks: Any) -> Any:
    """An `Ensemble`, or an `EnsembleRegressor` of regressors."""
    one = members
    if isinstance(members, Mapping):
        one = next(iter(members.values()), None)
    elif isinstance(members, list | tuple):
        one = members[0] if members else None
    return (EnsembleRegressor if is_regressor(one) else Ensemble)(members, **blocks)


def bagging(member: Any, size: int = 10, *, share: float | int = 1.0, combiner: Any = "mean", **options: Any) -> Any:
    """Copies of one estimator, each on a bootstrap sample (Breiman 1996)."""
    return composed(member, diversity=Bootstrap(share), size=size, combiner=combiner, **options)


def pasting(member: Any, size: int = 10, *, share: float | int = 0.5, combiner: Any = "mean", **options: Any) -> Any:
    """Copies of one estimator, each on a sample without replacement (Breiman 1999)."""
    return composed(member, diversity=Pasting(share), size=size, combiner=combiner, **options)


def random_subspaces(
    member: Any, size: int = 10, *, share: float | int = 0.5, combiner: Any = "mean", **options: Any
) -> Any:
    """Copies of one estimator, each on a random subset of the columns (Ho 1998)."""
    return composed(member, diversity=Subspaces(share), size=size, combiner=combiner, **options)


def random_forest(
    size: int = 100, *, regression: bool = False, tree: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """scikit-learn's trees on bootstrap samples, with √p columns to choose from at each split, of regressions p/3.

    `tree` are parameters of the trees. With the same random_state the trees are those of scikit-learn's forest.
    """
    if regression:
        member: Any = DecisionTreeRegressor(**{"max_features": 1 / 3, **(tree or {})})
    else:
        member = DecisionTreeClassifier(**{"max_features": "sqrt", **(tree or {})})
    return composed(member, diversity=Bootstrap(by="weights"), size=size, **options)


def majority_vote(members: Several, **options: Any) -> Ensemble:
    """Different classifiers with one vote each."""
    return Ensemble(members, combiner="vote", **options)


def weighted_vote(
    members: Several, weights: str | Sequence[float] = "accuracy", *, cv: Any = 5, **options: Any
) -> Ensemble:
    """Different classifiers that vote with their out-of-fold accuracy, or with weights given."""
    return Ensemble(members, combiner=Weighted(weights, cv=cv), **options)


def adaboost(
    member: Any = None, size: int = 50, *, by: str = "auto", learning_rate: float = 1.0, **options: Any
) -> Ensemble:
    """AdaBoost (Freund & Schapire 1996; SAMME for more than two classes), by default of trees with one split."""
    chosen = DecisionTreeClassifier(max_depth=1) if member is None else member
    return Ensemble(chosen, dependency=AdaBoost(by, learning_rate), size=size, combiner="vote", **options)


def boosted_trees(
    size: int = 100, *, splits: int = 3, learning_rate: float = 0.1, start: str = "zero", **options: Any
) -> EnsembleRegressor:
    """Regression trees with so many splits, each fitted to what those before it leave over, shrunken."""
    tree = DecisionTreeRegressor(max_leaf_nodes=splits + 1)
    return EnsembleRegressor(tree, dependency=Residuals(learning_rate, start), size=size, combiner="sum", **options)


def stacking(members: Several, final: Any = None, *, cv: Any = 5, passthrough: bool = False, **options: Any) -> Any:
    """Different estimators, and a learner that combines their out-of-fold answers (Wolpert 1992)."""
    return composed(members, combiner=Stacking(final, cv, passthrough=passthrough), **options)


def greedy_selection(
    members: Several, rounds: int | None = None, *, metric: Any = None, start: int = 3, cv: Any = 5, **options: Any
) -> Any:
    """Different estimators, weighted by greedy forward selection with replacement (Caruana et al. 2004)."""
    return composed(members, size=GreedySelection(rounds, start, metric, cv=cv), **options)


def ecoc(
    member: Any, code: Any = "auto", *, by: str = "coupling", length: int | None = None, **options: Any
) -> Ensemble:
    """One estimator for each letter of an error-correcting code of the classes (Dietterich & Bakiri 1995)."""
    return Ensemble(member, diversity=OutputCodes(code, length), combiner=Decode(by), **options)


def decorate(member: Any = None, size: int = 15, *, share: float = 1.0, trials: int = 50, **options: Any) -> Ensemble:
    """Copies of one estimator, made to differ by artificial rows (Melville & Mooney 2003); by default trees."""
    chosen = DecisionTreeClassifier() if member is None else member
    return Ensemble(chosen, dependency=Decorate(share, trials), size=size, **options)


def grading(members: Several, grader: Any = None, *, cv: Any = 10, **options: Any) -> Ensemble:
    """Different classifiers, each graded on whether it will be right (Seewald & Fürnkranz 2001)."""
    return Ensemble(members, combiner=Grading(grader, cv), **options)


def arbiter_tree(member: Any, size: int = 8, *, arbiter: Any = None, wrong: bool = False, **options: Any) -> Ensemble:
    """Copies of one estimator on disjoint rows, joined in pairs by arbiters (Chan & Stolfo 1995)."""
    return Ensemble(member, diversity=RowParts(), size=size, combiner=ArbiterTree(arbiter, wrong), **options)
