"""`to_onnx`: a fitted model as an ONNX graph, checked row by row through onnxruntime."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.frames import as_polars
from foldwise.errors import InputError
from foldwise.exports.costs import CostDecision
from foldwise.exports.coverage import coverage_quantile, intervals, sets, tolerance_scales
from foldwise.exports.model_columns import kinds_given, kinds_seen, rows_as_fitted
from foldwise.exports.onnx.decision import decision_tensors, interval_tensors, set_tensor
from foldwise.exports.onnx.graph import IR_VERSION, OPSETS, InputColumn, OnnxGraph, onnx_module
from foldwise.exports.onnx.run_models import classify, regress
from foldwise.exports.registry import ONNX
from foldwise.storage import StoredModel
from foldwise.storage.stored_model import stored
from foldwise.storage.table_check import match_columns

TOLERANCE = 1e-6  # of probabilities, and of values relative to their size
OUTPUTS = (
    "predicted_class",
    "predicted_p",
    "predicted_value",
    "predicted_decision",
    "predicted_expected_cost",
    "predicted_low",
    "predicted_high",
    "predicted_set",
)


@dataclass(frozen=True)
class OnnxExport:
    """A model as ONNX.

    Attributes
    ----------
    model : bytes
        The serialized graph. It has one input of shape (rows, 1) per column of the table, with the name of the column.
    kinds : mapping of str to str
        What each column contains: "number", "truth" (booleans) or "text".
    missing_text : str
        The string that means a missing cell in columns of text.
    n_checked : int
        How many rows were predicted by onnxruntime and compared with Python.

    Examples
    --------
    >>> from foldwise import NaiveBayes, read_table, to_onnx
    >>> table = read_table("examples/weather.csv", target="play")
    >>> export = to_onnx(NaiveBayes().fit(table.X, table.y), rows=table.X)
    >>> export.n_checked
    14
    >>> export.predict(table.X[:2])["predicted_class"].tolist()
    ['no', 'no']
    """

    model: bytes
    kinds: Mapping[str, str]
    missing_text: str = ""
    n_checked: int = 0

    def write(self, path: str | Path) -> Path:
        """Write the graph to a file.

        Parameters
        ----------
        path : path
            The file, for example `model.onnx`.

        Returns
        -------
        Path
            The file that was written.
        """
        path = Path(path)
        path.write_bytes(self.model)
        return path

    def feeds(self, rows: Any) -> dict[str, NDArray[Any]]:
        """Return the inputs of the graph for some rows, as onnxruntime needs them.

        Parameters
        ----------
        rows : frame
            The rows to predict.

        Returns
        -------
        dict of str to ndarray
            One array of shape (n_rows, 1) per column: strings, or doubles with NaN for missing cells.
        """
        X = match_columns(rows, self.kinds).X
        return {column.name: cells_of(column, self.kinds[column.name], self.missing_text) for column in X}

    def predict(self, rows: Any) -> dict[str, NDArray[Any]]:
        """Predict rows with onnxruntime.

        Parameters
        ----------
        rows : frame
            The rows to predict.

        Returns
        -------
        dict of str to ndarray
            The outputs of the graph, for example `predicted_class` and `predicted_p`.
        """
        names = [one.name for one in self.session.get_outputs()]
        found = self.session.run(names, self.feeds(rows))
        return dict(zip(names, found, strict=True))

    @cached_property
    def session(self) -> Any:
        """The session of onnxruntime."""
        return open_session(self.model)


def open_session(model: bytes) -> Any:
    """Load a graph into onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        raise InputError(
            "exports to ONNX need onnx and onnxruntime, which are not installed.", "run pip install 'foldwise[onnx]'."
        ) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def to_onnx(
    model: Any,
    *,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    rows: Any = None,
    missing_text: str = "",
) -> OnnxExport:
    """Write a fitted model as an ONNX graph in double precision.

    The graph has one input of shape (rows, 1) per column. Numbers and booleans are doubles with NaN for a missing cell;
    text is strings. `predicted_class` and `predicted_p`, or `predicted_value`, are its first outputs. A run with
    costs adds `predicted_decision` and `predicted_expected_cost`; one with a coverage adds `predicted_low` and
    `predicted_high`, or `predicted_set`, which says for each class whether it belongs to the set.

    Parameters
    ----------
    model : StoredModel, Run or estimator
        A model opened by `open_model`, the result of `fit`, or a fitted estimator or pipeline.
    columns : mapping or sequence of str, optional
        The columns that the model sees, in its order, for an estimator that was fitted on an array. A mapping also says
        what they contain: "number", "truth" (booleans) or "text". By default, encoders of categories say which columns
        contain text, and all others contain numbers.
    rows : frame, optional
        Rows for the check. Each is predicted by onnxruntime and by Python, and the export is refused if they differ.
    missing_text : str, default=""
        The string that means a missing cell in columns of text. It must not be a category.

    Returns
    -------
    OnnxExport
        The graph.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise import to_onnx
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["low", "high"])
    >>> export = to_onnx(tree, columns=["size"])
    >>> import polars as pl
    >>> export.predict(pl.DataFrame({"size": [1.7]}))["predicted_class"]
    array(['high'], dtype=object)
    """
    return OnnxWriter.of(stored(model), columns, missing_text, rows).export(rows)


