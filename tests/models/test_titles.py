"""Titles of estimators are those of the catalog."""

from __future__ import annotations

import pytest
from sklearn.naive_bayes import GaussianNB

from foldwise.models import CodedLabels, TransformedTarget, catalogue, outline
from foldwise.models.titles import title_of
from tests.models.tables import mixed, table_of


def estimator_of(spec, about):
    model = spec.suited(about.task).pipeline(about)[-1]
    if isinstance(model, CodedLabels):
        return model.estimator
    return model.regressor if isinstance(model, TransformedTarget) else model


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_model_is_called_as_in_the_catalog(name):
    spec = catalogue()[name]
    if not spec.available:
        pytest.skip(f"{spec.module} is not installed")
    table = mixed(60)
    if "classification" in spec.tasks:
        found = title_of(estimator_of(spec, outline(table)))
        assert found == spec.title
    if "regression" in spec.tasks:
        about = outline(table_of(table.X, list(range(60))), "regression")
        assert title_of(estimator_of(spec, about)) == spec.title.removesuffix(" (mean)").removesuffix(" (median)")


def test_another_estimator_is_called_by_its_class():
    assert title_of(GaussianNB()) == "GaussianNB"
