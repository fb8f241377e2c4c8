"""Tables, schemas and audits in a notebook: readable, and nothing that comes from data is trusted."""

from __future__ import annotations

from html.parser import HTMLParser

import polars as pl

from foldwise import read_table
from foldwise.data.table import SHOWN_COLUMNS


class Cells(HTMLParser):
    """The tags of a page, and its table cells as a browser shows them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def table_of(folder, frame, **keywords):
    frame.write_csv(folder / "<b>t.csv")
    return read_table(folder / "<b>t.csv", **keywords)


def test_a_table_shows_its_columns(tmp_path):
    frame = pl.DataFrame({"size": [1.5, None, 2.5, 3.5, 4.5], "color": ["red", "blue", "red", None, "red"]})
    page = table_of(tmp_path, frame)._repr_html_()
    assert "5 rows, 2 columns" in page
    assert Cells(page).rows == [
        ["column", "kind", "missing cells", "examples"],
        ["size", "numeric", "1", "1.5, 2.5, 3.5, …"],
        ["color", "categorical", "1", "'red', 'blue'"],
    ]


def test_nothing_that_comes_from_data_is_trusted(tmp_path):
    evil = "<script>alert(1)</script>"
    frame = pl.DataFrame({evil: ["<img src=x>", "&amp;"] * 20, "y": ["<i>", "<u>"] * 20})
    table = table_of(tmp_path, frame, target="y", kinds={evil: "categorical"})
    for page in (table._repr_html_(), table.schema._repr_html_(), table.audit()._repr_html_()):
        assert Cells(page).tags <= {"p", "small", "table", "thead", "tbody", "tr", "th", "td"}
    assert Cells(table._repr_html_()).rows[1] == [evil, "categorical", "0", "'<img src=x>', '&amp;'"]


def test_a_wide_table_is_cut(tmp_path):
    page = table_of(tmp_path, pl.DataFrame({f"c{j}": [1, 2] for j in range(SHOWN_COLUMNS + 7)}))._repr_html_()
    assert len(Cells(page).rows) == SHOWN_COLUMNS + 1
    assert "and 7 more columns" in page
