"""`facts_of`: asks an engine for the facts behind naive Bayes and linear models, in as few scans as possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import whole_at_least
from foldwise.data.levels import as_level, sort_levels
from foldwise.data.schema import Schema, listing
from foldwise.engines.arranging import (
    class_means,
    constant_where_equal,
    grams_of,
    moments_about,
    poor_columns,
    replaced,
)
from foldwise.engines.asking import Asker
from foldwise.engines.beside import ScanExtras, counted_levels, drawn_rows, fits_in_sets
from foldwise.engines.checks import (
    check_complete,
    check_names,
    check_target,
    check_there,
    check_unique,
    column_of,
    decide_task,
    list_of_names,
    refuse_infinite_sums,
    sorted_classes,
)
from foldwise.engines.engine_kinds import refuse_change
from foldwise.engines.free_names import sample_columns
from foldwise.engines.key_bits import know_folds
from foldwise.engines.key_folds import KeyFolds, check_key
from foldwise.engines.quantile_bins import rows_between
from foldwise.engines.statements import Statements, level_type, pivot_of
from foldwise.engines.table_facts import Cell, CellFacts, TableFacts
from foldwise.errors import InputError
from foldwise.summaries.counts import CategoryCounts, Counts
from foldwise.summaries.gram import Gram
from foldwise.summaries.moments import Moments
from foldwise.summaries.values import Values, ValueWeights

T = TypeVar("T")

NUMBERS_PER_STATEMENT = 100  # columns; Ibis compiles in time quadratic in their number
PAIRS_PER_STATEMENT = 500
SETS_PER_STATEMENT = 30
LARGEST_ANSWER = 10_000_000  # rows
FEW_LEVELS = 1000  # about; columns with more categories are counted in a statement of their own
MOST_VALUES = 10_000
MOST_LEVELS = 10_000


def facts_of(
    table: Any,
    target: str,
    *,
    columns: Sequence[str] | None = None,
    folds: KeyFolds | None = None,
    values: Sequence[str] = (),
    gram: bool = False,
    task: str | None = None,
    max_values: int = MOST_VALUES,
    max_levels: int = MOST_LEVELS,
    cuts: Mapping[str, Sequence[float]] | None = None,
) -> TableFacts:
    """Ask an engine for facts about the rows of a table, by class and fold. Only aggregates leave the engine.

    Parameters
    ----------
    table : ibis.Table
        A table expression of DuckDB, PostgreSQL, Spark or SQLite; `table_of` opens one.
    target : str
        Name of the target.
    columns : list of str, optional
        Names of the columns. Default: all except the target and the key of the folds.
    folds : KeyFolds, optional
        Folds by which the facts are grouped.
    values : list of str, default ()
        Numeric columns whose distinct values are counted, for kernel densities, bins and counts.
    gram : bool, default False
        Whether sums of products of the numeric columns are computed, for linear models.
    task : {"classification", "regression"}, optional
        Default: numbers with decimals, or more than 20 different ones, are a quantity.
    max_values : int, default 10,000
        Columns of `values` with more distinct values are cut into bins at the quantiles of the engine. The family
        "binned" can be fitted to them, the others cannot.
    max_levels : int, default 10,000
        Most categories of a column; more raise an error.
    cuts : mapping, optional
        Cut points of numeric columns, from the least to the largest value, instead of the quantiles: the `cuts` of
        facts about other rows, if the facts are to be combined.

    Returns
    -------
    TableFacts
        The facts, for `NaiveBayes().fit_facts` and `foldwise.folds.fit_facts`.

    Examples
    --------
    >>> from foldwise import NaiveBayes
    >>> from foldwise.engines import facts_of, table_of
    >>> facts = facts_of(table_of("examples/weather.csv"), "play")
    >>> NaiveBayes().fit_facts(facts).class_count_
    array([5., 9.])

    Notes
    -----
    A first statement counts the rows of each class and a second one looks at 1,000 rows to choose pivots. Then one
    statement sums all numeric columns about their pivots, and one counts all categories. If a pivot turns out to be too
    far from the mean of a class, the column is summed again about the means of its classes.
    """
    wanted = FactsRequest(columns, folds, list_of_names("values", values), gram, task, max_values, max_levels, cuts)
    return facts_and_sample(Asker(table), target, wanted)[0]


@dataclass(frozen=True)
class FactsRequest:
    """What is asked of an engine: the parameters of `facts_of`, and the size of a sample."""

    columns: Sequence[str] | None = None
    folds: KeyFolds | None = None
    values: tuple[str, ...] = ()
    gram: bool = False
    task: str | None = None
    max_values: int = MOST_VALUES
    max_levels: int = MOST_LEVELS
    cuts: Mapping[str, Sequence[float]] | None = None
    sample: int = 0  # rows, roughly; 0: none


def facts_and_sample(asker: Asker, target: str, wanted: FactsRequest) -> tuple[TableFacts, pl.DataFrame | None]:
    """Do the work of `facts_of`, and draw a sample if the engine can return it from the same scan.

    Then the table of `asker` may get columns with the folds of its rows.
    """
    folds = wanted.folds
    for name, most in (("max_values", wanted.max_values), ("max_levels", wanted.max_levels)):
        whole_at_least(name, most, 1)
    with asker.prepared():
        scan = Scan.of(asker, target, wanted)
        moments, pivots = scan.moments()
        counts = scan.counts(wanted.max_levels)
        cuts = wanted.cuts or {}
        valued, found = scan.values([name for name in wanted.values if name not in cuts], wanted.max_values)
        edges, bins = rows_between(scan, [name for name in wanted.values if name not in valued], cuts)
        grams = scan.grams(moments, pivots) if wanted.gram else None
    cells = {
        cell: CellFacts(
            scan.rows[cell],
            moments[cell].select(range(len(scan.numeric))),
            counts[cell],
            found[cell],
            None if grams is None else grams[cell],
            bins[cell],
        )
        for cell in scan.rows
    }
    facts = TableFacts(
        scan.schema,
        target,
        scan.classes,
        scan.numeric,
        scan.categorical,
        valued,
        cells,
        folds,
        tuple(asker.statements),
        edges,
    )
    return facts, scan.sample()


@dataclass(frozen=True)
class Scan:
    """What the first statement found, and the statements that follow."""

    asker: Asker
    statements: Statements
    schema: Schema
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    classes: NDArray[Any] | None
    totals: Floats = field(default_factory=lambda: np.empty(0))  # (K,): rows of each class
    beside: ScanExtras = field(default_factory=ScanExtras)
    rows: dict[Cell, Floats] = field(default_factory=dict)  # (K,), by fold; from the first answer that has folds
    answers: list[pl.DataFrame] = field(default_factory=list)  # to the sums, the first of which have what is beside

    @classmethod
    def of(cls, asker: Asker, target: str, wanted: FactsRequest) -> Scan:
        """Check the columns, decide the task, and count the rows of each class."""
        known, columns, folds, values = asker.table.schema(), wanted.columns, wanted.folds, wanted.values
        check_there([target, *(() if folds is None else [folds.key])], known.names)
        if folds is not None:
            key = known[folds.key]
            check_key(folds.key, key.is_string(), key.is_integer(), str(key))
        check_target(target, known[target])
        check_names(columns, target)
        left_out = {target} if folds is None else {target, folds.key}
        names = [name for name in known.names if name not in left_out] if columns is None else list(columns)
        check_there(names, known.names)
        schema = Schema(tuple(column_of(name, known[name]) for name in names))
        numeric = tuple(column.name for column in schema if column.kind == "numeric")
        categorical = tuple(column.name for column in schema if column.kind != "numeric")
        if unknown := [name for name in values if name not in numeric]:
            raise InputError(f"values must be numeric columns of the table, got {listing(unknown)}.")
        is_quantity = decide_task(asker, target, wanted.task) == "regression"
        statements = Statements(asker, target, is_quantity, folds)
        one_scan = asker.kind.one_scan and folds is not None
        by_sets = bool(asker.kind.collected) and folds is not None and fits_in_sets(len(numeric), len(categorical))
        texts = categorical[:SETS_PER_STATEMENT] if one_scan else ()
        answer = asker.ask(statements.count_classes(texts))
        n_rows = int(answer["n"].sum())
        if not n_rows:
            raise InputError("the table must have at least one row, but has none.")
        share = min(1.0, wanted.sample / n_rows) if one_scan or by_sets else 0.0
        if folds is not None and not (one_scan and share and know_folds(asker, folds, answer, share)):
            check_unique(asker, folds.key, answer)
        classes = None if is_quantity else sorted_classes(answer, target)
        blank = cls(asker, replace(statements, folds=None), schema, numeric, categorical, classes)
        totals = blank.by_cell(answer, ["n"])[()][:, 0]
        few = [name for j, name in enumerate(texts) if (answer[f"d{j}"] <= FEW_LEVELS).all()]
        few = list(categorical) if by_sets else few
        drawn = (*schema.names, target, *(() if folds is None else (folds.key,)))
        beside = ScanExtras(tuple((name, level_type(known[name])) for name in few), share, drawn)
        return replace(blank, statements=statements, totals=totals, beside=beside)

    @property
    def labels(self) -> list[Any]:
        """Return the classes as Python values; a quantity has a single one."""
        return [None] if self.classes is None else self.classes.tolist()

    def by_cell(self, answer: pl.DataFrame, names: Sequence[str]) -> dict[Cell, Floats]:  # (K, names)
        """Arrange an answer by fold and class."""
        index = {label: i for i, label in enumerate(self.labels)}
        levels = [name for name in self.statements.groups if name != "label"]
        found: dict[Cell, Floats] = {}
        numbers = np.zeros((answer.height, len(names)))
        for j, name in enumerate(names):
            numbers[:, j] = answer[name].cast(pl.Float64).fill_null(0.0).to_numpy()
        for row, line in zip(numbers, answer.iter_rows(named=True), strict=True):
            cell = tuple(int(line[name]) for name in levels)
            part = found.setdefault(cell, np.zeros((len(index), len(names))))
            label = None if self.classes is None else line["label"]
            if label not in index:
                refuse_change()
            part[index[label]] = row
        return found

    def moments(self) -> tuple[dict[Cell, Moments], Floats]:
        """Ask for the moments of all numeric columns, and of a quantity, and return the pivots (K, d)."""
        names = [*self.numeric, *([self.statements.target] if self.classes is None else [])]
        shape = (len(self.labels), len(names))
        found: dict[Cell, Moments] = {}
        pivots, types = np.zeros(shape), self.asker.table.schema()
        for some in chunks(range(len(names)), NUMBERS_PER_STATEMENT) if names else [[]]:
            own = [names[j] for j in some]
            [line] = self.asker.ask(self.statements.pivots(own)).iter_rows(named=True) if own else [{}]
            whole = [types[name].is_integer() for name in own]
            pivots[:, some] = [
                pivot_of(line[f"mean{j}"], line[f"low{j}"], line[f"high{j}"], whole[j]) for j in range(len(own))
            ]
            parts = self._moments(own, pivots[:, some])
            poor = poor_columns(parts, pivots[:, some])
            if poor.size:
                again = [some[j] for j in poor]
                pivots[:, again] = class_means(parts)[:, poor]
                better = self._moments([names[j] for j in again], pivots[:, again], with_ends=True)
                parts = {cell: replaced(part, better[cell], poor) for cell, part in parts.items()}
            for cell, part in parts.items():
                found[cell] = replaced(found.get(cell, Moments.empty(*shape)), part, np.array(some, dtype=np.intp))
        return found, pivots

    def _moments(self, names: Sequence[str], pivots: Floats, *, with_ends: bool = False) -> dict[Cell, Moments]:
        """Ask for sums about pivots. With the ends of its values, a column that is constant in a cell is exactly so."""
        if with_ends:
            answer = self.asker.ask(self.statements.sums_and_ends(names, pivots, self.labels))
        else:
            beside = ScanExtras() if self.answers else self.beside
            answer = self._sums(names, pivots, beside)
        kinds = ["n", "s", "q", *(["low", "high"] if with_ends else [])]
        fields = [f"{kind}{j}" for kind in kinds for j in range(len(names))]
        self.check_rows(answer)
        found = {}
        for cell, part in self.by_cell(answer, fields).items():
            weight, s1, s2, *ends = np.split(part, len(kinds), axis=1)
            refuse_infinite_sums(s2, names)
            found[cell] = moments_about(pivots, weight, s1, s2)
            if with_ends:
                found[cell] = constant_where_equal(found[cell], *ends)
        return found

    def _sums(self, names: Sequence[str], pivots: Floats, beside: ScanExtras) -> pl.DataFrame:
        """Ask for sums, and keep what was asked beside them."""
        if self.asker.kind.collected and (beside.levels or beside.share):
            text, types = self.statements.sums_by_sets(names, pivots, self.labels, beside)
            answer = self.asker.ask_sql(text, types, LARGEST_ANSWER)
            self.answers.append(answer)
            return answer.filter(pl.all_horizontal(pl.lit(value=True), cs.starts_with("rest") == 1))
        answer = self.asker.ask(self.statements.sums(names, pivots, self.labels, beside))
        self.answers.append(answer)
        return answer

    def check_rows(self, answer: pl.DataFrame) -> None:
        """Raise if the rows of a class or fold are not those of the statements before."""
        found = self.by_cell(answer, ["n"])
        if not self.rows:
            counted: Floats = np.sum([part[:, 0] for part in found.values()], axis=0)
            if (counted != self.totals).any():
                refuse_change()
            self.rows.update((cell, found[cell][:, 0]) for cell in sorted(found))
        if found.keys() != self.rows.keys() or any((found[c][:, 0] != rows).any() for c, rows in self.rows.items()):
            refuse_change()

    def counts(self, most: int) -> dict[Cell, Counts]:
        """Ask for the counts of all categories that have not been counted beside the sums."""
        types = self.asker.table.schema()
        known = counted_levels(self.answers[0], self.beside, self.statements.groups) if self.answers else {}
        wanted = [(name, level_type(types[name])) for name in self.categorical if name not in known]
        known |= dict(zip([name for name, _ in wanted], self._levels(wanted, most), strict=True))
        columns: dict[Cell, list[CategoryCounts]] = {cell: [] for cell in self.rows}
        for name in self.categorical:
            answer = known[name]
            if answer["level"].n_unique() > most:
                raise InputError(
                    f"column {name!r} has more than max_levels={most:,} categories.",
                    "leave the column out, or raise max_levels.",
                )
            for cell, part in self._tables(answer, name, types[name].is_boolean()).items():
                columns[cell].append(part)
        return {cell: Counts(tuple(found)) for cell, found in columns.items()}

    def sample(self) -> pl.DataFrame | None:
        """Return the rows of the sample, if it was drawn beside the sums."""
        if not self.beside.share:
            return None
        types = self.asker.table.schema()
        kinds = [types[name] for name in self.beside.names]
        names = (*self.schema.names, *sample_columns(self.schema.names))
        return drawn_rows(self.answers[0], names, kinds)

    def values(self, names: Sequence[str], most: int) -> tuple[tuple[str, ...], dict[Cell, Values]]:
        """Ask for the distinct values of the numeric columns that do not have too many."""
        if names:
            [line] = self.asker.ask(self.statements.distinct(names)).iter_rows()
            names = [name for name, n in zip(names, line, strict=True) if n <= 1.2 * most]  # the number is rough
        answers = self._levels([(name, "number") for name in names], 2 * most)
        kept = [(name, answer) for name, answer in zip(names, answers, strict=True) if distinct(answer) <= most]
        return tuple(name for name, _ in kept), self.value_weights([answer for _, answer in kept])

    def value_weights(self, answers: Sequence[pl.DataFrame]) -> dict[Cell, Values]:
        """Arrange the counts of the values of columns by fold."""
        columns: dict[Cell, list[ValueWeights]] = {cell: [] for cell in self.rows}
        for answer in answers:
            for cell in self.rows:
                part = answer.filter(self._in_cell(cell))
                rows = part["n"].cast(pl.Float64).to_numpy()
                columns[cell].append(ValueWeights.of(self._codes(part), part["level"].to_numpy(), rows, rows))
        return {cell: Values(tuple(found), len(self.labels)) for cell, found in columns.items()}

    def _codes(self, answer: pl.DataFrame) -> NDArray[np.int64]:
        index = {label: i for i, label in enumerate(self.labels)}
        labels = answer["label"].to_list() if self.classes is not None else [None] * answer.height
        return np.array([index[label] for label in labels], dtype=np.int64)

    def _in_cell(self, cell: Cell) -> pl.Expr:
        levels = [name for name in self.statements.groups if name != "label"]
        found = pl.lit(value=True)
        for name, index in zip(levels, cell, strict=True):
            found = found & (pl.col(name) == index)
        return found

    def _tables(self, answer: pl.DataFrame, name: str, is_flag: bool) -> dict[Cell, CategoryCounts]:
        """Arrange the counts of one column by fold."""
        found = {}
        for cell in self.rows:
            part = answer.filter(self._in_cell(cell))
            given = [bool(one) if is_flag else as_level(one, name) for one in part["level"].to_list()]
            levels = sort_levels(given)
            index = {level: i for i, level in enumerate(levels)}
            weight = np.zeros((len(levels), len(self.labels)))
            slots = np.array([index[one] for one in given], dtype=np.intp)
            weight[slots, self._codes(part)] = part["n"].cast(pl.Float64).to_numpy()
            found[cell] = CategoryCounts(levels, weight, weight)
        return found

    def _levels(self, wanted: Sequence[tuple[str, str]], most: int) -> Iterator[pl.DataFrame]:
        """Yield, for each column, how often each value occurs in each class and fold, without missing values."""
        groups = list(self.statements.groups)
        most = (most + 1) * max(1, len(self.labels) * len(self.rows)) + len(self.rows) * len(self.labels)
        kind = self.asker.kind
        one_scan = kind.grouping_sets and not (kind.columnar and self.statements.folds is None)
        for some in chunks(wanted, SETS_PER_STATEMENT):
            base = self.statements.level_base(some)
            if one_scan:
                types = {name: str(base[name].type()) for name in base.columns}
                marks = {f"rest{j}": "int64" for j in range(len(some))}
                text = self.statements.grouping_sets(base, len(some))
                answer = self.asker.ask_sql(text, {**types, **marks, "n": "int64"}, most * len(some) + 1)
                parts = [answer.filter(pl.col(f"rest{j}") == 0) for j in range(len(some))]
            else:
                parts = [self.asker.ask(self.statements.counts(base, j, most)) for j in range(len(some))]
            for j, part in enumerate(parts):
                part = part.select([*groups, pl.col(f"c{j}").alias("level"), "n"])
                if part.height < most:  # otherwise there are too many values, which the caller says
                    whole = part.group_by(groups).agg(pl.col("n").sum()) if groups else part.select(pl.col("n").sum())
                    self.check_rows(whole)
                yield part.filter(pl.col("level").is_not_null())

    def grams(self, moments: Mapping[Cell, Moments], pivots: Floats) -> dict[Cell, tuple[Gram, ...]]:
        """Ask for the sums of products of all pairs of numeric columns; `moments` have those of single columns."""
        names = [*self.numeric, *([self.statements.target] if self.classes is None else [])]
        check_complete(moments, self.rows, names)
        d = len(names)
        products = {cell: np.zeros((len(self.labels), d, d)) for cell in self.rows}
        for pairs in chunks(list(combinations(range(d), 2)), PAIRS_PER_STATEMENT):
            used = sorted({j for pair in pairs for j in pair})
            index_of = {j: i for i, j in enumerate(used)}
            own = [(index_of[i], index_of[j]) for i, j in pairs]
            asked = self.statements.products([names[j] for j in used], own, pivots[:, used], self.labels)
            answer = self.asker.ask(asked)
            self.check_rows(answer)
            for cell, part in self.by_cell(answer, [f"p{i}_{j}" for i, j in own]).items():
                for k, (i, j) in enumerate(pairs):
                    products[cell][:, i, j] = products[cell][:, j, i] = part[:, k]
        return {cell: grams_of(moments[cell], products[cell], pivots) for cell in self.rows}


def distinct(answer: pl.DataFrame) -> int:
    """Count the distinct values of a column."""
    return answer["level"].n_unique()


def chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Yield consecutive parts of at most `size` items."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
