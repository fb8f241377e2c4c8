"""What the page of a table shows: counts agree with plain counts, and every picture has words."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl

from foldwise.app.workbench.column_cards import distribution
from foldwise.app.workbench.describing import N_BINS, describe, describe_column

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_a_table_with_a_target() -> None:
    facts = describe(str(EXAMPLES / "loans.csv"), {}, "repaid")
    frame = pl.read_csv(EXAMPLES / "loans.csv")
    assert (facts["n_rows"], facts["names"]) == (frame.height, frame.columns)
    assert facts["detected"]["separator"] == ","
    assert facts["target"] == {"task": "classification", "classes": ["no", "yes"], "n_classes": 2}
    assert [one["check"] for one in facts["audit"]] == ["missing"]
    columns = {one["name"]: one for one in facts["columns"]}
    assert columns["income"]["missing"] == frame["income"].null_count() / frame.height
    assert columns["purpose"]["values"] == [
        (row["purpose"], row["count"]) for row in frame["purpose"].value_counts(sort=True).to_dicts()
    ]
    assert columns["income"]["bins"]["counts"] == np.histogram(frame["income"].drop_nulls(), N_BINS)[0].tolist()
    assert describe(str(EXAMPLES / "loans.csv"), {"separator": ";"})["n_columns"] == 1


def test_unusual_columns() -> None:
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(100)]
    bins = describe_column(pl.Series("day", days), "date", "")["bins"]
    assert sum(bins["counts"]) == 100
    assert (bins["low"], bins["high"]) == ("2024-01-01", "2024-04-09")
    wild = pl.Series("x", [float("inf"), float("nan"), None, -1e308, 1e308, *map(float, range(20))])
    assert sum(describe_column(wild, "numeric", "")["bins"]["counts"]) == 22
    assert describe_column(pl.Series("none", [None, None], dtype=pl.Float64), "constant", "")["values"] == []


def test_pictures_have_words_and_escape_names() -> None:
    column = describe_column(pl.Series("<b>", range(50)), "numeric", "")
    drawn = distribution(column)
    assert drawn is not None
    assert "Histogram of &lt;b&gt;: from 0 to 49, half of the rows below 24.5." in drawn
    assert drawn.count("<rect") == N_BINS
    values = distribution(describe_column(pl.Series("c", ["<i>", "<i>", ""]), "categorical", ""))
    assert values is not None
    assert "&lt;i&gt;" in values
    assert "(empty text)" in values
