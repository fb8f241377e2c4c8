"""Every regressor of the catalog comes back from a file with the predictions it had."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from foldwise import EnsembleRegressor, open_model, save_model
from foldwise.app.blend import ValueBlend
from foldwise.data.table import Table
from foldwise.data.view import view_of_frame
from foldwise.ensembles import Residuals
from foldwise.errors import InputError
from foldwise.models import catalogue, outline
from foldwise.models.column_transformers import NumberColumns
from foldwise.models.spec import ModelSpec
from foldwise.tuning import PenaltyFactors

N_ROWS = 90


def quantities() -> Table:
    import narwhals as nw

    rng = np.random.default_rng(0)
    X = pl.DataFrame(
        {
            "number": rng.normal(size=N_ROWS),
            "gaps": [None if i % 9 == 0 else float(i) for i in range(N_ROWS)],
            "kind": rng.choice(["a", "b", "c"], N_ROWS),
        }
    )
    y = np.exp(X["number"].to_numpy() + rng.normal(size=N_ROWS))  # skewed, so that transformations are searched
    return Table(X, y, view_of_frame(nw.from_native(X)).schema, "quantities", "y")


TABLE = quantities()
ABOUT = outline(TABLE)
REGRESSORS = [name for name, spec in catalogue().items() if spec.available and spec.takes(ABOUT)]


def fitted(spec: ModelSpec):
    first = spec.first_settings(ABOUT, short=True)[0]
    return spec.pipeline(ABOUT).set_params(**first).fit(TABLE.X, TABLE.y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_predicts_the_same_after_a_round_trip(name, tmp_path):
    model = fitted(catalogue()[name])
    path = tmp_path / "model.foldwise"
    save_model(path, model, TABLE.X, target="y")
    opened = open_model(path)
    assert opened.task == "regression"
    assert len(opened.classes_) == 0
    np.testing.assert_allclose(opened.predict(TABLE.X), model.predict(TABLE.X), rtol=1e-6)
    save_model(path, opened.model, TABLE.X, target="y")  # also a model that came from a file
    np.testing.assert_allclose(open_model(path).predict(TABLE.X), model.predict(TABLE.X), rtol=1e-6)


@pytest.mark.parametrize("transform", ["none", "log", "yeo-johnson", "quantiles"])
def test_a_transformed_target(transform, tmp_path):
    model = catalogue()["ridge"].pipeline(ABOUT).set_params(model__transform=transform).fit(TABLE.X, TABLE.y)
    save_model(tmp_path / "model.foldwise", model, TABLE.X)
    np.testing.assert_allclose(open_model(tmp_path / "model.foldwise").predict(TABLE.X), model.predict(TABLE.X))


def test_a_blend_of_regressors(tmp_path):
    models = [fitted(catalogue()[name]) for name in ("ridge", "knn", "decision_tree")]
    blend = ValueBlend(models, [0.5, 0.3, 0.2])
    expected = 0.5 * models[0].predict(TABLE.X) + 0.3 * models[1].predict(TABLE.X) + 0.2 * models[2].predict(TABLE.X)
    np.testing.assert_allclose(blend.predict(TABLE.X), expected)
    save_model(tmp_path / "model.foldwise", blend, TABLE.X)
    opened = open_model(tmp_path / "model.foldwise")
    np.testing.assert_allclose(opened.predict(TABLE.X), expected)
    assert repr(opened) == "StoredModel: 3 columns, a quantity"


ENSEMBLES = {
    "members": lambda: EnsembleRegressor({name: fitted(catalogue()[name]) for name in ("ridge", "knn")}),
    "boosting": lambda: EnsembleRegressor(
        fitted(catalogue()["decision_tree"]), dependency=Residuals(), size=3, combiner="sum"
    ),
    "penalty factors": lambda: make_pipeline(NumberColumns(), PenaltyFactors({"wide": [0]}, {"wide": 3.0}), Ridge()),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_and_penalty_factors(name, tmp_path):
    X = TABLE.X.select("number") if name == "penalty factors" else TABLE.X
    model = ENSEMBLES[name]().fit(X, TABLE.y)
    save_model(tmp_path / "model.foldwise", model, X)
    np.testing.assert_allclose(open_model(tmp_path / "model.foldwise").predict(X), model.predict(X), rtol=1e-12)


def test_an_unfitted_regressor_is_refused(tmp_path):
    with pytest.raises(InputError, match="only a fitted classifier or regressor"):
        save_model(tmp_path / "model.foldwise", catalogue()["ridge"].pipeline(ABOUT), TABLE.X)
