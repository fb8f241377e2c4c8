"""The model file: the same predictions after a round trip, and a clear refusal of everything that is not right."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import foldwise
from foldwise import KNNClassifier, NaiveBayes, open_model, save_model
from foldwise.errors import InputError
from foldwise.models import catalogue, outline
from foldwise.storage import archive as container
from foldwise.storage import model_file as storing
from foldwise.storage.archive import MANIFEST, digest
from foldwise.storage.encoded_parts import extract_parts
from foldwise.storage.skops_format import check_indices, from_skops, to_skops
from tests.models.tables import mixed

TABLE = mixed(60)
QUICK = ("naive_bayes", "knn", "decision_tree", "logistic_regression", "hist_gradient_boosting", "lightgbm")  # formats
CLASSIFIERS = [name for name, spec in catalogue().items() if "classification" in spec.tasks]
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CLASSIFIERS]


def fitted(name, table=TABLE):
    spec = catalogue()[name]
    if not spec.available:
        pytest.skip(f"{spec.module} is not installed")
    model = spec.pipeline(outline(table))
    if spec.stages:
        model.set_params(**{spec.stages: 6})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(table.X, table.y)


@pytest.fixture(scope="module")
def bayes_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "bayes.foldwise"
    save_model(path, fitted("naive_bayes"), TABLE.X, target="y", metadata={"rows": 60, "estimate": [0.8, 0.7, 0.9]})
    return path


def rewritten(path, target, change):
    """The file with its members changed, digests and all: what somebody can do who means harm."""
    with zipfile.ZipFile(path) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    manifest = json.loads(members.pop(MANIFEST))
    change(manifest, members)
    manifest["members"] = {name: digest(data) for name, data in members.items()}
    text = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as packed:
        for name, data in {MANIFEST: text, **members}.items():
            packed.writestr(name, data)
        packed.comment = digest(text).encode()
    return target


@pytest.mark.parametrize("name", NAMES)
def test_every_model_predicts_the_same_after_a_round_trip(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.foldwise"
    save_model(path, model, TABLE.X, target="y", metadata={"model": name})
    stored = open_model(path)
    strange = TABLE.X.with_columns(color=pl.lit("violet"))
    for X in (TABLE.X, strange):
        np.testing.assert_array_equal(stored.predict(X), model.predict(X))
        ask = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        np.testing.assert_allclose(getattr(stored, ask)(X), getattr(model, ask)(X), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(stored.classes_, model.classes_)
    assert stored.metadata == {"model": name}
    again = tmp_path / "again.foldwise"
    save_model(again, stored.model, TABLE.X)
    np.testing.assert_array_equal(open_model(again).predict(TABLE.X), model.predict(TABLE.X))


def test_the_file_holds_neither_pickles_nor_paths_nor_rows(bayes_file):
    with zipfile.ZipFile(bayes_file) as packed:
        assert packed.namelist()[0] == MANIFEST
        manifest = json.loads(packed.read(MANIFEST))
        everything = b"".join(packed.read(name) for name in packed.namelist())
    assert manifest["format"] == "foldwise-model"
    assert manifest["version"] == 1
    assert manifest["metadata"] == {"rows": 60, "estimate": [0.8, 0.7, 0.9]}
    assert {"foldwise", "python", "scikit-learn", "numpy"} <= set(manifest["written_by"])
    assert os.getcwd().encode() not in everything
    assert b"/home" not in everything


def test_the_same_model_gives_the_same_bytes(tmp_path, bayes_file):
    again = tmp_path / "again"
    save_model(again, fitted("naive_bayes"), TABLE.X, target="y", metadata={"rows": 60, "estimate": [0.8, 0.7, 0.9]})
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(bayes_file) as other:
        assert json.loads(one.read(MANIFEST))["columns"] == json.loads(other.read(MANIFEST))["columns"]
        assert one.read("parts/0.json") == other.read("parts/0.json")


def test_opening_needs_no_code_of_the_writer(bayes_file):
    """In another process, from another folder."""
    code = f"from foldwise import open_model; print(open_model({str(bayes_file)!r}))"
    source = os.path.dirname(os.path.dirname(foldwise.__file__))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": source},
    )
    assert done.stdout == "StoredModel of 'y': 7 columns, 2 classes\n"


def test_every_byte_counts(bayes_file, tmp_path):
    """Whatever byte is changed, the file is refused or says the same."""
    data = bayes_file.read_bytes()
    expected = open_model(bayes_file).predict_proba(TABLE.X[:5])
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.choice(len(data), 60, replace=False):
        broken = bytearray(data)
        broken[place] ^= 0xFF
        path = tmp_path / "broken"
        path.write_bytes(broken)
        try:
            got = open_model(path).predict_proba(TABLE.X[:5])
        except InputError:
            refused += 1
        else:
            np.testing.assert_array_equal(got, expected)
    assert refused > 50


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_file_cut_short_is_refused(bayes_file, tmp_path, share):
    data = bayes_file.read_bytes()
    path = tmp_path / "short"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match="model file"):
        open_model(path)


def test_a_changed_member_is_named(bayes_file, tmp_path):
    path = tmp_path / "changed"
    with zipfile.ZipFile(bayes_file) as packed, zipfile.ZipFile(path, "w") as out:
        for name in packed.namelist():
            data = packed.read(name)
            out.writestr(name, data.replace(b"naive", b"NAIVE") + b" " if name == "parts/0.json" else data)
        out.comment = packed.comment
    with pytest.raises(InputError, match=r"'changed' was changed after it was written: parts/0\.json"):
        open_model(path)


def test_a_changed_manifest_and_a_further_member_are_named(bayes_file, tmp_path):
    path = tmp_path / "changed"
    with zipfile.ZipFile(bayes_file) as packed, zipfile.ZipFile(path, "w") as out:
        for name in packed.namelist():
            data = packed.read(name)
            out.writestr(name, data.replace(b'"rows": 60', b'"rows": 99') if name == MANIFEST else data)
        out.comment = packed.comment
    with pytest.raises(InputError, match=r"was changed after it was written: manifest\.json"):
        open_model(path)
    path.write_bytes(bayes_file.read_bytes())
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("code.py", "print(1)")
    with pytest.raises(InputError, match=r"was changed after it was written: code\.py"):
        open_model(path)


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("pickle_was_opened",))


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_pickle_in_disguise_is_not_opened(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.foldwise"
    path.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
    with pytest.raises(InputError, match="is not a model file") as caught:
        open_model(path)
    assert protocol == 0 or "pickle, which is never opened" in str(caught.value)
    assert not (tmp_path / "pickle_was_opened").exists()


@pytest.mark.parametrize("member", ["model.skops", "parts/0.json"])
def test_a_pickle_inside_is_not_opened(bayes_file, tmp_path, monkeypatch, member):
    monkeypatch.chdir(tmp_path)

    def change(manifest, members):
        members[member] = pickle.dumps(Bomb())

    with pytest.raises(InputError, match=r"damaged|not JSON"):
        open_model(rewritten(bayes_file, tmp_path / "evil", change))
    assert not (tmp_path / "pickle_was_opened").exists()


def test_arrays_of_objects_are_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "knn"
    save_model(path, fitted("knn"), TABLE.X)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, numbers=np.array([Bomb()], dtype=object), codes=np.zeros(1), y=np.zeros(1))

    def change(manifest, members):
        members["parts/0.npz"] = buffer.getvalue()

    with pytest.raises(InputError, match="does not contain plain arrays"):
        open_model(rewritten(path, tmp_path / "evil", change))
    assert not (tmp_path / "pickle_was_opened").exists()


def test_types_that_are_not_on_the_list_are_refused_at_both_ends(tmp_path):
    import skops.io as sio

    X = np.random.default_rng(0).normal(size=(20, 2))
    model = make_pipeline(FunctionTransformer(os.path.basename, validate=False), LogisticRegression())
    model.steps[0][1].func = os.getenv
    model.steps[1][1].fit(X, [0, 1] * 10)
    with pytest.raises(InputError, match="contains no code"):
        save_model(tmp_path / "m", model, X)
    with pytest.raises(InputError, match="which Foldwise does not allow"):
        from_skops(sio.dumps(model))


def test_a_newer_format_and_other_zips_are_refused(bayes_file, tmp_path):
    def newer(manifest, members):
        manifest["version"] = 2

    with pytest.raises(InputError, match=r"format version 2, but this Foldwise reads versions up to 1\. Hint: upgrade"):
        open_model(rewritten(bayes_file, tmp_path / "newer", newer))

    def odd(manifest, members):
        manifest["version"] = "1"

    with pytest.raises(InputError, match="'1' is not a format version"):
        open_model(rewritten(bayes_file, tmp_path / "odd", odd))
    with zipfile.ZipFile(tmp_path / "zip", "w") as out:
        out.writestr("a.txt", "hello")
    with pytest.raises(InputError, match="is a zip file, but not a model file"):
        open_model(tmp_path / "zip")
    with pytest.raises(InputError, match="model file 'nothing' does not exist"):
        open_model(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a folder, not a model file"):
        open_model(tmp_path)


@pytest.mark.parametrize("key", ["columns", "classes", "parts", "probe", "metadata", "framed", "target"])
def test_a_manifest_without_what_it_must_hold_is_damaged(bayes_file, tmp_path, key):
    with pytest.raises(InputError, match="damaged"):
        open_model(rewritten(bayes_file, tmp_path / "m", lambda manifest, members: manifest.pop(key)))


def test_a_model_that_says_something_else_is_refused(bayes_file, tmp_path):
    def change(manifest, members):
        manifest["probe"][0] = [0.123, 0.877]
        manifest["written_by"]["scikit-learn"] = "1.2.0"

    with pytest.raises(InputError, match=r"differ from those at the time it was saved.* scikit-learn 1\.2\.0 \(now"):
        open_model(rewritten(bayes_file, tmp_path / "m", change))


@pytest.mark.parametrize("name", ["decision_tree", "hist_gradient_boosting"])
def test_trees_that_lead_astray_are_refused(name):
    model = fitted(name)[-1]
    if name == "decision_tree":
        check_indices(model)
        state = model.tree_.__getstate__()
        state["nodes"]["left_child"][0] = 10**6
        model.tree_.__setstate__(state)
        broken = model
    else:
        broken = model._predictors[0][0]
        check_indices(broken)
        check_indices(model)
        broken.nodes["right"][0] = 0  # a circle
    with pytest.raises(InputError, match="a tree has invalid indices"):
        check_indices(broken)
    if name == "hist_gradient_boosting":
        model._predictors[1][0].nodes["feature_idx"][0] = 999
        with pytest.raises(InputError, match="a tree has invalid indices"):
            check_indices(model)


def test_parts_inside_other_estimators(tmp_path):
    """Naive Bayes and neighbors as members of an ensemble; and the ensemble itself stays as it was."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    for member in (NaiveBayes(), KNNClassifier(3, metric="heom")):
        model = BaggingClassifier(member, n_estimators=3, random_state=0).fit(X, y)
        save_model(tmp_path / "m", model, X)
        assert type(model.estimators_[0]) is type(member)
        stored = open_model(tmp_path / "m")
        np.testing.assert_array_equal(stored.predict_proba(X), model.predict_proba(X))
        assert stored.model.estimator.get_params() == member.get_params()


