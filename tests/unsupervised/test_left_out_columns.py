"""Columns of lists, structures and bytes are left out and named, whatever is asked about a table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise import association_rules, find_factors, map_table


@pytest.mark.parametrize("ask", [association_rules, find_factors, map_table])
def test_columns_of_lists_and_bytes_are_left_out(ask):
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "l": [[1, 2]] * 40 + [[3]] * 20,
            "s": [{"a": i % 3} for i in range(60)],
            "b": [b"x", b"y"] * 30,
            "n": rng.normal(size=60),
            "c": rng.choice(["u", "v"], 60).tolist(),
        }
    )
    left_out = ask(table).left_out
    assert [one.split(" (nested")[0] for one in left_out] == ["'l'", "'s'", "'b'"]
