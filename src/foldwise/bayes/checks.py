"""The checks at the estimator's door: targets, weights, names and levels. Each refuses with what to do."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families.protocol import AnyView
from foldwise.data.columns import check_comparable, warn_of_broken_levels
from foldwise.data.levels import are_text
from foldwise.data.schema import Column, Schema
from foldwise.data.view import View
from foldwise.errors import InputError
from foldwise.summaries.counts import Counts
from foldwise.summaries.number_kernels import Floats


def check_some_weight(weights: Floats | None) -> None:
    """Refuse rows that all have the weight 0."""
    if weights is not None and not weights.any():
        raise InputError("every weight is zero, so no row is left to learn from.", "give some row a sample_weight.")


def check_classes(classes: NDArray[Any]) -> None:
    """Refuse a target that leaves nothing to tell apart."""
    if len(classes) < 2:
        raise InputError(
            f"the target has one class, {classes.tolist()[0]!r}; a classifier needs at least 2 classes.",
            "check the target; partial_fit(..., classes=…) takes rows of one class at a time.",
        )


def check_same_kinds(a: NaiveBayesFacts, b: NaiveBayesFacts, blocks: tuple[FamilyBlock, ...], schema: Schema) -> None:
    """Refuse to merge a column that held text with one that held numbers."""
    for block, x, y in zip(blocks, a.summaries, b.summaries, strict=True):
        if not (isinstance(x, Counts) and isinstance(y, Counts)):
            continue
        for j, left, right in zip(block.columns, x.columns, y.columns, strict=True):
            kinds = are_text(left.levels), are_text(right.levels)
            if None not in kinds and kinds[0] is not kinds[1]:
                raise InputError(
                    f"column {schema.columns[j].name!r} held categories such as {left.levels[0]!r} and now holds "
                    f"{right.levels[0]!r}.",
                    "cast the column to the type it had before.",
                )


def check_levels(facts: NaiveBayesFacts, blocks: tuple[FamilyBlock, ...], schema: Schema, table: AnyView) -> None:
    """Refuse declared levels that no cell can ever match; warn of numbers that are categories only by their type."""
    for block, summary in zip(blocks, facts.summaries, strict=True):
        if not isinstance(summary, Counts):
            continue
        for j, counts in zip(block.columns, summary.columns, strict=True):
            column = schema.columns[j]
            if column.levels:
                check_comparable(column.name, column.levels, are_text(counts.levels))
            if isinstance(table, View):
                warn_of_broken_levels(table.sources[j], counts.levels, "pass families to say so")


def merge_schemas(schema: Schema, columns: tuple[Column, ...]) -> Schema:
    """The schema with the levels that either side declares."""
    merged = []
    for old, new in zip(schema.columns, columns, strict=True):
        known = set(old.levels or ())
        more = tuple(level for level in new.levels or () if level not in known)
        merged.append(Column(old.name, old.kind, (*(old.levels or ()), *more)) if more else old)
    return Schema(tuple(merged))
