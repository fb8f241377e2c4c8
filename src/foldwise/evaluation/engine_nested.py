"""`nested_in_engine`: nested cross-validation of models of sums, on a table that stays in a database or Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.model_selection import ParameterGrid

from foldwise.engines.asking import Asker
from foldwise.engines.checks import check_folds, list_of_names
from foldwise.engines.engine_kinds import refuse_change
from foldwise.engines.free_names import free_name, sample_columns
from foldwise.engines.key_bits import forget_folds
from foldwise.engines.key_folds import OUTER, KeyFolds
from foldwise.engines.scans import FactsRequest, facts_and_sample
from foldwise.engines.statements import fold_of, is_sampled
from foldwise.engines.table_facts import TableFacts
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.metrics.metric import Metric, StoredBatch
from foldwise.evaluation.metrics.probabilities import LARGEST_LOG_LOSS, log_losses_of_logs
from foldwise.evaluation.metrics.registry import find_metric, is_metric
from foldwise.evaluation.tables import number
from foldwise.folds.fitting_facts import fit_facts, needs_grams, scores_by_fold, squared_error
from foldwise.folds.protocol import Answer
from foldwise.folds.tolerance import first_best

SAMPLE_ROWS = 20_000
JOINT = "foldwise_joint"  # where the query of the scores of all classes is put
JOINT_NAME = re.compile(f'[`"]?{JOINT}[`"]?(?= )|[`"]?{JOINT}[`"]?(?=\\))')
LEAST_EXPONENT = -650.0  # PostgreSQL raises an error if exp is too small for a float
# the metrics of the registry that an engine computes; the first is the default
CLASS_METRICS = ("log_loss", "brier_score", "accuracy")
LABEL_METRICS = ("accuracy",)
VALUE_METRICS = ("root_mean_squared_error", "mean_squared_error")


@dataclass(frozen=True, repr=False)
class EngineNestedResult:
    """The result of nested cross-validation inside an engine.

    Attributes
    ----------
    metric : str
        Name of the metric in the registry, such as "log_loss".
    score : float
        Score of the chosen settings on the test rows of all outer folds.
    standard_error : float
        Standard error of `score` over rows; NaN for a quantity, of which only sums are known.
    fold_scores : ndarray of shape (outer,)
        Score of each outer fold.
    best_params : tuple of dict
        The setting chosen in each outer fold.
    inner_scores : ndarray of shape (outer, settings)
        Inner scores of all settings.
    settings : tuple of dict
        All settings.
    sample_rows : int or None
        Rows of the sample on which inner scores were computed; None if they were computed from sums of all rows.
    sample_error : float
        Mean standard error of the inner scores of the chosen settings.
    n_rows : int
        Number of rows of the table.
    missing_classes : tuple of str
        Training sets in which a class does not occur.
    statements : tuple of str
        The SQL statements that were run.

    Examples
    --------
    >>> import ibis
    >>> from sklearn.linear_model import Ridge
    >>> from foldwise.engines import table_of
    >>> from foldwise.evaluation import nested_in_engine
    >>> weather = table_of("examples/weather.csv").select("temperature", "humidity").mutate(id=ibis.row_number())
    >>> found = nested_in_engine(Ridge(), [{"alpha": 1.0}], weather, "humidity", key="id", outer=2, inner=2)
    >>> found.metric, found.inner_scores.shape
    ('root_mean_squared_error', (2, 1))
    """

    metric: str
    score: float
    standard_error: float
    fold_scores: NDArray[np.float64]
    best_params: tuple[dict[str, Any], ...]
    inner_scores: NDArray[np.float64]
    settings: tuple[dict[str, Any], ...]
    sample_rows: int | None
    sample_error: float
    n_rows: int
    missing_classes: tuple[str, ...] = ()
    statements: tuple[str, ...] = field(default=(), repr=False)

    def sql(self) -> str:
        """Return the SQL statements that were run.

        Returns
        -------
        str
            All statements, separated by semicolons.
        """
        return ";\n\n".join(self.statements)

    def _number(self, score: float) -> str:
        """Format a score; the error of a quantity of small numbers has three digits."""
        is_small = self.metric in VALUE_METRICS and 0 < score < 0.1
        return f"{score:.3g}" if is_small else number(score)

    def __repr__(self) -> str:
        error = "" if np.isnan(self.standard_error) else f" (standard error {number(self.standard_error)})"
        title, n_folds = find_metric(self.metric).title, len(self.fold_scores)
        lines = [f"{title} {self._number(self.score)}{error} on {self.n_rows:,} rows, {n_folds} folds"]
        if self.sample_rows is None:
            lines.append("settings were compared by sums over all rows")
        else:
            lines.append(
                f"settings were compared on a sample of {self.sample_rows:,} rows "
                f"(standard error {number(self.sample_error)})"
            )
        chosen = zip(self.fold_scores.tolist(), self.best_params, strict=True)
        lines += [f"fold {i}: {self._number(score)} with {setting}" for i, (score, setting) in enumerate(chosen)]
        return "\n".join([*lines, *self.missing_classes])


def nested_in_engine(
    estimator: Any,
    settings: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    table: Any,
    target: str,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    outer: int = 5,
    inner: int = 3,
    metric: str | None = None,
    values: Sequence[str] = (),
    sample: int = SAMPLE_ROWS,
    seed: int = 0,
) -> EngineNestedResult:
    """Run nested cross-validation of a model of sums, on a table that stays in its engine.

    Parameters
    ----------
    estimator : NaiveBayes, LinearRegression, Ridge or RidgeClassifier
        The estimator.
    settings : mapping or list of dict
        A grid of parameter values, or all settings.
    table : ibis.Table
        A table expression; `foldwise.engines.table_of` opens one.
    target : str
        Name of the target.
    key : str
        Name of a unique column of integers or text, which decides the fold of each row.
    columns : list of str, optional
        Names of the columns. Default: all except target and key.
    outer, inner : int, default 5 and 3
        Number of outer and inner folds.
    metric : {"log_loss", "brier_score", "accuracy"} or {"root_mean_squared_error", "mean_squared_error"}, optional
        Name or alias, such as "rmse". Default: "log_loss" for classes, "root_mean_squared_error" for a quantity.
        `RidgeClassifier` has no probabilities, so its metric is "accuracy".
    values : list of str, default ()
        Numeric columns whose distinct values are counted, for the family "binned".
    sample : int, default 20,000
        Number of rows, roughly, on which the settings of a classifier are compared.
    seed : int, default 0
        Another seed gives other folds and another sample.

    Returns
    -------
    EngineNestedResult
        Scores on the rows of the outer folds, and the chosen settings.

    Examples
    --------
    >>> import ibis
    >>> from foldwise import NaiveBayes
    >>> from foldwise.engines import table_of
    >>> from foldwise.evaluation import nested_in_engine
    >>> weather = table_of("examples/weather.csv").mutate(id=ibis.row_number())
    >>> found = nested_in_engine(NaiveBayes(), {"alpha": [0.5, 1, 2]}, weather, "play", key="id", outer=2, inner=2)
    >>> found.n_rows, len(found.best_params)
    (14, 2)

    Notes
    -----
    For naive Bayes, the table is read three times: to count the classes and check the key; to sum numeric columns and
    count categories by class and (outer, inner) fold, and draw a sample; and to score rows. DuckDB also reads the key
    on its own, to check it. SQLite needs more scans, and so do tables with many columns or categories;
    docs/scale.md lists them. All models are finished from the sums and counts. The settings are compared on the sample,
    which is the only part of the table that leaves the engine. The chosen models are scored on all rows by generated
    SQL.

    A linear model of a quantity needs three scans as well, and four on DuckDB. Sums of products replace the scores of
    rows, because the squared error follows from the Gram matrices of the test folds. So no rows leave the engine.
    `RidgeClassifier` needs both sums of products and the scores of rows.
    """
    asker = Asker(table)
    with asker.prepared():  # all statements see the same rows
        try:
            return nested_on_snapshot(
                estimator, settings, asker, target, KeyFolds(key, outer, inner, seed), columns, metric, values, sample
            )
        finally:
            forget_folds(asker)


def nested_on_snapshot(
    estimator: Any,
    settings: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    asker: Asker,
    target: str,
    folds: KeyFolds,
    columns: Sequence[str] | None,
    metric: str | None,
    values: Sequence[str],
    sample: int,
) -> EngineNestedResult:
    """Do the work of `nested_in_engine`."""
    is_quantity, is_linear = is_regressor(estimator), needs_grams(estimator)
    found = list_of_settings(settings)
    if not found:
        raise InputError("settings must not be empty.", "pass [{}] to use the estimator as it is.")
    scored = metric_of(metric, VALUE_METRICS if is_quantity else LABEL_METRICS if is_linear else CLASS_METRICS)
    task = "regression" if is_quantity else "classification"
    wanted = FactsRequest(
        columns, folds, list_of_names("values", values), is_linear, task, sample=0 if is_quantity else sample
    )
    facts, rows = facts_and_sample(asker, target, wanted)
    check_folds(facts)
    if is_quantity:
        return nested_of_sums(estimator, found, facts, scored)
    return ClassStudy(estimator, tuple(found), facts, asker, scored, sample).run(rows)


def list_of_settings(settings: Any) -> list[dict[str, Any]]:
    """Return all settings of a grid, or a list of them."""
    if isinstance(settings, Mapping):
        return list(ParameterGrid(settings))
    if not isinstance(settings, Sequence) or not all(isinstance(one, Mapping) for one in settings):
        raise FoldwiseTypeError(
            f"settings must be a grid or a list of dicts, got {settings!r}.",
            "pass a grid such as {'alpha': [0.5, 1]}, or [{}] to use the estimator as it is.",
        )
    return [dict(one) for one in settings]


def metric_of(name: str | None, known: Sequence[str]) -> Metric:
    """Look up a metric that can be computed inside an engine."""
    asked = known[0] if name is None else name
    if known == LABEL_METRICS and is_metric(asked) and find_metric(asked).name in CLASS_METRICS[:-1]:
        raise InputError(
            f"metric {name!r} needs probabilities, which RidgeClassifier does not have.",
            "use metric='accuracy', or NaiveBayes.",
        )
    if not is_metric(asked) or find_metric(asked).name not in known:
        wanted = f"one of {', '.join(known)}" if len(known) > 1 else repr(known[0])
        raise InputError(f"metric must be {wanted} for this target and estimator; got {name!r}.")
    return find_metric(asked)


def nested_of_sums(
    estimator: Any, settings: Sequence[dict[str, Any]], facts: TableFacts, metric: Metric
) -> EngineNestedResult:
    """Nested scores of a linear model, whose squared errors follow from Gram matrices."""
    assert facts.folds is not None
    outer, inner = facts.folds.sizes
    errors = np.zeros((outer, len(settings)))
    for o in range(outer):
        n_rows = 0
        for i in range(inner):
            train, test = facts.train(o, i), facts.test(o, i)
            n_rows += test.n_rows
            for s, setting in enumerate(settings):
                errors[o, s] += squared_error(fit_facts(clone(estimator).set_params(**setting), train), test)
        errors[o] /= n_rows
    best = tuple(settings[s] for s in first_best(-errors, target_variance(facts)))
    totals = [
        squared_error(fit_facts(clone(estimator).set_params(**setting), facts.train(o)), facts.test(o))
        for o, setting in enumerate(best)
    ]
    rows = np.array([facts.test(o).n_rows for o in range(outer)], dtype=np.float64)
    root = np.sqrt if metric.root else np.asarray
    return EngineNestedResult(
        metric.name, float(root(np.sum(totals) / rows.sum())), float("nan"), np.asarray(root(np.array(totals) / rows)),
        best, np.asarray(root(errors)), tuple(settings), None, 0.0, facts.n_rows, (), facts.statements,
    )  # fmt: skip


def target_variance(facts: TableFacts) -> float:
    """Return the variance of a quantity, which is the last column of the Gram matrix."""
    grams = facts.total.grams
    assert grams is not None
    return float(grams[0].products[-1, -1] / grams[0].weight)


@dataclass(frozen=True)
class ClassStudy:
    """Nested scores of a classifier: naive Bayes, or a linear model that has no probabilities."""

    estimator: Any
    settings: tuple[dict[str, Any], ...]
    facts: TableFacts
    asker: Asker
    metric: Metric
    sample: int

    @property
    def folds(self) -> KeyFolds:
        assert self.facts.folds is not None
        return self.facts.folds

    def run(self, rows: pl.DataFrame | None) -> EngineNestedResult:
        """Compare the settings on the sample, which may be drawn already, then score the chosen models on all rows."""
        with self.asker.prepared():
            rows = self.asker.ask(self._sampled()) if rows is None else rows
            if rows.height < 10 * self.folds.outer * (self.folds.inner or 1) and rows.height < self.facts.n_rows:
                raise InputError(f"the sample has only {rows.height} rows.", "pass a larger sample=.")
            inner, spread = self._inner_scores(rows)
            chosen = first_best(inner if self.metric.greater_is_better else -inner)
            best = tuple(self.settings[s] for s in chosen)
            models = [self._model(self.facts.train(o), setting) for o, setting in enumerate(best)]
            scores = self._scored(models).sort("fold")
        n = scores["n"].cast(pl.Float64).to_numpy()
        if int(n.sum()) != self.facts.n_rows:
            refuse_change()
        sums, squares = (scores[name].cast(pl.Float64).to_numpy() for name in ("s", "q"))
        mean = float(sums.sum() / n.sum())
        variance = max(float(squares.sum() / n.sum()) - mean**2, 0.0)
        return EngineNestedResult(
            self.metric.name, mean, float(np.sqrt(variance / n.sum())), sums / n, best, inner, self.settings,
            rows.height,
            float(np.mean([spread[o, s] for o, s in enumerate(chosen)])), self.facts.n_rows, self._missing(),
            tuple(self.asker.statements),
        )  # fmt: skip

    def _missing(self) -> tuple[str, ...]:
        found = []
        for o in range(self.folds.outer):
            train = self.facts.train(o)
            assert train.classes is not None
            gone = [str(train.classes[c]) for c in np.flatnonzero(train.total.class_rows == 0)]
            found += [f"class {label!r} has no training rows in fold {o}" for label in gone]
        return tuple(found)

    def _model(self, facts: TableFacts, setting: dict[str, Any]) -> Any:
        return fit_facts(clone(self.estimator).set_params(**setting), facts)

    def _sampled(self) -> Any:
        """Select the rows of the sample."""
        share = min(1.0, self.sample / self.facts.n_rows)
        table = self.asker.table
        some = table.filter(is_sampled(self.asker, self.folds, share)) if share < 1 else table
        label, key = sample_columns(self.facts.schema.names)
        return some.select(*self.facts.schema.names, **{key: some[self.folds.key], label: some[self.facts.target]})

    def _inner_scores(self, rows: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the inner scores of all settings (outer, settings), and their standard errors."""
        label_column, key_column = sample_columns(self.facts.schema.names)
        assigned = self.folds.assign(rows[key_column].to_list())
        X = rows.select(self.facts.schema.names)
        classes = self.facts.classes
        assert classes is not None
        index = {label: c for c, label in enumerate(classes.tolist())}
        y = np.array([index[label] for label in rows[label_column].to_list()])
        losses: list[list[list[NDArray[np.float64]]]] = []
        for o in range(self.folds.outer):
            parts: list[list[NDArray[np.float64]]] = [[] for _ in self.settings]
            for i in range(self.folds.inner or 0):
                test = np.flatnonzero((assigned[:, 0] != o) & (assigned[:, 1] == i))
                if not test.size:
                    continue
                train, rest = self.facts.train(o, i), X[test]
                for s, setting in enumerate(self.settings):  # in one thread: two would wait for the interpreter's lock
                    model = self._model(train, setting)
                    if hasattr(model, "predict_log_proba"):
                        parts[s].append(row_scores(model.predict_log_proba(rest), y[test], self.metric))
                    else:
                        parts[s].append((model.predict(rest) == classes[y[test]]).astype(np.float64))
            losses.append(parts)
        means = np.array([[np.concatenate(one).mean() for one in parts] for parts in losses])
        errors = [[np.concatenate(one).std(ddof=1) / np.sqrt(sum(map(len, one))) for one in p] for p in losses]
        return means, np.array(errors)

    def _scored(self, models: Sequence[Any]) -> pl.DataFrame:
        """Sum the scores of all rows, each by the model of its outer fold."""
        fold = free_name("(fold)", self.asker.table.columns)
        folded = self.asker.table.mutate(**{fold: fold_of(self.asker, self.folds, OUTER, self.folds.outer)})
        assert self.facts.classes is not None
        n_classes = len(self.facts.classes)
        joint = scores_by_fold(models, self.asker.over(folded), fold, self.facts.target, self.facts.classes)
        schema = {"label": "int64", "fold": "int64", **{f"j{c}": "float64" for c in range(n_classes)}}
        scored = summed(self.asker.ibis, self.asker.query(JOINT, schema), n_classes, self.metric.name)
        outer = self.asker.compile(scored)
        text = JOINT_NAME.sub(lambda found: f"({joint}) AS {JOINT}", outer)
        return self.asker.ask_text(text, ("fold", "n", "s", "q"))


