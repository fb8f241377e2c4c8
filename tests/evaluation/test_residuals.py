"""Facts about predictions of a quantity, compared with what polars and numpy say about the same rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise.evaluation.residuals import COLUMN_BINS, MISSING, OTHERS, SIZE_BINS, residual_facts


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    number = rng.normal(size=600)
    level = rng.choice([f"level {i}" for i in range(12)], 600)
    truth = number**2 + rng.normal(size=600)
    columns = pl.DataFrame({"noise": rng.normal(size=600), "number": number, "level": level, "same": [1] * 600})
    gaps = pl.when(pl.col("noise") > 1.5).then(None).otherwise(pl.col("noise")).alias("noise")
    return truth, np.full(600, truth.mean()), columns.with_columns(gaps)


def test_every_row_is_in_one_bin(rows):
    truth, predicted, columns = rows
    facts = residual_facts(truth, predicted, columns)
    assert sum(one["n"] for one in facts["by_size"]) == 600
    assert len(facts["by_size"]) == SIZE_BINS
    assert len(facts["by_prediction"]) == 1  # all predictions are equal
    for column in facts["by_column"]:
        assert sum(one["n"] for one in column["bins"]) == 600


def test_errors_by_size_are_those_of_the_rows(rows):
    truth, predicted, columns = rows
    for one in residual_facts(truth, predicted, columns)["by_size"]:
        here = (truth >= one["low"]) & (truth <= one["high"])
        residuals = (truth - predicted)[here]
        assert one["n"] == here.sum()
        assert one["bias"] == pytest.approx(residuals.mean())
        assert one["error"] == pytest.approx(residuals.std() / np.sqrt(len(residuals)))
        assert one["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean(residuals**2)))


def test_the_column_that_explains_residuals_comes_first(rows):
    truth, predicted, columns = rows
    found = residual_facts(truth, predicted, columns)["by_column"]
    assert found[0]["column"] == "number"
    assert "same" not in [one["column"] for one in found]
    by_name = {one["column"]: one for one in found}
    assert len(by_name["number"]["bins"]) == COLUMN_BINS
    assert by_name["noise"]["bins"][-1]["value"] == MISSING
    assert by_name["noise"]["bins"][-1]["at"] is None
    assert by_name["level"]["bins"][-1]["value"] == OTHERS
    assert by_name["number"]["strength"] > 0.3 > by_name["noise"]["strength"]


def test_weights_count_rows_several_times(rows):
    truth, predicted, _ = rows
    columns = pl.DataFrame({"level": [f"level {i % 5}" for i in range(600)]})
    weights = np.random.default_rng(1).integers(1, 4, 600)
    copies = np.repeat(np.arange(600), weights)
    weighed = residual_facts(truth, predicted, columns, weights.astype(float))["by_column"][0]
    copied = residual_facts(truth[copies], predicted[copies], columns[copies.tolist()])["by_column"][0]
    found, expected = ({one["value"]: one["bias"] for one in facts["bins"]} for facts in (weighed, copied))
    assert len(expected) == 5
    assert found == pytest.approx(expected)


def test_single_rows_are_shown_only_where_they_may(rows):
    truth, predicted, columns = rows
    assert not {"points", "largest"} & set(residual_facts(truth, predicted, columns))
    facts = residual_facts(truth, predicted, columns, rows=np.arange(600) + 1000)
    worst = int(np.abs(truth - predicted).argmax())
    assert facts["largest"][0] == {"row": worst + 1000, "observed": truth[worst], "predicted": predicted[worst]}
