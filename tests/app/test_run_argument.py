"""A run is accepted wherever a model of a run is: in memory it does what its folder does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import foldwise
from foldwise.errors import FoldwiseTypeError, InputError

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame({"age": RNG.normal(40, 10, 80), "sex": RNG.choice(["M", "F"], 80)})
TABLE = FRAME.with_columns(old=pl.when(pl.col("age") > 42).then(pl.lit("yes")).otherwise(pl.lit("no")))


@pytest.fixture(scope="module")
def finished():
    return foldwise.fit(TABLE, target="old", budget=3, models=["naive_bayes", "logistic_regression"])


def test_new_rows(finished, tmp_path):
    assert foldwise.check(finished, TABLE, labels="old").changed is False
    TABLE.write_csv(tmp_path / "new.csv")
    assert foldwise.predict_file(finished, tmp_path / "new.csv", tmp_path / "out.csv").n_rows == 80
    found = pl.read_csv(tmp_path / "out.csv")["predicted_class"].to_list()
    assert found == finished.predict(FRAME).tolist()


def test_a_refit_leaves_the_run_as_it_is(finished):
    before = finished.predict_proba(FRAME)
    assert foldwise.refit(finished, TABLE).n_rows == 80
    assert np.array_equal(finished.predict_proba(FRAME), before)


def test_explanations_compare_with_the_rows_of_the_run(finished):
    [found] = foldwise.explain(finished, FRAME[:1])
    [same] = foldwise.explain(finished.stored(), FRAME[:1], finished.background)
    assert found.values.tolist() == same.values.tolist()
    with pytest.raises(InputError, match=r"none are stored with this model. Hint: pass background="):
        foldwise.explain(finished.stored(), FRAME[:1])


def test_exports(finished):
    assert foldwise.to_sql(finished, keep=[]).query == foldwise.to_sql(finished.stored(), keep=[]).query
    assert foldwise.to_onnx(finished, rows=FRAME).n_checked == 80
    for export in (foldwise.to_sql, foldwise.to_onnx):
        with pytest.raises(InputError, match="pass the run itself"):
            export(finished.model)


def test_a_model_file(finished, tmp_path):
    foldwise.save_model(tmp_path / "model", finished, FRAME)
    opened = foldwise.open_model(tmp_path / "model")
    folder = foldwise.open_model(finished.save(tmp_path / "run") / "model.foldwise")
    assert (opened.target, opened.metadata, opened.kinds) == (folder.target, folder.metadata, folder.kinds)
    assert np.array_equal(opened.predict_proba(FRAME), finished.predict_proba(FRAME))


def test_other_objects_are_refused(tmp_path):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(FoldwiseTypeError, match=r"run must be a result of fit, .* got LogisticRegression"):
        foldwise.check(model, FRAME)
    with pytest.raises(FoldwiseTypeError, match="run must be a run folder or a model file, got LogisticRegression"):
        foldwise.predict_spark(model, FRAME)


def test_a_model_without_probabilities():
    from sklearn.svm import LinearSVC

    with pytest.raises(InputError, match=r"LinearSVC does not predict probabilities.* fit Calibrated"):
        foldwise.explain(LinearSVC().fit([[0.0], [1.0]], [0, 1]), [[0.0]], [[1.0]])
