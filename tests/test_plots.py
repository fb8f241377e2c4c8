"""Pictures of predictions and trees: the numbers drawn are those of scikit-learn."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.plots import plot_roc, plot_thresholds, plot_tree

mpl.use("Agg")


@pytest.fixture
def predictions(rng):
    y = rng.integers(2, size=200)
    return np.array(["no", "yes"])[y], np.round(rng.normal(size=200) + y, 1)


def test_roc_areas_are_those_of_scikit_learn(predictions):
    y, scores = predictions
    ax = plot_roc(y, {"one": scores, "other": -scores})
    labels = ax.get_legend_handles_labels()[1]
    assert labels[0] == f"one: area {roc_auc_score(y == 'yes', scores):.3f}"
    assert labels[1] == f"other: area {roc_auc_score(y == 'yes', -scores):.3f}"
    both = np.column_stack([-scores, scores])
    assert plot_roc(y, both, positive="no").get_legend_handles_labels()[1][0] == labels[0].removeprefix("one: ")


def test_thresholds_are_those_of_scikit_learn(predictions):
    y, scores = predictions
    ax = plot_thresholds(y, scores)
    lines = {line.get_label(): line for line in ax.lines}
    for name, metric in (("precision", precision_score), ("recall", recall_score), ("F1", f1_score)):
        for at, value in zip(*lines[name].get_data(), strict=True):
            assert value == pytest.approx(metric(y == "yes", scores >= at))
    cost = plot_thresholds(y, scores, cost_false_positive=2, cost_false_negative=3).lines[0]
    for at, value in zip(*cost.get_data(), strict=True):
        wrong = 2 * ((scores >= at) & (y == "no")) + 3 * ((scores < at) & (y == "yes"))
        assert value == pytest.approx(wrong.mean())


def test_a_tree_in_a_pipeline_is_drawn_with_names():
    table = load_breast_cancer(as_frame=True)
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier(ccp_alpha=0.01, random_state=0))
    ax = plot_tree(tree.fit(table.data, table.target))
    texts = " ".join(one.get_text() for one in ax.texts)
    assert "worst radius" in texts or "mean concave points" in texts
    assert ax.get_title().endswith("pruned with ccp_alpha=0.01")
    whole = plot_tree(DecisionTreeClassifier(random_state=0).fit(*load_iris(return_X_y=True)), max_depth=1)
    assert "pruned" not in whole.get_title()


def test_bad_input(predictions):
    y, scores = predictions
    with pytest.raises(InputError, match="two classes, got 3"):
        plot_roc([0, 1, 2], [0, 1, 2])
    with pytest.raises(InputError, match="positive must be one of"):
        plot_roc(y, scores, positive="maybe")
    with pytest.raises(InputError, match="one value per row"):
        plot_thresholds(y, scores[:5])
    with pytest.raises(FoldwiseTypeError, match="must be a decision tree"):
        plot_tree(LogisticRegression())
