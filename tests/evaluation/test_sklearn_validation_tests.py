"""scikit-learn's own tests of `cross_validate`, `cross_val_score` and `cross_val_predict`, run on our functions.

They are read from the installed scikit-learn (`model_selection/tests/test_validation.py`), and nothing is copied.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn import model_selection

import foldwise
from tests.sklearn_tests import find_tests, load_module

pytestmark = pytest.mark.filterwarnings("default")  # as in scikit-learn's own runs

OURS = ("cross_validate", "cross_val_score", "cross_val_predict")

# tests in which only the text of a message differs, and what our message says
WORDING = {"test_cross_val_score_predict_groups": "the splitter that needs groups is named"}

SLOW = (
    "test_cross_validate_many_jobs",
    "test_cross_validate_return_indices",
    "test_gridsearchcv_cross_val_predict_with_method",
    "test_cross_val_predict_class_subset",
)
# failures, with the reason; none at present
LEFT_OUT: dict[str, str] = {}

IN_PLACE: dict[Any, dict[str, Any]] = {model_selection: {name: getattr(foldwise, name) for name in OURS}}
MODULE = load_module("sklearn.model_selection.tests.test_validation", IN_PLACE)


def is_about_ours(test: Any) -> bool:
    """Whether a test calls one of our functions, perhaps in a helper of its module."""
    helpers = [value for name, value in vars(MODULE).items() if name.startswith("check_") and inspect.isfunction(value)]
    about = {one.__name__ for one in helpers if names_ours(one) and one.__module__ == MODULE.__name__}
    return names_ours(test) or any(name in inspect.getsource(test) for name in about)


def names_ours(function: Any) -> bool:
    return any(name in inspect.getsource(function) for name in OURS)


def keep_ours(test: Any) -> None:
    """Drop the cases of a test for several functions that are not about ours."""
    ours = [getattr(foldwise, name) for name in OURS]
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize" and mark.args[0] == "func, extra_args":
            cases = [case for case in mark.args[1] if case[0] in ours]
            assert len(cases) == len(ours)
            object.__setattr__(mark, "args", (mark.args[0], cases, *mark.args[2:]))


FOUND = {name: test for name, test in find_tests(MODULE, WORDING).items() if is_about_ours(test)}
for name, test in FOUND.items():
    keep_ours(test)
    if name in SLOW:
        pytest.mark.slow(test)
globals().update({name: test for name, test in FOUND.items() if name not in LEFT_OUT})
del name, test


@pytest.fixture
def global_random_seed() -> int:
    """The seed of scikit-learn's own runs."""
    return 42


def test_lists_name_tests_that_exist() -> None:
    assert {*WORDING, *SLOW, *LEFT_OUT} <= FOUND.keys()
    assert len(FOUND) >= 40
