"""How a blend learns from other rows: its members are fitted again, or their facts are updated without the old rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.app.blend import Blend, ValueBlend
from foldwise.bayes import NaiveBayes
from foldwise.errors import InputError


@dataclass(frozen=True)
class LabeledRows:
    """Rows with the columns of a model, and their codes of classes or values."""

    X: pl.DataFrame
    y: NDArray[Any]

    @property
    def n_rows(self) -> int:
        return self.X.height

    def at(self, rows: NDArray[np.intp]) -> LabeledRows:
        """Some of the rows."""
        return LabeledRows(self.X[rows.tolist()], self.y[rows])

    def joined(self, other: LabeledRows | None) -> LabeledRows:
        """These rows after those of another table."""
        if other is None:
            return self
        return LabeledRows(pl.concat([other.X, self.X], how="vertical_relaxed"), np.concatenate([other.y, self.y]))


def fitted_again(blend: Blend | ValueBlend, rows: LabeledRows) -> Blend | ValueBlend:
    """Fit every member with the same settings on other rows. Weights and calibration stay as they are."""
    members = [clone(member).fit(rows.X, rows.y) for member in blend.members]
    if isinstance(blend, ValueBlend):
        return ValueBlend(members, blend.weights)
    counts = np.bincount(rows.y, minlength=len(blend.labels))
    return with_counts(blend, members, counts)


def with_counts(blend: Blend, members: Sequence[Any], counts: NDArray[Any]) -> Blend:
    """A blend of other members, whose class frequencies come from these counts, as in `FoldPredictions`."""
    more = counts.astype(np.float64) + 1.0
    doubt = 1.0 / (float(counts.sum()) + len(counts))
    return Blend(members, blend.weights, blend.maps, blend.temper, (more / more.sum()).tolist(), doubt, blend.labels)


def check_sums(blend: Blend | ValueBlend) -> Blend:
    """Raise unless every member is a sum of facts about rows, which can be updated without the old rows."""
    kinds = [type(member[-1] if hasattr(member, "steps") else member).__name__ for member in blend.members]
    others = sorted({kind for kind in kinds if kind != NaiveBayes.__name__})
    if isinstance(blend, ValueBlend) or others:
        raise InputError(
            f"only models that are sums over rows can be updated without the old rows, but this one contains {others}.",
            "pass the old rows as old=, or fit with models='naive_bayes'.",
        )
    return blend


def updated(blend: Blend, added: LabeledRows | None, removed: LabeledRows | None = None) -> Blend:
    """Add rows to the facts of every member, and remove others. The old blend stays as it is."""
    members, counts = [], np.empty(0)
    for member in blend.members:
        new = copy.copy(member)
        new.steps = list(member.steps)
        model: NaiveBayes = copy.deepcopy(member[-1])
        prepare = member[:-1]
        if added is not None and added.n_rows:
            model.partial_fit(prepare.transform(added.X), added.y)
        if removed is not None and removed.n_rows:
            model.forget(prepare.transform(removed.X), removed.y)
        new.steps[-1] = (member.steps[-1][0], model)
        members.append(new)
        codes = np.asarray(model.classes_, dtype=np.intp)
        counts = np.zeros(len(blend.labels))
        counts[codes] = model.facts_.class_rows
    return with_counts(blend, members, counts)
