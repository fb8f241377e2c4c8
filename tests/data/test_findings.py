"""What columns look like by their values, numbers that may mean missing, and the audit of a table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise import NaiveBayes, read_table
from foldwise.data.audit import CHECKS
from foldwise.data.disguised_missing import find_disguised_missing
from foldwise.data.findings import find
from foldwise.errors import InputError
from tests.tables import catalogue, needs_real_tables, table_path

N = 60
KINDS = {
    "numeric": [
        [0.5 * i for i in range(N)],
        [i % 40 + 100 for i in range(N)],
        [float("inf"), 1.0, 2.0],
        [-5, 3, 9] * 9,
    ],
    "count": [[i % 30 for i in range(N)], [1.0, 2.0, 8.0, 3.0] * 9, [0, 3, 8, 100]],
    "binary": [[True, False], [0, 1, None], ["yes", "no"], [1.5, 2.5, 1.5], ["x", None, "x"]],
    "categorical": [["red", "green", "blue"] * 9, ["a1", "b2", "c3", "a1"]],
    "ordinal": [
        [1, 2, 3, 4, 5] * 9,
        ["low", "high", "medium"] * 9,
        ["18-29", "30-44", "> 60"] * 9,
        ["$0 - $24,999", "$25,000 - $49,999", "$150,000+"] * 9,
        ["Very_High", "Low", "Medium"] * 3,
    ],
    "text": [
        [f"the {i}th of many words in a row" for i in range(N)],
        [f"Ticket {i}" for i in range(N)],
    ],
    "date": [
        ["2026-01-31", "2026-02-01", "2025-12-31"],
        ["1/31/06", "2/1/06", "3/1/06"],
        ["18:00:00", "19:30:00", "1:00:00"],
    ],
    "identifier": [
        list(range(1, N)),
        list(range(7, 7 * N, 7)),
        [f"P{i:04}" for i in range(N)],
        [3_292_879_998 - i * i for i in range(N)],
    ],
    "constant": [[3, 3, 3], ["x", "x"], [None, None]],
}


@pytest.mark.parametrize(("kind", "cells"), [(kind, cells) for kind, all_cells in KINDS.items() for cells in all_cells])
def test_kinds_from_values(kind, cells):
    finding = find(pl.Series("some", cells, strict=False))
    assert finding.kind == kind
    assert finding.reason


def test_names_help_to_tell_identifiers():
    cells = [(i * 37) % 101 + 200 for i in range(100)]
    assert find(pl.Series("score", cells)).kind == "numeric"
    assert find(pl.Series("customer_id", cells)).kind == "identifier"
    assert find(pl.Series("paid", cells)).kind == "numeric"


def test_repeated_rows_do_not_hide_an_identifier():
    numbers = [(i * 37) % 1009 + 200 for i in range(1000)]
    for cells in (numbers, [f"K{i}" for i in numbers]):
        assert find(pl.Series("customer_id", cells + cells[:5])).kind == "identifier"
        assert find(pl.Series("customer_id", cells + cells[:500])).kind != "identifier"
        assert find(pl.Series("score", cells + cells[:5])).kind != "identifier"


def test_a_sorted_quantity_is_no_identifier():
    assert find(pl.Series("circulation", [1_000_000 - 997 * i for i in range(50)])).kind == "numeric"
    assert find(pl.Series("rownames", [3 * i + 1 for i in range(50)])).kind == "identifier"
    assert find(pl.Series("employee", [3 * i + 1 for i in range(50)])).kind == "identifier"


def test_findings_of_a_table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(
        "id,color,size\n" + "".join(f"{i},{['red', 'green', 'blue'][i % 3]},{i % 5}.5\n" for i in range(30))
    )
    table = read_table(path, kinds={"color": "text"})
    assert [finding.kind for finding in table.findings] == ["identifier", "text", "numeric"]
    assert table.findings["color"].reason == "as declared"
    assert table.findings.of_kind("identifier") == ["id"]
    assert table.findings.to_frame().columns == ["column", "kind", "reason"]
    assert "drop='id'" in str(table.notes.about("identifier"))
    assert max(map(len, str(table.findings).split("\n"))) <= 80
    with pytest.raises(InputError, match="no column 'z'"):
        table.findings["z"]
    for kind in ("identifier", "constant", "ordinal"):
        assert read_table(path, kinds={"color": kind}).findings["color"].kind == kind
    counted = read_table(path, kinds={"size": "count", "id": "identifier"})
    assert counted.X["id"].dtype == pl.String
    assert NaiveBayes().fit(table.X, ["a", "b"] * 15).predict(table.X).shape == (30,)


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ([5.0, 7.5, 6.0, 9.0, 8.0, 7.0, 6.5] * 9 + [-200.0] * 5, -200),
        ([31, 40, 55, 22, 63, 71, 18] * 9 + [999] * 2, 999),
        ([31, 40, 55, 22, 63, 71, 18] * 9 + [0] * 9, 0),
        ([31, 40, 55, 22, 63, 71, 18] * 9 + [-1] * 2, -1),
        ([0, 1, 2, 3, 4, 5, 6] * 9, None),
        ([0.0, 0.1, 0.2, 0.35, 0.5, 0.6] * 9, None),
        ([-3.0, -200.0, -150.0, 20.0, 80.0, -90.0] * 9, None),
        ([31, 40, 55, 22, 63, 71, 99] * 9, None),
        (["a", "b"] * 9, None),
    ],
)
def test_disguised_missing_cells(cells, value):
    found = find_disguised_missing(pl.Series("c", cells))
    assert (found.value if found else None) == value


def test_disguises_are_suggested_and_never_changed(tmp_path):
    path = tmp_path / "air.csv"
    cells = [2.6, 3.1, 1.9, 2.2, 4.0, 3.3, -200] * 5
    path.write_text("co,zero\n" + "".join(f"{cell},{i % 3}\n" for i, cell in enumerate(cells)))
    table = read_table(path)
    assert (table.X["co"] == -200).sum() == 5
    assert "5 cells of 'co' hold -200" in " ".join(map(str, table.notes))
    assert table.X.null_count().row(0) == (0, 0)
    cleaned = read_table(path, missing_values={"co": -200})
    assert cleaned.X.null_count().row(0) == (5, 0)
    assert cleaned.X["zero"].to_list() == table.X["zero"].to_list()
    with pytest.raises(InputError, match="missing_values refers to column 'z'"):
        read_table(path, missing_values={"z": 0})


def test_tokens_of_one_column_let_it_be_numbers(tmp_path):
    path = tmp_path / "units.csv"
    path.write_text("a,b\n1,x\n2,unknown yet\nunknown yet,y\n")
    table = read_table(path, missing_values={"a": ["unknown yet"]})
    assert table.X["a"].to_list() == [1, 2, None]
    assert table.X["b"].to_list() == ["x", "unknown yet", "y"]


@pytest.fixture
def messy(tmp_path):
    rng = np.random.default_rng(3)
    n = 200
    label = rng.integers(0, 2, n)
    frame = pl.DataFrame(
        {
            "id": list(range(1, n + 1)),
            "color": [["red", "Red ", "blue", "green"][i] for i in rng.choice(4, n, p=[0.6, 0.01, 0.38, 0.01])],
            "leak": ["won" if value else "lost" for value in label],
            "cut": label * 10 + rng.random(n),
            "noise": rng.normal(size=n),
            "again": rng.normal(size=n),
            "nothing": ["x"] * n,
            "gaps": [None if i % 4 else 1.5 * i for i in range(n)],
            "label": label,
        }
    ).with_columns(pl.col("noise").alias("again"))
    frame.write_csv(tmp_path / "messy.csv")
    return read_table(tmp_path / "messy.csv", target="label")


def test_audit(messy):
    audit = messy.audit()
    assert [c.column for c in audit.of("target")] == ["leak", "cut"]
    assert [c.column for c in audit.of("constant")] == ["nothing"]
    assert [c.column for c in audit.of("identifier")] == ["id"]
    assert [c.column for c in audit.of("copies")] == ["again"]
    assert [(c.column, c.rows) for c in audit.of("missing")] == [("gaps", 150)]
    assert sum(c.rows for c in audit.of("balance")) == 200
    assert "green" in audit.of("rare")[0].detail
    assert [c.detail for c in audit.of("alike")] == ["'Red ', 'red'"]
    assert audit.of("duplicates") == []
    assert audit.to_frame().columns == ["check", "column", "rows", "share", "detail"]
    assert audit.to_frame().height == len(audit) == len(list(audit))
    text = str(audit)
    assert max(map(len, text.split("\n"))) <= 80
    assert all(f"{check}: " in text for check in CHECKS if audit.of(check))
    assert "messy" in audit._repr_html_()


def table_of(folder, target="y", **columns):
    pl.DataFrame(columns).write_csv(folder / "t.csv")
    return read_table(folder / "t.csv", target=target)


def test_columns_do_not_give_a_rare_class_away_by_naming_the_other(tmp_path):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20_000) % 2000 == 7, "fraud", "fine")
    table = table_of(
        tmp_path,
        color=rng.choice(["a", "b", "c"], len(y)),
        count=rng.integers(0, 50, len(y)),
        size=rng.normal(size=len(y)),
        flag=y == "fraud",
        only_fine=np.where(y == "fraud", "", rng.choice(["p", "q"], len(y))),
        y=y,
    )
    assert [concern.column for concern in table.audit().of("target")] == ["flag"]


def test_audit_by_first_rows_is_that_of_all_rows(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 3000)
    wrong = rng.random(3000)
    columns = {f"near{k}": np.where(wrong < k / 3000, (y + 1) % 3, y) for k in range(0, 8)}
    columns |= {f"cut{k}": np.where(wrong < k / 3000, (y + 1) % 3, y) + rng.random(3000) / 2 for k in range(0, 8)}
    columns |= {f"noise{k}": rng.integers(0, 10**k, 3000) for k in range(1, 5)}
    columns["gaps"] = [None if i % 3 else str(label) for i, label in enumerate(y)]
    table = table_of(tmp_path, y=y, **columns)
    found = {}
    for first_rows in (30, 500, 10**9):
        monkeypatch.setattr("foldwise.data.audit.FIRST_ROWS", first_rows)
        found[first_rows] = table.audit().concerns
    assert found[30] == found[500] == found[10**9]
    assert {"near0", "cut0", "gaps"} <= {c.column for c in found[30] if c.check == "target"}
    assert not {"near7", "cut7", "noise1"} & {c.column for c in found[30] if c.check == "target"}


def test_duplicates_are_counted_as_distinct_rows_are(tmp_path):
    rng = np.random.default_rng(2)
    table = table_of(tmp_path, a=rng.integers(0, 20, 500), b=rng.choice(["p", "q", ""], 500), y=rng.integers(0, 2, 500))
    distinct = len(set(zip(*(column.to_list() for column in table.X), table.y.tolist(), strict=True)))
    assert [concern.rows for concern in table.audit().of("duplicates")] == [500 - distinct]


def test_audit_of_next_to_nothing(tmp_path):
    for text in ("a,b\n", "a\n1\n2\n", "a,b\n1,2\n"):
        (tmp_path / "t.csv").write_text(text)
        assert str(read_table(tmp_path / "t.csv").audit()).startswith("Audit of")


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry["name"])
def test_audit_finds_what_is_catalogued(entry):
    table = read_table(entry["path"], target=entry["target"] or None)
    audit = table.audit()
    assert sum(c.rows for c in audit.of("duplicates")) == int(entry["duplicate_rows"])
    assert len(audit.of("constant")) == int(entry["constant_columns"])
    assert sum(c.rows for c in audit.of("missing")) == int(entry["missing_cells"])
    assert audit.of("target") == []
    assert max(map(len, str(audit).split("\n"))) <= 80
    if entry["task"] == "classification":
        counts = [c.rows for c in audit.of("balance")]
        assert counts[-1] == int(entry["minority_rows"])
        assert round(counts[0] / table.X.height, 3) == pytest.approx(float(entry["majority_share"]), abs=1.5e-3)


@needs_real_tables
def test_zeros_that_mean_missing_in_pima():
    table = read_table(table_path("diabetes_pima"), target="class")
    assert [c.column for c in table.audit().of("disguised")] == ["plas", "pres", "skin", "insu", "mass"]


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["10/03/04", "31/12/04"], "2004-03-10"),
        (["3/10/2004", "12/31/2004"], "2004-03-10"),
        (["10.3.2004", "31.12.2004"], "2004-03-10"),
        (["2004/03/10", "2004/12/31"], "2004-03-10"),
        (["10 Mar 2004", "31 Dec 2004"], "2004-03-10"),
        (["March 10, 2004", "May 1, 2004"], "2004-03-10"),
        (["10/03/2004 18:00", "31/12/2004 19:30"], "2004-03-10 18:00:00"),
        (["2004-03-10", "2004-12-31"], "2004-03-10"),
        (["18:00:00", "19:30:00"], "18:00:00"),
    ],
)
def test_declared_dates(tmp_path, cells, first):
    path = tmp_path / "d.csv"
    path.write_text("n;d\n" + "".join(f"{i};{cell}\n" for i, cell in enumerate([*cells, ""])))
    table = read_table(path, kinds={"d": "date"}, index=False)
    assert str(table.X["d"][0]).removesuffix(" 00:00:00") == first
    assert table.X["d"][2] is None
    assert table.schema["d"].kind == "date"


def test_doubtful_dates_are_refused(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("n,d\n5,10/03/2004\n6,11/04/2004\n")
    with pytest.raises(InputError, match=r"may mean 2004-03-10 or 2004-10-03.*'date:%d/%m/%Y'"):
        read_table(path, kinds={"d": "date"})
