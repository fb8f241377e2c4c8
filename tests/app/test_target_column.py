"""`foldwise.fit(X, y)`: frames and arrays with a separate target, as in scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import foldwise
from foldwise.app.target_column import with_target
from foldwise.app.task import make_task
from foldwise.errors import FoldwiseError
from tests.app.fakes import fake_runs
from tests.app.runs import folder_of
from tests.slow import slow

X, y = load_iris(return_X_y=True, as_frame=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[y]


def test_a_run_from_a_frame_and_a_series() -> None:
    with fake_runs():
        run = foldwise.fit(X, pd.Series(SPECIES, name="species"), budget=4, models=["naive_bayes"], n_jobs=1)
    assert run.task.table.target == "species"
    assert set(run.model.predict(X[:5])) <= set(SPECIES)
    assert run.task.table.X.columns == list(X.columns)
    call = run.facts["made"]["python"]
    assert call.startswith("foldwise.fit(X, y, target='species', ")
    with fake_runs():  # our own text, as a reader would run it
        again = eval(call, {"foldwise": foldwise, "X": X, "y": pd.Series(SPECIES)})
    assert again.task.table.target == "species"


@pytest.mark.parametrize(
    ("given", "target", "name"),
    [
        (SPECIES, None, "target"),
        (SPECIES.tolist(), None, "target"),
        (pd.Series(SPECIES), None, "target"),
        (pd.Series(SPECIES, name="species"), None, "species"),
        (pl.Series("species", SPECIES), None, "species"),
        (pl.Series("species", SPECIES), "kind", "kind"),
        (SPECIES[:, None], None, "target"),
        (pd.DataFrame({"species": SPECIES}), None, "species"),
        (pl.DataFrame({"species": SPECIES}), None, "species"),
        (pd.DataFrame({"species": SPECIES}), "kind", "kind"),
        (pd.DataFrame(SPECIES), None, "target"),
    ],
)
def test_the_target_is_named(given: Any, target: str | None, name: str) -> None:
    for table in (X, pl.DataFrame(X), X.to_numpy()):
        frame, found = with_target(table, given, target)
        assert found == name
        assert frame[name].to_list() == SPECIES.tolist()
        assert frame.width == 5
    assert with_target(X.to_numpy(), given, target)[0].columns == ["x0", "x1", "x2", "x3", name]


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(ValueError, match="X has 150 rows, but y has 149 labels"):
        foldwise.fit(X, y[1:])
    with pytest.raises(ValueError, match="X has a column 'kind', but the target has the same name"):
        foldwise.fit(X.assign(kind=1), pd.Series(SPECIES, name="kind"))
    with pytest.raises(TypeError, match="y can only be passed with a frame or an array"):
        foldwise.fit("examples/weather.csv", y)
    with pytest.raises(TypeError, match="y must have one value per row, but is the text 'kind'"):
        foldwise.fit(X.assign(kind=SPECIES), "kind")
    for wrong in ({"groups": pd.Series(y)}, {"weights": np.ones(150)}, {"time": y.tolist()}):
        [what] = wrong
        with pytest.raises(TypeError, match=f"{what} must be the name of a column, got .*pass its name as {what}="):
            foldwise.fit(X, y, **wrong)
    with pytest.raises(ValueError, match=r"16 in 20 rows. Hint: pass task='regression' if it is a quantity"):
        foldwise.fit(X[:20], np.minimum(np.arange(20), 15))
    with pytest.raises(ValueError, match=r"there is no model called 'GaussianNB'. Hint: did you mean 'naive_bayes'?"):
        foldwise.fit(X, y, models=["GaussianNB"])
    with pytest.raises(ValueError, match="multi-output"):
        foldwise.fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: foldwise.fit(np.zeros(9), np.zeros((9, 2))),
            "X must have rows and columns, .* pass X first, then y",
        ),
        (lambda: foldwise.fit(), "the table must be a path, a frame, an array or a Table, got NoneType"),
        (lambda: foldwise.fit(5, target="a"), "the table must be a path, a frame, an array or a Table, got int"),
        (lambda: foldwise.fit(X, y, groups=[1] * len(X)), "groups must be the name of a column, got list"),
        (lambda: foldwise.fit(X, y, models=[GaussianNB()]), r"models must be names or ModelSpecs, got GaussianNB\(\)"),
        (lambda: foldwise.fit(X, y, models=GaussianNB()), r"models must be names or ModelSpecs, got GaussianNB\(\)"),
        (lambda: foldwise.fit(X, y, models=["knnn"]), "Hint: did you mean 'knn'[?] Choose among"),
    ],
)
def test_mistakes_of_beginners_are_told_in_words_of_arguments(call: Any, words: str) -> None:
    with pytest.raises(FoldwiseError, match=words):
        call()


@pytest.mark.parametrize("kind", ["numpy", *slow("pandas", "polars", "objects")])
def test_booleans_stay_booleans(kind: str, tmp_path: Path) -> None:
    truth = np.asarray(y == 0)
    given: Any = {
        "numpy": truth,
        "pandas": pd.Series(truth, dtype="boolean"),
        "polars": pl.Series(truth),
        "objects": truth.astype(object),
    }[kind]
    with fake_runs():
        run = foldwise.fit(X, given, budget=4, models=["naive_bayes"], n_jobs=1)
    assert run.model.classes_.dtype == bool
    assert run.predict(X).dtype == bool
    assert (run.predict(X) == truth).mean() > 0.9
    assert run.facts["task"]["classes"] == ["False", "True"]
    foldwise.save_model(tmp_path / "model.foldwise", run.model, X, target="setosa")
    stored = foldwise.open_model(tmp_path / "model.foldwise")
    assert stored.classes_.dtype == bool
    np.testing.assert_array_equal(stored.predict(X), run.predict(X))


def test_a_test_table_may_write_booleans_as_text() -> None:
    train = pl.DataFrame(X).with_columns(setosa=pl.Series(np.asarray(y == 0)))
    for cast in (pl.Boolean, pl.String):
        test = train.with_columns(pl.col("setosa").cast(cast))
        if cast == pl.String:
            test = test.with_columns(pl.col("setosa").str.to_titlecase())
        task = make_task(train, "setosa", test=test)
        assert task.test is not None
        np.testing.assert_array_equal(task.test.y, task.y)
        assert not task.test.unseen


def test_files_of_predictions_write_booleans_as_text(tmp_path: Path) -> None:
    model = foldwise.NaiveBayes().fit(pl.DataFrame(X), np.asarray(y == 0))
    folder = folder_of(tmp_path / "run", model, pl.DataFrame(X), background=False)
    pl.DataFrame(X).write_csv(tmp_path / "new.csv")
    foldwise.predict_file(folder, tmp_path / "new.csv", tmp_path / "out.csv")
    line = (tmp_path / "out.csv").read_text().splitlines()[1].split(",")
    assert (line[0], line[3]) == ("True", "True")
