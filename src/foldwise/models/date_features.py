"""`DateFeatures`: turn dates, times of day, timestamps and durations into numbers that any model can use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of
from foldwise.data.frames import as_polars
from foldwise.data.reading.dates import Shape, formats_of, instants, local_times, shape_of
from foldwise.data.validation import check_width
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.models.frame_transformer import FrameTransformer

PARTS = ("elapsed", "year", "month", "weekday", "hour", "cycles")
PLAIN_PARTS = ("elapsed", "year", "month", "weekday", "hour")  # for trees and naive Bayes, which cut ranges
SMOOTH_PARTS = ("elapsed", "year", "cycles")  # for distances and weighted sums, where December is near January
HAS: dict[Shape, tuple[str, ...]] = {
    "date": ("elapsed", "year", "month", "weekday"),
    "datetime": ("elapsed", "year", "month", "weekday", "hour"),
    "time": ("hour",),
    "duration": ("seconds",),
}
CYCLES = {"month": 12.0, "weekday": 7.0, "hour": 24.0}
DAY = 86_400e6  # microseconds


class DateFeatures(FrameTransformer):
    """Turn dates, times and durations into numbers.

    A date gives the days since the earliest date of the training rows, the year, the month and the weekday. A timestamp
    also gives the hour, with minutes as a fraction, unless all are at midnight. A time of day gives the hour, and a
    duration its seconds. Months, weekdays and hours also become points on a circle, because December is as near to
    January as to November.

    Timestamps with time zones are compared in UTC, but month, weekday and hour are those of the local time as it is
    written. Missing cells are NaN. A column without any value in the training rows becomes 0. There is no calendar of
    holidays.

    Parameters
    ----------
    parts : list of str, default=("elapsed", "year", "month", "weekday", "hour", "cycles")
        Which numbers to make. "cycles" stands for the sine and the cosine of month, weekday and hour.
    formats : mapping of str to str, default=None
        How dates in a text column are written, such as `{"day": "%d.%m.%Y"}`; "iso" means 2026-01-31 with any time of
        day and zone, "time" a time of day, and "duration" durations such as 36:15:00. By default one format must fit
        all training rows.
    days : list of str, default=None
        Columns of timestamps whose time of day is not used. By default, those whose training rows are all at midnight,
        as pandas reads days without a time.

    Attributes
    ----------
    reference_ : dict of str to float
        The earliest date of each column in the training rows, in days since 1970.
    shapes_ : dict of str to str
        What each column contains: "date", "datetime", "time" or "duration".
    formats_ : dict of str to str
        The format of each text column.
    seen_ : dict of str to bool
        Whether each column has a value in the training rows.
    feature_names_in_ : ndarray of str
        Names of the columns.

    Examples
    --------
    >>> import datetime as dt
    >>> import polars as pl
    >>> from foldwise import DateFeatures
    >>> sold = pl.DataFrame({"sold": [dt.date(2026, 1, 5), dt.date(2026, 3, 1)]})
    >>> dates = DateFeatures(parts=["elapsed", "month", "weekday"]).fit(sold)
    >>> dates.get_feature_names_out().tolist()
    ['sold_elapsed', 'sold_month', 'sold_weekday']
    >>> dates.transform(sold).tolist()
    [[0.0, 1.0, 1.0], [55.0, 3.0, 7.0]]
    """

    days: Sequence[str] | None = ()  # of models that earlier versions stored

    def __init__(
        self,
        *,
        parts: Sequence[str] = PARTS,
        formats: Mapping[str, str] | None = None,
        days: Sequence[str] | None = None,
    ) -> None:
        self.parts = parts
        self.formats = formats
        self.days = days

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the earliest date of each column, and how text is written.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
            Columns of dates, times or durations, also as text.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted transformer.
        """
        if isinstance(self.parts, str):
            raise FoldwiseTypeError(f"parts must be a list of names, got {self.parts!r}.", f"pass [{self.parts!r}].")
        for part in self.parts:
            one_of("parts", part, PARTS)
        frame = as_polars(X)
        self.n_features_in_ = frame.width
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.formats_: dict[str, str] = {}
        self.shapes_: dict[str, str] = {}
        self.reference_: dict[str, float] = {}
        self.seen_: dict[str, bool] = {}
        for column in frame:
            self.seen_[column.name] = column.null_count() < len(column)
            form = self._format_of(column)
            if form is not None:
                self.formats_[column.name] = form
            shape = shape_of_column(column, form)
            is_day = at_midnight(column) if self.days is None else column.name in self.days
            self.shapes_[column.name] = "date" if shape == "datetime" and is_day else shape
            days = days_of(column, form) if self.shapes_[column.name] in ("date", "datetime") else np.empty(0)
            self.reference_[column.name] = float(np.nanmin(days)) if np.isfinite(days).any() else 0.0
        return self

    def transform(self, X: Any) -> Floats:
        """Return the numbers.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
            Columns of the same kinds as in `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            One column per entry of `get_feature_names_out()`, with NaN for missing cells.
        """
        check_is_fitted(self)
        frame = as_polars(X)
        check_width(self, frame.width)
        found: list[Floats] = []
        for name, column in zip(self.feature_names_in_, frame, strict=True):
            values = self._values(str(name), column)
            found += [part for kept in part_names(self.shapes_[str(name)], self.parts) for part in values[kept]]
        return np.column_stack(found) if found else np.empty((frame.height, 0))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the numbers: the column, then the part.

        Parameters
        ----------
        input_features : None
            Not used; names come from the training table.

        Returns
        -------
        ndarray of str
            One name per number, such as "sold_month" or "sold_month_sin".
        """
        check_is_fitted(self)
        names = [one for name in self.feature_names_in_ for one in feature_names(name, self.shapes_[name], self.parts)]
        return np.array(names, dtype=object)

    def _format_of(self, column: pl.Series) -> str | None:
        """Return the format of a text column; None if its type tells."""
        if column.dtype.is_temporal() or column.null_count() == len(column):
            return (self.formats or {}).get(column.name)
        given = (self.formats or {}).get(column.name)
        if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
            raise FoldwiseTypeError(
                f"column {column.name!r} must contain dates, times, durations or text, but is of type {column.dtype}.",
                "apply DateFeatures to other columns, or convert this one to dates first.",
            )
        if given is not None:
            return given
        forms = formats_of(column.cast(pl.String))
        if len(forms) == 1:
            return forms[0]
        problem = (
            "does not show whether the day or the month comes first" if forms else "contains text that is not a date"
        )
        known = f"'{forms[0]}'" if forms else "'%d.%m.%Y'"
        raise InputError(
            f"column {column.name!r} {problem}, for example {column.drop_nulls()[0]!r}.",
            f"pass formats={{{column.name!r}: {known}}} to say how it is written.",
        )

    def _values(self, name: str, column: pl.Series) -> dict[str, list[Floats]]:
        """Return the parts of one column by name; those of cycles are a sine and a cosine."""
        form, shape = self.formats_.get(name), self.shapes_[name]
        if not self.seen_[name] or column.null_count() == len(column):
            blank = np.full(len(column), np.nan if self.seen_[name] else 0.0)
            return {part: [blank] for part in (*PARTS, "seconds")} | {f"{part} cycle": [blank] * 2 for part in CYCLES}
        if not column.dtype.is_temporal():
            column = readable(column, name, form)
        elif shape_of_column(column, None) != shape and {shape_of_column(column, None), shape} != {"date", "datetime"}:
            raise InputError(
                f"column {name!r} contained a {shape} when the model was fitted, but is now of type {column.dtype}.",
                "convert the column to its earlier type.",
            )
        local = local_times(column, form) if form is not None and column.dtype == pl.String else column
        found: dict[str, list[Floats]] = {}
        if shape in ("date", "datetime"):
            found["elapsed"] = [days_of(column, form) - self.reference_[name]]
            found["year"] = [floats(local.dt.year())]
            found["month"] = [floats(local.dt.month())]
            found["weekday"] = [floats(local.dt.weekday())]
        if shape == "duration":
            found["seconds"] = [floats(local.dt.total_microseconds()) / 1e6]
        if shape in ("time", "datetime"):
            found["hour"] = [hours_of(local)]
        for part, length in CYCLES.items():
            if part in found:
                angle = 2 * np.pi * found[part][0] / length
                found[f"{part} cycle"] = [np.sin(angle), np.cos(angle)]
        return found


def part_names(shape: str, parts: Sequence[str]) -> list[str]:
    """Return the parts of a column of one shape: those that were asked for and that it has."""
    has = HAS[shape]  # type: ignore[index]
    plain = [part for part in has if part in parts or part == "seconds" or (shape == "time" and "cycles" not in parts)]
    return plain + [f"{part} cycle" for part in CYCLES if part in has and "cycles" in parts]


def feature_names(name: str, shape: str, parts: Sequence[str]) -> list[str]:
    """Return the names of the features of one column.

    >>> feature_names("at", "time", ["hour", "cycles"])
    ['at_hour', 'at_hour_sin', 'at_hour_cos']
    """
    found = []
    for part in part_names(shape, parts):
        base = f"{name}_{part.removesuffix(' cycle')}"
        found += [f"{base}_sin", f"{base}_cos"] if part.endswith(" cycle") else [base]
    return found


def shape_of_column(column: pl.Series, form: str | None) -> Shape:
    """Say what a column contains, by its type or by the format of its text."""
    if column.dtype == pl.Time:
        return "time"
    if isinstance(column.dtype, pl.Duration):
        return "duration"
    if column.dtype == pl.Date:
        return "date"
    return "datetime" if isinstance(column.dtype, pl.Datetime) or form is None else shape_of(form)


def at_midnight(column: pl.Series) -> bool:
    """Whether a column contains timestamps, and all of them are at midnight.

    >>> import datetime as dt
    >>> at_midnight(pl.Series([dt.datetime(2026, 1, 5), None])), at_midnight(pl.Series([dt.datetime(2026, 1, 5, 12)]))
    (True, False)
    """
    if not isinstance(column.dtype, pl.Datetime) or column.null_count() == len(column):
        return False
    return bool((column.dt.time().drop_nulls() == dt.time.min).all())


def readable(column: pl.Series, name: str, form: str | None) -> pl.Series:
    """Return a column as text that the format fits, or refuse it."""
    if form is None or column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InputError(
            f"column {name!r} contained dates when the model was fitted, but is now of type {column.dtype}.",
            f"pass kinds={{{name!r}: 'date'}} of read_table.",
        )
    text = column.cast(pl.String)
    lost = (text.is_not_null() & local_times(text, form).is_null()).arg_true()
    if len(lost):
        row = int(lost[0])
        raise InputError(
            f"column {name!r} contained dates written as {form!r} when the model was fitted, but row {row} contains "
            f"{text[row]!r}. Rows are counted from 0.",
            "write it in the same way, or leave the cell empty.",
        )
    return text


def days_of(column: pl.Series, form: str | None) -> Floats:
    """Return days since 1970 in UTC, with fractions."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        assert form is not None
        column = instants(column, form)
    if column.dtype == pl.Date:
        return floats(column.cast(pl.Int32))
    return floats(column.dt.epoch("us")) / DAY if isinstance(column.dtype, pl.Datetime) else floats(column)


def hours_of(local: pl.Series) -> Floats:
    """Return the time of day in hours."""
    if local.dtype == pl.Date:
        return np.where(local.is_null().to_numpy(), np.nan, 0.0)
    return floats(local.dt.hour()) + floats(local.dt.minute()) / 60 + floats(local.dt.second()) / 3600


def floats(series: pl.Series) -> Floats:
    """Return a series as float64, with NaN for missing cells."""
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()
