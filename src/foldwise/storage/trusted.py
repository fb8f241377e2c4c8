"""The rest of a model by skops: types of an allow-list are made anew and given their values; nothing else is touched.

skops trusts most of scikit-learn, numpy and scipy by itself. The types below are added: those of ours that are plain
values, and trees, which skops leaves out because their compiled code believes the places in their arrays. These places
are checked here, before a tree is asked anything; so are those of sparse matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from foldwise.errors import InputError
from foldwise.storage.parts import walk

PLAIN = (  # a file can have them made from any values: their constructors keep what they are given, or check it
    "app.blend.Blend",
    "decisions.calibrated.Calibrated",
    "decisions.calibration.dirichlet.Dirichlet",
    "decisions.calibration.isotonic.Isotonic",
    "decisions.calibration.scores.Identity",
    "decisions.calibration.sigmoid.Sigmoid",
    "decisions.calibration.temperature.Temperature",
    "decisions.cost_sensitive.CostSensitive",
    "decisions.costs.Costs",
    "ensembles.building.Built",
    "ensembles.combiners.arbiters.ArbiterTree",
    "ensembles.combiners.arbiters.Arbitrated",
    "ensembles.combiners.arbiters.Node",
    "ensembles.combiners.averages.LogMean",
    "ensembles.combiners.averages.Mean",
    "ensembles.combiners.averages.Median",
    "ensembles.combiners.decoding.Decode",
    "ensembles.combiners.grading.Graded",
    "ensembles.combiners.grading.Grading",
    "ensembles.combiners.stacking.Stacked",
    "ensembles.combiners.stacking.Stacking",
    "ensembles.combiners.votes.Vote",
    "ensembles.combiners.weighing.Alone",
    "ensembles.combiners.weighing.Best",
    "ensembles.combiners.weighing.Weighted",
    "ensembles.combiners.weighing.WithWeights",
    "ensembles.dependency.adaboost.AdaBoost",
    "ensembles.dependency.decorate.Decorate",
    "ensembles.dependency.independent.Independent",
    "ensembles.diversity.composition.Together",
    "ensembles.diversity.hyperparameters.Settings",
    "ensembles.diversity.partitions.ColumnParts",
    "ensembles.diversity.partitions.RowParts",
    "ensembles.diversity.poisson.Poisson",
    "ensembles.diversity.recoding.Recoded",
    "ensembles.diversity.sampling.Bootstrap",
    "ensembles.diversity.sampling.Pasting",
    "ensembles.diversity.subspaces.Subspaces",
    "ensembles.ensemble.Ensemble",
    "ensembles.members.Member",
    "ensembles.members.OnlyClass",
    "ensembles.protocol.Crew",
    "ensembles.protocol.Lesson",
    "ensembles.protocol.Plainly",
    "ensembles.sizes.chosen.Greedy",
    "ensembles.sizes.chosen.Pruned",
    "ensembles.sizes.fixed.Fixed",
    "ensembles.sizes.settled.Settled",
    "evaluation.cost.CostMatrix",
    "models.coded.CodedLabels",
    "models.rates.ClassRates",
    "models.readers.CodedFrame",
    "models.readers.Codes",
    "models.readers.Dates",
    "models.readers.KeepColumns",
    "models.readers.Numbers",
    "models.readers.Words",
    "rules.cells.Condition",
    "rules.cells.Scheme",
    "rules.estimator.ListedRule",
    "rules.estimator.RuleList",
    "models.selecting.ColumnsThatTell",
    "storage.parts.Placeholder",
)

ALLOWED = frozenset(
    {
        *(f"foldwise.{name}" for name in PLAIN),
        "functools.partial",  # of a function that is trusted itself: HistGradientBoosting keeps one of check_array
        "numpy.dtype",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils.validation.check_array",
    }
)


def to_skops(model: Any) -> bytes:
    """The model as skops writes it; refused where it holds types that would not be read again."""
    import skops.io as sio

    try:
        data: bytes = sio.dumps(model)
    except Exception as error:
        raise InputError(
            f"this model cannot be stored without code: {type(error).__name__}: {error}.",
            "use estimators of scikit-learn or of the catalogue.",
        ) from error
    strange = strange_types(data)
    if strange:
        raise InputError(
            f"this model holds {', '.join(strange)}, which cannot be stored without code.",
            "use estimators of scikit-learn or of the catalogue.",
        )
    return data


def from_skops(data: bytes) -> Any:
    """The model, if all its types are allowed and all its trees are sound."""
    import skops.io as sio

    try:
        strange = strange_types(data)
    except Exception as error:
        raise InputError(f"the model file is damaged: {type(error).__name__} in its estimators.") from error
    if strange:
        raise InputError(
            f"the model file asks for {', '.join(strange)}, which is not on the list of types that may be opened.",
            "do not use this file unless you know who wrote it; then save the model again.",
        )
    try:
        model = sio.loads(data, trusted=sorted(ALLOWED & set(sio.get_untrusted_types(data=data))))
    except Exception as error:
        raise InputError(f"the model file is damaged: {type(error).__name__}: {error}.") from error
    for value in walk(model):
        check_places(value)
    return model


def strange_types(data: bytes) -> list[str]:
    """The types that neither skops nor the list above trusts."""
    import skops.io as sio

    return sorted(set(sio.get_untrusted_types(data=data)) - ALLOWED)


def check_places(value: Any) -> None:
    """Refuse a tree, or a sparse matrix, whose arrays would lead compiled code astray."""
    if sp.issparse(value):
        check_matrix(value)
    elif type(value).__name__ == "TreePredictor":
        nodes = value.nodes
        inner = nodes["is_leaf"] == 0
        codes = inner & (nodes["is_categorical"] != 0)
        n_sets = min(len(value.raw_left_cat_bitsets), len(value.binned_left_cat_bitsets))
        check_nodes(nodes["left"][inner], nodes["right"][inner], np.flatnonzero(inner), len(nodes))
        check_range(nodes["bitset_idx"][codes], n_sets)
    elif hasattr(value, "tree_"):
        tree = value.tree_
        inner = tree.children_left != -1
        check_nodes(tree.children_left[inner], tree.children_right[inner], np.flatnonzero(inner), tree.node_count)
        check_range(tree.feature[inner], value.n_features_in_)
        if tree.n_features != value.n_features_in_ or tree.value.shape[0] != tree.node_count:
            refuse_tree()
    elif hasattr(value, "_predictors"):
        for predictor in (one for stage in value._predictors for one in stage):
            inner = predictor.nodes["is_leaf"] == 0
            check_range(predictor.nodes["feature_idx"][inner], value.n_features_in_)


def check_matrix(matrix: Any) -> None:
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError("the model file is damaged: a sparse matrix in it points nowhere.") from error


def check_nodes(left: Any, right: Any, parents: Any, n_nodes: int) -> None:
    """Children come after their parents and before the end, so that every walk ends."""
    if n_nodes < 1:
        refuse_tree()
    for children in (left, right):
        children = np.asarray(children, dtype=np.int64)
        if not ((children > parents) & (children < n_nodes)).all():
            refuse_tree()


def check_range(places: Any, end: int) -> None:
    places = np.asarray(places, dtype=np.int64)
    if not ((places >= 0) & (places < end)).all():
        refuse_tree()


def refuse_tree() -> None:
    raise InputError("the model file is damaged: a tree in it leads nowhere.", "save the model again with save_model.")
