"""A model file whose library cannot be imported is not called damaged."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest

from foldwise import NaiveBayes, open_model, save_model
from foldwise.errors import InputError
from foldwise.models import catalogue, outline
from foldwise.storage import model_file
from foldwise.storage.missing_library import missing_library
from tests.models.tables import mixed


@pytest.fixture
def path(tmp_path):
    table = mixed(80)
    fitted = catalogue()["decision_tree"].pipeline(outline(table)).fit(table.X, table.y)
    save_model(tmp_path / "model.foldwise", fitted, table.X)
    return tmp_path / "model.foldwise"


def test_the_library_of_a_booster(tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    table = mixed(80)
    fitted = catalogue()["lightgbm"].pipeline(outline(table)).fit(table.X, table.y)
    save_model(tmp_path / "model.foldwise", fitted, table.X)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    words = r"needs the library 'lightgbm', which is not installed\. Hint: run pip install 'foldwise\[boosters\]'"
    with pytest.raises(InputError, match=words):
        open_model(tmp_path / "model.foldwise")


@pytest.mark.parametrize("place", ["sio.loads", "predict"])
def test_a_library_that_is_needed_while_the_model_is_read_or_tried(path, place, monkeypatch):
    def missing(*_, **__):
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    if place == "predict":
        monkeypatch.setattr("sklearn.pipeline.Pipeline.predict_proba", missing)
    else:
        monkeypatch.setattr("skops.io.loads", missing)
    with pytest.raises(InputError, match=r"needs the library 'pandas', which is not installed\. Hint: run pip install"):
        open_model(path)


def test_a_library_that_is_broken_or_too_old():
    broken = ImportError("libgomp.so.1: cannot open shared object file", name="lightgbm")
    assert "the library 'lightgbm', which cannot be imported: libgomp.so.1" in str(missing_library(broken))
    old = ModuleNotFoundError("No module named 'sklearn.new'", name="sklearn.new")
    assert "needs 'sklearn.new', which the installed version of sklearn does not contain" in str(missing_library(old))


def test_any_other_error_is_still_called_damage(path, monkeypatch):
    monkeypatch.setattr(model_file, "labels_from_plain", lambda plain: np.array(plain)["no such field"])
    with pytest.raises(InputError, match="is damaged"):
        open_model(path)


def test_an_import_that_fails_does_not_blame_the_file(tmp_path, monkeypatch):
    """For example because a file py.py beside the script hides a library that another one imports."""
    X, y = np.arange(8.0)[:, None], [0, 1] * 4
    save_model(tmp_path / "m.foldwise", NaiveBayes().fit(X, y), X)
    usual = builtins.__import__

    def hidden(name, *given, **more):
        if name == "skops.io":
            raise AttributeError("module 'py' has no attribute 'path'")
        return usual(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", hidden)
    with pytest.raises(AttributeError, match="module 'py'"):
        open_model(tmp_path / "m.foldwise")
