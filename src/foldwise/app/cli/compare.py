"""`foldwise compare`: models with their default settings on the same splits of one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldwise.app.cli.output import ProgressLine, bar, print_json
from foldwise.app.cli.paths import check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.cli.table_task import SpecialColumns, TableTask, chosen_specs, needs_probabilities, read_task
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
    seed: int
    jobs: int | None
    task: str | None = None
    test: Path | None = None
    special: SpecialColumns = field(default_factory=SpecialColumns)


def compare(request: ComparisonRequest, *, as_json: bool, quiet: bool) -> None:
    """Compare models and print the result."""
    check_table(request.table, request.test)
    plan = None if request.cv is None else FoldPlan.of(request.cv)
    if len(set(request.models)) < 2:
        raise InputError(
            f"a comparison needs at least two different models, got {' and '.join(map(repr, request.models))}.",
            "pass --models knn,random_forest.",
        )
    special = request.special
    if request.test is not None and (plan is not None or special.groups is not None or special.time is not None):
        raise InputError(
            "--test cannot be combined with --cv, --groups or --time, because the test table takes the place of "
            "splits.",
            "pass --test alone, or leave it out.",
        )
    from foldwise import evaluation

    source = request.reading.source
    folds = plan if request.test is None else FoldPlan(2)
    task = read_task(source(request.table), request.target, special, request.metric, request.task, folds)
    estimators = estimators_of(request, task)
    if request.test is not None:
        task, cv = task.with_test_rows(source(request.test).read(request.target))
    else:
        cv = task.splits(plan, request.seed)
    if not (quiet or as_json):
        task.say_left_out()
    if request.test is not None or (plan is not None and plan.held_out is not None):
        print_once(request, task, compare_once(estimators, task, cv), as_json, quiet)
        return
    with ProgressLine(not quiet, always=False) as progress:

        def watch(name: str, done: int) -> None:
            progress.show(f"{bar(done / len(estimators))} {done} of {len(estimators)} models · now: {name}", name)

        found = evaluation.compare(
            estimators,
            task.table.X,
            task.y,
            cv=cv,
            scoring=task.scoring,
            groups=task.groups if task.moments is None else None,
            n_jobs=request.jobs,
            random_state=request.seed,
            watch=watch,
            **({} if task.weights is None else {"sample_weight": task.weights}),
        )
    if as_json:
        about = {
            "table": task.table.name,
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
    request: ComparisonRequest, task: TableTask, found: list[tuple[str, float]], as_json: bool, quiet: bool
) -> None:
    """Print the scores of models on a single split, which allows no test of differences."""
    from foldwise.evaluation.metrics.scoring import sign_and_title
    from foldwise.evaluation.tables import numbers_of_column

    sign, title = sign_and_title(task.scoring)
    rows: list[dict[str, Any]] = [{"model": name, "score": sign * value} for name, value in found]
    if as_json:
        about = {"table": task.table.name, "target": request.target, "metric": title, "splits": 1}
        print_json({**about, "tied": [], "models": rows})
    elif not quiet:
        where = f"the rows of {request.test.name}" if request.test is not None else "a single held-out split"
        shown = numbers_of_column(row["score"] for row in rows)
        width = max(len(name) for name, _ in found)
        print(f"{title[:1].upper()}{title[1:]} of {len(found)} models on {where}\n")
        print("\n".join(f"  {row['model']:<{width}}  {shown(row['score'])}" for row in rows))
        instead = "" if request.test is None else " instead of --test"
        print("\nA single split has no interval, and differences cannot be tested.")
        print(f"Pass --cv 10x10{instead} for intervals and tests.")


def compare_once(estimators: dict[str, Any], task: TableTask, cv: Any) -> list[tuple[str, float]]:
    """Score each model on a single split, the best first."""
    from foldwise import evaluation

    X, y, groups = task.table.X, task.y, task.split_by
    frozen = cv if isinstance(cv, list) else list(cv.split(X, y, groups))
    given = {"cv": frozen, "scoring": task.scoring}
    found = [
        (name, evaluation.estimate(one, X, y, **given, **task.weighted(one)).value) for name, one in estimators.items()
    ]
    return sorted(found, key=lambda pair: -pair[1])


def estimators_of(request: ComparisonRequest, task: TableTask) -> dict[str, Any]:
    """Build the pipelines by name. Models without probabilities are calibrated if the metric needs them."""
    from foldwise.decisions import Calibrated
    from foldwise.models import outline

    about, calibrates = outline(task.table, request.task), needs_probabilities(task.scoring)
    found = {}
    for spec in chosen_specs(task, about, request.models):
        pipeline = spec.pipeline(about, request.seed)
        found[spec.name] = Calibrated(pipeline) if spec.answers == "decision" and calibrates else pipeline
    return {name: found[name] for name in dict.fromkeys(request.models) if name in found}
