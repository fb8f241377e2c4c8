"""Checks of parameters, targets, weights and columns. Each raises an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families.protocol import AnyView, Setting
from foldwise.data.arguments import above_zero, at_least_zero, column_index, one_of, whole_at_least
from foldwise.data.columns import check_comparable
from foldwise.data.levels import are_text
from foldwise.data.number_objects import warn_of_number_objects
from foldwise.data.schema import Column, Schema, listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.summaries.counts import Counts


def check_setting(given: Mapping[str, Any]) -> Setting:
    """Check parameters by name; those not given have their defaults."""
    checked = {name: check(given[name]) for name, check in CHECKS.items() if name in given}
    columns = given.get("columns")
    return Setting(**checked, columns=None if columns is None else tuple(int(j) for j in columns))


def by_column(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """Extend a check to parameters that may also be a mapping from columns to values."""

    def checked(name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {column: check(f"{name}[{column!r}]", entry) for column, entry in value.items()}
        return check(name, value)

    return checked


NUMBERS_BY_COLUMN = by_column(at_least_zero)
MOST = "None uses the largest value of the column."
SILVERMAN = "None uses Silverman's rule for each class and column."
BY_COLUMN: dict[str, Callable[[str, Any], Any]] = {
    "trials": by_column(lambda name, value: None if value is None else whole_at_least(name, value, 1, MOST)),
    "bins": by_column(lambda name, value: whole_at_least(name, value, 1, "the default is 10.")),
    "cuts": by_column(lambda name, value: one_of(name, value, ("width", "frequency", "entropy"))),
    "bandwidth": by_column(lambda name, value: None if value is None else above_zero(name, value, SILVERMAN)),
}


def check_weight_list(weights: Any) -> Any:
    """Check the weights of columns: None, a mapping from columns to numbers, or a list of numbers."""
    if weights is None or isinstance(weights, Mapping):
        return NUMBERS_BY_COLUMN("column_weights", weights) if weights else None
    if isinstance(weights, str) or not hasattr(weights, "__iter__"):
        raise FoldwiseTypeError(
            f"column_weights must be None, a mapping from columns to numbers, or a list of numbers; got {weights!r}.",
            "1 is the usual weight of a column.",
        )
    return tuple(at_least_zero(f"column_weights[{j}]", weight) for j, weight in enumerate(weights))


def weight_per_column(weights: Any, names: Sequence[str]) -> tuple[float, ...] | None:
    """Resolve checked weights to one number per column of the table; None if all are 1."""
    if isinstance(weights, Mapping):
        given = {column_index("column_weights", key, names): weight for key, weight in weights.items()}
        weights = tuple(given.get(j, 1.0) for j in range(len(names)))
    if weights is not None and len(weights) != len(names):
        raise InputError(
            f"column_weights must have one number per column, {len(names)} in this table; got {len(weights)}.",
            "pass a mapping to give weights to some columns only.",
        )
    return None if weights is None or all(weight == 1 for weight in weights) else weights


def by_name(setting: Setting, names: Sequence[str]) -> Setting:
    """Key the mappings of a setting by column name; raise for a column that the table does not have."""
    named: dict[str, Any] = {}
    if setting.column_weights is not None:
        named["column_weights"] = weight_per_column(setting.column_weights, names)
    for parameter in BY_COLUMN:
        given = getattr(setting, parameter)
        if isinstance(given, Mapping):
            named[parameter] = {names[column_index(parameter, key, names)]: entry for key, entry in given.items()}
    return replace(setting, **named) if named else setting


CHECKS: dict[str, Callable[[Any], Any]] = {
    "alpha": lambda value: at_least_zero("alpha", value, "1 is Laplace smoothing, 0 means no smoothing."),
    "var_floor": lambda value: at_least_zero(
        "var_floor", value, "it is a share of the variance of the column, such as 1e-9."
    ),
    "ddof": lambda value: at_least_zero("ddof", value, "1 divides by n - 1, 0 by n."),
    "missing": lambda value: one_of("missing", value, ("ignore", "category")),
    "unseen": lambda value: one_of("unseen", value, ("ignore", "smooth")),
    **{name: partial(check, name) for name, check in BY_COLUMN.items()},
    "column_weights": check_weight_list,
    "temperature": lambda value: above_zero("temperature", value, "1 leaves the probabilities as they are."),
}


def check_columns(columns: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """Resolve the columns in use to sorted indices; None for all of them."""
    if columns is None:
        return None
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise FoldwiseTypeError(f"columns must be None or a list of column names or indices, got {columns!r}.")
    return tuple(sorted({column_index("columns", key, names) for key in columns}))


def check_priors(priors: Any, classes: NDArray[Any], class_weight: Floats) -> Floats:
    """Resolve the priors to log-probabilities in the order of the classes."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(prior_shares(priors, classes, class_weight))
    return logs


