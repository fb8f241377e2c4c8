"""What naive Bayes learns from rows: class weights and one summary per block. Facts can be merged and subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.families import FAMILIES
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Summary
from foldwise.data.target import Target, object_array
from foldwise.errors import ForgetError, InputError
from foldwise.summaries.alignment import spread, weight_kept
from foldwise.summaries.passes import ThreadShare, class_weights_of, map_rows


@dataclass(frozen=True)
class NaiveBayesFacts:
    """Facts about rows by class. They do not depend on hyperparameters."""

    classes: NDArray[Any]
    class_weight: Floats  # (K,)
    class_rows: Floats  # (K,), with a weight above 0
    summaries: tuple[Summary, ...]  # one per block

    @classmethod
    def learn(
        cls, view: AnyView, target: Target, weights: Floats | None, blocks: Sequence[FamilyBlock], n_jobs: int | None
    ) -> NaiveBayesFacts:
        """Learn facts in one pass; each thread learns some rows, and the results are merged."""
        n_classes = len(target.classes)

        def part(start: int, stop: int) -> NaiveBayesFacts:
            share = ThreadShare(target.codes, weights, n_classes, start, stop)
            summaries = tuple(FAMILIES[block.family].summarize(view, block.columns, share) for block in blocks)
            weight, rows = class_weights_of(share)
            return cls(target.classes, weight, rows, summaries)

        return reduce(add, map_rows(view.n_rows, view.n_columns, n_jobs, part))

    @property
    def totals(self) -> ClassTotals:
        """Total weight and rows of each class."""
        return ClassTotals(self.class_weight, self.class_rows)

    def __add__(self, other: NaiveBayesFacts) -> NaiveBayesFacts:
        classes = union_of_classes(self.classes, other.classes)
        a, b = self.over(classes), other.over(classes)
        merged = tuple(x + y for x, y in zip(a.summaries, b.summaries, strict=True))
        return NaiveBayesFacts(classes, a.class_weight + b.class_weight, a.class_rows + b.class_rows, merged)

    def without(self, other: NaiveBayesFacts, blocks: Sequence[FamilyBlock], names: Sequence[str]) -> NaiveBayesFacts:
        """Subtract the facts of some rows; an error names the column that prevents it."""
        other = other.over(self.classes)
        if (self.class_rows < other.class_rows).any():
            label = self.classes.tolist()[int(np.flatnonzero(self.class_rows < other.class_rows)[0])]
            raise ForgetError(f"cannot forget more rows of class {label!r} than were learned.")
        rows = self.class_rows - other.class_rows
        weight = weight_kept(self.class_weight, other.class_weight, rows)
        left = []
        for block, x, y in zip(blocks, self.summaries, other.summaries, strict=True):
            try:
                left.append(x - y)
            except ForgetError as error:
                if error.index is None:
                    raise
                c, j = error.index
                where = f"column {names[block.columns[j]]!r}"
                if c is not None:
                    where += f", class {self.classes.tolist()[c]!r}"
                raise ForgetError(f"{where}: {error.message}", error.hint) from error
        return NaiveBayesFacts(self.classes, weight, rows, tuple(left))

    def over(self, classes: NDArray[Any]) -> NaiveBayesFacts:
        """Express the facts in terms of more classes."""
        if classes is self.classes or classes.tolist() == self.classes.tolist():
            return self
        index = {label: i for i, label in enumerate(classes.tolist())}
        missing = [label for label in self.classes.tolist() if label not in index]
        if missing:
            raise ForgetError(f"cannot forget rows of class {missing[0]!r}, which was never learned.")
        indices = np.array([index[label] for label in self.classes.tolist()], dtype=np.int64)
        n = len(classes)
        summaries = tuple(summary.expand(indices, n) for summary in self.summaries)
        weight, rows = (spread(array, indices, n) for array in (self.class_weight, self.class_rows))
        return NaiveBayesFacts(classes, weight, rows, summaries)


def union_of_classes(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Merge and sort the classes of two models."""
    if a.tolist() == b.tolist():
        return a
    try:
        labels = sorted({*a.tolist(), *b.tolist()})
    except TypeError as error:
        raise InputError(
            f"class labels must be comparable, but {a.tolist()[0]!r} and {b.tolist()[0]!r} cannot be sorted.",
            "make all labels strings, or all numbers.",
        ) from error
    if len(labels) == len(a):
        return a
    return object_array(labels) if object in (a.dtype, b.dtype) else np.array(labels, dtype=np.result_type(a, b))
