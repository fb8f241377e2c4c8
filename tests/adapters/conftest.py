"""Tables that several tests of adapters share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def numbers(rng):
    y = np.r_[np.zeros(30, int), np.ones(26, int), np.full(4, 2)]  # class 2 is absent from some training rows
    return rng.normal(size=(60, 5)) + y[:, None] * 0.7, y
