"""scikit-learn's own tests of its searches, run on our classes.

They are read from the installed scikit-learn, and nothing of them is copied. While their modules are executed, the
searches of `sklearn.model_selection` are ours. Messages are compared too, except in the tests of `WORDING`, where ours
say something else. There, everything but the text of the message must be as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn import model_selection
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import _search

import foldwise
from foldwise.tuning.fold_search import FoldSearch
from foldwise.tuning.strategies.grid import Grid
from tests.sklearn_tests import find_tests, load_module

pytestmark = pytest.mark.filterwarnings("default")  # as in scikit-learn's own runs

OURS = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")

# tests in which only the text of a message differs, and what our message says
WORDING = {
    "test_grid_search_groups": "the splitter that needs groups is named",
    "test_no_refit": "the metrics that refit may name are listed",
    "test_callable_multimetric_error_on_invalid_key": "the metrics that refit may name are listed",
    "test_grid_search_failing_classifier": "the first setting and split that failed are named",
    "test_callable_multimetric_error_failing_clf": "the first setting and split that failed are named",
    "test_grid_search_classifier_all_fits_fail": "the first setting and split that failed are named",
    "test_callable_multimetric_clf_all_fits_fail": "the first setting and split that failed are named",
    "test_empty_cv_iterator_error": "a generator that was read before is named as the likely reason",
}

SLOW = (
    "test_aggressive_elimination",
    "test_min_max_resources",
    "test_n_iterations",
    "test_random_search",
    "test_search_with_2d_array",
)
LEFT_OUT = {"test_array_api_search_cv_classifier": "arrays of torch, CuPy and other libraries are not supported"}


class OurBaseSearchCV(FoldSearch, _search.BaseSearchCV):
    """The base for search classes of users, which define `_run_search`."""

    plan = None
    audit, keep = True, "losses"

    def _space(self) -> Any:
        return {}, Grid(), None


IN_PLACE: dict[Any, dict[str, Any]] = {
    model_selection: {name: getattr(foldwise, name) for name in OURS},
    _search: {"BaseSearchCV": OurBaseSearchCV},
}


def load_tests(name: str) -> dict[str, Callable[..., None]]:
    """The tests of a module of scikit-learn, on our searches."""
    return find_tests(load_module(f"sklearn.model_selection.tests.{name}", IN_PLACE), WORDING)


FOUND = load_tests("test_search") | load_tests("test_successive_halving")
for name in SLOW:
    pytest.mark.slow(FOUND[name])
globals().update({name: test for name, test in FOUND.items() if name not in LEFT_OUT})


@pytest.mark.slow
def test_metadata_routing_as_scikit_learn_tests_it() -> None:
    module = load_module("sklearn.tests.test_metaestimators_metadata_routing", IN_PLACE)
    cases = [case for case in module.METAESTIMATORS if issubclass(case["metaestimator"], FoldSearch)]
    tests = [
        test
        for test in vars(module).values()
        if [mark.args[0] for mark in getattr(test, "pytestmark", [])] == ["metaestimator"]
    ]
    assert len(cases) == 4
    assert len(tests) >= 8
    for case in cases:
        for test in tests:
            test(case)


def test_lists_name_tests_that_exist() -> None:
    assert {*WORDING, *SLOW, *LEFT_OUT} <= FOUND.keys()
