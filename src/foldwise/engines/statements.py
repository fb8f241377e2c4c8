"""The statements that are asked of an engine. Columns get internal names, so that no name of a user becomes SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.engines.asking import Asker
from foldwise.engines.beside import ScanExtras
from foldwise.engines.hashing import md5_of, ordered, ordered_literal
from foldwise.engines.key_folds import INNER, OUTER, SAMPLE, WIDTH, KeyFolds, as_digits, bounds, threshold

PIVOT_ROWS = 1000  # rows from which the first pivots are taken


@dataclass(frozen=True)
class Statements:
    """The statements about one table, its target and its folds."""

    asker: Asker
    target: str
    is_quantity: bool
    folds: KeyFolds | None

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the names of the columns that rows are grouped by."""
        levels = () if self.folds is None else tuple(f"fold{i}" for i in range(len(self.folds.sizes)))
        return levels if self.is_quantity else ("label", *levels)

    def group_columns(self) -> dict[str, Any]:
        """Return the expressions of class and folds."""
        found: dict[str, Any] = {} if self.is_quantity else {"label": self.asker.table[self.target]}
        if self.folds is not None:
            for i, n in enumerate(self.folds.sizes):
                found[f"fold{i}"] = fold_of(self.asker, self.folds, (OUTER, INNER)[i], n)
        return found

    def aggregate(self, base: Any, found: dict[str, Any]) -> Any:
        """Aggregate by class and folds."""
        named = [expression.name(name) for name, expression in found.items()]
        return base.group_by(list(self.groups)).aggregate(named) if self.groups else base.aggregate(named)

    def count_classes(self, texts: Sequence[str] = ()) -> Any:
        """Count the rows of each class: no key is hashed, so this is far cheaper than sums by fold.

        Of an engine that can return everything in one scan, the range of an integer key and roughly the number of
        categories of the columns `texts` are asked as well. Other engines count the rows of each key.
        """
        by_class, table = replace(self, folds=None), self.asker.table
        if self.folds is not None and not self.asker.kind.one_scan and self._has_least_class():
            return by_class.count_keys(self.folds.key)
        more = {f"c{j}": level(self.asker, name, "text") for j, name in enumerate(texts)}
        ranged = self.folds is not None and self.asker.kind.one_scan and table[self.folds.key].type().is_integer()
        if self.folds is not None and ranged:
            more["key"] = table[self.folds.key]
        base = table.select(**by_class.group_columns(), one=self.asker.ibis.literal(1), **more)
        found = {"n": base.count(), **{f"d{j}": base[f"c{j}"].approx_nunique() for j in range(len(texts))}}
        if ranged:
            found |= {"low": base.key.min(), "high": base.key.max(), "keys": base.key.count()}
        return by_class.aggregate(base, found)

    def _has_least_class(self) -> bool:
        kind = self.asker.table[self.target].type()
        return self.is_quantity or kind.is_numeric() or kind.is_string() or kind.is_boolean()

    def count_keys(self, key: str) -> Any:
        """Count the rows of each class, and the rows and values of the key: `most` is 1 if each key has one row."""
        table, groups = self.asker.table, self.group_columns()
        is_flag = "label" in groups and groups["label"].type().is_boolean()
        if is_flag:  # PostgreSQL has no least boolean
            groups["label"] = level(self.asker, self.target, "flag")
        rows = table.select(key=table[key], **groups)
        least = {name: rows[name].min() for name in groups}  # the class of the row, if the key has one row only
        keys = rows.group_by("key").aggregate(rows_of_key=rows.count(), **least)
        if is_flag:
            keys = keys.mutate(label=keys["label"] == 1)
        found = {"n": keys.rows_of_key.sum().cast("int64"), "most": keys.rows_of_key.max(), "keys": keys["key"].count()}
        return self.aggregate(keys, found)

    def pivots(self, columns: Sequence[str]) -> Any:
        """Return mean, least and largest value of some rows of each column."""
        base = self.asker.table.limit(PIVOT_ROWS).select(
            **{f"x{j}": number(self.asker, self.asker.table[name]) for j, name in enumerate(columns)}
        )
        found: dict[str, Any] = {}
        for j in range(len(columns)):
            x = base[f"x{j}"]
            found |= {f"mean{j}": x.mean(), f"low{j}": x.min(), f"high{j}": x.max()}
        return base.aggregate([expression.name(name) for name, expression in found.items()])

    def shifted(
        self, columns: Sequence[str], pivots: Floats, labels: Sequence[Any], more: dict[str, Any] | None = None
    ) -> Any:
        """Select the columns minus their pivots (K, d), and more expressions."""
        groups = self.group_columns()
        shifted = {
            f"x{j}": number(self.asker, self.asker.table[name]) - self._pivot(pivots[:, j], labels)
            for j, name in enumerate(columns)
        }
        return self.asker.table.select(**groups, **shifted, **({} if more is None else more))

    def _pivot(self, values: Floats, labels: Sequence[Any]) -> Any:
        """Return one pivot for all classes, or one for each."""
        first = literal(self.asker, values[0])
        if (values == values[0]).all():
            return first
        label = self.asker.table[self.target]
        cases = [(label == one, literal(self.asker, value)) for one, value in zip(labels, values.tolist(), strict=True)]
        return self.asker.ibis.cases(*cases, else_=first)

    def sums(self, columns: Sequence[str], pivots: Floats, labels: Sequence[Any], beside: ScanExtras) -> Any:
        """Sum the columns and their squares, about their pivots, and return more from the same scan."""
        more = {f"c{j}": level(self.asker, *one).cast("string") for j, one in enumerate(beside.levels)}
        if self.folds is not None and beside.share:
            more |= {f"r{j}": self.asker.table[name] for j, name in enumerate(beside.names)}
            more["drawn"] = is_sampled(self.asker, self.folds, beside.share)
        base = self.shifted(columns, pivots, labels, more or {"one": self.asker.ibis.literal(1)})
        found: dict[str, Any] = {"n": base.count()}
        for j in range(len(beside.levels)):
            found[f"h{j}"] = level_counts(self.asker, base[f"c{j}"])
        if "drawn" in more:
            row = self.asker.ibis.struct({f"r{j}": base[f"r{j}"] for j in range(len(beside.names))})
            found["sample"] = row.collect(where=base.drawn)
        for j in range(len(columns)):
            found |= sums_of(base, j)
        return self.aggregate(base, found)

    def sums_by_sets(
        self, columns: Sequence[str], pivots: Floats, labels: Sequence[Any], beside: ScanExtras
    ) -> tuple[str, dict[str, str]]:
        """Write the same as SQL with grouping sets, and its types: `rest{j}` is 0 in rows with the counts of level j.

        In all other rows it is 1; these have the sums, and the sample as JSON.
        """
        asker, n_levels = self.asker, len(beside.levels)
        more = {f"c{j}": level(asker, *one) for j, one in enumerate(beside.levels)}
        more |= {f"r{j}": asker.table[name] for j, name in enumerate(beside.names)} if beside.share else {}
        if self.folds is not None and beside.share:
            more["drawn"] = is_sampled(asker, self.folds, beside.share)
        base = self.shifted(columns, pivots, labels, more)
        types = {name: str(base[name].type()) for name in (*self.groups, *[f"c{j}" for j in range(n_levels)])}
        marks = {f"rest{j}": f"GROUPING(c{j})" for j in range(n_levels)}
        found = {**dict(zip(types, types, strict=True)), **marks, "n": "COUNT(*)"}
        types |= dict.fromkeys((*marks, "n"), "int64")
        for j in range(len(columns)):
            found |= {f"n{j}": f"COUNT(x{j})", f"s{j}": f"SUM(x{j})", f"q{j}": f"SUM(x{j} * x{j})"}
            types |= {f"n{j}": "int64", f"s{j}": "float64", f"q{j}": "float64"}
        if beside.share:
            cells = ", ".join(f"'r{j}', r{j}" for j in range(len(beside.names)))
            is_sum = " AND ".join([f"{mark} = 1" for mark in marks.values()] or ["TRUE"])
            found["sample"] = f"CASE WHEN {is_sum} THEN {asker.kind.collected.format(cells=cells)} END"
            types["sample"] = "string"
        wanted = ", ".join(f"{expression} AS {name}" for name, expression in found.items())
        sets = ", ".join(
            "(" + ", ".join([*self.groups, *more]) + ")" for more in [[], *[[f"c{j}"] for j in range(n_levels)]]
        )
        inner = f"SELECT * FROM ({asker.compile(base)}) AS base {asker.kind.fence}"
        return f"SELECT {wanted} FROM ({inner}) AS base GROUP BY GROUPING SETS ({sets})", types

    def sums_and_ends(self, columns: Sequence[str], pivots: Floats, labels: Sequence[Any]) -> Any:
        """Sum the columns and their squares, and return the least and the largest value of each."""
        own = {f"own{j}": number(self.asker, self.asker.table[name]) for j, name in enumerate(columns)}
        base = self.shifted(columns, pivots, labels, own)
        found: dict[str, Any] = {"n": base.count()}
        for j in range(len(columns)):
            found |= sums_of(base, j) | {f"low{j}": base[f"own{j}"].min(), f"high{j}": base[f"own{j}"].max()}
        return self.aggregate(base, found)

    def products(
        self, columns: Sequence[str], pairs: Sequence[tuple[int, int]], pivots: Floats, labels: Sequence[Any]
    ) -> Any:
        """Sum the products of pairs of columns, about their pivots."""
        base = self.shifted(columns, pivots, labels)
        found = {f"p{i}_{j}": (base[f"x{i}"] * base[f"x{j}"]).sum() for i, j in pairs}
        return self.aggregate(base, {"n": base.count(), **found})

    def distinct(self, columns: Sequence[str]) -> Any:
        """Count the distinct values of each column, roughly if the engine can do so."""
        base = self.asker.table.select(
            **{f"x{j}": number(self.asker, self.asker.table[name]) for j, name in enumerate(columns)}
        )
        rough = self.asker.kind.name in ("duckdb", "pyspark")
        counts = [base[f"x{j}"].approx_nunique() if rough else base[f"x{j}"].nunique() for j in range(len(columns))]
        return base.aggregate([count.name(f"n{j}") for j, count in enumerate(counts)])

    def level_base(self, columns: Sequence[tuple[str, str]]) -> Any:
        """Select columns whose values are counted, by name and type: "text", "flag" or "number"."""
        cells = {f"c{j}": level(self.asker, name, kind) for j, (name, kind) in enumerate(columns)}
        return self.asker.table.select(**self.group_columns(), **cells)

    def counts(self, base: Any, j: int, most: int) -> Any:
        """Count the rows of each value of one column."""
        return base.group_by([*self.groups, f"c{j}"]).aggregate(base.count().name("n")).limit(most)

    def grouping_sets(self, base: Any, n_columns: int) -> str:
        """Count the rows of each value of several columns in one scan; `rest{j}` is 0 in the rows of column j."""
        names = [f"c{j}" for j in range(n_columns)]
        marks = [f"GROUPING({name}) AS rest{j}" for j, name in enumerate(names)]
        sets = ", ".join("(" + ", ".join([*self.groups, name]) + ")" for name in names)
        wanted = ", ".join([*self.groups, *names, *marks, "COUNT(*) AS n"])
        inner = self.asker.compile(base)
        return f"SELECT {wanted} FROM ({inner}) AS base GROUP BY GROUPING SETS ({sets})"


