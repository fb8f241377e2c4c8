"""Pictures of any predictions and of decision trees, from any library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree
from sklearn.tree import plot_tree as draw_nodes

from foldwise.arrays import Floats
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.plotting import axes
from foldwise.evaluation.prediction_curves import Ranking, roc

__all__ = ["plot_roc", "plot_thresholds", "plot_tree"]


def plot_roc(y: Any, scores: Any, *, positive: Any = None, sample_weight: Any = None, ax: Any = None) -> Any:
    """Draw the ROC curve of one or more predictions of the same rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The true classes, of which there are two.
    scores : array-like, or dict of array-like by name
        Scores or probabilities of the positive class, one per row, or probabilities of both classes, of shape
        (n_rows, 2).
    positive : class label, default None
        The positive class; None means the second class in sorted order.
    sample_weight : array-like of shape (n_rows,), default None
        Row weights.
    ax : matplotlib axes, default None
        The axes to draw on; None creates new ones.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from foldwise import NaiveBayes, cross_predict
    >>> from foldwise.plots import plot_roc
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ax = plot_roc(y, {"naive Bayes": cross_predict(NaiveBayes(), X, y, method="predict_proba")})
    >>> ax.get_legend_handles_labels()[1][0]
    'naive Bayes: area 0.985'
    """
    observed, column = positives(y, positive)
    weights = np.ones(len(observed)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    shown = axes(ax, (4.6, 4.4))
    for name, values in by_name(scores).items():
        curve = roc(of_positive(values, observed, column), observed, weights)
        label = f"area {curve['area']:.3f}"
        shown.plot(curve["x"], curve["y"], label=f"{name}: {label}" if name else label)
    shown.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="random guessing")
    shown.set_xlabel("False positive rate")
    shown.set_ylabel("True positive rate")
    shown.legend(frameon=False, loc="lower right")
    return shown


def plot_thresholds(
    y: Any,
    scores: Any,
    *,
    positive: Any = None,
    cost_false_positive: float | None = None,
    cost_false_negative: float = 1.0,
    ax: Any = None,
) -> Any:
    """Draw what each threshold on a score would lead to: precision, recall, specificity and F1, or the mean cost.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The true classes, of which there are two.
    scores : array-like of shape (n_rows,) or (n_rows, 2)
        Scores or probabilities of the positive class, or probabilities of both classes.
    positive : class label, default None
        The positive class; None means the second class in sorted order.
    cost_false_positive : float, default None
        Cost of a false positive. If given, the mean cost is drawn instead, and its lowest point is marked.
    cost_false_negative : float, default 1.0
        Cost of a false negative.
    ax : matplotlib axes, default None
        The axes to draw on; None creates new ones.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

    Examples
    --------
    >>> from foldwise.plots import plot_thresholds
    >>> ax = plot_thresholds([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], cost_false_positive=1, cost_false_negative=5)
    >>> ax.get_legend_handles_labels()[1][1]
    'lowest cost: 0.25 at 0.4'
    """
    observed, column = positives(y, positive)
    score = of_positive(scores, observed, column)
    ranking = Ranking.by(score, observed, np.ones(len(observed)))
    n_positive, n_negative = ranking.found[-1], ranking.all[-1] - ranking.found[-1]
    right, wrong = ranking.found, ranking.all - ranking.found
    shown, at = axes(ax), ranking.score
    if cost_false_positive is not None:
        cost = (cost_false_positive * wrong + cost_false_negative * (n_positive - right)) / len(observed)
        best = int(cost.argmin())
        shown.step(at, cost, where="pre", label="mean cost")
        shown.plot(at[best], cost[best], "o", color="tab:red", label=f"lowest cost: {cost[best]:.3g} at {at[best]:.3g}")
        shown.set_ylabel("Mean cost per row")
    else:
        precision, recall = right / ranking.all, right / n_positive
        lines = {"precision": precision, "recall": recall, "specificity": 1 - wrong / n_negative}
        lines["F1"] = 2 * right / (ranking.all + n_positive)
        for name, values in lines.items():
            shown.step(at, values, where="pre", label=name)
        shown.set_ylabel("Share")
        shown.set_ylim(-0.02, 1.02)
    shown.set_xlabel("Threshold: rows with at least this score count as positive")
    shown.legend(frameon=False)
    return shown


def plot_tree(model: Any, *, max_depth: int | None = None, ax: Any = None) -> Any:
    """Draw a fitted decision tree, as it is after pruning.

    Parameters
    ----------
    model : decision tree, or pipeline that ends in one
        The fitted tree of scikit-learn.
    max_depth : int, default None
        Levels to draw; None means all.
    ax : matplotlib axes, default None
        The axes to draw on; None creates new ones.

    Returns
    -------
    matplotlib axes
        The axes with the picture.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.plots import plot_tree
    >>> tree = DecisionTreeClassifier(ccp_alpha=0.02, random_state=0).fit(*load_iris(return_X_y=True))
    >>> plot_tree(tree).get_title()
    '4 leaves, pruned with ccp_alpha=0.02'
    """
    tree, names = model, None
    if isinstance(model, Pipeline):
        tree = model[-1]
        if hasattr(model[:-1], "get_feature_names_out"):
            names = [str(one).rpartition("__")[2] for one in model[:-1].get_feature_names_out()]
    if not isinstance(tree, BaseDecisionTree):
        raise FoldwiseTypeError(
            f"model must be a decision tree, or a pipeline that ends in one, got {type(tree).__name__}.",
            "pass a fitted DecisionTreeClassifier.",
        )
    if names is None:
        names = [str(one) for one in getattr(tree, "feature_names_in_", [])] or None
    classes = [str(one) for one in getattr(tree, "classes_", [])] or None
    depth = min(tree.get_depth(), max_depth or tree.get_depth())
    shown = axes(ax, (max(5.0, 1.7 * min(tree.get_n_leaves(), 2**depth)), 1.6 + 1.5 * depth))
    draw_nodes(
        tree,
        max_depth=max_depth,
        feature_names=names,
        class_names=classes,
        filled=True,
        rounded=True,
        precision=3,
        impurity=False,
        proportion=True,
        ax=shown,
    )
    pruned = f", pruned with ccp_alpha={tree.ccp_alpha:.3g}" if tree.ccp_alpha else ""
    shown.set_title(f"{tree.get_n_leaves()} leaves{pruned}")
    return shown


def positives(y: Any, positive: Any) -> tuple[Floats, int]:
    """Which rows belong to the positive class, and its index among the two classes."""
    values = np.asarray(y)
    classes = np.unique(values)
    if len(classes) != 2:
        raise InputError(f"y must have two classes, got {len(classes)}.", "compare one class with the rest: y == 'a'.")
    column = 1 if positive is None else next((i for i, one in enumerate(classes) if one == positive), -1)
    if column < 0:
        raise InputError(f"positive must be one of the classes {classes.tolist()}, got {positive!r}.")
    return (values == classes[column]).astype(np.float64), column


def of_positive(scores: Any, observed: Floats, column: int) -> Floats:
    """The scores of the positive class."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 2:
        values = values[:, column]
    if values.shape != observed.shape:
        raise InputError(f"scores must have one value per row of y ({len(observed)}), got shape {values.shape}.")
    return values


def by_name(scores: Any) -> dict[str, Any]:
    """The predictions by name; a single one has no name."""
    return dict(scores) if isinstance(scores, Mapping) else {"": scores}
