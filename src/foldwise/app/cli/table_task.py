"""What `compare` and `tune` share: the table with its target and special columns, its splits, and the metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foldwise.app.cli.exit_codes import say
from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan

FORWARD = FoldPlan(5)  # splits in the order of time, as in `fit`


@dataclass(frozen=True)
class SpecialColumns:
    """The columns that are not features (groups, time and weights), and whether rows without a class are dropped."""

    groups: str | None = None
    time: str | None = None
    weights: str | None = None
    drop_unlabeled: bool = False

    @property
    def named(self) -> dict[str, str]:
        """The columns by their role."""
        columns = {"groups": self.groups, "time": self.time, "weights": self.weights}
        return {what: name for what, name in columns.items() if name is not None}

    @property
    def folds(self) -> str:
        """How rows are divided into folds, in words; empty if at random."""
        words = "" if self.time is None else f"in order of {self.time}"
        return words if self.groups is None else f"{words}{' and ' if words else ''}by {self.groups}"


@dataclass(frozen=True)
class TableTask:
    """The checked input of `compare` and `tune`."""

    table: Any  # whose X has features only
    special: SpecialColumns
    counts: dict[Any, int] | None  # rows of each class; None for a quantity
    scoring: Any
    groups: Any = None  # (rows,)
    moments: Any = None  # (rows,), 0 for the earliest
    weights: Any = None  # (rows,)

    @property
    def is_quantity(self) -> bool:
        """Whether values are predicted, not classes."""
        return self.counts is None

    @property
    def y(self) -> Any:
        """The target."""
        return self.table.y

    @property
    def split_by(self) -> Any:
        """What splitters get as `groups`."""
        from foldwise.folds.forward_splits import ForwardFolds

        return self.groups if self.moments is None else ForwardFolds.keys(self.moments, self.groups)

    def say_left_out(self) -> None:
        """Say which columns are not features, and whether rows were dropped."""
        for what, name in self.special.named.items():
            say(f"note: {name!r} was used as {what} and left out of the features.")
        for note in self.table.decided:
            if note.topic == "weights":
                say(f"note: {note.text}")

    def weighted(self, estimator: Any) -> dict[str, Any]:
        """Return the weights as an argument of `fit` of an estimator."""
        from foldwise.folds.weights import weight_params

        return weight_params(estimator, self.weights)

    def splitter(self, plan: FoldPlan | None, seed: int) -> Any:
        """Return the splitter of a plan; None leaves the choice to the comparison."""
        from foldwise.folds.forward_splits import ForwardFolds
        from foldwise.folds.named_splits import planned_splitter

        if self.moments is None:
            return (
                None
                if plan is None
                else planned_splitter(plan, self.groups is not None, seed, quantity=self.is_quantity)
            )
        plan = plan or FORWARD
        if plan.repeats > 1:
            raise InputError(
                f"folds in order of time cannot be repeated, got {plan.repeats}x{plan.folds}.",
                f"pass --cv {plan.folds}.",
            )
        return ForwardFolds(plan.folds, 1 if self.groups is None else int(self.groups.max()) + 1)

    def splits(self, plan: FoldPlan | None, seed: int) -> Any:
        """Return the splits that estimate; those in the order of time are made here and checked."""
        import numpy as np

        from foldwise.app.holding_out import held_out_rows
        from foldwise.app.splitting import check_splits
        from foldwise.folds.splits import Split

        if self.moments is None:
            return self.splitter(plan, seed)
        if plan is not None and plan.held_out is not None:
            out = held_out_rows(plan.held_out, np.zeros(len(self.y), dtype=np.int64), None, self.moments, seed)
            kept = ~out if self.groups is None else ~out & ~np.isin(self.groups, self.groups[out])
            found = [Split(np.flatnonzero(kept), np.flatnonzero(out))]
        else:
            found = [Split(*pair) for pair in self.splitter(plan, seed).split(groups=self.split_by)]
        check_splits(found, self)  # type: ignore[arg-type]
        return [(one.train, one.test) for one in found]

    def with_test_rows(self, test: Any) -> tuple[TableTask, list[Any]]:
        """Append the rows of a test table, and return the one split that trains on the others."""
        import numpy as np

        from foldwise.app.special_columns import weighted
        from foldwise.app.task import labeled

        test = labeled(test, self.special.drop_unlabeled or self.is_quantity)
        table, split = with_test_rows(self.table, test)
        weights, name = self.weights, self.special.weights
        if weights is not None and name is not None:
            of_test = weighted(test.X[name], name) if name in test.X.columns else np.ones(test.X.height)
            weights = np.concatenate([weights, of_test])
        scoring = self.scoring if weights is None else replace(self.scoring, weights=weights)
        return replace(self, table=table, weights=weights, scoring=scoring, groups=None, moments=None), split


def read_task(
    source: Any, target: str, special: SpecialColumns, metric: str | None, task: str | None, plan: FoldPlan | None
) -> TableTask:
    """Read a table and check it. Rows of weight 0, and rows without a quantity, are left out."""
    from foldwise.app.special_columns import grouped, ordered, weighted, with_weight
    from foldwise.app.task import check_named, labeled, without
    from foldwise.data.target import task_of
    from foldwise.evaluation.metrics.routed import WeightedScoring

    table = source.read(target)
    table = labeled(table, special.drop_unlabeled or task_of(table.y, task) == "regression")
    check_named(table, special.named)
    if special.weights is not None:
        table = with_weight(table, special.weights)
    columns = {what: table.X[name] for what, name in special.named.items()}
    groups = grouped(columns["groups"], special.groups) if special.groups is not None else None
    moments = ordered(columns["time"], special.time) if special.time is not None else None
    weights = weighted(columns["weights"], special.weights) if special.weights is not None else None
    table = without(table, list(special.named.values()))
    counts = target_counts(table, target, task)
    check_plan(plan, table.X.height, counts, groups, in_time=moments is not None)
    scoring = scoring_of(metric, counts, table.y)
    if weights is not None:
        check_weighable(scoring)
        scoring = WeightedScoring(scoring, weights)
    return TableTask(table, special, counts, scoring, groups, moments, weights)


def check_weighable(scoring: Any) -> None:
    """Raise if a metric cannot be weighted."""
    from sklearn.metrics import get_scorer

    from foldwise.evaluation.metrics.scorers import takes_weight

    name = getattr(scoring, "scorer", scoring)
    if isinstance(name, str) and not takes_weight(get_scorer(name)):
        shown = getattr(scoring, "name", name)
        raise InputError(f"the metric {shown!r} does not support row weights.", "choose another metric.")


def with_test_rows(table: Any, test: Any) -> tuple[Any, list[Any]]:
    """Append the rows of a test table, and return the one split that trains on the others."""
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


def scoring_of(metric: str | None, classes: Iterable[Any] | None, y: Any) -> Any:
    """Look up a metric of Foldwise, or check the name of a scikit-learn scorer; without classes y is a quantity."""
    import numpy as np
    from sklearn.metrics import get_scorer_names

    from foldwise.app.cli.known_names import CLASS_METRICS
    from foldwise.evaluation.metrics import class_metric, find_metric, is_metric, value_metric
    from foldwise.evaluation.metrics.registry import nearest_metric, unknown_metric

    if metric is None or is_metric(metric):
        if classes is not None:
            if metric is not None and find_metric(metric).task != "classification":  # costs are for fit only
                raise unknown_metric("classification", metric, CLASS_METRICS)
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


def needs_probabilities(scoring: Any) -> bool:
    """Whether a metric needs probabilities, so that models without them are calibrated."""
    from foldwise.folds import Need

    return bool(getattr(getattr(scoring, "scoring", scoring), "need", None) == Need.PROBA)


def chosen_specs(task: TableTask, about: Any, models: Sequence[str]) -> list[Any]:
    """Return the models by name. Raise if one cannot be trained with the weights of the rows."""
    from foldwise.models import models_for

    found = models_for(about, models)
    for spec in found if task.weights is not None else ():
        if not spec.takes_weights(about):
            raise InputError(f"the model {spec.name!r} does not support row weights.", "choose another model.")
    return found


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
        raise InputError(
            f"the target {target!r} has the same value in all rows.", "choose a target with at least two classes."
        )
    return dict(zip(encoded.classes.tolist(), np.bincount(encoded.codes).tolist(), strict=True))


def check_plan(
    plan: FoldPlan | None, n_rows: int, counts: dict[Any, int] | None, groups: Any, *, in_time: bool
) -> None:
    """Raise if there are too few rows, groups, or rows of a class for the folds."""
    if groups is not None and not in_time:
        check_most(plan, int(groups.max()) + 1, "the number of groups")
    elif counts is None or in_time:
        check_most(plan, n_rows - in_time, "the number of rows" + " minus one" * in_time)
    else:
        check_folds(counts, plan)


def check_most(plan: FoldPlan | None, most: int, what: str) -> None:
    """Raise if there are more folds than something allows."""
    if plan is not None and plan.folds > most:
        raise InputError(f"--cv must be at most {most}, {what}, got {plan.folds} folds.", "pass fewer folds.")


def check_folds(counts: dict[Any, int], plan: FoldPlan | None) -> None:
    """Raise if there are more folds than rows, or a class too small to be in both training and test rows."""
    name, least = min(counts.items(), key=lambda one: one[1])
    random = plan is None or plan.held_out is not None
    if random and (least < 2 or sum(counts.values()) < 5 * len(counts)):
        raise InputError(
            "random splits need at least two rows of each class, and on average five rows per class. "
            f"Of {sum(counts.values()):,} rows, only {least} {'belongs' if least == 1 else 'belong'} to class "
            f"{name!r}.",
            "remove the class, or pass the number of folds, such as --cv 5.",
        )
    check_most(plan, max(counts.values()), "the number of rows of the largest class")
