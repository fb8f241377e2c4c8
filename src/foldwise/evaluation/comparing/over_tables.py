"""`compare_tables`: models over several tables, one score a model and table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from foldwise.data.schema import listing
from foldwise.data.table import Table
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.comparing.compare import compare
from foldwise.evaluation.comparing.compared_models import NAME_WIDTH, ComparedModels
from foldwise.evaluation.comparing.comparison import Comparison, check_names, one_metric
from foldwise.evaluation.comparing.critical import draw_ranks
from foldwise.evaluation.comparing.paired import check_rope, holm
from foldwise.evaluation.comparing.ranked import (
    FriedmanTest,
    bayesian_signed_rank,
    critical_difference,
    friedman_test,
    nemenyi_p,
    ranks_of,
    signed_rank_test,
)
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.tables import cut, html_table, number, panels, probability

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class TablesComparison(ComparedModels):
    """Models over several tables: their ranks, and which cannot be told from the best.

    A model is tied with the best (the lowest average rank) unless Wilcoxon's signed-rank test of the two has a p value
    below 1 - `level`, after Holm's correction for all pairs. What it says of two models does not hang on the others, as
    tests of average ranks do; Nemenyi's, which the diagram shows, stands beside it.

    Attributes
    ----------
    names : the models, best average rank first
    tables : their names
    scores : (tables, models)
    rope, level : differences up to `rope` count as none; tests are at 1 - `level`
    metric : the name of the metric that all were scored by
    greater_is_better : False where the metric is an error, a loss or a cost
    comparisons : what `compare` said of each table, where it was asked
    """

    names: tuple[str, ...]
    tables: tuple[str, ...]
    scores: Floats
    rope: float = 0.01
    level: float = 0.95
    metric: str = "score"
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    greater_is_better: bool = True
    facts: ClassVar[tuple[str, ...]] = ("p", "p_holm", "p_nemenyi", "better", "equal", "worse")
    test_name: ClassVar[str] = "Wilcoxon's signed-rank test"
    posterior_name: ClassVar[str] = "Bayesian signed rank"

    @classmethod
    def of(cls, scores: Any, *, rope: float = 0.01, level: float = 0.95) -> TablesComparison:
        """From scores at hand, greater is better.

        Parameters
        ----------
        scores : a frame of any library, one row a table and one column of numbers a model (a first column of text names
            the tables), or a mapping {table: {model: score}}
        rope, level : as in `compare_tables`

        >>> from foldwise.evaluation import TablesComparison
        >>> auc = {"iris": {"a": 0.94, "b": 0.93}, "wine": {"a": 0.97, "b": 0.91}, "lung": {"a": 0.62, "b": 0.60}}
        >>> TablesComparison.of(auc).ranks
        {'a': 1.0, 'b': 2.0}
        """
        tables, names, found = from_mapping(scores) if isinstance(scores, Mapping) else from_frame(scores)
        return cls.sorted(tables, names, found, rope, level)

    @classmethod
    def sorted(
        cls,
        tables: tuple[str, ...],
        names: tuple[str, ...],
        scores: Floats,
        rope: float,
        level: float,
        metric: str = "score",
        comparisons: Mapping[str, Comparison] | None = None,
        greater_is_better: bool = True,
    ) -> TablesComparison:
        """The best average rank first."""
        check_level(level)
        if len(names) < 2 or len(tables) < 2:
            raise InputError(
                f"at least two models and two tables are needed, got {len(names)} and {len(tables)}.",
                "models on one table are compared by compare.",
            )
        if not np.isfinite(scores).all():
            i, j = np.argwhere(~np.isfinite(scores))[0]
            raise InputError(
                f"{names[j]!r} has no score on table {tables[i]!r}.", "every model must be scored on every table."
            )
        signed = scores if greater_is_better else -scores
        order = np.argsort(ranks_of(signed).mean(axis=0), kind="stable")
        ordered = scores[:, order]
        ordered.setflags(write=False)
        by_rank = tuple(names[j] for j in order)
        return cls(by_rank, tables, ordered, check_rope(rope), level, metric, comparisons or {}, greater_is_better)

    @property
    def ranks(self) -> dict[str, float]:
        """The average rank of each model; 1 is best."""
        return dict(zip(self.names, ranks_of(self._signed).mean(axis=0).tolist(), strict=True))

    @property
    def friedman(self) -> FriedmanTest:
        """Whether all models rank alike."""
        return friedman_test(self._signed)

    @property
    def critical_difference(self) -> float:
        """How far average ranks must lie apart to differ, by Nemenyi's test."""
        return critical_difference(len(self.names), len(self.tables), self.level)

    def scores_to_frame(self) -> Any:
        """A polars frame of the scores: one row a table, one column a model."""
        import polars as pl

        return pl.DataFrame({"table": list(self.tables)} | dict(zip(self.names, self.scores.T, strict=True)))

    def _own(self, name: str) -> dict[str, Any]:
        return {"score": float(self._of(name).mean()), "rank": self.ranks[name]}

    def _against_best(self, name: str) -> dict[str, float]:
        facts = self._pairs[self.best, name]
        turned = {**facts, "better": facts["worse"], "worse": facts["better"]}
        return {key: turned[key] for key in self.facts}

    @property
    def pairs(self) -> Any:
        """A polars frame, one row a pair of models, the one of better rank first.

        On how many tables the first wins, ties and loses; the mean difference of scores, and the difference of average
        ranks; p of Wilcoxon's signed-rank test, the same by Holm over all pairs, p of Nemenyi's test; by the Bayesian
        signed-rank test, the probabilities that the first is better, practically equal, worse.
        """
        import polars as pl

        return pl.DataFrame([{"first": a, "second": b, **facts} for (a, b), facts in self._pairs.items()])

    @property
    def _signed(self) -> Floats:
        """The scores with the sign that makes greater better."""
        return self.scores if self.greater_is_better else -self.scores

    def _of(self, name: str) -> Floats:
        return np.asarray(self.scores[:, self.names.index(name)])

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], dict[str, float]]:
        pairs = list(combinations(self.names, 2))
        p_values = [signed_rank_test(self._of(a) - self._of(b)) for a, b in pairs]
        adjusted = holm(p_values).tolist()
        ranks, facts = self.ranks, {}
        for (a, b), p, p_holm in zip(pairs, p_values, adjusted, strict=True):
            d, apart = self._of(a) - self._of(b), ranks[b] - ranks[a]
            gains = d if self.greater_is_better else -d
            posterior = bayesian_signed_rank(gains, self.rope)
            facts[a, b] = {
                "wins": int((gains > 0).sum()),
                "ties": int((d == 0).sum()),
                "losses": int((gains < 0).sum()),
                "difference": float(d.mean()),
                "ranks_apart": apart,
                "p": p,
                "p_holm": p_holm,
                "p_nemenyi": nemenyi_p(apart, len(self.names), len(self.tables)),
                "better": posterior.better,
                "equal": posterior.equal,
                "worse": posterior.worse,
            }
        return facts

    def plot(self, ax: Any = None) -> Any:
        """Draw the critical-difference diagram: average ranks, and bars over models that Nemenyi's test cannot part."""
        return draw_ranks(self.ranks, self.critical_difference, len(self.tables), self.level, ax)

    def _cells(self, row: dict[str, Any]) -> dict[str, str]:
        cells = {"mean score": number(row["score"]), "mean rank": f"{row['rank']:.2f}"}
        return {**cells, "p": probability(row["p_holm"]), "Nemenyi": probability(row["p_nemenyi"])}

    def _tested_on(self) -> str:
        return f"{len(self.tables)} tables"

    def _notes(self) -> list[str]:
        test = self.friedman
        return [
            *super()._notes(),
            f"Friedman: chi2 {test.chi2:.2f}, p {probability(test.p)}; F {test.f:.2f}, p {probability(test.p_f)}.",
            f"Nemenyi: ranks differ from {self.critical_difference:.2f} apart.",
        ]

    def __str__(self) -> str:
        cells = [[number(score) for score in row] for row in self.scores.tolist()]
        columns = [cut(name, NAME_WIDTH) for name in self.names]
        return f"{super().__str__()}\n\n{panels('table', [cut(name) for name in self.tables], columns, cells)}"

    def _repr_html_(self) -> str:
        cells = [[name, *map(number, row)] for name, row in zip(self.tables, self.scores.tolist(), strict=True)]
        return super()._repr_html_() + html_table("", ["table", *self.names], cells)


