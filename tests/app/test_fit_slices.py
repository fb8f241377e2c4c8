"""`fit --slices`: scores of held-out rows by slice, in the facts and in the report."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from foldwise.errors import InputError
from foldwise.report import render
from tests.app.command_line import refused
from tests.app.fakes import fake_fit


def people(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    sex = rng.choice(["<b>f", "m"], n_rows)
    signal = np.where(sex == "m", 2.5 * y, 0.0)  # nothing is known of the others
    frame = pl.DataFrame({"a": rng.normal(size=n_rows) + signal, "sex": sex, "age": rng.integers(18, 80, n_rows)})
    return frame.with_columns(y=pl.Series(np.array(["no", "yes"])[y]))


def test_slices_of_a_run_are_scored_on_held_out_rows():
    run = fake_fit(people(), target="y", models=["naive_bayes"], slices="sex,age")
    facts = run.facts["slices"]
    assert json.loads(json.dumps(facts)) == facts
    scores = {(one["label"], one["metric"]): one for one in facts["scores"]}
    assert scores["<b>f", "log_loss"]["verdict"] == "worse"
    assert facts["overall"]["accuracy"] == pytest.approx(
        np.average(
            [scores[one, "accuracy"]["value"] for one in ("<b>f", "m")],
            weights=[scores[one, "accuracy"]["n_rows"] for one in ("<b>f", "m")],
        )
    )
    assert len(facts["edges"]["age"]) == 3
    page = render(run.facts)
    assert 'id="slices"' in page
    assert "&lt;b&gt;f" in page
    assert "<b>f" not in page


def test_without_slices_there_is_no_section():
    run = fake_fit(people(), target="y", models=["naive_bayes"])
    assert run.facts["slices"] is None
    assert 'id="slices"' not in render(run.facts)


def test_unknown_columns_are_refused_before_anything_is_written(here):
    people().write_csv("people.csv")
    words = refused("fit", "people.csv", "--target", "y", "--slices", "sex,height", "--out", "out", "--quiet")
    assert words.startswith("the table has no column 'height', passed as --slices.")
    with pytest.raises(InputError, match="is not a feature"):
        fake_fit(people(), target="y", models=["naive_bayes"], slices=["y"])
