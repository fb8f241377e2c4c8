"""What is suspected about columns: identifiers, groups of rows, and the order of time.

These are suggestions for people. Nothing is left out of a table because of a suspicion.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.findings import DECIMALS, FEW_ROWS, IDENTIFIER_NAME, MANY_DIGITS, Finding

SUSPECTED = 0.9  # of the values differ: perhaps they identify rows
DENSE = 0.2  # share of the whole numbers between the lowest and the highest that occur
EVEN = 0.5  # standard deviation of the gaps between numbers, as a share of their mean; 1 for random numbers
CODE_DIGITS = 5  # of numbers that all have the same number of digits
UNIFORM = 1.63  # √n × Kolmogorov-Smirnov distance: the 99% point

GROUP_NAME = re.compile(
    r"(?i:(^|[_\W])(patient|subject|person|speaker|user|customer|client|household|family|participant|student|pupil|author"
    r"|donor|animal|individual|respondent|device|store|shop|school|hospital|site)"
    r"([_\W]?(id|ids|uuid|guid|number|no|nr|num|code|key))?$)|(?i:(^|[_\W])(id|uuid|guid)$)|[a-z](Id|ID)$"
)
NUMBERED_NAME = re.compile(r"(?i:(id|ids|uuid|guid|number|no|nr|num|code|key)$)")
ENTITY_NAME = re.compile(
    r"(?i:(^|[_\W])(country|nation|state|province|county|region|district|city|town|village|firm|company|team|player)"
    r"([_\W]?(name|id|code|no|nr))?$)"
)
TIME_NAME = re.compile(
    r"(?i:(^|[_\W])(year|yr|quarter|month|week|day|date|time|hour|minute|second|period|season|wave|round|visit|age|julday|doy)s?$)"
)
BIRTH_NAME = re.compile(r"(?i:birth|born|dob$)")
FEWEST_NAMED = 5  # groups in a column of text with the name of groups
FEWEST_NUMBERED = 15  # in one of whole numbers, which may be a scale unless its name is that of an identifier
FEWEST_ENTITIES = 10
FEWEST_GROUPS = 24  # whatever the name
MOST_ROWS = 50  # per group, unless the name says more
MOST_ROWS_OF_ENTITY = 500
DISPERSION = 0.4  # variance of the rows per group over their mean; 1 if groups are drawn at random
VARIATION = 0.25  # standard deviation of the rows per group over their mean
MOST_VARIATION_OF_ENTITIES = 0.5
RESTARTING = 0.8  # of the steps from row to row are +1: a number that counts rows within something

FEWEST_TIMES = 10
ONE_WAY = 0.9  # of the steps in time have the same sign; half of them if rows have no order


def suspected_identifier(column: pl.Series, finding: Finding) -> str:
    """Say why a column that is used may identify rows; empty if it does not look so.

    Nearly all of its values differ, although they are text of a few words or whole numbers. Amounts are whole numbers,
    too, but they are spread irregularly over a wide range.
    """
    if finding.kind not in ("text", "categorical", "numeric", "count") or finding.reason == DECIMALS:
        return ""
    present = text_or_whole(column)
    if present is None or is_long_text(present):
        return ""
    n_different = present.n_unique()
    if n_different < FEW_ROWS or n_different < SUSPECTED * len(present):
        return ""
    if present.dtype.is_numeric() and not IDENTIFIER_NAME.search(column.name) and not looks_assigned(present):
        return ""
    return f"{n_different:,} different values in {len(present):,} rows"


def looks_assigned(present: pl.Series) -> bool:
    """Whether whole numbers look like codes: densely or evenly spaced, or uniform over numbers of the same length."""
    values = np.unique(present.cast(pl.Float64).to_numpy())
    low, high = values[0], values[-1]
    gaps = np.diff(values)
    if len(values) >= DENSE * (high - low + 1) or gaps.std() <= EVEN * gaps.mean():
        return True
    digits = len(str(abs(int(low))))
    if low < 0 or digits < CODE_DIGITS or digits != len(str(int(high))):
        return False
    if low >= MANY_DIGITS:
        return True
    ranks = (np.arange(len(values)) + 0.5) / len(values)
    return bool(np.abs((values - low) / (high - low) - ranks).max() <= UNIFORM / np.sqrt(len(values)))


def suspected_groups(column: pl.Series, finding: Finding) -> str:
    """Say why a column may name groups of rows; empty if it does not look so.

    It has many values, each in about the same small number of rows. A name such as "patient" replaces some of this.
    """
    if finding.kind not in ("text", "categorical", "ordinal", "numeric", "count") or finding.reason == DECIMALS:
        return ""
    present = text_or_whole(column)
    if present is None:
        return ""
    n_different = present.n_unique()
    if not could_be_groups(column.name, n_different, len(present)) or is_long_text(present):
        return ""
    if not (is_named_group(present, n_different) or is_regular_group(present, n_different)):
        return ""
    rows = f"{len(present) / n_different:,.1f}".removesuffix(".0")
    return f"{n_different:,} values with {rows} rows each"


def could_be_groups(name: str, n_different: int, n_present: int) -> bool:
    """Whether the numbers of different values and of rows allow groups at all."""
    if n_different < FEWEST_NAMED or 3 * n_different > 2 * n_present:
        return False
    most = MOST_ROWS_OF_ENTITY if ENTITY_NAME.search(name) else MOST_ROWS
    return n_present <= most * n_different or GROUP_NAME.search(name) is not None


def is_named_group(present: pl.Series, n_different: int) -> bool:
    """Whether a column with the name of groups may name groups. Numbers need many values, or regular ones."""
    if not GROUP_NAME.search(present.name):
        return False
    if not present.dtype.is_numeric():
        return True
    says_number = NUMBERED_NAME.search(present.name) is not None  # "school" may also be years of schooling
    if n_different < (FEWEST_GROUPS if says_number else 2 * FEWEST_GROUPS):
        return (says_number or n_different >= FEWEST_NUMBERED) and is_even(rows_of_values(present))
    return says_number or len(present) <= MOST_ROWS * n_different


def is_regular_group(present: pl.Series, n_different: int) -> bool:
    """Whether the number of rows per value is small and nearly constant, as in a panel."""
    mean = len(present) / n_different
    is_number = present.dtype.is_numeric()
    is_entity = not is_number and ENTITY_NAME.search(present.name) is not None
    fewest, most = (FEWEST_ENTITIES, MOST_ROWS_OF_ENTITY) if is_entity else (FEWEST_GROUPS, MOST_ROWS)
    if n_different < fewest or not 2 <= mean <= most:
        return False
    if TIME_NAME.search(present.name):
        return False
    sizes = rows_of_values(present)
    if is_entity:
        return bool(sizes.std() <= MOST_VARIATION_OF_ENTITIES * mean)
    if not is_even(sizes):
        return False
    steps = present.cast(pl.Float64).diff() if is_number else None
    return steps is None or float((steps == 1).mean() or 0) < RESTARTING  # type: ignore[arg-type]


def is_even(sizes: NDArray[np.int64]) -> bool:
    """Whether numbers of rows are much more alike than if the rows had drawn their values at random."""
    return bool(sizes.var() <= min(DISPERSION * sizes.mean(), (VARIATION * sizes.mean()) ** 2))


def rows_of_values(present: pl.Series) -> NDArray[np.int64]:
    """Count the rows of each value."""
    return present.rename("value").value_counts()["count"].cast(pl.Int64).to_numpy()


def text_or_whole(column: pl.Series) -> pl.Series | None:
    """Return the cells of a column of text or whole numbers that are not missing; None for other columns."""
    dtype = column.dtype
    present = column.drop_nulls()
    if dtype.is_float():
        present = present.drop_nans()
        return present if bool((present == present.round()).all() and present.is_finite().all()) else None
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return present.cast(pl.String)
    return present if dtype.is_integer() or dtype == pl.String else None


def is_long_text(present: pl.Series) -> bool:
    """Whether cells are texts of five or more words on average."""
    if present.dtype != pl.String:
        return False
    return float((present.str.count_matches(r"\s+") + 1).mean() or 0) >= 5  # type: ignore[arg-type]


def orders_rows(times: pl.Series, groups: list[pl.Series]) -> bool:
    """Whether dates or timestamps order the rows of a table, or the rows within each group of one of some columns.

    >>> import datetime as dt
    >>> days = [dt.date(2026, 1, 1) + dt.timedelta(days=k) for k in range(20)]
    >>> orders_rows(pl.Series("day", days * 3), [])
    True
    >>> orders_rows(pl.Series("day", days[::3] + days[1::3] + days[2::3]), [])
    False
    """
    if times.null_count() or BIRTH_NAME.search(times.name) or times.n_unique() < FEWEST_TIMES:
        return False
    codes = times.rank("dense").cast(pl.Int64).to_numpy()
    if is_one_way(np.diff(codes)):
        return True
    for group in groups:
        units = group.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
        order = np.argsort(units, kind="stable")
        steps = np.diff(codes[order])[np.diff(units[order]) == 0]
        if np.count_nonzero(steps) >= len(times) / 2 and is_one_way(steps):
            return True
    return False


def is_one_way(steps: NDArray[np.int64]) -> bool:
    """Whether nearly all steps go up, or nearly all go down; equal neighbors do not count."""
    up, down = np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)
    return bool(up + down > 0 and max(up, down) >= ONE_WAY * (up + down))
