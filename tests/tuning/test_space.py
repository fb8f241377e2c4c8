"""Search spaces: scales, conditions, branches, and what scikit-learn's grids mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import loguniform, norm, randint, uniform

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.testing import STRATEGY_SPACE
from foldwise.tuning import Choice, Float, Int
from foldwise.tuning.space import SearchSpace

DIMENSIONS = [
    Float(-2, 5),
    Float(1e-5, 1e3, log=True),
    Int(0, 7),
    Int(1, 1000, log=True),
    Choice(["a", "b", None]),
    Choice([1, 10, 100], ordered=True),
]


@pytest.mark.parametrize("dimension", DIMENSIONS)
@given(unit=st.floats(0, 1))
def test_a_unit_stands_for_a_value_of_the_dimension_and_back(dimension, unit):
    value = dimension.from_unit(unit)
    assert dimension.contains(value)
    again = dimension.from_unit(dimension.to_unit(value))
    assert again == pytest.approx(value) if isinstance(value, float) else again == value


def test_every_value_of_a_discrete_dimension_is_reached_equally_often():
    for dimension in (Int(3, 6), Choice(list("abcd"))):
        found = [dimension.from_unit(u) for u in (np.arange(1000) + 0.5) / 1000]
        assert sorted(found.count(one) for one in set(found)) == [250] * 4


@pytest.mark.parametrize("frozen", [loguniform(1e-3, 10), uniform(2, 3), randint(1, 9), norm(0, 2)])
def test_distributions_of_scipy_are_dimensions(frozen):
    space = SearchSpace.of({"x": frozen})
    rng = np.random.default_rng(0)
    drawn = [space.sample(rng)["x"] for _ in range(200)]
    assert all(space.contains({"x": one}) for one in drawn)
    units = [space.to_units({"x": one})[0] for one in drawn]
    assert abs(np.mean(units) - 0.5) < 0.07
    for one, unit in zip(drawn, units, strict=True):
        assert space.from_units([unit])["x"] == pytest.approx(one, rel=1e-6)


def test_an_object_that_can_only_be_drawn_from_serves_random_search_alone():
    class Odd:
        def rvs(self, random_state=None):
            return random_state.randint(5) * 2 + 1

    space = SearchSpace.of({"x": Odd()})
    assert space.sample(np.random.default_rng(0))["x"] % 2 == 1
    with pytest.raises(FoldwiseTypeError, match="only random draws from it"):
        space.to_units({"x": 3})


def test_a_conditional_parameter_is_in_a_setting_only_if_its_condition_holds():
    space = SearchSpace.of(STRATEGY_SPACE)
    rng = np.random.default_rng(0)
    for _ in range(100):
        setting = space.sample(rng)
        assert ("gamma" in setting) == (setting["kernel"] == "rbf")
        assert ("degree" in setting) == (setting["kernel"] == "poly")
        assert space.contains(setting)
        units = space.to_units(setting)
        names = [one.name for one in space.columns]
        assert {n for n, u in zip(names, units, strict=True) if not math.isnan(u)} == set(setting)
        back = space.from_units(units)
        assert back.keys() == setting.keys()
        assert back["kernel"] == setting["kernel"]
    assert not space.contains({**space.sample(rng), "more": 1})


def test_a_list_of_grids_has_branches_that_share_equal_parameters():
    space = SearchSpace.of(
        [
            {"kernel": ["linear"], "C": Float(0.1, 10)},
            {"kernel": ["rbf"], "C": Float(0.1, 10), "gamma": [0.1, 1, 10]},
        ]
    )
    assert [(one.name, one.branches) for one in space.columns] == [
        ("kernel", (0,)),
        ("C", (0, 1)),
        ("kernel", (1,)),
        ("gamma", (1,)),
    ]
    rng = np.random.default_rng(0)
    drawn = [space.sample(rng) for _ in range(200)]
    assert {one["kernel"] for one in drawn} == {"linear", "rbf"}
    assert {space.branch_of(one) for one in drawn} == {0, 1}
    assert space.columns[3].dimension.ordered


def test_finite_branches_are_drawn_in_proportion_to_their_settings():
    space = SearchSpace.of([{"a": [1]}, {"a": [2], "b": list(range(9))}])
    rng = np.random.default_rng(0)
    assert space.n_settings == 10
    assert 0.05 < np.mean([space.sample(rng)["a"] == 1 for _ in range(500)]) < 0.16


@pytest.mark.parametrize(
    ("space", "error", "words"),
    [
        ({"a": Float(0, 1, when={"b": 1})}, InputError, "'a' depends on 'b'"),
        ({"a": Float(0, 1, when={"b": 1}), "b": Float(0, 1, when={"a": 1})}, InputError, "form a cycle"),
        ({"a": "rbf"}, FoldwiseTypeError, r"pass \['rbf'\]"),
        ("C", FoldwiseTypeError, "must be a dict"),
        ({"a": []}, InputError, "at least one value"),
    ],
)
def test_bad_spaces(space, error, words):
    with pytest.raises(error, match=words):
        SearchSpace.of(space)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, math.inf), ("a", 1)])
def test_bad_bounds(bounds):
    with pytest.raises(InputError, match="low < high"):
        Float(*bounds)
    with pytest.raises(InputError, match="must be positive"):
        Int(0, 5, log=True)