def prior_shares(priors: Any, classes: NDArray[Any], class_weight: Floats) -> Floats:
    """Resolve the priors to probabilities in the order of the classes."""
    labels = classes.tolist()
    if isinstance(priors, str):
        total = class_weight.sum()
        if one_of("priors", priors, ("empirical", "uniform")) == "uniform" or total <= 0:
            return np.full(len(labels), 1 / len(labels))
        return np.asarray(class_weight / total)
    if hasattr(priors, "items"):  # a mapping, or a pandas Series indexed by class
        priors = dict(priors.items())
        if set(priors) != set(labels):
            by_text = {str(label): weight for label, weight in priors.items()}  # from names such as "priors__0"
            if len(by_text) != len(priors) or set(by_text) != set(map(str, labels)):
                raise InputError(f"priors must name each of the classes {listing(labels)}; got {listing(priors)}.")
            priors = {label: by_text[str(label)] for label in labels}
        priors = scaled_to_one([priors[label] for label in labels])
    try:
        shares = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"priors must be one probability per class, got {priors!r}.") from error
    if shares.shape != (len(labels),):
        raise InputError(
            f"priors must be one probability per class, {len(labels)} for the classes {listing(labels)}; got shape "
            f"{shares.shape}."
        )
    if not (shares >= 0).all() or not np.isclose(shares.sum(), 1.0):
        raise InputError(f"priors must be at least 0 and sum to 1, got {shares.tolist()} with sum {shares.sum():g}.")
    return np.asarray(shares / shares.sum())


def scaled_to_one(weights: Sequence[Any]) -> Any:
    """Divide the numbers of a mapping by their sum. What is not a valid number is left to the checks that follow."""
    try:
        total = float(np.sum(np.asarray(weights, dtype=np.float64)))
    except (TypeError, ValueError):
        return weights
    return [weight / total for weight in weights] if 0 < total < np.inf and min(weights) >= 0 else weights


def check_some_weight(weights: Floats | None) -> None:
    """Raise if all rows have a weight of 0."""
    if weights is not None and not weights.any():
        raise InputError(
            "at least one row must have a sample_weight above 0, but all are zero.", "check sample_weight."
        )


def check_classes(classes: NDArray[Any]) -> None:
    """Raise if there are fewer than two classes."""
    if len(classes) < 2:
        raise InputError(
            f"a classifier needs at least 2 classes, but the target has one class, {classes.tolist()[0]!r}.",
            "check the target; partial_fit(..., classes=…) accepts rows of one class at a time.",
        )


def check_same_kinds(a: NaiveBayesFacts, b: NaiveBayesFacts, blocks: tuple[FamilyBlock, ...], schema: Schema) -> None:
    """Raise if a categorical column contained text before and contains numbers now, or vice versa."""
    for block, x, y in zip(blocks, a.summaries, b.summaries, strict=True):
        if not (isinstance(x, Counts) and isinstance(y, Counts)):
            continue
        for j, left, right in zip(block.columns, x.columns, y.columns, strict=True):
            kinds = are_text(left.levels), are_text(right.levels)
            if None not in kinds and kinds[0] is not kinds[1]:
                raise InputError(
                    f"column {schema.columns[j].name!r} contained categories such as {left.levels[0]!r} before and "
                    f"contains {right.levels[0]!r} now.",
                    "cast the column to the type it had before.",
                )


def check_levels(facts: NaiveBayesFacts, blocks: tuple[FamilyBlock, ...], schema: Schema) -> None:
    """Raise for declared levels that no value can match."""
    for block, summary in zip(blocks, facts.summaries, strict=True):
        if not isinstance(summary, Counts):
            continue
        for j, counts in zip(block.columns, summary.columns, strict=True):
            column = schema.columns[j]
            if column.levels:
                check_comparable(column.name, column.levels, are_text(counts.levels))


def warn_of_objects(table: AnyView, families: Any) -> None:
    """Warn of numbers that are categories only by the type of their column, not because `families` says so."""
    if isinstance(families, Schema) or (families not in ("auto", "best") and not isinstance(families, Mapping)):
        return
    given = families if isinstance(families, Mapping) else {}

    def is_declared(j: int, name: str) -> bool:
        return given.get(name, given.get(j, "auto")) not in ("auto", "best")

    warn_of_number_objects(table, "declare its distribution family with families= or a Schema", is_declared)


def merge_schemas(schema: Schema, columns: tuple[Column, ...]) -> Schema:
    """Add the declared levels of more columns to a schema."""
    merged = []
    for old, new in zip(schema.columns, columns, strict=True):
        known = set(old.levels or ())
        more = tuple(level for level in new.levels or () if level not in known)
        merged.append(Column(old.name, old.kind, (*(old.levels or ()), *more)) if more else old)
    return Schema(tuple(merged))
