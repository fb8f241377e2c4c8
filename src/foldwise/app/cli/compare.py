"""`foldwise compare`: models with their default settings on the same splits of one table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldwise.app.cli.output import ProgressLine, bar, print_json
from foldwise.app.cli.paths import check_table
from foldwise.errors import InputError


@dataclass(frozen=True)
class ComparisonRequest:
    """The arguments of `foldwise compare`."""

    table: Path
    target: str
    models: list[str]
    cv: str | None
    metric: str | None
    groups: str | None
    seed: int
    jobs: int | None
    task: str | None = None


def compare(request: ComparisonRequest, *, as_json: bool, quiet: bool) -> None:
    """Compare models and print the result."""
    check_table(request.table)
    folds = folds_of(request.cv)
    if len(set(request.models)) < 2:
        raise InputError(
            f"a comparison needs at least two models, got {len(set(request.models))}.",
            "pass --models knn,random_forest.",
        )
    from foldwise import evaluation

    table, groups = read_grouped(request.table, request.target, request.groups, request.task)
    counts = target_counts(table, request.target, request.task)
    if counts is None:
        check_value_folds(table.X.height, folds)
    else:
        check_folds(counts, folds)
    scoring = scoring_of(request.metric, counts, table.y)
    estimators = estimators_of(request, table, scoring)

    with ProgressLine(not quiet, always=False) as progress:

        def watch(name: str, done: int) -> None:
            progress.show(f"{bar(done / len(estimators))} {done} of {len(estimators)} models · now: {name}", name)

        found = evaluation.compare(
            estimators,
            table.X,
            table.y,
            cv=splitter(folds, groups is not None, request.seed, quantity=counts is None),
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


def read_grouped(path: Path, target: str, groups: str | None, task: str | None = None) -> tuple[Any, Any]:
    """Read a table, and take its group column out of it, if there is one. Rows without a quantity are left out."""
    from foldwise.app.task import check_named, grouped, labeled, without
    from foldwise.data import read_table
    from foldwise.data.target import task_of

    table = read_table(path, target=target)
    if task_of(table.y, task) == "regression":
        table = labeled(table, drop=True)
    if groups is None:
        return table, None
    check_named(table, {"groups": groups})
    return without(table, [groups]), grouped(table.X[groups], groups)


def folds_of(cv: str | None) -> tuple[int, int] | None:
    """Read the number of repeats and of folds.

    >>> folds_of("10x10"), folds_of("5")
    ((10, 10), (1, 5))
    """
    if cv is None:
        return None
    found = re.fullmatch(r"\s*(?:(\d+)\s*[x×]\s*)?(\d+)\s*", cv)
    repeats, folds = (int(found[1] or 1), int(found[2])) if found else (0, 0)
    if repeats < 1 or folds < 2:
        raise InputError(
            f"--cv must be a number of folds, at least 2, or repeats x folds, got {cv!r}.", "pass 10 or 10x10."
        )
    return repeats, folds


def splitter(folds: tuple[int, int] | None, grouped: bool, seed: int, *, quantity: bool = False) -> Any:
    from sklearn.model_selection import (
        GroupKFold,
        KFold,
        RepeatedKFold,
        RepeatedStratifiedKFold,
        StratifiedGroupKFold,
        StratifiedKFold,
    )

    if folds is None:
        return None
    repeats, n_folds = folds
    if grouped:
        if repeats > 1:
            raise InputError("grouped folds cannot be repeated.", f"pass --cv {n_folds}.")
        if quantity:
            return GroupKFold(n_folds, shuffle=True, random_state=seed)
        return StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    if quantity:
        if repeats == 1:
            return KFold(n_folds, shuffle=True, random_state=seed)
        return RepeatedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
    if repeats == 1:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)


def scoring_of(metric: str | None, classes: Iterable[Any] | None, y: Any) -> Any:
    """Look up a metric of Foldwise, or check the name of a scikit-learn scorer; without classes y is a quantity."""
    import numpy as np
    from sklearn.metrics import get_scorer_names

    from foldwise.evaluation.metrics import class_metric, is_metric, value_metric

    if metric is None or is_metric(metric):
        if classes is not None:
            return class_metric(metric or "accuracy", np.array(list(classes), dtype=object))
        found = value_metric(metric)
        found.check_target(np.asarray(y, dtype=np.float64))
        return found
    if metric not in get_scorer_names():
        known = "log_loss, brier_score, accuracy, balanced_accuracy, roc_auc, f1"
        known = known if classes is not None else "rmse, mae, median_absolute_error, r2"
        raise InputError(f"unknown metric {metric!r}.", f"use {known}, or the name of a scikit-learn scorer.")
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


def check_value_folds(n_rows: int, folds: tuple[int, int] | None) -> None:
    """Raise if there are more folds than rows of a quantity."""
    if folds is not None and folds[1] > n_rows:
        raise InputError(f"--cv must be at most the number of rows, {n_rows}, got {folds[1]} folds.", "pass fewer.")


def check_folds(counts: dict[Any, int], folds: tuple[int, int] | None) -> None:
    """Raise if there are more folds than rows, or a class too small to be in both training and test rows."""
    name, least = min(counts.items(), key=lambda one: one[1])
    most = max(counts.values())
    if folds is None and (least < 2 or sum(counts.values()) < 5 * len(counts)):
        raise InputError(
            "random splits need at least two rows of each class, and five per class on average. "
            f"Of {sum(counts.values())} rows, only {least} {'belongs' if least == 1 else 'belong'} to class {name!r}.",
            "remove the class, or pass the number of folds, such as --cv 5.",
        )
    if folds is not None and folds[1] > most:
        raise InputError(
            f"--cv must be at most the number of rows of the largest class, {most}, got {folds[1]} folds.",
            "pass fewer folds.",
        )
