"""Exports of estimators that users fit themselves: the model knows its columns, and which of them contain text."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from foldwise import (
    Balanced,
    Conformal,
    Ensemble,
    GridSearchCV,
    TableEncoder,
    open_model,
    save_model,
    to_onnx,
    to_sql,
)
from foldwise.app.blend import Blend
from foldwise.errors import InputError
from tests.exports.databases import run


def people() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, booleans and text, also in columns that some models do not use."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, 60),
            "sex": rng.choice(["M", "F"], 60),
            "region": rng.choice(["north", "south"], 60),
            "member": rng.random(60) > 0.5,
        }
    )
    return frame, (frame["age"] + 5 * (frame["sex"] == "M") > 42).to_numpy().astype(int)


def two_columns(number=("age",), text=("sex",)):
    as_keys = [list(part) if isinstance(part, tuple) else part for part in (number, text)]
    columns = make_column_transformer((StandardScaler(), as_keys[0]), (OneHotEncoder(), as_keys[1]))
    return make_pipeline(columns, LogisticRegression())


PARTS = {
    "names": (("age",), ("sex",)),
    "indices": ((0,), (1,)),
    "from the end": ((-4,), (-3,)),
    "slices": (slice("age", "age"), slice(1, 2)),
    "masks": ([True, False, False, False], [False, True, False, False]),
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_a_column_transformer_over_text(parts):
    frame, y = people()
    model = two_columns(*parts).fit(frame, y)
    export = to_sql(model, keep=[], rows=frame)
    assert export.query == to_sql(model, keep=[]).query
    found, differences = run(export, pl.from_pandas(frame), "rows")
    assert differences == 0
    assert [row[0] for row in found] == model.predict(frame).tolist()
    assert to_onnx(model, rows=frame).kinds == to_onnx(model).kinds == {"age": "number", "sex": "text"}


def test_columns_that_a_saved_model_does_not_use(tmp_path):
    frame, y = people()
    save_model(tmp_path / "model", two_columns().fit(frame, y), frame)
    export = to_sql(open_model(tmp_path / "model"), keep=[], rows=frame)
    assert run(export, pl.from_pandas(frame), "rows")[1] == 0


def test_missing_text_of_pandas(tmp_path):
    frame, y = people()
    frame["sex"] = frame["sex"].where(np.arange(60) % 4 > 0)
    model = two_columns().fit(frame, y)
    save_model(tmp_path / "model", model, frame)
    for one in (model, open_model(tmp_path / "model")):
        assert run(to_sql(one, keep=[], rows=frame), pl.from_pandas(frame), "rows")[1] == 0
        assert to_onnx(one, rows=frame).n_checked == 60


def test_a_list_of_names_for_columns_of_an_array():
    frame, y = people()
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame[["sex"]].to_numpy(), y)
    assert to_onnx(model, columns=["sex"], rows=frame[["sex"]]).kinds == {"sex": "text"}
    assert run(to_sql(model, columns=["sex"], keep=[], rows=frame), pl.from_pandas(frame), "rows")[1] == 0


def test_selected_columns_of_text_and_booleans():
    frame, y = people()
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(), make_column_selector(dtype_exclude=np.number)),
    )
    model = make_pipeline(columns, LogisticRegression()).fit(frame, y)
    kinds = to_onnx(model, rows=frame).kinds
    assert kinds == {"age": "number", "sex": "text", "region": "text", "member": "truth"}
    assert run(to_sql(model, keep=[], rows=frame), pl.from_pandas(frame), "rows")[1] == 0


@pytest.mark.parametrize("encoding", ["scaled", "trees", "codes"])
def test_a_table_encoder_in_a_pipeline(encoding):
    frame, y = people()
    frame = frame.assign(one="the same", sex=frame["sex"].where(np.arange(60) % 7 > 0, None))
    model = LogisticRegression() if encoding == "scaled" else HistGradientBoostingClassifier(max_iter=3)
    pipeline = make_pipeline(TableEncoder(encoding), model).fit(frame, y)
    assert to_onnx(pipeline, rows=frame).n_checked == 60
    assert run(to_sql(pipeline, keep=[], rows=frame), pl.from_pandas(frame), "rows")[1] == 0


@pytest.mark.parametrize("export", [to_sql, to_onnx])
def test_what_to_export_instead(export):
    frame, y = people()
    X = frame[["age"]]
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    with pytest.raises(InputError, match=r"a search cannot be exported to .* pass its best_estimator_"):
        export(search)
    with pytest.raises(InputError, match="pass its best_estimator_"):
        export(GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X.to_numpy(), y))
    for wrapper in (Balanced(LogisticRegression()), Conformal(LogisticRegression())):
        with pytest.raises(InputError, match="export its estimator_"):
            export(wrapper.fit(X, y))
    with pytest.raises(InputError, match="export one of its members_"):
        export(Ensemble(LogisticRegression()).fit(X, y))
    with pytest.raises(InputError, match="pass the run itself"):
        export(Blend([], [], [], np.array([0, 1]), None, np.array([0.5, 0.5])))
    texts = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    imputed = make_pipeline(make_column_transformer((texts, ["sex"])), LogisticRegression()).fit(frame, y)
    with pytest.raises(InputError, match="SimpleImputer of text cannot be exported"):
        export(imputed)


@pytest.mark.parametrize("export", [to_sql, to_onnx])
@pytest.mark.parametrize("levels", [["M", "F"], [10, 20]])
def test_columns_of_the_type_category(export, levels):
    """LightGBM splits on the codes of categories, which are not their values."""
    frame, y = people()
    X = frame[["age"]].assign(kind=pd.Categorical(np.random.default_rng(1).choice(levels, 60)))
    boosted = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=2, verbose=-1).fit(X, y)
    with pytest.raises(InputError, match="LightGBM with columns of the type category"):
        export(boosted)
    if isinstance(levels[0], str):
        boosted = HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype").fit(X, y)
        with pytest.raises(InputError, match="histogram gradient boosting with categories of text"):
            export(boosted)


def test_categories_that_are_dates_are_refused():
    X = pd.DataFrame({"day": pd.to_datetime(["2026-01-01", "2026-01-02"] * 10)})
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["day"])), LogisticRegression())
    with pytest.raises(InputError, match="the categories of column 'day'"):
        to_sql(model.fit(X, [0, 1] * 10))
