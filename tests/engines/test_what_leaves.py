"""Nothing but aggregates leaves an engine, and of nested cross-validation its sample: all answers are looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.linear_model import Ridge

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, asking, facts_of
from foldwise.evaluation import nested_in_engine
from tests.engines.conftest import loader
from tests.engines.tables import mixed_table
from tests.slow import slow

N_ROWS = 4000
CELLS = 3 * 2 * 2  # classes, outer and inner folds
LEVELS = 3 + 2  # of color and flag


class Answers:
    """Counts the rows of each answer of an engine, among them those in lists and in JSON."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_rows: list[int] = []
        as_frame, ask_text = asking.frame_of_arrow, asking.Asker.ask_text

        def counted_frame(table: Any) -> pl.DataFrame:
            frame = as_frame(table)
            self.n_rows.append(n_rows_in(frame))
            return frame

        def counted_text(*given: Any) -> pl.DataFrame:
            frame = ask_text(*given)
            self.n_rows.append(n_rows_in(frame))
            return frame

        monkeypatch.setattr(asking, "frame_of_arrow", counted_frame)
        monkeypatch.setattr(asking.Asker, "ask_text", counted_text)


def n_rows_in(frame: pl.DataFrame) -> int:
    """The rows of a frame, or of the lists in it."""
    lists = [int(one.list.len().sum() or 0) for one in frame if isinstance(one.dtype, pl.List)]
    if "sample" in frame.columns and frame["sample"].dtype == pl.String:
        lists.append(sum(len(json.loads(text)) for text in frame["sample"].drop_nulls()))
    return max([frame.height, *lists])


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_only_aggregates_and_the_sample_leave_the_engine(
    engine: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    frame = mixed_table(N_ROWS).drop("gaps")
    most = CELLS * (1 + LEVELS + 1)  # rows of an answer: sums, categories, and missing ones
    with loader(engine, request, tmp_path) as load:
        table, answers = load(frame), Answers(monkeypatch)
        facts = facts_of(table, "label", folds=KeyFolds("id", 2, 2), values=["whole"], gram=True)
        assert facts.n_rows == N_ROWS
        assert len(answers.n_rows) == len(facts.statements)
        assert max(answers.n_rows) <= max(most, CELLS * 9)  # values of "whole"
        answers.n_rows.clear()
        facts = facts_of(table, "label", columns=["far"], values=["far"], max_values=500)
        assert len(answers.n_rows) == len(facts.statements)
        assert max(answers.n_rows) <= 3 * 102  # rows between 99 quantiles, by class
        answers.n_rows.clear()
        given: dict[str, Any] = {"key": "id", "outer": 2, "inner": 2}
        found = nested_in_engine(NaiveBayes(), [{}, {"alpha": 2.0}], table, "label", sample=300, **given)
        largest, *others = sorted(answers.n_rows, reverse=True)
        n_silent = int(engine == "duckdb")  # the folds are stored in the engine
        assert len(answers.n_rows) == len(found.statements) - n_silent
        assert largest == found.sample_rows < 400
        assert max(others) <= most
        answers.n_rows.clear()
        nested_in_engine(Ridge(), [{}], table, "by class", columns=["far", "whole"], **given)
        assert max(answers.n_rows) <= 4
