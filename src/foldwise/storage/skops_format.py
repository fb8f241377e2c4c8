"""The rest of a model by skops: types of an allow-list are made again and given their values; nothing else is touched.

skops trusts most of scikit-learn, numpy and scipy by itself. Added are the classes of ours that have a tag, and trees,
which skops leaves out because their compiled code believes the indices in their arrays. These indices are checked
before a tree predicts anything; so are those of sparse matrices. skops writes the module path of every type: paths of
ours are replaced by tags on writing and looked up on reading, so that a file survives a class that moves.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from foldwise.errors import FoldwiseError, InputError
from foldwise.storage.archive import check_sizes
from foldwise.storage.encoded_parts import walk
from foldwise.storage.tags import PATHS, path_of, tag_of

SCHEMA = "schema.json"  # the member of a skops file that names all types
TAGGED = "tag"  # stands where skops writes the module of a class
ALLOWED = frozenset(
    {
        *PATHS,
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
    """Write the model with skops; refuse types that would not be read again."""
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
    return with_types(data, to_tag)


def from_skops(data: bytes) -> Any:
    """Read the model, if all its types are allowed and all its trees are sound."""
    import skops.io as sio

    try:
        data = with_types(data, from_tag)
        strange = strange_types(data)
    except FoldwiseError:
        raise
    except Exception as error:
        raise InputError(f"the model file is damaged: {type(error).__name__} in its estimators.") from error
    if strange:
        refuse_types(", ".join(strange))
    try:
        model = sio.loads(data, trusted=sorted(ALLOWED & set(sio.get_untrusted_types(data=data))))
    except Exception as error:
        raise InputError(f"the model file is damaged: {type(error).__name__}: {error}.") from error
    for value in walk(model):
        check_indices(value)
    return model


def with_types(data: bytes, change: Callable[[str, str], tuple[str, str]]) -> bytes:
    """The same skops file, with the module and the name of each type changed."""

    def node(found: dict[str, Any]) -> dict[str, Any]:
        module, name = found.get("__module__"), found.get("__class__")
        if isinstance(module, str) and isinstance(name, str):  # else a dictionary of the model with such a key
            found["__module__"], found["__class__"] = change(module, name)
        return found

    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as target:
        check_sizes(source, "model.skops")
        for member in source.namelist():
            content = source.read(member)
            if member == SCHEMA:
                content = json.dumps(json.loads(content, object_hook=node)).encode()
            target.writestr(member, content)
    return buffer.getvalue()


def to_tag(module: str, name: str) -> tuple[str, str]:
    """A class of ours by its tag."""
    return (TAGGED, tag_of(f"{module}.{name}")) if is_ours(module) else (module, name)


def from_tag(module: str, name: str) -> tuple[str, str]:
    """The class of a tag; a path of ours has no place in a file."""
    if is_ours(module):
        refuse_types(f"{module}.{name}")
    if module != TAGGED:
        return module, name
    module, _, name = path_of(name).rpartition(".")
    return module, name


def is_ours(module: str) -> bool:
    """Whether a module belongs to Foldwise."""
    return module.split(".")[0] == "foldwise"


def refuse_types(names: str) -> None:
    raise InputError(
        f"the model file asks for {names}, which is not on the list of types that may be opened.",
        "do not use this file unless you know who wrote it; then save the model again.",
    )


def strange_types(data: bytes) -> list[str]:
    """The types that neither skops nor the list above trusts."""
    import skops.io as sio

    return sorted(set(sio.get_untrusted_types(data=data)) - ALLOWED)


def check_indices(value: Any) -> None:
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


def check_range(indices: Any, end: int) -> None:
    indices = np.asarray(indices, dtype=np.int64)
    if not ((indices >= 0) & (indices < end)).all():
        refuse_tree()


def refuse_tree() -> None:
    raise InputError("the model file is damaged: a tree in it leads nowhere.", "save the model again with save_model.")
