"""Find out what a column is from its values: an identifier, a count, an ordinal scale, a text, …

These findings are for people. Estimators decide by the type of a column alone, so that all folds and batches agree.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from foldwise.data.column_scan import ColumnScan
from foldwise.data.notes import hanging
from foldwise.data.ordinal_scales import ordering_of
from foldwise.data.reading.dates import DURATION, formats_of
from foldwise.data.schema import SHOWN_COLUMNS, listing, more_columns
from foldwise.errors import InputError

FIRST_ROWS = 1000
DECIMALS = "numbers with decimals"
MANY_DIGITS = 100_000_000
FEW_ROWS = 20  # with fewer rows, values may all differ by chance
DATES = (
    (r"^\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$", "year-month-day"),
    (r"^\d{4}/\d{1,2}/\d{1,2}( \d{1,2}:\d{2}(:\d{2})?( [AaPp][Mm])?)?$", "year/month/day"),
    (r"^\d{1,2}[/.\-]\d{1,2}[/.\-](\d{2}|\d{4})( \d{1,2}:\d{2}(:\d{2})?( [AaPp][Mm])?)?$", "day, month and year"),
    (r"^\d{1,2}:\d{2}(:\d{2})?$", "a time of day"),
    (r"(?i)^-?(\d+ days?,? )?\+?\d+:\d{2}:\d{2}(\.\d+)?$", "a duration"),
    (r"^-?P(\d+[WD])*(T(\d+(\.\d+)?[HMS])+)?$", "a duration"),
    (r"(?i)^\d+\s?(days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhm]\s?\d+\s?[hms])\b", "a duration"),
    (r"^\d{1,2}[ \-][A-Za-z]{3,9}[ \-]\d{2,4}$", "day month year"),
    (r"^[A-Za-z]{3,9} \d{1,2},? \d{4}$", "month day year"),
)
IDENTIFIER_NAME = re.compile(r"(?i:(^|[_\W])(id|ids|uuid|guid|key|index|idx|rownames?|row)$)|[a-z](Id|ID)$")


@dataclass(frozen=True)
class Finding:
    """What one column looks like.

    Attributes
    ----------
    column : str
        Name of the column.
    kind : str
        "numeric", "count", "binary", "categorical", "ordinal", "text", "date", "identifier" or "constant".
    reason : str
        Why, in a few words.
    """

    column: str
    kind: str
    reason: str


@dataclass(frozen=True, repr=False)
class Findings:
    """What each column looks like, in order.

    Attributes
    ----------
    columns : tuple of Finding
        One finding per column.

    Examples
    --------
    >>> from foldwise import read_table
    >>> read_table("examples/weather.csv", target="play").findings
    outlook      categorical  3 categories
    temperature  numeric      integers from 64 to 85
    humidity     numeric      integers from 65 to 96
    windy        binary       two values: False and True
    """

    columns: tuple[Finding, ...]

    @cached_property
    def _by_name(self) -> dict[str, Finding]:
        return {finding.column: finding for finding in self.columns}

    def __getitem__(self, name: str) -> Finding:
        if name in self._by_name:
            return self._by_name[name]
        raise InputError(
            f"the table has no column {name!r}.", f"choose among {listing(f.column for f in self.columns)}."
        )

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def of_kind(self, kind: str) -> list[str]:
        """Return the columns of one kind.

        Parameters
        ----------
        kind : str
            Such as "identifier" or "text".

        Returns
        -------
        list of str
            Names of the columns.
        """
        return [finding.column for finding in self.columns if finding.kind == kind]

    def to_frame(self) -> pl.DataFrame:
        """Return the findings as a frame.

        Returns
        -------
        polars.DataFrame
            One row per column: column, kind, reason.
        """
        rows = [(finding.column, finding.kind, finding.reason) for finding in self.columns]
        return pl.DataFrame(rows, schema={"column": pl.String, "kind": pl.String, "reason": pl.String}, orient="row")

    def __repr__(self) -> str:
        shown = self.columns[:SHOWN_COLUMNS]
        names = [textwrap.shorten(f.column, 24, placeholder="…") or f.column[:24] for f in shown]
        width = max(map(len, names), default=0)
        pairs = zip(names, shown, strict=True)
        lines = [hanging(f"{name:<{width}}  {f.kind:<11}  ", f.reason) for name, f in pairs]
        return "\n".join([*lines, *more_columns(len(self))])


def findings(frame: pl.DataFrame, declared: Mapping[str, str], scan: ColumnScan | None = None) -> Findings:
    """Find out what each column of a frame looks like; declared kinds are kept."""
    scanned = {} if scan is None else scanned_findings(scan, dict(zip(frame.columns, frame.dtypes, strict=True)))

    def finding(name: str) -> Finding:
        if name in declared:
            return Finding(name, declared[name].partition(":")[0], "as declared")
        return scanned.get(name) or find(frame[name])

    return Findings(tuple(map(finding, frame.columns)))


def scanned_findings(scan: ColumnScan, types: Mapping[str, pl.DataType]) -> dict[str, Finding]:
    """Find out from a scan what columns look like, except those that may be identifiers or need a closer look."""
    found = {}
    columns = (scan.names, scan.n_present, scan.n_distinct, scan.low, scan.high, scan.has_fraction, scan.in_order)
    lists = (one if isinstance(one, tuple) else one.tolist() for one in columns)
    for name, n_present, n_distinct, low, high, has_fraction, in_order in zip(*lists, strict=True):
        is_float = types[name].is_float()
        if is_float and has_fraction and n_distinct > 2:
            found[name] = Finding(name, "numeric", DECIMALS)
        elif not is_float:
            looks = whole_numbers(name, scan.n_rows, n_present, n_distinct, (low, high), in_order)
            if looks is not None:
                found[name] = Finding(name, *looks)
    return found


def whole_numbers(
    name: str, n_rows: int, n_present: int, n_distinct: int, ends: tuple[float, float], in_order: bool
) -> tuple[str, str] | None:
    """Return the kind of a column of integers, and the reason, as `look` does; None if it may identify rows."""
    if not n_present:
        return None
    low, high = map(int, ends)
    if n_distinct <= 2:
        return few_values(low, high, n_distinct, n_present == n_rows)
    if n_distinct >= FEW_ROWS and n_distinct >= 0.99 * n_present:
        numbers_rows = n_distinct == n_rows and (in_order or abs(low) >= MANY_DIGITS)
        if numbers_rows or IDENTIFIER_NAME.search(name):
            return None
    return scale_or_count(low, high, n_distinct, n_present)


def find(column: pl.Series) -> Finding:
    """Find out what one column looks like."""
    present = column.drop_nulls()
    if column.dtype.is_float():
        present = present.drop_nans()
    kind, reason = look(present, len(column))
    return Finding(column.name, kind, reason)


def look(present: pl.Series, n_rows: int) -> tuple[str, str]:
    """Return the kind of a column, and the reason, from its cells that are not missing."""
    if not len(present):
        return "constant", "every cell is missing"
    head = present.head(FIRST_ROWS)
    if present.dtype.is_float() and head.n_unique() > 2 and bool((head != head.round()).any()):
        return "numeric", DECIMALS
    n_different = present.n_unique()
    if n_different == 1:
        return few_values(present[0], present[0], 1, len(present) == n_rows)
    if present.dtype.is_temporal():
        return "date", f"{temporal_words(present.dtype)} from {present.min()!s} to {present.max()!s}"
    if n_different == 2:
        return few_values(present.min(), present.max(), 2, len(present) == n_rows)
    if present.dtype.is_numeric():
        return look_at_numbers(present, n_rows, n_different)
    return look_at_text(present.cast(pl.String), n_rows, n_different, isinstance(present.dtype, pl.Enum))


def few_values(low: object, high: object, n_different: int, complete: bool) -> tuple[str, str]:
    """Return what a column of one or two different values is, and the reason."""
    if n_different == 2:
        return "binary", f"two values: {short(low)} and {short(high)}"
    return (
        ("constant", f"every cell is {short(low)}")
        if complete
        else ("binary", f"{short(low)} or missing, like a checkbox")
    )


def scale_or_count(low: int, high: int, n_different: int, n_present: int) -> tuple[str, str]:
    """Return what integers are that do not identify rows, and the reason."""
    if n_different <= 10 and high - low + 1 == n_different and low in (-1, 0, 1) and n_present >= 3 * n_different:
        return "ordinal", f"integers from {low} to {high}, perhaps a rating scale or codes of categories"
    return "count" if low in (0, 1) else "numeric", f"integers from {whole(low)} to {whole(high)}"


def look_at_numbers(present: pl.Series, n_rows: int, n_different: int) -> tuple[str, str]:
    if present.dtype.is_float():
        finite = present.filter(present.is_finite())
        if len(finite) < len(present) or not bool((finite == finite.round()).all()):
            return "numeric", DECIMALS
        present = finite.cast(pl.Int128, strict=False)
        if present.null_count():
            return "numeric", "very large numbers"
    low, high = int(present.min()), int(present.max())  # type: ignore[arg-type]
    if n_different == n_rows >= FEW_ROWS:
        why = numbered(present, low, high)
        if why:
            return "identifier", f"different in every row, {why}"
    if n_different >= FEW_ROWS and is_named_identifier(present, n_different):
        return "identifier", "different in nearly every row, with the name of an identifier"
    return scale_or_count(low, high, n_different, len(present))


def numbered(present: pl.Series, low: int, high: int) -> str:
    """Say why integers that are all different look like identifiers of rows; empty if they do not."""
    steps = present.diff().drop_nulls()
    if bool((steps == 1).all()):
        return f"consecutive numbers from {low}"
    if IDENTIFIER_NAME.search(present.name):
        return "with the name of an identifier"
    if abs(low) >= MANY_DIGITS:
        return "with many digits"
    # a quantity by which the file is sorted leaves wider gaps than numbers assigned one after the other
    in_order = bool((steps > 0).all()) or bool((steps < 0).all())
    return "in sorted order" if in_order and high - low < 10 * len(present) else ""


def look_at_text(present: pl.Series, n_rows: int, n_different: int, has_levels: bool) -> tuple[str, str]:
    if not has_levels:
        for pattern, words in DATES:
            if re.match(pattern, present[0]) and bool(present.str.contains(pattern).all()):
                if words in ("a duration", "a time of day"):
                    forms = formats_of(present)
                    if words == "a duration" and forms != [DURATION]:
                        continue  # 5 days late
                    words = "a duration" if forms == [DURATION] else words  # 28:15 is not a time of day
                return "date", f"text written as {words}, such as {short(present[0])}"
        if n_different > 0.2 * len(present) and n_different >= FEW_ROWS:
            long = look_at_many_texts(present, n_rows, n_different)
            if long is not None:
                return long
    order = ordering_of(present.unique().to_list())
    if order:
        return "ordinal", f"{n_different} {'levels' if has_levels else 'values'}, {order}"
    return "categorical", f"{n_different} declared levels" if has_levels else f"{n_different:,} categories"


def look_at_many_texts(present: pl.Series, n_rows: int, n_different: int) -> tuple[str, str] | None:
    """Return what many different texts are; None if they may be categories."""
    length = float(present.str.len_chars().mean() or 0)  # type: ignore[arg-type]
    if length <= 40 and not present.str.contains(r"\s").any():
        if n_different == n_rows:
            return "identifier", "a different code in every row"
        if is_named_identifier(present, n_different):
            return "identifier", "a different code in nearly every row, with the name of an identifier"
    words_each = float((present.str.count_matches(r"\s+") + 1).mean() or 0)  # type: ignore[arg-type]
    if n_different > FEW_ROWS and (words_each >= 5 or length >= 40):
        return "text", f"{n_different:,} different texts of {words_each:.0f} words on average"
    if n_different > FEW_ROWS and n_different > 0.5 * len(present):
        return "text", f"{n_different:,} different values in {len(present):,} rows, too many for categories"
    return None


def temporal_words(dtype: pl.DataType) -> str:
    """Say what a column of dates or times contains.

    >>> temporal_words(pl.Datetime("ms", "Europe/Rome")), temporal_words(pl.Duration("us"))
    ('timestamps (Europe/Rome)', 'durations')
    """
    if isinstance(dtype, pl.Datetime):
        return f"timestamps ({dtype.time_zone})" if dtype.time_zone else "timestamps"
    if isinstance(dtype, pl.Date):
        return "dates"
    return "times of day" if isinstance(dtype, pl.Time) else "durations"


def is_named_identifier(present: pl.Series, n_different: int) -> bool:
    """Whether a column has the name of an identifier and nearly all its values differ; a few rows may be repeated."""
    return n_different >= 0.99 * len(present) and IDENTIFIER_NAME.search(present.name) is not None


def whole(value: int) -> str:
    """Write an integer, with commas if it is long: a year has none.

    >>> whole(1986), whole(42085)
    ('1986', '42,085')
    """
    return f"{value:,}" if abs(value) >= 10_000 else str(value)


def short(value: object) -> str:
    """Write a value for a sentence, cut to 30 characters."""
    text = repr(value)
    return text if len(text) <= 30 else text[:28] + "…" + text[-1]
