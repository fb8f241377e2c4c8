"""Recipes for ensembles of copies of one estimator: bagging, boosting, output codes and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise.ensembles.combiners import ArbiterTree, Decode
from foldwise.ensembles.dependency import AdaBoost, Decorate, Residuals
from foldwise.ensembles.diversity import Bootstrap, OutputCodes, Pasting, RowParts, Subspaces
from foldwise.ensembles.ensemble import Ensemble, EnsembleRegressor
from foldwise.ensembles.mixed_recipes import composed

__all__ = [
    "adaboost",
    "arbiter_tree",
    "bagging",
    "boosted_trees",
    "decorate",
    "ecoc",
    "pasting",
    "random_forest",
    "random_subspaces",
]


def bagging(member: Any, size: int = 10, *, share: float | int = 1.0, combiner: Any = "mean", **options: Any) -> Any:
    """Train copies of an estimator on bootstrap samples of the rows (bagging).

    Parameters
    ----------
    member : estimator
        The estimator that is copied.
    size : int, default=10
        The number of members.
    share : float or int, default=1.0
        The number of rows of each sample, as a share or as a number.
    combiner : str or Combiner, default="mean"
        How the predictions of members are combined.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble or EnsembleRegressor
        The unfitted ensemble.

    References
    ----------
    L. Breiman (1996). Bagging predictors. Machine Learning 24(2).

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import bagging
    >>> model = bagging(DecisionTreeClassifier(), 20, random_state=0)
    """
    return composed(member, diversity=Bootstrap(share), size=size, combiner=combiner, **options)


def pasting(member: Any, size: int = 10, *, share: float | int = 0.5, combiner: Any = "mean", **options: Any) -> Any:
    """Train copies of an estimator on samples of the rows, drawn without replacement.

    Parameters
    ----------
    member : estimator
        The estimator that is copied.
    size : int, default=10
        The number of members.
    share : float or int, default=0.5
        The number of rows of each sample, as a share or as a number.
    combiner : str or Combiner, default="mean"
        How the predictions of members are combined.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble or EnsembleRegressor
        The unfitted ensemble.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import pasting
    >>> model = pasting(DecisionTreeClassifier(), 20, share=0.3, random_state=0)
    """
    return composed(member, diversity=Pasting(share), size=size, combiner=combiner, **options)


def random_subspaces(
    member: Any, size: int = 10, *, share: float | int = 0.5, combiner: Any = "mean", **options: Any
) -> Any:
    """Train copies of an estimator on random subsets of the columns.

    Parameters
    ----------
    member : estimator
        The estimator that is copied.
    size : int, default=10
        The number of members.
    share : float or int, default=0.5
        The number of columns of each subset, as a share or as a number.
    combiner : str or Combiner, default="mean"
        How the predictions of members are combined.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble or EnsembleRegressor
        The unfitted ensemble.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import random_subspaces
    >>> model = random_subspaces(DecisionTreeClassifier(), 20, random_state=0)
    """
    return composed(member, diversity=Subspaces(share), size=size, combiner=combiner, **options)


def random_forest(
    size: int = 100, *, regression: bool = False, tree: Mapping[str, Any] | None = None, **options: Any
) -> Any:
    """Train a random forest of scikit-learn's trees.

    With the same `random_state`, the trees are equal to those of scikit-learn's forest.

    Parameters
    ----------
    size : int, default=100
        The number of trees.
    regression : bool, default=False
        Whether to build a regressor.
    tree : dict, optional
        Parameters of the trees; `max_features` is "sqrt" by default, and 1/3 for regression.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble or EnsembleRegressor
        The unfitted ensemble.

    References
    ----------
    L. Breiman (2001). Random forests. Machine Learning 45(1).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise.ensembles import random_forest
    >>> X, y = load_iris(return_X_y=True)
    >>> random_forest(10, random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """
    if regression:
        member: Any = DecisionTreeRegressor(**{"max_features": 1 / 3, **(tree or {})})
    else:
        member = DecisionTreeClassifier(**{"max_features": "sqrt", **(tree or {})})
    return composed(member, diversity=Bootstrap(by="weights"), size=size, **options)


def adaboost(
    member: Any = None, size: int = 50, *, by: str = "auto", learning_rate: float = 1.0, **options: Any
) -> Any:
    """Boost copies of an estimator with AdaBoost, with SAMME for more than two classes, or AdaBoost.R2 for a quantity.

    Parameters
    ----------
    member : classifier or regressor, optional
        The estimator that is copied; by default a classification tree with one split.
    size : int, default=50
        The largest number of members.
    by : {"auto", "weights", "resampling"}, default="auto"
        How rows are weighted; see `AdaBoost`.
    learning_rate : float, default=1.0
        Factor of the votes.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble or EnsembleRegressor
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise.ensembles import adaboost
    >>> model = adaboost(size=100, learning_rate=0.5)
    """
    chosen = DecisionTreeClassifier(max_depth=1) if member is None else member
    kind, combiner = (EnsembleRegressor, "median") if is_regressor(chosen) else (Ensemble, "vote")
    return kind(chosen, dependency=AdaBoost(by, learning_rate), size=size, combiner=combiner, **options)


def boosted_trees(
    size: int = 100, *, splits: int = 3, learning_rate: float = 0.1, start: str = "zero", **options: Any
) -> EnsembleRegressor:
    """Boost regression trees by residuals.

    Parameters
    ----------
    size : int, default=100
        The number of trees.
    splits : int, default=3
        The number of splits of each tree.
    learning_rate : float, default=0.1
        Factor of each tree's predictions.
    start : {"zero", "mean"}, default="zero"
        Whether the first residuals are y, or y minus its mean.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    EnsembleRegressor
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise.ensembles import boosted_trees
    >>> model = boosted_trees(200, learning_rate=0.05)
    """
    tree = DecisionTreeRegressor(max_leaf_nodes=splits + 1)
    return EnsembleRegressor(tree, dependency=Residuals(learning_rate, start), size=size, combiner="sum", **options)


def ecoc(
    member: Any, code: Any = "auto", *, by: str = "coupling", length: int | None = None, **options: Any
) -> Ensemble:
    """Train binary classifiers on an error-correcting output code of the classes.

    Parameters
    ----------
    member : classifier
        The classifier that is copied.
    code : str or array, default="auto"
        The code; see `OutputCodes`.
    by : {"coupling", "hamming", "absolute", "squared", "log"}, default="coupling"
        How predictions are decoded; see `Decode`.
    length : int, optional
        The number of members of a random code.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble
        The unfitted ensemble.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import ecoc
    >>> model = ecoc(DecisionTreeClassifier(), "pairs")
    """
    return Ensemble(member, diversity=OutputCodes(code, length), combiner=Decode(by), **options)


def decorate(member: Any = None, size: int = 15, *, share: float = 1.0, trials: int = 50, **options: Any) -> Ensemble:
    """Train copies of a classifier with artificial rows that make them differ (DECORATE).

    Parameters
    ----------
    member : classifier, optional
        The classifier that is copied; by default a decision tree.
    size : int, default=15
        The largest number of members.
    share : float, default=1.0
        The number of artificial rows, relative to the number of training rows.
    trials : int, default=50
        How many members are trained at most, including those that are not kept.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble
        The unfitted ensemble.

    Examples
    --------
    >>> from foldwise.ensembles import decorate
    >>> model = decorate(size=10, random_state=0)
    """
    chosen = DecisionTreeClassifier() if member is None else member
    return Ensemble(chosen, dependency=Decorate(share, trials), size=size, **options)


def arbiter_tree(member: Any, size: int = 8, *, arbiter: Any = None, wrong: bool = False, **options: Any) -> Ensemble:
    """Train copies of a classifier on disjoint rows, and arbiters that decide where they disagree.

    Parameters
    ----------
    member : classifier
        The classifier that is copied.
    size : int, default=8
        The number of members.
    arbiter : classifier, optional
        The model that decides; by default a copy of the member.
    wrong : bool, default=False
        Whether arbiters are also trained on rows that both sides predict wrongly.
    **options
        Further parameters of the ensemble, such as `n_jobs` and `random_state`.

    Returns
    -------
    Ensemble
        The unfitted ensemble.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import arbiter_tree
    >>> model = arbiter_tree(DecisionTreeClassifier(), 4)
    """
    return Ensemble(member, diversity=RowParts(), size=size, combiner=ArbiterTree(arbiter, wrong), **options)
