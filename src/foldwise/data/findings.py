"""What the values of a column say it is, and why: a description for people, beside the kind of its type.

Estimators never see it: what they do with a column depends on its type alone, so that folds and batches agree.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from foldwise.data.notes import WIDTH
from foldwise.data.scales import ordered_by
from foldwise.data.schema import listing
from foldwise.errors import InputError

FEW_ROWS = 20  # below this, all values being different says nothing
DATES = (
    (r"^\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$", "year-month-day"),
    (r"^\d{4}/\d{1,2}/\d{1,2}$", "year/month/day"),
    (r"^\d{1,2}[/.\-]\d{1,2}[/.\-](\d{2}|\d{4})( \d{1,2}:\d{2}(:\d{2})?)?$", "days, months and years"),
    (r"^\d{1,2}:\d{2}(:\d{2})?$", "times of day"),
    (r"^\d{1,2}[ \-][A-Za-z]{3,9}[ \-]\d{2,4}$", "day month year"),
    (r"^[A-Za-z]{3,9} \d{1,2},? \d{4}$", "month day year"),
)
IDENTIFIER_NAME = re.compile(r"(?i:(^|[_\W])(id|ids|uuid|guid|key|index|idx|rownames?|row)$)|[a-z](Id|ID)$")


@dataclass(frozen=True)
class Finding:
    """One column: its name, what it looks like, and the reason."""

    column: str
    kind: str
    reason: str


@dataclass(frozen=True, repr=False)
class Findings:
    """What each column looks like, in order."""

    columns: tuple[Finding, ...]

    def __getitem__(self, name: str) -> Finding:
        for finding in self.columns:
            if finding.column == name:
                return finding
        raise InputError(f"there is no column {name!r}.", f"it has {listing(f.column for f in self.columns)}.")

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def of_kind(self, kind: str) -> list[str]:
        """The columns of one kind."""
        return [finding.column for finding in self.columns if finding.kind == kind]

    @property
    def frame(self) -> pl.DataFrame:
        """The same as a frame."""
        rows = [(finding.column, finding.kind, finding.reason) for finding in self.columns]
        return pl.DataFrame(rows, schema={"column": pl.String, "kind": pl.String, "reason": pl.String}, orient="row")

    def __repr__(self) -> str:
        names = [textwrap.shorten(f.column, 24, placeholder="…") or f.column[:24] for f in self.columns]
        width = max(map(len, names), default=0)
        lines = []
        for name, finding in zip(names, self.columns, strict=True):
            start = f"{name:<{width}}  {finding.kind:<11}  "
            lines.append(textwrap.fill(start + finding.reason, WIDTH, subsequent_indent=" " * len(start)))
        return "\n".join(lines)


def findings(frame: pl.DataFrame, declared: Mapping[str, str]) -> Findings:
    """What each column of a frame looks like; what was declared is not looked for."""
    return Findings(
        tuple(
            Finding(column.name, declared[column.name], "as declared") if column.name in declared else find(column)
            for column in frame
        )
    )


def find(column: pl.Series) -> Finding:
    """What one column looks like."""
    present = column.drop_nulls()
    if column.dtype.is_float():
        present = present.drop_nans()
    kind, reason = look(present, len(column))
    return Finding(column.name, kind, reason)


def look(present: pl.Series, n_rows: int) -> tuple[str, str]:
    """The kind of the present cells of a column, and the reason."""
    n_different = present.n_unique()
    if not len(present):
        return "constant", "every cell is missing"
    if n_different == 1:
        if len(present) == n_rows:
            return "constant", f"every cell is {short(present[0])}"
        return "binary", f"{short(present[0])} or missing, like a box that is ticked or not"
    if present.dtype.is_temporal():
        return "date", f"{present.dtype} from {present.min()!s} to {present.max()!s}"
    if n_different == 2:
        return "binary", f"two values, {short(present.min())} and {short(present.max())}"
    if present.dtype.is_numeric():
        return look_at_numbers(present, n_rows, n_different)
    return look_at_text(present.cast(pl.String), n_rows, n_different, isinstance(present.dtype, pl.Enum))


def look_at_numbers(present: pl.Series, n_rows: int, n_different: int) -> tuple[str, str]:
    if present.dtype.is_float():
        finite = present.filter(present.is_finite())
        if len(finite) < len(present) or not bool((finite == finite.round()).all()):
            return "numeric", "numbers with a fraction"
        present = finite.cast(pl.Int128, strict=False)
        if present.null_count():
            return "numeric", "very large numbers"
    low, high = int(present.min()), int(present.max())  # type: ignore[arg-type]
    if n_different == n_rows >= FEW_ROWS:
        why = numbered(present, low)
        if why:
            return "identifier", f"different in every row, {why}"
    if n_different <= 10 and high - low + 1 == n_different and low in (-1, 0, 1) and len(present) >= 3 * n_different:
        return "ordinal", f"the whole numbers {low} to {high}, each often: a scale, or a code for categories"
    if low in (0, 1):
        return "count", f"whole numbers from {low} to {high:,}"
    return "numeric", f"whole numbers from {low:,} to {high:,}"


def numbered(present: pl.Series, low: int) -> str:
    """Why whole numbers that are all different look like names of rows; empty where they do not."""
    steps = present.diff().drop_nulls()
    if bool((steps == 1).all()):
        return f"counting from {low}"
    if bool((steps > 0).all()) or bool((steps < 0).all()):
        return "in order"
    if IDENTIFIER_NAME.search(present.name):
        return "and called like one"
    return "and long" if abs(low) >= 100_000_000 else ""


def look_at_text(present: pl.Series, n_rows: int, n_different: int, has_levels: bool) -> tuple[str, str]:
    if has_levels:
        order = ordered_by(present.unique().to_list())
        return (
            ("ordinal", f"{n_different} levels, {order}")
            if order
            else ("categorical", f"{n_different} declared levels")
        )
    for pattern, words in DATES:
        if re.match(pattern, present[0]) and bool(present.str.contains(pattern).all()):
            return "date", f"text that holds {words}, such as {short(present[0])}"
    lengths = present.str.len_chars()
    length = float(lengths.mean() or 0)  # type: ignore[arg-type]
    if n_different == n_rows >= FEW_ROWS and length <= 40 and not present.str.contains(r"\s").any():
        return "identifier", "a different code in every row"
    words_each = float((present.str.count_matches(r"\s+") + 1).mean() or 0)  # type: ignore[arg-type]
    if n_different > 0.2 * len(present) and n_different > FEW_ROWS and (words_each >= 5 or length >= 40):
        return "text", f"{n_different:,} different texts of {words_each:.0f} words on average"
    if n_different > 0.5 * len(present) and n_different > FEW_ROWS:
        return "text", f"{n_different:,} different values in {len(present):,} rows: hardly categories"
    order = ordered_by(present.unique().to_list())
    if order:
        return "ordinal", f"{n_different} values, {order}"
    return "categorical", f"{n_different:,} categories"


def short(value: object) -> str:
    """A value for a sentence."""
    text = repr(value)
    return text if len(text) <= 30 else text[:28] + "…" + text[-1]
