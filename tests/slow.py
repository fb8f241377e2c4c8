"""Marks some of a test's parameters slow: `make test` takes one case of each kind, `make test-slow` the others."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: Any) -> list[Any]:
    """Parameters that only `make test-slow` and `make test-all` take; a tuple holds the values of several names."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow) for value in values
    ]