def sums_of(base: Any, j: int) -> dict[str, Any]:
    """Return the number, the sum and the sum of squares of a column."""
    x = base[f"x{j}"]
    return {f"n{j}": x.count(), f"s{j}": x.sum(), f"q{j}": (x * x).sum()}


def number(asker: Asker, column: Any) -> Any:
    """Return a numeric column as float64, in which NaN is missing."""
    found, kind = column.cast("float64"), column.type()
    if kind.is_floating() and asker.kind.has_nan:
        return asker.ibis.ifelse(column.isnan(), asker.ibis.null("float64"), found)
    if kind.is_decimal() and asker.kind.decimals_have_nan:
        return asker.ibis.ifelse(found.isnan(), asker.ibis.null("float64"), found)
    return found


def literal(asker: Asker, value: float) -> Any:
    """Return a constant of exactly this value: engines read plain digits as a decimal, which they may round."""
    return asker.ibis.literal(repr(float(value))).cast("float64")


def level_type(kind: Any) -> str:
    """Name how the categories of a column are counted, by its type."""
    return "flag" if kind.is_boolean() else "text"


def level(asker: Asker, name: str, kind: str) -> Any:
    """Return a column whose values are counted."""
    column = asker.table[name]
    if kind == "number":
        return number(asker, column)
    if kind == "flag":
        return asker.ibis.cases((column, 1), (~column, 0)).cast("int64")
    return column.cast("string")


