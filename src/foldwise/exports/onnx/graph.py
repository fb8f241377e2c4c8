"""`OnnxGraph`: collects the nodes and constants of an ONNX graph. All numbers are doubles; missing ones are NaN."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError

OPSETS = {"": 21, "ai.onnx.ml": 5}  # the first with TreeEnsemble, whose thresholds and leaves may be doubles
IR_VERSION = 10
Operand = Any  # the name of a tensor, or a constant: a number, a list of strings or an array


@dataclass(frozen=True)
class InputColumn:
    """A column of the table: a tensor of shape (rows, 1).

    Numbers and booleans are doubles with NaN for a missing cell. Text is strings, and one certain string, `gap`, means
    a missing cell.
    """

    name: str
    kind: str  # "number", "truth", "text" or "date"
    tensor: str
    gap: str = ""


@dataclass(frozen=True)
class Matrix:
    """Numbers in a tensor of shape (rows, width)."""

    tensor: str
    width: int


Columns = list[InputColumn]


class OnnxGraph:
    """The nodes of a graph, in the order in which they run.

    Parameters
    ----------
    taken : iterable of str
        Names of inputs and outputs, which no other tensor may have.
    first : str
        Any input. It says how many rows there are.
    """

    def __init__(self, taken: Iterable[str], first: str) -> None:
        self.taken = set(taken)
        self.first, self._zeros = first, ""
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {}
        self.n_names = 0

    def new_name(self) -> str:
        """Return a name that no other tensor has."""
        while True:
            self.n_names += 1
            name = f"t{self.n_names}"
            if name not in self.taken:
                return name

    def add(self, operator: str, *operands: Operand, domain: str = "", n_outputs: int = 1, **attributes: Any) -> Any:
        """Add a node, and return the name of its result, or the names of several results."""
        outputs = [self.new_name() for _ in range(n_outputs)]
        self.add_as(outputs, operator, *operands, domain=domain, **attributes)
        return outputs[0] if n_outputs == 1 else outputs

    def add_as(self, outputs: Sequence[str], operator: str, *operands: Operand, domain: str = "", **given: Any) -> None:
        """Add a node whose results have given names."""
        names = [one if isinstance(one, str) else self.constant(one) for one in operands]
        self.nodes.append(onnx_module().helper.make_node(operator, names, list(outputs), domain=domain, **given))

    def constant(self, values: Any) -> str:
        """Store an array; Python's floats become doubles, its integers int64, its strings strings."""
        array = np.asarray(values)
        array = array.astype(object) if array.dtype.kind in "US" else array
        as_text = array.dtype == object
        key = (array.dtype.str, array.shape, tuple(array.ravel().tolist()) if as_text else array.tobytes())
        if key not in self.constants:
            self.constants[key] = onnx_module().numpy_helper.from_array(np.ascontiguousarray(array), self.new_name())
            if not array.shape:  # ascontiguousarray adds a dimension
                self.constants[key] = onnx_module().numpy_helper.from_array(array, self.constants[key].name)
        return str(self.constants[key].name)

    def matrix(self, table: Columns | Matrix) -> Matrix:
        """Return the cells of a table as numbers."""
        if isinstance(table, Matrix):
            return table
        for column in table:
            if column.kind not in ("number", "truth"):
                raise InputError(
                    f"column {column.name!r} is used as a number but does not contain numbers, so it cannot be "
                    "exported to ONNX."
                )
        return self.beside([Matrix(column.tensor, 1) for column in table])

    def columns(self, table: Columns | Matrix) -> Columns:
        """Return the columns of a table one by one."""
        if not isinstance(table, Matrix):
            return table
        return [InputColumn(f"column {j}", "number", self.column(table.tensor, j)) for j in range(table.width)]

    def beside(self, parts: Sequence[Matrix]) -> Matrix:
        """Put matrices beside each other."""
        if len(parts) == 1:
            return parts[0]
        width = sum(part.width for part in parts)
        return Matrix(self.add("Concat", *(part.tensor for part in parts), axis=1), width)

    def take(self, matrix: Matrix, columns: Sequence[int]) -> Matrix:
        """Select columns of a matrix."""
        if list(columns) == list(range(matrix.width)):
            return matrix
        indices = np.asarray(columns, dtype=np.int64)
        return Matrix(self.add("Gather", matrix.tensor, indices, axis=1), len(indices))

    def lookup(self, cells: str, keys: Sequence[Any], values: NDArray[Any], otherwise: Any) -> str:
        """Replace each cell by the value of its key; keys are strings, or numbers of which one may be NaN."""
        if not len(keys):  # the operator needs a key
            keys, values = ["" if isinstance(otherwise, str) else 0.0], np.array([otherwise], dtype=values.dtype)
        as_text = isinstance(keys[0], str)
        array = np.array(keys, dtype=object if as_text else np.float64)
        to_tensor = onnx_module().numpy_helper.from_array
        return str(
            self.add(
                "LabelEncoder",
                cells,
                domain="ai.onnx.ml",
                keys_tensor=to_tensor(array, "keys"),
                values_tensor=to_tensor(np.ascontiguousarray(values), "values"),
                default_tensor=to_tensor(np.array([otherwise], dtype=values.dtype), "default"),
            )
        )

    def codes(self, column: InputColumn, levels: Sequence[Any]) -> str:
        """Return the index (int64) of each cell among L levels: L if it is missing, L + 1 if it is unknown."""
        n = len(levels)
        gap: Any = column.gap if column.kind == "text" else np.nan
        keys = [str(level) if column.kind == "text" else float(level) for level in levels]
        check_gap(column, keys)
        return self.lookup(column.tensor, [*keys, gap], np.array([*range(n), n], dtype=np.int64), n + 1)

    def sum_of(self, tensor: str, axis: int, keepdims: bool = True) -> str:
        return str(self.add("ReduceSum", tensor, np.array([axis]), keepdims=int(keepdims)))

    def largest(self, tensor: str) -> str:
        return str(self.add("ReduceMax", tensor, np.array([1]), keepdims=1))

    def column(self, tensor: str, k: int) -> str:
        """Return column k of a matrix, of shape (rows, 1)."""
        return str(self.add("Gather", tensor, np.array([k]), axis=1))

    def as_double(self, tensor: str) -> str:
        return str(self.add("Cast", tensor, to=onnx_module().TensorProto.DOUBLE))

    def repeated(self, values: Any) -> str:
        """Repeat a row of constants for every row of the table."""
        return str(self.add("Add", self.zeros, np.atleast_2d(np.asarray(values, dtype=np.float64))))

    @property
    def zeros(self) -> str:
        """A column of zeros, with as many rows as the table."""
        if not self._zeros:
            cells = self.add("Equal", self.first, self.first)
            self._zeros = str(self.add("Mul", self.as_double(cells), 0.0))
        return self._zeros


def check_gap(column: InputColumn, keys: Sequence[Any]) -> None:
    """Refuse a category that means a missing cell."""
    if column.kind == "text" and column.gap in keys:
        raise InputError(
            f"column {column.name!r} has the category {column.gap!r}, which stands for a missing cell in ONNX.",
            "export it with another missing_text=.",
        )


@cache
def onnx_module() -> Any:
    """Import onnx, which comes with an extra."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise InputError(
            "exports to ONNX need onnx and onnxruntime, which are not installed.", "run pip install 'foldwise[onnx]'."
        ) from None
    return onnx
