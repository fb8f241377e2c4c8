"""Audit a table before a model is fitted: missing cells, duplicate rows, columns that reveal the target, and more.

The audit changes nothing. Checks that need a target are skipped if there is none.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from foldwise.data.check_time import CheckTime
from foldwise.data.column_scan import ColumnScan
from foldwise.data.disguised_missing import DisguisedMissing
from foldwise.data.findings import Findings, short
from foldwise.data.html import html_table
from foldwise.data.notes import WIDTH, hanging
from foldwise.data.schema import listing
from foldwise.data.target import is_quantity

RARE_ROWS = 5
NEARLY = 0.999
FIRST_ROWS = 20_000
MOST_SHOWN = 12
CHECKS = {
    "missing": "cells without a value",
    "disguised": "numbers that may stand for missing values (see missing_values=)",
    "constant": "columns with a single value",
    "identifier": "columns that identify rows (models do not use them)",
    "duplicates": "rows that occur more than once",
    "copies": "columns equal to another column",
    "target": "columns that determine the target almost completely",
    "balance": "rows per class",
    "rare": f"categories with fewer than {RARE_ROWS} rows",
    "alike": "categories that differ only in spaces or capitalization",
}


@dataclass(frozen=True)
class Concern:
    """One finding of the audit.

    Attributes
    ----------
    check : str
        Name of the check, such as "missing" or "duplicates".
    column : str
        The column concerned (for "balance" the class); empty for the whole table.
    rows : int
        How many rows are concerned.
    detail : str
        What was found, in a few words.
    """

    check: str
    column: str
    rows: int
    detail: str


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings of the audit of one table. Printing shows the first 12 of each check.

    Attributes
    ----------
    title : str
        What was audited.
    n_rows : int
        Number of rows of the table.
    concerns : tuple of Concern
        All findings, check by check.
    unchecked : tuple of str
        Sentences on columns for which the time was too short; empty if all were checked.

    Examples
    --------
    >>> from foldwise import read_table
    >>> read_table("examples/weather.csv", target="play").audit()
    Audit of table 'weather': 14 rows, 4 columns, target 'play'
    <BLANKLINE>
    balance: rows per class
      yes          9   64.3%  too few for 10-fold cross-validation
      no           5   35.7%  too few for 10-fold cross-validation
    <BLANKLINE>
    rare: categories with fewer than 5 rows
      outlook          4   28.6%  1 of 3 categories: 'overcast'
    """

    title: str
    n_rows: int
    concerns: tuple[Concern, ...]
    unchecked: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Concern]:
        return iter(self.concerns)

    def __len__(self) -> int:
        return len(self.concerns)

    def of(self, check: str) -> list[Concern]:
        """Return the findings of one check.

        Parameters
        ----------
        check : str
            Name of the check, such as "missing".

        Returns
        -------
        list of Concern
            Its findings; empty if there are none.
        """
        return [concern for concern in self.concerns if concern.check == check]

    def to_frame(self) -> pl.DataFrame:
        """Return the findings as a frame.

        Returns
        -------
        polars.DataFrame
            One row per finding: check, column, rows, share of rows, detail.
        """
        rows = [(c.check, c.column or None, c.rows, c.rows / max(1, self.n_rows), c.detail) for c in self.concerns]
        types = {"check": pl.String, "column": pl.String, "rows": pl.Int64, "share": pl.Float64, "detail": pl.String}
        return pl.DataFrame(rows, schema=types, orient="row")

    def _repr_html_(self) -> str:
        rows = [(c.check, c.column, f"{c.rows:,}", f"{c.rows / max(1, self.n_rows):.1%}", c.detail) for c in self]
        return html_table(self.title, ("check", "column", "rows", "share", "detail"), rows, align="llrrl")

    def __repr__(self) -> str:
        lines = [textwrap.fill(self.title, WIDTH)]
        for check, words in CHECKS.items():
            concerns = self.of(check)
            if concerns:
                lines += ["", f"{check}: {words}", *self._lines(concerns[:MOST_SHOWN])]
            if len(concerns) > MOST_SHOWN:
                lines.append(f"  … and {len(concerns) - MOST_SHOWN} more (to_frame() lists them all)")
        if not self.concerns:
            lines.append("no problems found")
        lines += ["", *(textwrap.fill(text, WIDTH) for text in self.unchecked)] if self.unchecked else []
        return "\n".join(lines)

    def _lines(self, concerns: list[Concern]) -> list[str]:
        names = [clipped(concern.column or "(table)") for concern in concerns]
        width = max(map(len, names))
        return [
            hanging(f"  {name:<{width}}  {one.rows:>9,}  {one.rows / max(1, self.n_rows):>6.1%}  ", one.detail)
            for name, one in zip(names, concerns, strict=True)
        ]


