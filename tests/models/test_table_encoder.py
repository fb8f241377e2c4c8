"""`TableEncoder`: the columns of the catalog for any model, scikit-learn's checks, folds, model files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context, model_selection
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import all_estimators
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import TableEncoder, cross_val_score, open_model, read_table, save_model
from foldwise.errors import InputError
from foldwise.models import for_trees, native, outline, scaled
from tests.slow import slow


def mixed(n: int = 120) -> tuple[pd.DataFrame, Any]:
    """A frame with numbers, categories, dates, texts, missing cells and an identifier."""
    rng = np.random.default_rng(0)
    words = ["alpha", "beta", "gamma", *(f"w{k}" for k in range(60))]
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "city": rng.choice([f"c{i}" for i in range(20)], n),
            "color": rng.choice(["red", "blue"], n),
            "when": pd.date_range("2020", periods=n),
            "text": [" ".join(rng.choice(words, 6)) for _ in range(n)],
            "size": rng.normal(size=n),
        }
    )
    y = np.where(frame["size"] + (frame["color"] == "red") > 0.5, "big", "small")
    frame.loc[3, "size"] = np.nan
    frame.loc[4, "city"] = None
    return frame, y


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects
@parametrize_with_checks([TableEncoder()])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")
@parametrize_with_checks([TableEncoder("trees"), TableEncoder("codes")])
def test_the_checks_of_scikit_learn_for_the_other_encodings(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(("encoding", "prepare"), [("scaled", scaled), ("trees", for_trees), ("codes", native)])
def test_columns_are_those_of_the_catalog(encoding: str, prepare: Any) -> None:
    table = read_table("examples/weather.csv", target="play")
    ours = TableEncoder(encoding).fit_transform(table.X, table.y)
    theirs = prepare(outline(table)).fit_transform(table.X, table.y)
    dense = [one.toarray() if hasattr(one, "toarray") else one for one in (ours, theirs)]
    np.testing.assert_allclose(*dense)


@pytest.mark.parametrize("encoding", ["scaled", "trees", "codes"])
def test_every_encoded_column_has_a_name_of_its_own(encoding: str) -> None:
    X, y = mixed()
    encoder = TableEncoder(encoding)
    names = encoder.fit(X, y).get_feature_names_out()
    assert len(set(names)) == len(names) == encoder.transform(X).shape[1]
    assert {"size", "when_year"} <= set(names)
    assert encoder.left_out_ != {"id": "drop"}
    assert "identifies rows" in encoder.left_out_["id"]
    wanted = {"scaled": "city_c3", "trees": "city_rate of small", "codes": "city"}[encoding]
    assert wanted in names
    frame = encoder.set_output(transform="polars").fit_transform(X.drop(columns="text"), y)
    assert isinstance(frame, pl.DataFrame)
    assert "size" in frame.columns


def test_unseen_categories_and_missing_cells_are_encoded() -> None:
    X, y = mixed()
    new = X.iloc[:2].assign(city="nowhere", color=None, size=np.nan, text=None, when=pd.NaT)
    for encoding in ("scaled", "trees", "codes"):
        encoder = TableEncoder(encoding).fit(X, y)
        names = encoder.get_feature_names_out().tolist()
        found = encoder.transform(new)
        [row, _] = found.toarray() if hasattr(found, "toarray") else found
        if encoding == "scaled":
            assert row[names.index("size_missing")] != 0
            assert not any(row[j] for j, name in enumerate(names) if name.startswith("city_"))
        if encoding == "codes":
            assert np.isnan(row[names.index("city")])
            assert np.isnan(row[names.index("size")])
        else:
            assert np.isfinite(row).all()


@pytest.mark.parametrize(
    ("encoding", "model"),
    [
        ("scaled", LogisticRegression()),
        *slow(("codes", HistGradientBoostingClassifier(max_iter=5, random_state=0))),
    ],
)
def test_a_pipeline_takes_a_mixed_frame_and_learns_in_each_fold(encoding: str, model: Any, tmp_path: Path) -> None:
    X, y = mixed()
    pipeline = make_pipeline(TableEncoder(encoding), model)
    found = cross_val_score(pipeline, X, y, cv=3)
    theirs = model_selection.cross_val_score(pipeline, X, y, cv=3)
    np.testing.assert_allclose(found, theirs)
    assert found.mean() > 0.6
    fitted = pipeline.fit(X, y)
    save_model(tmp_path / "m.foldwise", fitted, X)
    np.testing.assert_allclose(
        open_model(tmp_path / "m.foldwise").predict_proba(X), fitted.predict_proba(X), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("encoding", "model"),
    [
        ("scaled", Ridge()),
        ("trees", DecisionTreeRegressor(max_depth=4, random_state=0)),
        *slow(("codes", HistGradientBoostingRegressor(max_iter=20, random_state=0))),
    ],
)
def test_a_pipeline_with_a_regressor_takes_a_mixed_frame(encoding: str, model: Any, tmp_path: Path) -> None:
    X, _ = mixed(240)
    quality = X["city"].map(lambda one: int(str(one)[1:]) if isinstance(one, str) else 0)
    y = 3 * X["size"].fillna(0.0) + 4 * (X["color"] == "red") + quality / 5
    pipeline = make_pipeline(TableEncoder(encoding), model)
    found = cross_val_score(pipeline, X, y, cv=3)
    np.testing.assert_allclose(found, model_selection.cross_val_score(pipeline, X, y, cv=3))
    assert found.mean() > 0.5
    fitted = pipeline.fit(X, y)
    save_model(tmp_path / "m.foldwise", fitted, X)
    np.testing.assert_allclose(open_model(tmp_path / "m.foldwise").predict(X), fitted.predict(X), rtol=1e-12)


def test_a_rare_category_does_not_reveal_its_own_label() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": [f"c{i % 50}" for i in range(100)]})
    y = rng.normal(size=100)
    encoder = TableEncoder("trees", roles={"code": "category"})
    inside, outside = encoder.fit_transform(X, y)[:, 0], encoder.fit(X, y).transform(X)[:, 0]
    assert abs(np.corrcoef(inside, y)[0, 1]) < 0.4 < np.corrcoef(outside, y)[0, 1]
    scores = cross_val_score(make_pipeline(encoder, DecisionTreeRegressor(random_state=0)), X, y, cv=5)
    assert scores.mean() < 0.2


def test_roles_can_be_set() -> None:
    X, y = mixed()
    encoder = TableEncoder(roles={"id": "number", "text": "drop", "city": "text"}).fit(X, y)
    assert encoder.roles_["id"] == "number"
    assert encoder.roles_["city"] == "text"
    assert encoder.left_out_ == {"text": "roles drops it"}
    with pytest.raises(ValueError, match="roles names column 'age', which X does not have"):
        TableEncoder(roles={"age": "number"}).fit(X)
    with pytest.raises(ValueError, match=r"roles\['id'\] must be 'number', 'category', 'text', 'date' or 'drop'"):
        TableEncoder(roles={"id": "key"}).fit(X)
    with pytest.raises(ValueError, match="encoding must be"):
        TableEncoder("hot").fit(X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_texts_become_frames_if_these_are_wanted(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mixed()
    plain = TableEncoder(roles={"text": "text"}).fit(X, y)
    encoder = TableEncoder(roles={"text": "text"}).set_output(transform=library)
    frame = encoder.fit_transform(X, y)
    assert list(frame.columns) == list(plain.get_feature_names_out())
    np.testing.assert_array_equal(frame.to_numpy(), plain.transform(X).toarray())
    np.testing.assert_array_equal(encoder.transform(X).to_numpy(), frame.to_numpy())
    with config_context(transform_output=library):
        assert type(plain.transform(X)) is type(frame)
    monkeypatch.setattr("foldwise.models.table_encoder.MOST_CELLS", 10)
    with pytest.raises(InputError, match=r"because the texts of 'text' have many words.*roles={'text': 'drop'}"):
        encoder.transform(X)


def test_arrays_and_frames_of_any_library_are_encoded_alike() -> None:
    X, _ = mixed()
    numbers = X[["size", "id"]].to_numpy()
    expected = TableEncoder().fit_transform(X[["size", "id"]])
    np.testing.assert_allclose(TableEncoder().fit_transform(pl.DataFrame(X[["size", "id"]])), expected)
    assert TableEncoder().fit(numbers).get_feature_names_out().tolist()[0] == "x0"
    assert make_pipeline(TableEncoder(), Ridge()).fit(numbers, np.arange(120)).predict(numbers).shape == (120,)


DENSE = {"encoding": "trees"}  # for models that refuse sparse matrices, which texts become otherwise
MODELS: dict[str, Any] = {
    "LogisticRegression": {},
    "LinearSVC": {},
    "SVC": {},
    "KNeighborsClassifier": {},
    "MLPClassifier": {},
    "RandomForestClassifier": {},
    "DecisionTreeClassifier": DENSE,
    "GaussianNB": DENSE,
    "LinearDiscriminantAnalysis": DENSE,
    "HistGradientBoostingClassifier": DENSE,
    "GaussianProcessClassifier": DENSE,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_model_of_scikit_learn_takes_a_mixed_frame(name: str) -> None:
    X, y = mixed()
    kinds = dict(all_estimators(type_filter="classifier"))
    model = make_pipeline(TableEncoder(**MODELS[name]), kinds[name]())
    assert model.fit(X[:90], y[:90]).predict(X[90:]).shape == (30,)