def level_counts(asker: Asker, cells: Any) -> Any:
    """Return how often each text occurs, as a list of pairs; missing cells are not counted."""
    pairs, counts = "array<struct<key: string, value: int64>>", "map<string, int64>"

    @asker.ibis.udf.agg.builtin(signature=(("string",), counts))  # type: ignore[untyped-decorator]
    def histogram(cells: Any) -> Any: ...

    @asker.ibis.udf.scalar.builtin(signature=((counts,), pairs))  # type: ignore[untyped-decorator]
    def map_entries(counts: Any) -> Any: ...

    return map_entries(histogram(cells))


def key_digits(asker: Asker, folds: KeyFolds, part: int) -> Any:
    """Return the digits of the md5 of the key that decide the outer fold, the inner one, or the sample."""
    text = asker.ibis.literal(f"{folds.seed}:") + asker.table[folds.key].cast("string")
    return ordered(asker, md5_of(asker, text), WIDTH * part)


def fold_of(asker: Asker, folds: KeyFolds, part: int, n: int) -> Any:
    """Return the index of the fold of each row."""
    if part in asker.known:
        return asker.table[asker.known[part]]
    digits = key_digits(asker, folds, part)
    limits = [ordered_literal(asker, as_digits(bound)) for bound in bounds(n).tolist()]
    if asker.kind.shares_terms:  # but not those inside the branches of a case, which would hash each key again
        return reduce(add, [(digits >= limit).cast("int64") for limit in limits])
    cases = [(digits < limit, i) for i, limit in enumerate(limits)]
    return asker.ibis.cases(*cases, else_=n - 1).cast("int64")


def is_sampled(asker: Asker, folds: KeyFolds, share: float) -> Any:
    """Return whether a row is in a sample of this share of all rows."""
    if share >= 1:
        return asker.ibis.literal(value=True)
    if None in asker.known:
        return asker.table[asker.known[None]]
    return key_digits(asker, folds, SAMPLE) < ordered_literal(asker, as_digits(threshold(share)))


def pivot_of(mean: Any, low: Any, high: Any, is_whole: bool) -> float:
    """Return a pivot: the mean, or the value itself if it is the only one, so that its deviations are exactly 0.

    Whole numbers have a whole pivot, so that their sums are exact.
    """
    value = low if low == high else mean
    if value is None or not np.isfinite(value):
        return 0.0
    return float(np.rint(value)) if is_whole else float(value)
