"""Axes of parameters: their scales, ticks and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.tuning.space import SearchSpace, SpaceColumn


def varied(space: SearchSpace) -> list[int]:
    """The columns of parameters that have more than one value."""
    return [i for i, one in enumerate(space.columns) if one.dimension.n_values > 1]


def show_scale(ax: Any, column: SpaceColumn, which: str) -> None:
    """Label the x or y axis of units with the values that they stand for."""
    dimension = column.dimension
    if dimension.n_values <= 8:
        values = [dimension.from_unit((i + 0.5) / dimension.n_values) for i in range(int(dimension.n_values))]
        ticks = [dimension.to_unit(value) for value in values]
    else:
        values = round_values(*(float(dimension.from_unit(one)) for one in (0.0, 0.5, 1.0)))
        ticks = [dimension.to_unit(value) for value in values]
    getattr(ax, f"set_{which}ticks")(ticks, [short(one) for one in values])
    getattr(ax, f"set_{which}lim")(-0.02, 1.02)
    getattr(ax, f"set_{which}label")(column.name.rpartition("__")[2])


def round_values(low: float, middle: float, high: float) -> list[float]:
    """A few round values between bounds: powers of ten if the middle shows that the scale is logarithmic.

    >>> round_values(0.03, 30, 30_000)
    [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0]
    >>> round_values(0, 5, 10)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    if low > 0 and high / low > 50 and 0.5 < middle / np.sqrt(low * high) < 2:
        powers = np.arange(np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9) + 1)
        return [float(10**power) for power in powers[:: -(-len(powers) // 7)]]
    step = 10 ** np.floor(np.log10((high - low) / 2))
    step *= next(factor for factor in (1, 2, 5) if (high - low) / (step * factor) <= 7)
    return [float(round(k * step, 12)) for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def short(value: Any) -> str:
    """A value as a short text.

    >>> short(0.000123), short("rbf"), short(200), short(30_000.0)
    ('0.000123', 'rbf', '200', '30000')
    """
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else str(value)[:12].removesuffix(".0")