def row_scores(logs: NDArray[np.float64], y: NDArray[np.intp], metric: Metric) -> NDArray[np.float64]:
    """Return the score of each row from its log-probabilities."""
    if metric.name == "log_loss":
        return log_losses_of_logs(logs[np.arange(len(y)), y])
    assert metric.row_scores is not None
    answer = Answer(labels=logs.argmax(axis=1)[None], log_proba=logs[None])
    return np.asarray(metric.row_scores(StoredBatch(y, answer, logs.shape[1]))[0])


def summed(ibis: Any, joint: Any, n_classes: int, metric: str) -> Any:
    """Sum the scores of rows by fold, from the joint log-probabilities of the classes in columns j0, j1, …

    For the accuracy, any scores will do of which that of the predicted class is the largest.

    The scores are those of the registry in SQL; tests compare them.
    """
    names = [f"j{c}" for c in range(n_classes)]

    def power(exponent: Any) -> Any:
        return ibis.greatest(exponent, LEAST_EXPONENT).exp()

    topped = joint.mutate(top=ibis.greatest(*[joint[name] for name in names]))
    whole = topped.mutate(total=reduce(lambda a, b: a + b, [power(topped[name] - topped.top) for name in names]))
    if metric == "accuracy":
        first = ibis.cases(*[(whole[name] == whole.top, c) for c, name in enumerate(names)])  # of equal scores
        score = ibis.ifelse(first == whole.label, 1.0, 0.0).cast("float64")  # PostgreSQL does not cast booleans
    else:
        own = ibis.cases(*[(whole.label == c, whole[name]) for c, name in enumerate(names)])
        if metric == "log_loss":
            score = ibis.least(whole.top + whole.total.ln() - own, LARGEST_LOG_LOSS)
        else:
            squares = reduce(lambda a, b: a + b, [power((whole[name] - whole.top) * 2) for name in names])
            share = power(own - whole.top) / whole.total
            halved = 0.5 if n_classes == 2 else 1.0  # with two classes, the Brier score counts one of them
            score = (squares / (whole.total * whole.total) - 2 * share + 1) * halved
    scored = whole.select("fold", score=score)
    return scored.group_by("fold").aggregate(
        n=scored.count(), s=scored.score.sum(), q=(scored.score * scored.score).sum()
    )