class OnnxWriter:
    """Writes the graph of one model."""

    def __init__(
        self, model: Any, kinds: Mapping[str, str], framed: bool, metadata: Mapping[str, Any] | None, gap: str
    ) -> None:
        self.model, self.kinds, self.framed, self.gap = model, dict(kinds), framed, gap
        classes = getattr(model, "classes_", ())
        self.is_classifier = bool(len(classes))
        self.is_stored = metadata is not None
        self.costs = CostDecision.of((metadata or {}).get("costs"), classes)
        self.quantile = coverage_quantile(metadata or {})
        self.check_names()

    @classmethod
    def of(cls, model: Any, columns: Any, gap: str, rows: Any = None) -> OnnxWriter:
        """Find out which columns a model needs, and what they contain."""
        if isinstance(model, StoredModel):
            return cls(model.model, model.kinds, model.framed, model.metadata, gap)
        ONNX.refuse_unknown(model)
        if columns is None:
            return cls(model, kinds_seen(model, None if rows is None else as_polars(rows)), True, None, gap)
        return cls(model, kinds_given(columns, model), hasattr(model, "feature_names_in_"), None, gap)

    def check_names(self) -> None:
        """Refuse columns whose name or content an input cannot have."""
        for name, kind in self.kinds.items():
            if not name or name in OUTPUTS:
                raise InputError(f"an input of an ONNX graph cannot be called {name!r}.", "rename the column.")
            if kind == "date":
                raise InputError(
                    f"column {name!r} contains dates, which cannot be exported to ONNX.",
                    "train the model without the column.",
                )

    def export(self, rows: Any) -> OnnxExport:
        """Write the graph, and compare its predictions with those of Python."""
        found = OnnxExport(self.graph(), self.kinds, self.gap)
        if rows is None:
            return found
        X = match_columns(as_polars(rows), self.kinds).X
        self.check(found.predict(X), X if self.is_stored else rows_as_fitted(self.model, rows, X))
        return OnnxExport(found.model, self.kinds, self.gap, X.height)

    def graph(self) -> bytes:
        onnx = onnx_module()
        names = list(self.kinds)
        graph = OnnxGraph([*names, *OUTPUTS], names[0])
        double, string = onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING
        make = onnx.helper.make_tensor_value_info
        inputs = [make(name, string if kind == "text" else double, ["rows", 1]) for name, kind in self.kinds.items()]
        table = [InputColumn(name, kind, name, self.gap) for name, kind in self.kinds.items()]
        outputs = self.classes(table, graph) if self.is_classifier else self.values(table, graph)
        infos = [make(name, type_of[0], ["rows", *type_of[1:]]) for name, type_of in outputs.items()]
        body = onnx.helper.make_graph(graph.nodes, "foldwise", inputs, infos, list(graph.constants.values()))
        imports = [onnx.helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        made = onnx.helper.make_model(body, producer_name="foldwise", opset_imports=imports, ir_version=IR_VERSION)
        facts = {"columns": json.dumps(self.kinds), "missing_text": self.gap}
        if self.is_classifier:
            facts["classes"] = json.dumps([str(label) for label in np.asarray(self.model.classes_).tolist()])
        onnx.helper.set_model_props(made, facts)
        onnx.checker.check_model(made)
        return bytes(made.SerializeToString())

    def values(self, table: list[InputColumn], graph: OnnxGraph) -> dict[str, Sequence[Any]]:
        """Write the prediction of a quantity; return types and shapes of the outputs."""
        double = onnx_module().TensorProto.DOUBLE
        value = regress(self.model, table, graph)
        found = {"predicted_value": value}
        if self.quantile is not None:
            found["predicted_low"], found["predicted_high"] = interval_tensors(value, self.quantile, graph)
        for name, tensor in found.items():
            graph.add_as([name], "Squeeze", tensor, np.array([1]))
        return dict.fromkeys(found, (double,))

    def classes(self, table: list[InputColumn], graph: OnnxGraph) -> dict[str, Sequence[Any]]:
        """Write the prediction of classes; return types and shapes of the outputs."""
        types = onnx_module().TensorProto
        found = classify(self.model, table, graph)
        n_classes = len(found.classes)
        codes = found.codes or graph.add("ArgMax", found.tensor, axis=1, keepdims=1)
        outputs: dict[str, Sequence[Any]] = {
            "predicted_class": (named_output("predicted_class", found.classes, codes, graph),)
        }
        if found.kind == "decision":
            return outputs
        graph.add_as(["predicted_p"], "Identity", found.tensor)
        outputs["predicted_p"] = (types.DOUBLE, n_classes)
        if self.costs is not None:
            chosen, cost = decision_tensors(self.costs, found.tensor, graph)
            actions = [str(one) for one in self.costs.actions]
            outputs["predicted_decision"] = (named_output("predicted_decision", actions, chosen, graph),)
            graph.add_as(["predicted_expected_cost"], "Squeeze", cost, np.array([1]))
            outputs["predicted_expected_cost"] = (types.DOUBLE,)
        if self.quantile is not None:
            graph.add_as(["predicted_set"], "Identity", set_tensor(found.tensor, self.quantile, graph))
            outputs["predicted_set"] = (types.BOOL, n_classes)
        return outputs

    def check(self, found: Mapping[str, NDArray[Any]], X: Any) -> None:
        """Compare the outputs for some rows with those of Python; labels and decisions only where there is no tie."""
        given = X if self.framed else X.to_numpy()
        expected = np.ravel(self.model.predict(given))  # CatBoost returns labels of several classes as a column
        if not self.is_classifier:
            values = expected.astype(np.float64)
            of_values, of_ends = tolerance_scales(values, self.quantile)
            compare("predicted_value", found["predicted_value"], values, np.maximum(of_values, np.abs(values)))
            if self.quantile is not None and np.isfinite(self.quantile):
                for name, ends in zip(
                    ("predicted_low", "predicted_high"), intervals(values, self.quantile).T, strict=True
                ):
                    compare(name, found[name], ends, np.maximum(of_ends, np.abs(ends)))
            return
        clear = np.ones(len(X), dtype=bool)
        if "predicted_p" in found:
            proba = np.asarray(self.model.predict_proba(given), dtype=np.float64)
            compare("predicted_p", found["predicted_p"], proba, np.ones_like(proba))
            clear = is_clear(proba)
            self.check_followers(found, proba)
        elif hasattr(self.model, "decision_function"):
            scores = np.asarray(self.model.decision_function(given), dtype=np.float64)
            clear = is_clear(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)
        differs = np.flatnonzero((found["predicted_class"] != expected) & clear)
        if differs.size:
            raise refused("predicted_class", int(differs[0]), found["predicted_class"], expected)

    def check_followers(self, found: Mapping[str, NDArray[Any]], proba: NDArray[np.float64]) -> None:
        """Compare what follows from probabilities."""
        if self.costs is not None:
            chosen, cost = map(np.asarray, self.costs.expected(proba))
            compare("predicted_expected_cost", found["predicted_expected_cost"], cost, np.maximum(1.0, np.abs(cost)))
            clear = is_clear(-self.costs.by_action(proba) / (np.abs(self.costs.costs).max() or 1.0))
            differs = np.flatnonzero((found["predicted_decision"] != chosen.astype(str)) & clear)
            if differs.size:
                raise refused("predicted_decision", int(differs[0]), found["predicted_decision"], chosen)
        if self.quantile is not None:
            inside = sets(proba, self.quantile)
            at_limit = np.abs(1.0 - proba - self.quantile) <= TOLERANCE
            differs = np.flatnonzero(((found["predicted_set"] != inside) & ~at_limit).any(axis=1))
            if differs.size:
                raise refused("predicted_set", int(differs[0]), found["predicted_set"], inside)


def is_clear(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the largest score of a row is not tied with the second one."""
    if scores.shape[1] < 2:
        return np.ones(len(scores), dtype=bool)
    ordered = np.sort(scores, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2] > 2 * TOLERANCE)


def compare(name: str, found: NDArray[Any], expected: NDArray[Any], scale: NDArray[Any]) -> None:
    """Refuse an export whose predictions differ from those of Python."""
    wrong = ~(np.abs(found - expected) <= TOLERANCE * scale)
    if wrong.any():
        raise refused(name, int(np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))[0]), found, expected)


def refused(name: str, row: int, found: NDArray[Any], expected: NDArray[Any]) -> InputError:
    return InputError(
        f"the model cannot be exported to ONNX: {name} of row {row} would be {found[row]}, but Python predicts "
        f"{expected[row]}.",
        "choose other models for the run, and please report the model and the row.",
    )


def named_output(output: str, names: Sequence[Any], codes: str, graph: OnnxGraph) -> int:
    """Look names up by their index, as an output; return the type of the names."""
    array = np.asarray(names)
    if array.dtype.kind in "OUS":
        array = np.array([str(one) for one in array.tolist()], dtype=object)
    elif array.dtype.kind in "iu":
        array = array.astype(np.int64)
    graph.add_as([output], "Gather", array, graph.add("Squeeze", codes, np.array([1])))
    types = onnx_module().TensorProto
    return int({"O": types.STRING, "i": types.INT64, "b": types.BOOL}.get(array.dtype.kind, types.DOUBLE))


def cells_of(column: pl.Series, kind: str, gap: str) -> NDArray[Any]:
    """Return the cells of one column as an input of the graph."""
    if kind == "text":
        texts = column.cast(pl.String)
        if (texts == gap).any():
            raise InputError(
                f"column {column.name!r} contains {gap!r}, which stands for a missing cell.",
                "export the model with another missing_text=.",
            )
        return texts.fill_null(gap).to_numpy().astype(object)[:, None]
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)[:, None]
