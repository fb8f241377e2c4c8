"""Two machine instructions that numba does not offer by name.

`fma` rounds once by definition, so a sum has the same bits in every lane and every kernel; the compiler's own fusing
(`fastmath`) promises no such thing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic


def _fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


def _ones(typing: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(*arguments)

    return types.uint8(types.uint8), generate


fma: Callable[[float, float, float], float] = cast(Any, intrinsic(_fma))
"""a·b + c in float64, rounded once."""

ones: Callable[[np.uint8], np.uint8] = cast(Any, intrinsic(_ones))
"""How many bits of a byte are set."""
