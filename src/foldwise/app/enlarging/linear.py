"""Linear regression and ridge on all rows of an engine: columns are prepared as on the sample, then summed.

Medians, scales and categories stay those that the pipeline learned from the sample. Only the coefficients are new.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.linalg
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline

from foldwise.app.enlarging.training_rows import CannotLearnError, TrainingRows
from foldwise.arrays import Floats
from foldwise.engines.asking import Asker
from foldwise.engines.connecting import connect_duckdb
from foldwise.engines.encoded_sums import EncodedColumns, Expression, code_starts, sums_of_products
from foldwise.engines.statements import literal, number
from foldwise.models.column_transformers import MAX_ABS
from foldwise.models.target_transforms import TransformedTarget

LARGEST = float(np.finfo(np.float64).max)
LEAST = 1e-12  # smaller eigenvalues of the sums, relative to the largest, are rounding errors
AGREES = 1e-6  # relative difference of sums that were computed here and by DuckDB; rounding errors are far smaller
COMPARED = 2000  # rows of the sample for which both are computed


def linear_from_sums(pipeline: Pipeline, rows: TrainingRows) -> tuple[Pipeline, int]:
    """Return the pipeline with coefficients from all rows, and the number of rows."""
    outer = pipeline[-1]
    wraps = isinstance(outer, TransformedTarget)
    if wraps and outer.transform != "none":
        raise CannotLearnError("its target is transformed")
    inner = outer.regressor_ if wraps else outer
    if [name for name, _ in pipeline.steps] != ["prepare", "model"] or inner.positive or not inner.fit_intercept:
        raise CannotLearnError("its settings cannot be fitted from sums over rows")
    prepare = pipeline[0]
    center = float(np.mean(rows.task.y))
    features = Features.of(prepare, rows.large.target, center)
    compare(features, prepare, rows, center)
    rows.check_time()
    with rows.interrupting():
        products = features.products(rows.expression())
    products -= local_products(prepare, rows, rows.kept_out, center)
    fitted = solved(inner, products, center)
    if wraps:
        whole = copy.copy(outer)
        whole.regressor_ = fitted
        fitted = whole
    return Pipeline([*pipeline.steps[:-1], ("model", fitted)]), round(float(products[0, 0]))


def local_products(prepare: Any, rows: TrainingRows, frame: pl.DataFrame, center: float) -> Floats:
    """Compute the sums of products of a constant, the features and the target here."""
    width = max(part.stop for part in prepare.output_indices_.values())
    if not frame.height:
        return np.zeros((width + 2, width + 2))
    Z = np.column_stack([np.ones(frame.height), prepare.transform(frame), rows.y_of(frame) - center])
    found: Floats = Z.T @ Z
    return found


def compare(features: Features, prepare: Any, rows: TrainingRows, center: float) -> None:
    """Refuse columns that are prepared differently in an engine, by the sums of some rows of the sample."""
    some = rows.large.drawn.sample.head(COMPARED)
    some = some.filter(some[rows.large.target].cast(pl.Float64).is_finite().fill_null(value=False))
    connection = connect_duckdb()
    try:
        found = features.products(connection.create_table("some", some.to_arrow()))
    finally:
        connection.disconnect()
    wanted = local_products(prepare, rows, some, center)
    scale = np.sqrt(np.multiply.outer(np.diag(wanted), np.diag(wanted)))
    if (np.abs(found - wanted) > AGREES * np.maximum(scale, 1.0)).any():
        raise CannotLearnError("its columns are prepared differently in the engine")


def solved(model: Any, products: Floats, center: float) -> Any:
    """Return a copy of a fitted linear model with the coefficients that follow from sums of products."""
    n, mean = products[0, 0], products[0, 1:] / products[0, 0]
    centered = products[1:, 1:] - n * np.multiply.outer(mean, mean)
    gram, moment = centered[:-1, :-1], centered[:-1, -1]
    fitted = copy.copy(model)
    if isinstance(model, Ridge):
        fitted.coef_ = scipy.linalg.solve(gram + model.alpha * np.eye(len(gram)), moment, assume_a="pos")
    else:  # the shortest solution, as in scikit-learn: indicators of all categories are collinear
        values, vectors = scipy.linalg.eigh(gram)
        used = values > LEAST * values[-1]
        fitted.coef_ = vectors[:, used] @ ((vectors[:, used].T @ moment) / values[used])
        fitted.rank_, fitted.singular_ = int(used.sum()), np.sqrt(np.maximum(values[::-1], 0.0))
    fitted.intercept_ = float(center + mean[-1] - mean[:-1] @ fitted.coef_)
    return fitted


@dataclass(frozen=True)
class Features:
    """The features of a fitted `ColumnTransformer`, and the target, as an engine computes them."""

    columns: EncodedColumns
    combine: Floats  # (columns, features + 2): the constant, features and target as sums of encoded columns

    @classmethod
    def of(cls, prepare: ColumnTransformer, target: str, center: float) -> Features:
        """Translate the transformers of numbers and categories; others are refused."""
        parts = {name: (one, names) for name, one, names in prepare.transformers_ if len(names) and one != "drop"}
        if others := set(parts) - {"numbers", "categories"}:
            raise CannotLearnError(f"its {sorted(others)[0].rstrip('0123456789')} cannot be prepared in the engine")
        numbers, outputs = [shifted(target, center)], [1 + max(part.stop for part in prepare.output_indices_.values())]
        if "numbers" in parts:
            found = number_features(*parts["numbers"])
            numbers, start = [*found, *numbers], prepare.output_indices_["numbers"].start
            outputs = [*(1 + start + j for j in range(len(found))), *outputs]
        codes, tables = code_features(*parts["categories"]) if "categories" in parts else ([], [])
        columns = EncodedColumns(tuple(numbers), tuple(codes))
        combine = np.zeros((columns.width, outputs[-1] + 1))
        combine[0, 0] = 1.0
        combine[1 + np.arange(len(numbers)), outputs] = 1.0
        column = 1 + prepare.output_indices_["categories"].start if tables else 0
        for start, table in zip(code_starts(columns), tables, strict=True):
            combine[start : start + len(table), column : column + table.shape[1]] = table
            column += table.shape[1]
        return cls(columns, combine)

    def products(self, table: Any) -> Floats:
        """Ask an engine for the sums of products of a constant, the features and the target."""
        found: Floats = self.combine.T @ sums_of_products(table, self.columns) @ self.combine
        return found


def shifted(target: str, center: float) -> Expression:
    """Return the target minus a number near its mean."""
    return lambda asker: number(asker, asker.table[target]) - literal(asker, center)


def number_features(steps: Pipeline, names: Sequence[str]) -> list[Expression]:
    """Translate numbers that are imputed, given indicators of missing cells, and scaled."""
    cells, imputer, scaler = (step for _, step in steps.steps)
    found = []
    for k, j in enumerate([*range(len(names)), *imputer.indicator_.features_.tolist()]):
        scale, mean = float(scaler.scale_[k]), float(scaler.mean_[k])
        fill = float(imputer.statistics_[j]) if k < len(names) else None
        ends = (float(cells.least_[j]), float(cells.greatest_[j])) if cells.seen_[j] else None
        found.append(scaled(names[j], ends, fill, mean, scale))
    return found


def scaled(name: str, ends: tuple[float, float] | None, fill: float | None, mean: float, scale: float) -> Expression:
    """Return one number, or the indicator of its missing cells if `fill` is None, after scaling."""

    def expression(asker: Asker) -> Any:
        ibis, column = asker.ibis, asker.table[name]
        x = ibis.cases((column, 1.0), (~column, 0.0)) if column.type().is_boolean() else number(asker, column)
        if fill is None:
            raw = ibis.ifelse(x.isnull(), 1.0, 0.0) if ends is not None else ibis.literal(0.0)
        elif ends is None:
            raw = ibis.literal(0.0)
        else:
            low, high = (literal(asker, value) for value in ends)
            finite = ibis.cases((x > literal(asker, LARGEST), high), (x < literal(asker, -LARGEST), low), else_=x)
            most, least = literal(asker, MAX_ABS), literal(asker, -MAX_ABS)
            clipped = ibis.cases((finite > most, most), (finite < least, least), else_=finite)
            raw = clipped.fill_null(literal(asker, fill))
        return (raw - literal(asker, mean)) / literal(asker, scale)

    return expression


def code_features(steps: Pipeline, names: Sequence[str]) -> tuple[list[tuple[Expression, int]], list[Floats]]:
    """Translate categories: an expression of codes per column, and the indicators of each code."""
    coder, encoder = (step for _, step in steps.steps)
    codes: list[tuple[Expression, int]] = []
    tables = []
    for name, levels, has_rare, known in zip(names, coder.levels_, coder.has_rare_, encoder.categories_, strict=True):
        slots = np.array([*map(float, range(len(levels))), np.nan, len(levels) if has_rare else -1.0])
        slots = slots if levels else np.zeros(2)
        same = (slots[:, None] == known) | (np.isnan(slots)[:, None] & np.isnan(known))
        codes.append((coded(name, levels), len(slots)))
        tables.append(same.astype(np.float64))
    return codes, tables


def coded(name: str, levels: Sequence[Any]) -> Expression:
    """Return the codes of a column: its levels, then missing, then any other category."""

    def expression(asker: Asker) -> Any:
        column, ibis = asker.table[name], asker.ibis
        kind = column.type()
        if not (kind.is_string() or kind.is_boolean() or kind.is_integer()):
            raise CannotLearnError(f"column {name!r} has the type {kind}")
        cases = [(column == level, i) for i, level in enumerate(levels)]
        return ibis.cases((column.isnull(), len(levels)), *cases, else_=len(levels) + 1).cast("int64")

    return expression