def clipped(name: str, most: int = 26) -> str:
    """Write a name on one line, cut to a width."""
    name = " ".join(name.split())
    return name if len(name) <= most else name[: most - 1] + "…"


def audit(
    X: pl.DataFrame,
    labels: pl.Series | None,
    findings: Findings,
    disguises: Iterable[DisguisedMissing],
    scan: ColumnScan | None = None,
    time: CheckTime | None = None,
) -> tuple[Concern, ...]:
    """Run all checks on a table; `labels` are its target, or None. A scan of wide tables rules most columns out."""
    time = CheckTime() if time is None else time
    nothing: frozenset[str] = frozenset()
    complete, unique, harmless = (
        (nothing, nothing, nothing)
        if scan is None
        else (scan.complete, scan.unique, scan.undetermining((1 - NEARLY) * X.height))
    )

    def without(columns: frozenset[str]) -> pl.DataFrame:
        return X.select([name for name in X.columns if name not in columns]) if columns else X

    concerns = [
        *missing(without(complete), labels, time),
        *(Concern("disguised", d.column, d.rows, f"{d.value:g}: {d.reason}") for d in disguises),
        *(
            Concern(kind, f.column, X.height, f.reason)
            for kind in ("constant", "identifier")
            for f in findings
            if f.kind == kind
        ),
        *duplicates(X, labels),
        *copies(without(unique), time),
    ]
    if labels is not None:
        concerns += [*giveaways(without(harmless), labels, time), *balance(labels)]
    return (*concerns, *rare(X, findings, time))


def n_missing(column: pl.Series) -> int:
    count = column.null_count()
    if column.dtype.is_float():
        count += int(column.is_nan().sum() or 0)
    return count


def in_order(concerns: list[Concern], X: pl.DataFrame) -> list[Concern]:
    """Return findings in the order of the columns."""
    index = {name: j for j, name in enumerate(X.columns)} if len(concerns) > 1 else {}
    return sorted(concerns, key=lambda concern: index.get(concern.column, 0))


def missing(X: pl.DataFrame, labels: pl.Series | None, time: CheckTime) -> list[Concern]:
    """Count the missing cells of each column, the most first, after those of the target."""
    names = time.columns("missing cells", X.columns)
    found = in_order([Concern("missing", name, n_missing(X[name]), "") for name in names], X)
    found = sorted((concern for concern in found if concern.rows), key=lambda concern: -concern.rows)
    if labels is not None and n_missing(labels):
        words = "rows without a value, which are left out"
        if not is_quantity(labels):
            words = "rows without a label, which cannot be used for training; drop_unlabeled=True leaves them out"
        found.insert(0, Concern("missing", labels.name, n_missing(labels), words))
    return found


def duplicates(X: pl.DataFrame, labels: pl.Series | None) -> list[Concern]:
    """Count the rows that repeat all cells and the label of an earlier row."""
    whole = X if labels is None else X.with_columns(labels.alias("\x00target"))
    if not whole.width or not whole.height:
        return []
    hashes = whole.hash_rows()
    if hashes.n_unique() == whole.height:  # equal rows have equal hashes, so no row is repeated
        return []
    alike = whole.filter(hashes.is_duplicated())
    rows = alike.height - alike.n_unique()
    return [Concern("duplicates", "", rows, "not counting the first copy of each")] if rows else []


def copies(X: pl.DataFrame, time: CheckTime) -> list[Concern]:
    """Find columns that equal an earlier column in every cell."""
    seen: dict[tuple[str, int], list[pl.Series]] = {}
    found = []
    hashed = {}
    for name in time.columns("copies of other columns", X.columns):
        column = X[name]
        if column.null_count() < len(column):
            hashed[name] = (str(column.dtype), int(column.hash(seed=0).sum() or 0))
    for name in X.columns if hashed else ():
        key = hashed.get(name)
        if key is None:
            continue
        column = X[name]
        equal = next((other for other in seen.get(key, []) if other.equals(column, null_equal=True)), None)
        if equal is not None:
            found.append(Concern("copies", column.name, len(column), f"equal to {short(equal.name)}"))
        else:
            seen.setdefault(key, []).append(column)
    return found


def balance(labels: pl.Series) -> list[Concern]:
    """Count the rows of each class, the largest first; nothing if the target is a quantity."""
    if is_quantity(labels):
        return []
    present = labels.drop_nans() if labels.dtype.is_float() else labels
    counts = present.drop_nulls().value_counts(sort=True)
    return [
        Concern("balance", str(label), int(rows), "too few for 10-fold cross-validation" if rows < 10 else "")
        for label, rows in counts.iter_rows()
    ]