def compare_tables(
    tables: Mapping[str, Any],
    models: Mapping[str, Any],
    *,
    cv: Any = None,
    scoring: Any = None,
    rope: float = 0.01,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> TablesComparison:
    """Score models and searches on several tables, each by `compare`, and say which cannot be told from the best.

    Parameters
    ----------
    tables : by name, a `Table` with a target, or a pair (X, y)
    models : by name, estimators or searches of this package
    cv, scoring, rope, level, n_jobs, random_state : as in `compare`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer, load_iris, load_wine
    >>> from foldwise import NaiveBayes, compare_tables
    >>> loaders = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
    >>> tables = {name: load(return_X_y=True) for name, load in loaders.items()}
    >>> models = {"gaussian": NaiveBayes(), "binned": NaiveBayes(families="binned")}
    >>> result = compare_tables(tables, models, cv=10)
    >>> result.scores_to_frame().shape, result.comparisons["iris"].best
    ((3, 3), 'gaussian')
    """
    check_names(models)
    if not isinstance(tables, Mapping):
        raise FoldwiseTypeError(
            f"tables come by name, as a dict, got {type(tables).__name__}.", "pass {'a name': (X, y), …}."
        )
    if len(tables) < 2:
        raise InputError(f"at least two tables are needed, got {len(tables)}.", "one table is for compare.")
    options: dict[str, Any] = {
        "cv": cv, "scoring": scoring, "rope": rope, "level": level, "n_jobs": n_jobs, "random_state": random_state
    }  # fmt: skip
    data = {name: pair_of(name, table) for name, table in tables.items()}
    found = {}
    for name, (X, y) in data.items():
        try:
            found[name] = compare(models, X, y, **options)
        except Exception as error:
            error.add_note(f"on table {name!r}")
            raise
    names = tuple(models)
    scores = np.array([[one.estimates[name].value for name in names] for one in found.values()])
    metric = one_metric({name: one.metric for name, one in found.items()}) or "score"
    greater_is_better = all(one.greater_is_better for one in found.values())
    return TablesComparison.sorted(tuple(found), names, scores, rope, level, metric, found, greater_is_better)


def pair_of(name: str, table: Any) -> tuple[Any, Any]:
    """The columns and the target of a table."""
    if isinstance(table, Table):
        if table.y is None:
            raise InputError(f"table {name!r} has no target.", "pass target= to read_table.")
        return table.X, table.y
    if not isinstance(table, tuple | list) or len(table) != 2:
        raise FoldwiseTypeError(f"table {name!r} must be a Table or a pair (X, y), but is a {type(table).__name__}.")
    return table[0], table[1]


def from_mapping(scores: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
    """Tables, models and scores of {table: {model: score}}."""
    for table, row in scores.items():
        if not isinstance(row, Mapping):
            raise FoldwiseTypeError(
                f"the scores of table {table!r} must come by model, but are a {type(row).__name__}."
            )
    names = list(dict.fromkeys(name for row in scores.values() for name in row))
    for table, row in scores.items():
        if lacking := [name for name in names if name not in row]:
            raise InputError(
                f"table {table!r} has no score of {listing(lacking)}.", "score every model on every table."
            )
    found = [[float(row[name]) for name in names] for row in scores.values()]
    return tuple(map(str, scores)), tuple(map(str, names)), np.array(found, dtype=np.float64).reshape(-1, len(names))


def from_frame(frame: Any) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
    """Tables, models and scores of a frame; an index of names, or a first column of text, names the tables."""
    try:
        data = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise FoldwiseTypeError(
            f"scores must be a frame, tables by models, or a mapping, got {type(frame).__name__}.",
            "pass {table: {model: score}}.",
        ) from None
    numeric = {name: data.get_column(name).dtype.is_numeric() for name in data.columns}
    tables = list(row_names(data))
    if data.columns and not numeric[data.columns[0]]:
        tables = [str(cell) for cell in data.get_column(data.columns[0]).to_list()]
        data = data.select(data.columns[1:])
    if wrong := [name for name in data.columns if not numeric[name]]:
        raise InputError(f"the scores of {listing(wrong)} are no numbers.", "only a first column may name the tables.")
    columns = [data.get_column(name).cast(nw.Float64).to_numpy() for name in data.columns]
    return tuple(tables), tuple(map(str, data.columns)), np.column_stack(columns) if columns else np.empty((0, 0))


def row_names(data: Any) -> Iterator[str]:
    """The index of a pandas frame, else numbers."""
    index = nw.maybe_get_index(data)
    return (str(name) for name in (range(len(data)) if index is None else index))
