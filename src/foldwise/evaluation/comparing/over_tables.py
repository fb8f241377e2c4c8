"""`compare_tables`: models compared over several tables, with one score per model and table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import narwhals as nw
import numpy as np

from foldwise.arrays import Floats
from foldwise.data.schema import listing
from foldwise.data.table import Table
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.comparing.compare import compare
from foldwise.evaluation.comparing.compared_models import ComparedModels
from foldwise.evaluation.comparing.comparison import Comparison, check_names, one_metric
from foldwise.evaluation.comparing.critical import draw_ranks
from foldwise.evaluation.comparing.paired import check_rope
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
from foldwise.evaluation.tables import TextTable, number, p_equation, p_text


@dataclass(frozen=True, repr=False, eq=False)
class TablesComparison(ComparedModels):
    """A comparison of models over several tables.

    A model is statistically tied with the best one (lowest average rank) unless Wilcoxon's signed-rank test of the two
    has a p-value below 1 - `level`, Holm-adjusted for all pairs. Unlike tests of average ranks, this test of two models
    does not depend on the other models. Nemenyi's test, which the diagram shows, is given as well.

    Attributes
    ----------
    names : tuple of str
        The models, best average rank first.
    tables : tuple of str
        The tables.
    scores : ndarray of shape (n_tables, n_models)
        Scores in the order of `tables` and `names`.
    rope : float
        Region of practical equivalence: smaller differences count as none.
    level : float
        Tests are at 1 - level.
    metric : str
        Name of the metric.
    comparisons : mapping of str to Comparison
        The comparison on each table, if made by `compare_tables`.
    greater_is_better : bool
        False for errors, losses and costs.

    Examples
    --------
    >>> from foldwise.evaluation import TablesComparison
    >>> auc = {"iris": {"a": 0.94, "b": 0.93}, "wine": {"a": 0.97, "b": 0.91}, "lung": {"a": 0.62, "b": 0.60}}
    >>> TablesComparison.of(auc).ranks
    {'a': 1.0, 'b': 2.0}
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
    posterior_name: ClassVar[str] = "Bayesian signed-rank test"

    @classmethod
    def of(cls, scores: Any, *, rope: float = 0.01, level: float = 0.95) -> TablesComparison:
        """Compare scores that you already have.

        Parameters
        ----------
        scores : mapping or DataFrame
            `{table: {model: score}}`, or a frame with one row per table and one column per model; a first column of
            text names the tables. Higher scores are better.
        rope : float, default 0.01
            Region of practical equivalence: smaller differences count as none.
        level : float, default 0.95
            Tests are at 1 - level.

        Returns
        -------
        TablesComparison
            The comparison.
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
        """Create a comparison with the models sorted by average rank.

        Parameters
        ----------
        tables : tuple of str
            The tables.
        names : tuple of str
            The models.
        scores : ndarray of shape (n_tables, n_models)
            Their scores.
        rope : float
            Region of practical equivalence.
        level : float
            Tests are at 1 - level.
        metric : str, default "score"
            Name of the metric.
        comparisons : mapping of str to Comparison, default None
            The comparison on each table.
        greater_is_better : bool, default True
            False for errors, losses and costs.

        Returns
        -------
        TablesComparison
            The comparison.
        """
        check_level(level)
        if len(names) < 2 or len(tables) < 2:
            raise InputError(
                f"scores must be of at least two models and two tables, got {len(names)} models and {len(tables)} "
                "tables.",
                "use compare for a single table.",
            )
        if not np.isfinite(scores).all():
            i, j = np.argwhere(~np.isfinite(scores))[0]
            raise InputError(f"{names[j]!r} has no score on table {tables[i]!r}.", "score every model on every table.")
        signed = scores if greater_is_better else -scores
        order = np.argsort(ranks_of(signed).mean(axis=0), kind="stable")
        ordered = scores[:, order]
        ordered.setflags(write=False)
        by_rank = tuple(names[j] for j in order)
        return cls(by_rank, tables, ordered, check_rope(rope), level, metric, comparisons or {}, greater_is_better)

    @cached_property
    def ranks(self) -> dict[str, float]:
        """Average rank of each model; 1 is best."""
        return dict(zip(self.names, ranks_of(self._signed).mean(axis=0).tolist(), strict=True))

    @property
    def friedman(self) -> FriedmanTest:
        """Friedman's test that all models have the same average rank."""
        return friedman_test(self._signed)

    @property
    def critical_difference(self) -> float:
        """How much average ranks must differ to be significant by Nemenyi's test."""
        return critical_difference(len(self.names), len(self.tables), self.level)

    def scores_to_frame(self) -> Any:
        """Return the scores as a frame.

        Returns
        -------
        polars.DataFrame
            A column `table`, then one column per model.
        """
        import polars as pl

        return pl.DataFrame({"table": list(self.tables)} | dict(zip(self.names, self.scores.T, strict=True)))

    def _own(self, name: str) -> dict[str, Any]:
        return {"score": float(self._of(name).mean()), "rank": self.ranks[name]}

    @property
    def _signed(self) -> Floats:
        """The scores with the sign that makes higher better."""
        return self.scores if self.greater_is_better else -self.scores

    def _of(self, name: str) -> Floats:
        return np.asarray(self.scores[:, self.names.index(name)])

    def _pair(self, first: str, second: str) -> dict[str, Any]:
        d, apart = self._of(first) - self._of(second), self.ranks[second] - self.ranks[first]
        gains = d if self.greater_is_better else -d
        posterior, p = bayesian_signed_rank(gains, self.rope), signed_rank_test(d)
        return {
            "wins": int((gains > 0).sum()),
            "ties": int((d == 0).sum()),
            "losses": int((gains < 0).sum()),
            "difference": float(d.mean()),
            "ranks_apart": apart,
            "p": p,
            "p_holm": p,
            "p_nemenyi": nemenyi_p(apart, len(self.names), len(self.tables)),
            "better": posterior.better,
            "equal": posterior.equal,
            "worse": posterior.worse,
        }

    def plot(self, ax: Any = None) -> Any:
        """Plot the critical-difference diagram: average ranks, with bars joining tied models (Nemenyi's test).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw_ranks(self.ranks, self.critical_difference, len(self.tables), self.level, ax)

    def _cells(self, row: dict[str, Any]) -> dict[str, str]:
        cells = {"mean score": number(row["score"]), "mean rank": f"{row['rank']:.2f}"}
        return {**cells, "p": p_text(row["p_holm"]), "Nemenyi": p_text(row["p_nemenyi"])}

    def _tested_on(self) -> str:
        return f"{len(self.tables)} tables"

    def _notes(self) -> list[str]:
        test = self.friedman
        return [
            *super()._notes(),
            f"Nemenyi: p of Nemenyi's test against the best model; ranks that differ by {self.critical_difference:.2f} "
            "or more are significantly different.",
            f"Friedman test of equal ranks: chi2 {test.chi2:.2f}, {p_equation(test.p)}; F {test.f:.2f}, "
            f"{p_equation(test.p_f)}.",
        ]

    def _scores_table(self) -> TextTable:
        rows = [[name, *map(number, row)] for name, row in zip(self.tables, self.scores.tolist(), strict=True)]
        return TextTable(["table", *self.names], rows)

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self._scores_table()}"

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self._scores_table().html()


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
    """Compare models and searches over several tables, each scored by `compare`.

    Parameters
    ----------
    tables : mapping of str to Table or tuple
        By name, a `Table` with a target, or a pair (X, y).
    models : mapping of str to estimator
        Estimators, or searches of this package, by name.
    cv : int, splitter or iterable, default None
        Splits as in scikit-learn; None means ten random splits into 60% training and 40% test rows.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric; see `compare`.
    rope : float, default 0.01
        Region of practical equivalence: smaller differences count as none.
    level : float, default 0.95
        Tests are at 1 - level.
    n_jobs : int or None, default None
        Number of parallel jobs for models; searches use their own `n_jobs`.
    random_state : int, Generator or None, default 0
        Seed of the default splits.

    Returns
    -------
    TablesComparison
        Ranks and tests; it prints as a table, and `plot` draws the critical-difference diagram.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets.

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
            f"tables must be a dict of tables by name, got {type(tables).__name__}.", "pass {'one': (X, y), …}."
        )
    if len(tables) < 2:
        raise InputError(
            f"compare_tables needs at least two tables, got {len(tables)}.", "use compare for a single table."
        )
    options: dict[str, Any] = {
        "cv": cv, "scoring": scoring, "rope": rope, "level": level, "n_jobs": n_jobs, "random_state": random_state
    }  # fmt: skip
    data = {name: pair_of(name, table) for name, table in tables.items()}
    found = {}
    for name, (X, y) in data.items():
        try:
            found[name] = compare(models, X, y, **options)
        except Exception as error:  # raised again, with the name of the table
            error.add_note(f"raised on table {name!r}")
            raise
    names = tuple(models)
    scores = np.array([[one.estimates[name].value for name in names] for one in found.values()])
    metric = one_metric({name: one.metric for name, one in found.items()}) or "score"
    greater_is_better = all(one.greater_is_better for one in found.values())
    return TablesComparison.sorted(tuple(found), names, scores, rope, level, metric, found, greater_is_better)


