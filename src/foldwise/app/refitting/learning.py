"""How a blend learns from other rows: its members are fitted again, or their facts are updated without the old rows."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.special_columns import weighted
from foldwise.bayes import NaiveBayes
from foldwise.errors import ForgetError, InputError
from foldwise.models.coded_labels import CodedLabels
from foldwise.models.linear_sums import sums_of, why_not
from foldwise.models.titles import title_of

LABEL = "the label of refit"  # a name that no column of a table has


@dataclass(frozen=True)
class LabeledRows:
    """Rows with the columns of a model, their codes of classes or values, and the special columns of the run."""

    X: pl.DataFrame
    y: NDArray[Any]
    special: pl.DataFrame = field(default_factory=pl.DataFrame)  # "groups", "time" and "weights", if the run has them

    @property
    def n_rows(self) -> int:
        return self.X.height

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weights of the rows, if the run has some."""
        return None if "weights" not in self.special.columns else weighted(self.special["weights"], "weights")

    def at(self, rows: NDArray[np.intp]) -> LabeledRows:
        """Some of the rows."""
        some = rows.tolist()
        return LabeledRows(self.X[some], self.y[rows], self.special[some] if self.special.width else self.special)

    def joined(self, other: LabeledRows | None) -> LabeledRows:
        """These rows after those of another table."""
        if other is None:
            return self
        X, special = (
            pl.concat([same_types(one, two), same_types(two, one)], how="vertical_relaxed")
            for one, two in ((other.X, self.X), (other.special, self.special))
        )
        return LabeledRows(X, np.concatenate([other.y, self.y]), special)

    def n_also_in(self, other: LabeledRows) -> int:
        """The number of rows that another table contains too, with the same class or value."""
        some, known = (one.as_text() for one in (self, other))
        return some.join(known.unique(), on=some.columns, how="semi", nulls_equal=True).height

    def as_text(self) -> pl.DataFrame:
        """The rows and their labels as text, alike for whole numbers and decimals, as two files may differ in that."""
        frame = self.X.with_columns(pl.Series(LABEL, self.y))
        return frame.with_columns(cs.numeric().cast(pl.Float64)).select(pl.all().cast(pl.String))


def same_types(frame: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Columns that are text in another frame become text, such as a group that looks like a number in one file."""
    return frame.with_columns(pl.col(one.name).cast(pl.String) for one in frame if other[one.name].dtype == pl.String)


def fitted_again(blend: Blend | ValueBlend, rows: LabeledRows) -> Blend | ValueBlend:
    """Fit every member with the same settings on other rows. Weights and calibration stay as they are."""
    given = {} if rows.weights is None else {"model__sample_weight": rows.weights}
    members = [clone(member).fit(rows.X, rows.y, **given) for member in blend.members]
    if isinstance(blend, ValueBlend):
        sums = None if blend.sums is None else sums_of(members, rows.X, rows.y, rows.weights)
        return ValueBlend(members, blend.weights, sums)
    counts = np.bincount(rows.y, minlength=len(blend.labels))
    return with_counts(blend, members, counts)


def with_counts(blend: Blend, members: Sequence[Any], counts: NDArray[Any]) -> Blend:
    """A blend of other members, whose class frequencies come from these counts, as in `FoldPredictions`."""
    more = counts.astype(np.float64) + 1.0
    doubt = 1.0 / (float(counts.sum()) + len(counts))
    return Blend(members, blend.weights, blend.maps, blend.temper, (more / more.sum()).tolist(), doubt, blend.labels)


def check_sums(blend: Blend | ValueBlend, *, forgetting: bool = False) -> None:
    """Raise unless every member is a function of sums over rows, which can be updated without the old rows."""
    if isinstance(blend, ValueBlend):
        reasons = [reason for member in blend.members if (reason := why_not(member))]
        if not reasons and (blend.sums is None or not blend.sums.fits(blend.members[0])):
            reasons = [
                "its file contains no sums, because it was trained on a sample, with rows=False, or by an older version"
            ]
        able = "ridge"
    else:
        models = [member[-1] if hasattr(member, "steps") else member for member in blend.members]
        inner = [model.estimator if isinstance(model, CodedLabels) else model for model in models]
        titles = sorted(title_of(model) for model in inner if not isinstance(model, NaiveBayes))
        reasons = [f"it contains {title}, and of all classifiers only naive Bayes can be updated" for title in titles]
        able = "naive_bayes"
    if reasons:
        option, rows = ("forget=", "remaining old rows") if forgetting else ("update=", "old rows")
        raise InputError(
            f"the model cannot be updated without the old rows: {reasons[0]}.",
            f"leave {option} out and pass the {rows} as old=, or fit with models={able!r}.",
        )


def updated(
    blend: Blend | ValueBlend, added: LabeledRows | None, removed: LabeledRows | None = None
) -> Blend | ValueBlend:
    """Add rows to the facts of every member, and remove others. The old blend stays as it is."""
    if isinstance(blend, ValueBlend):
        return with_sums(blend, added, removed)
    members, counts = [], np.empty(0)
    for member in blend.members:
        new = copy.copy(member)
        new.steps = list(member.steps)
        model: NaiveBayes = copy.deepcopy(member[-1])
        prepare = member[:-1]
        if added is not None and added.n_rows:
            model.partial_fit(prepare.transform(added.X), added.y, sample_weight=added.weights)
        if removed is not None and removed.n_rows:
            try:
                model.forget(prepare.transform(removed.X), removed.y, sample_weight=removed.weights)
            except ForgetError as error:
                raise not_forgotten(error, blend.labels) from error
        new.steps[-1] = (member.steps[-1][0], model)
        members.append(new)
        codes = np.asarray(model.classes_, dtype=np.intp)
        counts = np.zeros(len(blend.labels))
        counts[codes] = model.facts_.class_rows
    return with_counts(blend, members, counts)


def with_sums(blend: ValueBlend, added: LabeledRows | None, removed: LabeledRows | None) -> ValueBlend:
    """Add rows to the sums of linear members, and remove others."""
    sums, first = blend.sums, blend.members[0]
    assert sums is not None
    if added is not None and added.n_rows:
        sums = sums.plus(first, added.X, added.y, added.weights)
    if removed is not None and removed.n_rows:
        try:
            sums = sums.minus(first, removed.X, removed.y, removed.weights)
        except ForgetError as error:
            raise not_forgotten(error, ()) from error
    return ValueBlend([sums.finished(member) for member in blend.members], blend.weights, sums)


def not_forgotten(error: ForgetError, labels: Sequence[Any]) -> InputError:
    """The error of a model that cannot forget some rows, with names of classes instead of their codes."""
    reason = (
        re.sub(r"\bclass (\d+)", lambda found: f"class {labels[int(found[1])]!r}", error.message)
        if labels
        else error.message
    )
    return InputError(
        f"the rows of forget= cannot be removed from the model: {reason}",
        "pass only rows that the model has learned, or leave forget= out and pass the remaining old rows as old=.",
    )
