"""Tags of storable classes: none disappears or changes its meaning, none is missing, files hold no module path."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import pkgutil
import re
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import foldwise.ensembles
from foldwise import Calibrated, CostMatrix, CostSensitive, save_model
from foldwise.ensembles import bagging, stacking
from foldwise.ensembles.blocks import Combiner, Dependency, Diversity, EnsembleSize
from foldwise.ensembles.sizes import SelectedSize
from foldwise.errors import InputError
from foldwise.models import catalogue, outline
from foldwise.storage.codecs import CODEC_TAGS, CODECS
from foldwise.storage.encoded_parts import codec_of, walk
from foldwise.storage.skops_format import from_skops, to_skops, to_tag, with_types
from foldwise.storage.tags import PATHS, TAGS
from tests.models.tables import mixed
from tests.storage.tags import STORED, class_of, meaning

RELEASED = json.loads(STORED.read_text())
AGAIN = "see tests/storage/tags.py"


def test_no_tag_disappears():
    assert set(RELEASED) <= set(TAGS), AGAIN
    assert set(TAGS) == set(RELEASED), f"a new tag must be added to the stored list; {AGAIN}"


@pytest.mark.parametrize("tag", RELEASED)
def test_no_tag_changes_its_meaning(tag):
    assert meaning(tag) == RELEASED[tag], AGAIN


def test_codecs_keep_their_tags():
    assert set(CODECS) == {"naive_bayes", "knn", "booster"}
    assert set(CODEC_TAGS.values()) == set(CODECS)


def test_a_class_has_one_tag():
    assert len(PATHS) == len(TAGS)
    assert all(f"{found.__module__}.{found.__name__}" in PATHS for found in map(class_of, TAGS))  # not imported names


@pytest.mark.parametrize("name", [name for name, spec in catalogue().items() if "classification" in spec.tasks])
def test_what_the_catalogue_builds_has_tags(name):
    spec = catalogue()[name]
    if not spec.available:
        pytest.skip(f"{spec.module} is not installed")
    ours = (value for value in walk(spec.pipeline(outline(mixed(40)))) if type(value).__module__.startswith("foldwise"))
    assert not [value for value in ours if codec_of(value) is None and path(type(value)) not in PATHS]


def classes_of(package):
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    return {found for module in modules for _, found in inspect.getmembers(module, inspect.isclass)}


def test_every_block_of_an_ensemble_has_a_tag():
    blocks = {
        found
        for found in classes_of(foldwise.ensembles)
        if issubclass(found, Combiner | Dependency | Diversity | EnsembleSize)
    } - {Combiner, Dependency, Diversity, EnsembleSize, SelectedSize}
    assert len(blocks) > 15
    assert not {path(found) for found in blocks} - set(PATHS)


NOT_STORED = {
    "AnsweredClassifier": "stands for a model while it is scored",
    "AnsweredRegressor": "stands for a model while it is scored",
    "DensityClusters": "predicts clusters only",
    "GridSearchCV": "its best_estimator_ is saved",
    "HalvingGridSearchCV": "its best_estimator_ is saved",
    "HalvingRandomSearchCV": "its best_estimator_ is saved",
    "KMedoids": "predicts clusters only",
    "RandomizedSearchCV": "its best_estimator_ is saved",
    "SearchCV": "its best_estimator_ is saved",
    "SelectFeatures": "its history is a frame; the model of the selected columns is saved",
}


def test_every_estimator_has_a_tag_or_a_codec():
    estimators = {found for found in classes_of(foldwise) if issubclass(found, BaseEstimator)}
    estimators = {found for found in estimators if found.__module__.startswith("foldwise")}
    bases = {base for found in estimators for base in found.__mro__[1:]}
    names = {name.removeprefix("foldwise.") for name in CODEC_TAGS if name.startswith("foldwise.")}
    without = {found.__name__ for found in estimators - bases if path(found) not in PATHS} - names
    assert without == set(NOT_STORED)


def path(kind):
    return f"{kind.__module__}.{kind.__name__}"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    table = mixed(60)
    about = outline(table)
    members = {name: catalogue()[name].pipeline(about) for name in ("naive_bayes", "decision_tree")}
    bags = bagging(catalogue()["rule_list"].pipeline(about), 2, random_state=0)
    model = stacking({**members, "bags": bags}, cv=2)
    costs = CostMatrix.from_dict({"buy": {"up": -1, "down": 3}, "wait": {"up": 0, "down": 0}})
    target = tmp_path_factory.mktemp("models") / "model"
    final = CostSensitive(Calibrated(model, method="temperature", cv=2), costs)
    save_model(target, final.fit(table.X, table.y), table.X)
    return target


def test_a_file_holds_no_module_path_of_ours(file):
    with zipfile.ZipFile(file) as packed:
        contents = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(io.BytesIO(contents.pop("model.skops"))) as packed:
        contents |= {name: packed.read(name) for name in packed.namelist()}
    assert b'"ensemble.stacking.fitted"' in contents["schema.json"]
    assert not [name for name, content in contents.items() if re.search(rb"foldwise\.[a-z]", content)]


def test_unknown_tags_and_paths_of_ours_are_refused():
    """A path is refused even if it leads to a storable class, and a tag even if it looks like a path that exists."""
    import skops.io as sio

    blocks = [foldwise.ensembles.combiners.averages.Vote()]
    data = to_skops(blocks)
    assert isinstance(from_skops(data)[0], type(blocks[0]))
    with pytest.raises(InputError, match=r"contains foldwise\.ensembles.*which Foldwise does not allow"):
        from_skops(sio.dumps(blocks))
    for tag in ("ensemble.unknown", "os.system", "ensembles.combiners.averages.Vote"):
        forged = with_types(data, lambda module, name, tag=tag: ("tag", tag) if module == "tag" else (module, name))
        with pytest.raises(InputError, match=f"contains '{tag}', which Foldwise does not allow"):
            from_skops(forged)


def test_a_class_without_a_tag_is_not_stored():
    with pytest.raises(InputError, match="cannot be saved"):
        to_tag("foldwise.evaluation.confusion", "Confusion")


def test_a_dictionary_with_the_keys_of_skops_stays_as_it_is():
    value = {"__module__": "foldwise.bayes", "__class__": "tag"}
    assert from_skops(to_skops({"params": value, "array": np.arange(3)}))["params"] == value


@pytest.mark.parametrize("tag", TAGS)
def test_what_may_be_opened_does_nothing_when_it_is_made(tag):
    """skops makes an object without `__init__` and sets its values, or by its constructor: neither may run code of ours
    that does more than keep values; only the cost matrix checks them.
    """
    hooks = {"__new__", "__setstate__", "__post_init__", "__del__", "__setattr__", "__getattr__"}
    for one in (one for one in class_of(tag).__mro__ if one.__module__.startswith("foldwise")):
        defined = hooks & set(vars(one))
        params = getattr(one, "__dataclass_params__", None)
        if params is not None and params.frozen:
            defined -= {"__setattr__"}  # a frozen dataclass refuses
        assert defined <= ({"__post_init__"} if tag == "costs.matrix" else set())
