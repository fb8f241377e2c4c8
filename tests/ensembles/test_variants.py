"""The unfitted ensembles of settings: what clone and set_params would make, with members in common."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldwise import Ensemble, KNNClassifier, NaiveBayes
from foldwise.ensembles import LogMean
from foldwise.ensembles.variants import EnsembleVariants

MEMBERS = {"near": KNNClassifier(5), "scaled": make_pipeline(StandardScaler(), KNNClassifier()), "bayes": NaiveBayes()}
SETTINGS = [
    {},
    {"combiner": "vote"},
    {"combiner": LogMean(floor=1e-3), "size": 3},
    {"near__n_neighbors": 3, "near__weights": "distance"},
    {"scaled__knnclassifier__n_neighbors": 7, "bayes__var_floor": 0.1, "n_jobs": 2},
    {"scaled__standardscaler": None},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize(
    "members", [MEMBERS, list(MEMBERS.values()), tuple(MEMBERS.values())], ids=["dict", "list", "tuple"]
)
def test_a_variant_is_the_clone_with_its_parameters_set(members, setting):
    if not isinstance(members, dict):
        names = {"near": "knnclassifier", "scaled": "pipeline", "bayes": "naivebayes"}
        parted = ((*name.partition("__"), value) for name, value in setting.items())
        setting = {names.get(first, first) + line + rest: value for first, line, rest, value in parted}
    model = Ensemble(members, random_state=0)
    found = EnsembleVariants(model).of(setting)
    expected = clone(model).set_params(**{name: clone(value, safe=False) for name, value in setting.items()})
    assert type(found.members) is type(expected.members)
    mine, theirs = found.get_params(), expected.get_params()
    assert mine.keys() == theirs.keys()
    assert all(repr(mine[name]) == repr(theirs[name]) for name in mine)
    assert repr(model.members) == repr(members)  # nothing was written into the ensemble


def test_members_in_common_are_one_object():
    variants = EnsembleVariants(Ensemble(MEMBERS))
    one, other = variants.of({"near__n_neighbors": 3}), variants.of({"near__n_neighbors": 3, "combiner": "vote"})
    assert one.members["near"] is other.members["near"]
    assert one.members["bayes"] is variants.of({}).members["bayes"]
    assert variants.of({}).members["near"].n_neighbors == 5


def test_values_that_are_known_by_their_ids_stay_apart():
    variants = EnsembleVariants(Ensemble(MEMBERS))
    found = [variants.of({"near__metric": object()}).members["near"] for _ in range(20)]
    assert len({id(one) for one in found}) == 20


def test_a_generator_begins_anew_with_each_setting():
    variants = EnsembleVariants(Ensemble(GaussianNB(), random_state=np.random.RandomState(0)))
    assert variants.of({}) is None  # one estimator has no names
    variants = EnsembleVariants(Ensemble(MEMBERS, random_state=np.random.RandomState(0)))
    drawn = [variants.of({}).random_state.randint(1 << 30) for _ in range(3)]
    assert len(set(drawn)) == 1


class Own(Ensemble):
    """Sets parameters in a way of its own."""

    def set_params(self, **params):
        return super().set_params(**params)


@pytest.mark.parametrize(
    ("model", "setting"),
    [
        (Ensemble(MEMBERS), {"near": KNNClassifier(3)}),
        (Ensemble(MEMBERS), {"members": [GaussianNB()]}),
        (Ensemble(MEMBERS), {"combiner__floor": 0.1}),
        (Ensemble(MEMBERS), {"unknown": 1}),
        (Ensemble({"combiner": GaussianNB(), "b": NaiveBayes()}), {}),
        (Own(MEMBERS), {}),
    ],
)
def test_settings_of_another_form_are_declined(model, setting):
    assert EnsembleVariants(model).of(setting) is None


def test_a_parameter_that_a_member_does_not_have_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter"):
        EnsembleVariants(Ensemble(MEMBERS)).of({"near__nothing": 1})