def pair_of(name: str, table: Any) -> tuple[Any, Any]:
    """Return the columns and the target of a table."""
    if isinstance(table, Table):
        if table.y is None:
            raise InputError(f"table {name!r} has no target.", "pass target= to read_table.")
        return table.X, table.y
    if not isinstance(table, tuple | list) or len(table) != 2:
        raise FoldwiseTypeError(f"table {name!r} must be a Table or a pair (X, y), got {type(table).__name__}.")
    return table[0], table[1]


def from_mapping(scores: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
    """Return the tables, models and scores of {table: {model: score}}."""
    for table, row in scores.items():
        if not isinstance(row, Mapping):
            raise FoldwiseTypeError(
                f"the scores of table {table!r} must be a mapping {{model: score}}, got {type(row).__name__}."
            )
    names = list(dict.fromkeys(name for row in scores.values() for name in row))
    for table, row in scores.items():
        if missing := [name for name in names if name not in row]:
            raise InputError(
                f"table {table!r} has no score of {listing(missing)}.", "score every model on every table."
            )
    found = [[float(row[name]) for name in names] for row in scores.values()]
    return tuple(map(str, scores)), tuple(map(str, names)), np.array(found, dtype=np.float64).reshape(-1, len(names))


def from_frame(frame: Any) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
    """Return the tables, models and scores of a frame; an index or a first column of text names the tables."""
    try:
        data = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise FoldwiseTypeError(
            f"scores must be a mapping {{table: {{model: score}}}} or a frame, got {type(frame).__name__}."
        ) from None
    numeric = {name: data.get_column(name).dtype.is_numeric() for name in data.columns}
    tables = list(row_names(data))
    if data.columns and not numeric[data.columns[0]]:
        tables = [str(cell) for cell in data.get_column(data.columns[0]).to_list()]
        data = data.select(data.columns[1:])
    if wrong := [name for name in data.columns if not numeric[name]]:
        raise InputError(
            f"the scores of {listing(wrong)} must be numbers.",
            "only the first column may be text: it names the tables.",
        )
    columns = [data.get_column(name).cast(nw.Float64).to_numpy() for name in data.columns]
    return tuple(tables), tuple(map(str, data.columns)), np.column_stack(columns) if columns else np.empty((0, 0))


def row_names(data: Any) -> Iterator[str]:
    """Return the index of a pandas frame, or row numbers."""
    index = nw.maybe_get_index(data)
    return (str(name) for name in (range(len(data)) if index is None else index))
