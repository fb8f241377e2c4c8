"""Save and open models with skops, which creates objects of an allow-list of types and nothing else.

skops itself trusts most of scikit-learn, numpy and scipy. This list adds the classes of Foldwise that have a tag, and
trees. skops excludes trees because their compiled code relies on the indices in their arrays, so these indices are
checked before a tree predicts; so are those of sparse matrices. skops writes the module path of every type. Paths of
Foldwise are replaced by tags, so that a file can still be opened after a class has moved.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from foldwise.errors import FoldwiseError, InputError
from foldwise.storage.archive import check_sizes, damaged
from foldwise.storage.encoded_parts import walk
from foldwise.storage.missing_library import missing_library
from foldwise.storage.tags import PATHS, TAGS

SCHEMA = "schema.json"  # the member of a skops file that names all types
TAGGED = "tag"  # takes the place of the module of a class
HINT = "use estimators of scikit-learn or Foldwise."
BAD_TREE = "a tree has invalid indices"
ALLOWED = frozenset(
    {
        *PATHS,
        "builtins.object",  # as a type of columns, like those of numpy
        "functools.partial",  # of a trusted function; HistGradientBoosting has one of check_array
        "numpy.dtype",
        "numpy.floating",
        "numpy.integer",
        "numpy.number",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.compose._column_transformer.make_column_selector",  # a pattern and types of columns
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",  # a dictionary, of the named members of an ensemble
        "sklearn.utils.validation.check_array",
    }
)


def to_skops(model: Any) -> bytes:
    """Write the model with skops, and refuse types that could not be opened."""
    import skops.io as sio

    try:
        data: bytes = sio.dumps(model)
    except Exception as error:  # skops raises errors of many types for what it cannot store
        raise InputError(
            f"a model file contains no code, so this model cannot be saved ({type(error).__name__}: {error}).", HINT
        ) from error
    strange = strange_types(data)
    if strange:
        raise InputError(f"a model file contains no code, so {', '.join(strange)} in this model cannot be saved.", HINT)
    return with_types(data, to_tag)


def from_skops(data: bytes) -> Any:
    """Read the model if all its types are allowed and all its trees are valid."""
    import skops.io as sio

    try:
        data = with_types(data, from_tag)
        strange = strange_types(data)
    except FoldwiseError:
        raise
    except ImportError as error:
        raise missing_library(error) from error
    except Exception as error:  # a damaged file may cause any error
        raise damaged(f"{type(error).__name__} in its estimators") from error
    if strange:
        refuse_types(", ".join(strange))
    try:
        model = sio.loads(data, trusted=sorted(ALLOWED & set(sio.get_untrusted_types(data=data))))
    except ImportError as error:
        raise missing_library(error) from error
    except Exception as error:  # skops raises errors of many types for a damaged file
        raise damaged(f"{type(error).__name__}: {error}") from error
    for value in walk(model):
        check_indices(value)
    return model


def with_types(data: bytes, change: Callable[[str, str], tuple[str, str]]) -> bytes:
    """Return the same skops file with the module and the name of each type changed."""

    def node(found: dict[str, Any]) -> dict[str, Any]:
        module, name = found.get("__module__"), found.get("__class__")
        if isinstance(module, str) and isinstance(name, str):  # otherwise a dictionary of the model with such a key
            found["__module__"], found["__class__"] = change(module, name)
        return found

    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as target:
        check_sizes(source)
        for member in source.namelist():
            content = source.read(member)
            if member == SCHEMA:
                content = json.dumps(json.loads(content, object_hook=node)).encode()
            target.writestr(member, content)
    return buffer.getvalue()


def to_tag(module: str, name: str) -> tuple[str, str]:
    """Replace the path of a class of Foldwise with its tag."""
    if not is_ours(module):
        return module, name
    if f"{module}.{name}" not in PATHS:
        raise InputError(f"this model contains {module}.{name}, which cannot be saved.", HINT)
    return TAGGED, PATHS[f"{module}.{name}"]


def from_tag(module: str, name: str) -> tuple[str, str]:
    """Replace a tag with the path of its class; a file must not contain paths of Foldwise."""
    if is_ours(module):
        refuse_types(f"{module}.{name}")
    if module != TAGGED:
        return module, name
    if name not in TAGS:
        refuse_types(repr(name))
    module, _, name = f"foldwise.{TAGS[name]}".rpartition(".")
    return module, name


def is_ours(module: str) -> bool:
    """Whether a module belongs to Foldwise."""
    return module.split(".")[0] == "foldwise"


def refuse_types(names: str) -> NoReturn:
    """Raise the error for types that are not allowed."""
    raise InputError(
        f"the model file contains {names}, which Foldwise does not allow.",
        "upgrade Foldwise if a newer version wrote the file. Otherwise do not use the file.",
    )


def strange_types(data: bytes) -> list[str]:
    """Return the types that neither skops nor the list above trusts."""
    import skops.io as sio

    return sorted(set(sio.get_untrusted_types(data=data)) - ALLOWED)


def check_indices(value: Any) -> None:
    """Refuse a tree or a sparse matrix with indices out of range, which compiled code would follow."""
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
            raise damaged(BAD_TREE)
    elif hasattr(value, "_predictors"):
        for predictor in (one for stage in value._predictors for one in stage):
            inner = predictor.nodes["is_leaf"] == 0
            check_range(predictor.nodes["feature_idx"][inner], value.n_features_in_)


def check_matrix(matrix: Any) -> None:
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise damaged("a sparse matrix has invalid indices") from error


def check_nodes(left: Any, right: Any, parents: Any, n_nodes: int) -> None:
    """Refuse children that do not come after their parents, so that every path through the tree ends."""
    for children in (np.asarray(side, dtype=np.int64) for side in (left, right)):
        if n_nodes < 1 or not ((children > parents) & (children < n_nodes)).all():
            raise damaged(BAD_TREE)


def check_range(indices: Any, end: int) -> None:
    """Refuse indices out of range."""
    indices = np.asarray(indices, dtype=np.int64)
    if not ((indices >= 0) & (indices < end)).all():
        raise damaged(BAD_TREE)
