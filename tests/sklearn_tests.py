"""Loads scikit-learn's own tests from the installed package, so that they run on our classes and functions.

Nothing of them is copied. Where our messages say something else, everything but the text must be as in scikit-learn.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest


class MessagesApart:
    """`pytest` as the tests see it: a message that does not match is counted instead of failing the test."""

    def __init__(self) -> None:
        self.differing = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(pytest, name)

    @contextmanager
    def raises(self, kind: Any, match: Any = None) -> Iterator[Any]:
        with pytest.raises(kind) as found:
            yield found
        self.differing += match is not None and not re.search(match, str(found.value))

    @contextmanager
    def warns(self, kind: Any, match: Any = None) -> Iterator[Any]:
        with pytest.warns(kind) as found:
            yield found
        texts = [str(one.message) for one in found]
        self.differing += match is not None and not any(re.search(match, text) for text in texts)


def load_module(name: str, ours: Mapping[Any, Mapping[str, Any]]) -> Any:
    """A module of scikit-learn, executed with what is ours in the modules that it imports from."""
    spec: Any = importlib.util.find_spec(name)
    module: Any = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for place, names in ours.items():
            for attribute, value in names.items():
                patch.setattr(place, attribute, value)
        sys.modules[name] = module  # where pickle looks for classes of the tests
        spec.loader.exec_module(module)
    return module


def find_tests(module: Any, wording: Collection[str]) -> dict[str, Callable[..., None]]:
    """The tests of a module by name; those of `wording` are run without the comparison of messages."""
    found = {name: value for name, value in vars(module).items() if name.startswith("test_")}
    for test in found.values():  # pytest wants lists of values, not generators
        for mark in getattr(test, "pytestmark", []):
            if mark.name == "parametrize":
                object.__setattr__(mark, "args", (mark.args[0], list(mark.args[1]), *mark.args[2:]))
    return {name: but_for_messages(test, module) if name in wording else test for name, test in found.items()}


def but_for_messages(test: Callable[..., None], module: Any) -> Callable[..., None]:
    """The test without the comparison of messages; it fails if all messages are those of scikit-learn."""

    @functools.wraps(test)
    def lenient(*args: Any, **kwargs: Any) -> None:
        apart = MessagesApart()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "pytest", apart)
            test(*args, **kwargs)
        assert apart.differing, f"the messages of {test.__name__} are now scikit-learn's: remove it from WORDING"

    return lenient