def giveaways(X: pl.DataFrame, labels: pl.Series, time: CheckTime | None = None) -> list[Concern]:
    """Find columns that determine the target in nearly every row."""
    quantity = is_quantity(labels)
    if labels.dtype == pl.String:
        labels = labels.cast(pl.Categorical).to_physical()  # numbers are grouped and sorted faster
    n_labels = labels.drop_nulls().n_unique()
    found = []
    for name in (time or CheckTime()).columns("leaks of the target", X.columns):
        column = X[name]
        pair = pl.DataFrame({"cell": column, "label": labels})
        share = correlation(pair.drop_nulls()) if quantity else share_determined(pair, n_labels)
        if share >= NEARLY:
            rows = len(column) - int((column.is_null() | labels.is_null()).sum() or 0)
            words = "of its variance is shared with the target" if quantity else "of its values determine the class"
            found.append(Concern("target", column.name, round(share * rows), f"{share:.2%} {words}"))
    return in_order(found, X)


def correlation(pair: pl.DataFrame) -> float:
    """Return the squared correlation of two numeric columns; 0 for other columns."""
    if not pair["cell"].dtype.is_numeric():
        return 0.0
    cells, labels = (pair[name].cast(pl.Float64).to_numpy() for name in ("cell", "label"))
    keep = np.isfinite(cells) & np.isfinite(labels)
    cells, labels = cells[keep], labels[keep]
    if len(cells) < 20 or np.ptp(cells) == 0 or np.ptp(labels) == 0:
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(np.corrcoef(cells, labels)[0, 1] ** 2))


def share_determined(pair: pl.DataFrame, n_labels: int) -> float:
    """Return the share of rows whose class follows from a column.

    A column with few distinct values is used by its categories, another one by cutting its range. The result is 0
    unless it is nearly every row and much better than always predicting the most frequent class. The first rows cannot
    hold more mistakes than all rows, so most columns are ruled out by them.
    """
    first, most = pair.head(FIRST_ROWS).drop_nulls(), (1 - NEARLY) * pair.height
    is_cut = pair["cell"].dtype.is_numeric() and wrong_by_cuts(first, n_labels) <= most
    is_group = wrong_by_category(first) <= most
    if not (is_cut or is_group):
        return 0.0
    pair = pair.drop_nulls()
    n_cells = pair["cell"].n_unique()
    few = n_cells <= 0.2 * pair.height
    if pair.height < 20 or n_cells < 2 or not (is_group if few else is_cut):
        return 0.0
    wrong = wrong_by_category(pair) if few else wrong_by_cuts(pair, n_labels)
    commonest = int(pair["label"].value_counts()["count"].max() or 0)  # type: ignore[arg-type]
    others = pair.height - commonest
    return 1 - wrong / pair.height if others and wrong <= 0.1 * others else 0.0


def wrong_by_category(pair: pl.DataFrame) -> int:
    """Count the rows that are not of the most frequent class of their category."""
    counts = pair.group_by("cell", "label").len().group_by("cell").agg(pl.col("len").max())
    return pair.height - int(counts["len"].sum())


def wrong_by_cuts(pair: pl.DataFrame, n_labels: int) -> int:
    """Count how often the class changes along the sorted column, beyond once from each class to the next."""
    ordered = pair.sort("cell", "label")["label"]
    return max(0, int((ordered != ordered.shift()).sum() or 0) - (n_labels - 1))


def rare(X: pl.DataFrame, findings: Findings, time: CheckTime) -> list[Concern]:
    """Find categories with few rows, and categories that differ only in spaces or capitalization."""
    found = []
    types = dict(zip(X.columns, X.dtypes, strict=True))
    texts = [
        finding.column
        for finding in findings
        if finding.kind in ("categorical", "ordinal")
        and not (types[finding.column].is_numeric() or types[finding.column].is_temporal())
    ]
    for name in time.columns("rare categories", texts):
        column = X[name]
        counts = column.cast(pl.String).drop_nulls().rename("level").value_counts()
        few = counts.filter(pl.col("count") < RARE_ROWS).sort("count", "level")
        if few.height:
            words = f"{few.height} of {counts.height} categories: {listing(few['level'].to_list(), 3)}"
            found.append(Concern("rare", name, int(few["count"].sum()), words))
        plain = counts.group_by(pl.col("level").str.strip_chars().str.to_lowercase()).agg(
            pl.col("level").sort().alias("levels"), pl.col("count").sum()
        )
        for _, levels, rows in plain.sort("level").iter_rows():
            if len(levels) > 1:
                found.append(Concern("alike", name, rows, listing(levels, 4)))
    return in_order(found, X)
