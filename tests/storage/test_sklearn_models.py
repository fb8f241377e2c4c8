"""Votes, stacks and selectors of columns of scikit-learn in model files; and wrong arguments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from foldwise import GridSearchCV, open_model, save_model
from foldwise.errors import FoldwiseTypeError, InputError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(40, 10, 60), "size": RNG.normal(5, 2, 60), "sex": RNG.choice(["M", "F"], 60)})
Y = np.where(X["age"] > 42, "old", "young")
NUMBERS = ["age", "size"]
TWO = [("linear", LogisticRegression()), ("forest", RandomForestClassifier(3, random_state=0))]
SELECTED = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include=np.number)),
    (OneHotEncoder(), make_column_selector("s", dtype_include=[object, "string"])),
)
MODELS = {
    "vote": (VotingClassifier(TWO), NUMBERS),
    "mean": (VotingClassifier(TWO, voting="soft"), NUMBERS),
    "stack": (StackingClassifier(TWO, cv=2), NUMBERS),
    "selectors": (make_pipeline(SELECTED, LogisticRegression()), [*NUMBERS, "sex"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_opened_model_predicts_the_same(name, tmp_path):
    model, columns = MODELS[name]
    model.fit(X[columns], Y)
    save_model(tmp_path / "model", model, X[columns])
    opened = open_model(tmp_path / "model")
    assert opened.predict(X).tolist() == model.predict(X[columns]).tolist()
    if hasattr(model, "predict_proba"):
        assert np.array_equal(opened.predict_proba(X), model.predict_proba(X[columns]))


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(),
        make_pipeline(SimpleImputer(strategy="most_frequent", add_indicator=True), OneHotEncoder()),
    ],
    ids=["one-hot", "one-hot, unknown ignored", "ordinal", "imputed"],
)
def test_missing_text_of_pandas(encoder, tmp_path):
    """An opened model passes None for a missing text, of which the encoder has seen NaN."""
    frame = X.assign(sex=X["sex"].where(np.arange(60) % 4 > 0))
    columns = make_column_transformer((encoder, ["sex"]), (StandardScaler(), NUMBERS))
    model = make_pipeline(columns, HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)).fit(frame, Y)
    before = model.predict_proba(frame)
    save_model(tmp_path / "model", model, frame)
    assert np.array_equal(open_model(tmp_path / "model").predict_proba(frame), before)
    assert np.array_equal(model.predict_proba(frame), before)


def test_a_stack_of_regressors(tmp_path):
    model = StackingRegressor([("tree", DecisionTreeRegressor(max_depth=2)), ("ridge", Ridge())], cv=2)
    model.fit(X[NUMBERS], X["age"] * 2)
    save_model(tmp_path / "model", model, X[NUMBERS])
    assert np.array_equal(open_model(tmp_path / "model").predict(X), model.predict(X[NUMBERS]))


def test_a_search_is_refused_by_what_to_save(tmp_path):
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X[NUMBERS], Y)
    with pytest.raises(InputError, match=r"a search cannot be saved. Hint: save its best_estimator_"):
        save_model(tmp_path / "model", search, X[NUMBERS])
    save_model(tmp_path / "model", search.best_estimator_, X[NUMBERS])


def test_arguments_in_another_order(tmp_path):
    model = LogisticRegression().fit(X[NUMBERS], Y)
    with pytest.raises(FoldwiseTypeError, match=r"path must be .* got LogisticRegression. Hint: pass the path first"):
        save_model(model, tmp_path / "model", X)
    with pytest.raises(FoldwiseTypeError, match="model must be a fitted classifier or regressor, got DataFrame"):
        save_model(tmp_path / "model", X, model)
    with pytest.raises(InputError, match="X must be the table"):
        save_model(tmp_path / "model", model)


def test_an_opened_model_is_saved_again(tmp_path):
    save_model(tmp_path / "a", LogisticRegression().fit(X[NUMBERS], Y), X[NUMBERS], target="y", metadata={"rows": 60})
    save_model(tmp_path / "b", open_model(tmp_path / "a"), metadata={"more": 1})
    again = open_model(tmp_path / "b")
    assert (again.target, dict(again.metadata), again.kinds) == (
        "y",
        {"rows": 60, "more": 1},
        {"age": "number", "size": "number"},
    )
