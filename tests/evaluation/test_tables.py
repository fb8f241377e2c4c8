"""Small tables as text and as HTML for notebooks: names come from data, so everything is escaped."""

from __future__ import annotations

import numpy as np
import pytest

from foldwise.evaluation import Comparison, Confusion, CostMatrix, Estimate, Leak, Leaks, NestedResult, TablesComparison
from foldwise.evaluation.estimates import StudentSpread
from foldwise.evaluation.split_record import SplitsRecord
from foldwise.evaluation.tables import TextTable

EVIL = "<script>alert('x')</script>"
ESTIMATE = Estimate(0.8, EVIL, StudentSpread(0.01, 9), search_score=0.9)
SCORES = {EVIL: [0.8, 0.9, 0.7], "b": [0.5, 0.6, 0.4]}
SHOWN = {
    "estimate": ESTIMATE,
    "comparison": Comparison.of(SCORES, test_share=0.5),
    "tables": TablesComparison.of({EVIL: {EVIL: 0.9, "b": 0.8}, "t": {EVIL: 0.7, "b": 0.6}}),
    "confusion": Confusion.of([EVIL, "b"], [EVIL, EVIL]),
    "costs": CostMatrix.zero_one([EVIL, "b"]),
    "leaks": Leaks(EVIL, (Leak("groups", "leak", EVIL, 3, 0.5, f"column {EVIL}", (1,), f"remove {EVIL}"),)),
    "nested": NestedResult(
        np.array([0.7, 0.9]), ({"kind": EVIL}, {}), ({}, {}), 12, ESTIMATE, EVIL, SplitsRecord(("a", "b"), 0.5)
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_names_are_escaped_in_notebooks(name):
    page = SHOWN[name]._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(" in page
    for tag in ("table", "tr", "td", "th", "thead", "tbody", "p", "small"):
        assert page.count(f"<{tag}>") + page.count(f"<{tag} ") == page.count(f"</{tag}>"), tag


def test_a_nested_result_shows_the_setting_of_each_outer_split():
    page = SHOWN["nested"]._repr_html_()
    assert page.count("<tr>") == 3
    assert "search score (optimistic) 0.900" in page
    assert "12 models scored" in page


def test_no_leaks_are_said_to_be_none():
    assert "none found" in Leaks("Leaks in 10 rows", ())._repr_html_()


def test_wide_tables_continue_below_within_80_columns():
    names = [f"a rather long name {i}" for i in range(9)]
    text = str(TextTable(["model", *names], [["one", *map(str, range(9))], ["a name that must be cut", *["0.5"] * 9]]))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("model") == 3
    assert "a name that must …" in text
    assert "a name that must be cut" in TextTable(["model"], [["a name that must be cut"]]).html()
