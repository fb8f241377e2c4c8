"""`foldwise compare`: models with their default settings on the same splits of one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldwise.app.cli.exit_codes import say
from foldwise.app.cli.output import ProgressLine, bar, print_json
from foldwise.app.cli.paths import check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan


@dataclass(frozen=True)
class ComparisonRequest:
    """The arguments of `foldwise compare`."""

    table: Path
    reading: TableOptions
    target: str
    models: list[str]
    cv: str | None
    metric: str | None
    groups: str | None
    seed: int
    jobs: int | None
    task: str | None = None
    test: Path | None = None


def compare(request: ComparisonRequest, *, as_json: bool, quiet: bool) -> None:
    """Compare models and print the result."""
    check_table(request.table, request.test)
    plan = None if request.cv is None else FoldPlan.of(request.cv)
    if len(set(request.models)) < 2:
        raise InputError(
            f"a comparison needs at least two models, got {len(set(request.models))}.",
            "pass --models knn,random_forest.",
        )
    if request.test is not None and (plan is not None or request.groups is not None):
        raise InputError(
            "--test cannot be combined with --cv or --groups, because the test table takes the place of splits.",
            "pass --test alone, or leave it out.",
        )
    from foldwise import evaluation

    source = request.reading.source
    table, groups = read_grouped(source(request.table), request.target, request.groups, request.task)
    if request.groups is not None and not (quiet or as_json):
        say_left_out(request.groups)
    counts = target_counts(table, request.target, request.task)
    if counts is None:
        check_value_folds(table.X.height, plan)
    elif request.test is None:
        check_folds(counts, plan)
    scoring = scoring_of(request.metric, counts, table.y)
    estimators = estimators_of(request, table, scoring)
    cv = splitter(plan, groups is not None, request.seed, quantity=counts is None)
    if request.test is not None:
        table, cv = with_test_rows(table, source(request.test).read(request.target))
    if isinstance(cv, list) or (plan is not None and plan.held_out is not None):
        print_once(request, table, compare_once(estimators, table, cv, scoring, groups), scoring, as_json, quiet)
        return
    with ProgressLine(not quiet, always=False) as progress:

        def watch(name: str, done: int) -> None:
            progress.show(f"{bar(done / len(estimators))} {done} of {len(estimators)} models · now: {name}", name)

        found = evaluation.compare(
            estimators,
            table.X,
            table.y,
            cv=cv,
            scoring=scoring,
            groups=groups,
            n_jobs=request.jobs,
            random_state=request.seed,
            watch=watch,
        )
    if as_json:
        about = {
            "table": table.name,
            "target": request.target,
            "metric": found.metric,
            "greater_is_better": found.greater_is_better,
        }
        print_json(
            {**about, "splits": found.scores.shape[1], "tied": found.tied, "models": found.to_frame().to_dicts()}
        )
    elif not quiet:
        print(found)


def print_once(
    request: ComparisonRequest, table: Any, found: list[tuple[str, float]], scoring: Any, as_json: bool, quiet: bool
) -> None:
    """Print the scores of models on a single split, which allows no test of differences."""
    from foldwise.evaluation.tables import number

    title = getattr(scoring, "title", None) or str(scoring)
    sign = 1 if getattr(scoring, "greater_is_better", not str(scoring).startswith("neg_")) else -1
    rows: list[dict[str, Any]] = [{"model": name, "score": sign * value} for name, value in found]
    if as_json:
        about = {"table": table.name, "target": request.target, "metric": title, "splits": 1}
        print_json({**about, "tied": [], "models": rows})
    elif not quiet:
        where = f"the rows of {request.test.name}" if request.test is not None else "one held-out part of the rows"
        width = max(len(name) for name, _ in found)
        print(f"{title[:1].upper()}{title[1:]} of {len(found)} models on {where}\n")
        print("\n".join(f"  {row['model']:<{width}}  {number(row['score'])}" for row in rows))
        print("\nA single split has no interval, and differences cannot be tested. --cv 10x10 allows both.")


def say_left_out(groups: str) -> None:
    """Say that the group column is not a feature."""
    say(f"note: {groups!r} was used as groups and left out of the features.")


def read_grouped(source: Any, target: str, groups: str | None, task: str | None = None) -> tuple[Any, Any]:
    """Read a table, and take its group column out of it, if there is one. Rows without a quantity are left out."""
    from foldwise.app.special_columns import grouped
    from foldwise.app.task import check_named, labeled, without
    from foldwise.data.target import task_of

    table = source.read(target)
    if task_of(table.y, task) == "regression":
        table = labeled(table, drop=True)
    if groups is None:
        return table, None
    check_named(table, {"groups": groups})
    return without(table, [groups]), grouped(table.X[groups], groups)


def splitter(plan: FoldPlan | None, grouped: bool, seed: int, *, quantity: bool = False) -> Any:
    """The splitter of scikit-learn for a plan; None leaves the choice to the comparison."""
    from foldwise.folds.named_splits import planned_splitter

    return None if plan is None else planned_splitter(plan, grouped, seed, quantity=quantity)


def with_test_rows(table: Any, test: Any) -> tuple[Any, list[Any]]:
    """Append the rows of a test table, and return the one split that trains on the others."""
    from dataclasses import replace

    import numpy as np
    import polars as pl

    missing = [name for name in table.X.columns if name not in test.X.columns]
    if missing:
        raise InputError(
            f"the test table must have all columns of the training table, but it lacks {missing[0]!r}.",
            "add the missing columns.",
        )
    n_train = table.X.height
    try:
        X = pl.concat([table.X, test.X.select(table.X.columns)], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"the columns of the test table must have the same types as in the training table: {error}.",
            "read both tables in the same way, for example with kinds=.",
        ) from error
    y = np.concatenate([np.asarray(table.y), np.asarray(test.y)])
    return replace(table, X=X, y=y), [(np.arange(n_train), np.arange(n_train, len(y)))]


def compare_once(estimators: dict[str, Any], table: Any, cv: Any, scoring: Any, groups: Any) -> list[tuple[str, float]]:
    """Score each model on a single split, the best first."""
    from foldwise import evaluation

    frozen = cv if isinstance(cv, list) else list(cv.split(table.X, table.y, groups))
    found = [
        (name, evaluation.estimate(one, table.X, table.y, cv=frozen, scoring=scoring, groups=groups).value)
        for name, one in estimators.items()
    ]
    return sorted(found, key=lambda pair: -pair[1])


def scoring_of(metric: str | None, classes: Iterable[Any] | None, y: Any) -> Any:
    """Look up a metric of Foldwise, or check the name of a scikit-learn scorer; without classes y is a quantity."""
    import numpy as np
    from sklearn.metrics import get_scorer_names

    from foldwise.evaluation.metrics import class_metric, is_metric, value_metric
    from foldwise.evaluation.metrics.registry import nearest_metric

    if metric is None or is_metric(metric):
        if classes is not None:
            return class_metric(metric or "accuracy", np.array(list(classes), dtype=object))
        found = value_metric(metric)
        found.check_target(np.asarray(y, dtype=np.float64))
        return found
    if metric not in get_scorer_names():
        known = ["log_loss", "brier_score", "accuracy", "balanced_accuracy", "roc_auc", "f1"]
        known = known if classes is not None else ["rmse", "mae", "median_absolute_error", "r2"]
        start = nearest_metric(metric, [*known, *get_scorer_names()], "use")
        raise InputError(f"unknown metric {metric!r}.", f"{start} {', '.join(known)}, or a scorer of scikit-learn.")
    return metric


def estimators_of(request: ComparisonRequest, table: Any, scoring: Any) -> dict[str, Any]:
    """Build the pipelines by name. Models without probabilities are calibrated if the metric needs them."""
    from foldwise.decisions import Calibrated
    from foldwise.folds import Need
    from foldwise.models import models_for, outline

    about = outline(table, request.task)
    found = {}
    for spec in models_for(about, request.models):
        pipeline = spec.pipeline(about, request.seed)
        wants = spec.answers == "decision" and getattr(scoring, "need", None) == Need.PROBA
        found[spec.name] = Calibrated(pipeline) if wants else pipeline
    return {name: found[name] for name in dict.fromkeys(request.models) if name in found}


def target_counts(table: Any, target: str, task: str | None) -> dict[Any, int] | None:
    """Count the rows of each class; None for a quantity. Raise if the target can be neither."""
    import numpy as np

    from foldwise.app.task import checked_quantity
    from foldwise.data.target import encode_target, task_of

    y = table.y
    if task_of(y, task) == "regression":
        checked_quantity(table)
        return None
    encoded = encode_target(y, len(y))
    if len(encoded.classes) < 2:
        raise InputError(f"all rows have the same {target!r}.", "choose a target with at least two classes.")
    return dict(zip(encoded.classes.tolist(), np.bincount(encoded.codes).tolist(), strict=True))


def check_value_folds(n_rows: int, plan: FoldPlan | None) -> None:
    """Raise if there are more folds than rows of a quantity."""
    if plan is not None and plan.folds > n_rows:
        raise InputError(
            f"--cv must be at most {n_rows}, the number of rows, got {plan.folds} folds.", "pass fewer folds."
        )


def check_folds(counts: dict[Any, int], plan: FoldPlan | None) -> None:
    """Raise if there are more folds than rows, or a class too small to be in both training and test rows."""
    name, least = min(counts.items(), key=lambda one: one[1])
    most = max(counts.values())
    random = plan is None or plan.held_out is not None
    if random and (least < 2 or sum(counts.values()) < 5 * len(counts)):
        raise InputError(
            "random splits need at least two rows of each class, and five per class on average. "
            f"Of {sum(counts.values())} rows, only {least} {'belongs' if least == 1 else 'belong'} to class {name!r}.",
            "remove the class, or pass the number of folds, such as --cv 5.",
        )
    if plan is not None and plan.folds > most:
        raise InputError(
            f"--cv must be at most {most}, the number of rows of the largest class, got {plan.folds} folds.",
            "pass fewer folds.",
        )