def test_a_vocabulary_is_not_a_file_a_word(tmp_path):
    """TF-IDF numbers its words with NumPy's integers; stored one by one, thousands of them took half a minute."""
    texts = np.array([f"word{i} word{i + 1} again" for i in range(60)])
    model = make_pipeline(TfidfVectorizer(max_features=50), LogisticRegression()).fit(texts, np.arange(60) % 2)
    data = to_skops(extract_parts(model)[0])
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        assert len(packed.namelist()) < 15
    np.testing.assert_array_equal(from_skops(data).predict_proba(texts), model.predict_proba(texts))
    assert isinstance(next(iter(model[0].vocabulary_.values())), np.integer)  # the model itself stays as it was


def test_what_cannot_be_stored_is_refused(tmp_path):
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(InputError, match="weights is a function"):
        save_model(tmp_path / "m", KNNClassifier(1, weights=lambda d: d).fit(X, y), X)
    with pytest.raises(InputError, match="only a fitted classifier"):
        save_model(tmp_path / "m", RandomForestClassifier(), X)
    with pytest.raises(InputError, match="values that JSON can represent"):
        save_model(tmp_path / "m", LogisticRegression().fit(X, y), X, metadata={"when": object()})
    with pytest.raises(InputError, match="of the model file does not exist"):
        save_model(tmp_path / "no" / "m", LogisticRegression().fit(X, y), X)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_write_leaves_the_old_file(bayes_file, tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_bytes(bayes_file.read_bytes())
    monkeypatch.setattr(container, "digest", lambda data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_model(path, fitted("naive_bayes"), TABLE.X)
    assert path.read_bytes() == bayes_file.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


class TestTheTableAtTheDoor:
    def test_missing_columns_are_all_named(self, bayes_file):
        with pytest.raises(InputError, match="lacks the columns 'size', 'city'"):
            open_model(bayes_file).predict(TABLE.X.drop("size", "city"))
        with pytest.raises(InputError, match="lacks the column 'day'"):
            open_model(bayes_file).predict(TABLE.X.drop("day"))

    def test_extra_columns_and_another_order_do_not_matter(self, bayes_file):
        stored = open_model(bayes_file)
        moved = TABLE.X.select(reversed(TABLE.X.columns)).with_columns(y=pl.lit("up"), more=pl.lit(1))
        np.testing.assert_array_equal(stored.predict_proba(moved), stored.predict_proba(TABLE.X))
        assert "'y', 'more' were ignored" in stored.check(moved)[0].text
        assert not str(stored.check(TABLE.X))

    @pytest.mark.parametrize(
        ("column", "cells", "message"),
        [
            ("size", ["tall"] * 60, "'size' contains 'tall', but it contained numbers when"),
            ("size", ["1"] * 59 + ["tall"], "missing_values={'size': 'tall'}. Otherwise convert the column to numbers"),
            ("color", [1.5] * 60, "'color' contains numbers such as 1.5, but it contained text"),
            ("member", ["yes"] * 60, "'member' contains text such as 'yes', but it contained booleans"),
            ("day", ["2020-01-01"] * 60, "'day' contains text such as '2020-01-01', but it contained dates"),
        ],
    )
    def test_types_that_changed_are_refused(self, bayes_file, column, cells, message):
        with pytest.raises(InputError, match=message):
            open_model(bayes_file).predict(TABLE.X.with_columns(pl.Series(column, cells)))

    def test_whole_numbers_where_text_was_are_compared_as_text(self, tmp_path):
        X = pl.DataFrame({"rooms": ["1", "2", "3+", "2"] * 5})
        model = NaiveBayes().fit(X, ["a", "b", "c", "b"] * 5)
        save_model(tmp_path / "m", model, X)
        stored = open_model(tmp_path / "m")
        numbers = pl.DataFrame({"rooms": [2, 1]})
        assert stored.predict(numbers).tolist() == ["b", "a"]
        assert "converted 'rooms' from integers to text" in str(stored.check(numbers))

    @pytest.mark.parametrize("name", NAMES)
    def test_empty_columns_of_any_type_fit(self, name, tmp_path):
        save_model(tmp_path / "m", fitted(name), TABLE.X)
        stored = open_model(tmp_path / "m")
        empty = pl.DataFrame({column: [None, None] for column in TABLE.X.columns})
        assert set(stored.predict(empty)) <= {"up", "down"}
        assert set(stored.predict(empty.with_columns(pl.all().cast(pl.String)))) <= {"up", "down"}

    def test_frames_of_pandas_and_tables(self, bayes_file):
        stored = open_model(bayes_file)
        expected = stored.predict_proba(TABLE.X)
        np.testing.assert_array_equal(stored.predict_proba(TABLE.X.to_pandas()), expected)
        np.testing.assert_array_equal(stored.predict_proba(TABLE), expected)
        with pytest.raises(InputError, match="the table has no rows"):
            stored.predict(TABLE.X[:0])

    def test_only_columns_that_are_read_are_wanted(self, tmp_path):
        constant = mixed(60)
        X = constant.X.with_columns(one=pl.lit("x"), name=pl.Series([f"row{i}" for i in range(60)]))
        about = outline(type(constant)(X, constant.y, foldwise.data.view.view(X).schema, "t", "y"))
        model = catalogue()["decision_tree"].pipeline(about).fit(X, constant.y)
        save_model(tmp_path / "m", model, X)
        assert set(open_model(tmp_path / "m").kinds) == set(TABLE.X.columns)

    def test_arrays_without_names(self, tmp_path):
        X = np.random.default_rng(0).normal(size=(30, 3))
        model = LogisticRegression().fit(X, X[:, 0] > 0)
        save_model(tmp_path / "m", model, X)
        stored = open_model(tmp_path / "m")
        np.testing.assert_array_equal(stored.predict(X), model.predict(X))
        assert stored.predict(pd.DataFrame(X, columns=["x0", "x1", "x2"])).dtype == bool


def test_versions_name_no_machine():
    assert not any(os.sep in value for value in storing.versions().values())
