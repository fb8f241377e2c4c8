"""The md5 of texts inside an engine. Its hexadecimal digits are compared as if they were numbers."""

from __future__ import annotations

from typing import Any

from foldwise.engines.asking import Asker
from foldwise.engines.key_folds import WIDTH

LENGTH = 32  # hexadecimal digits of an md5


def md5_of(asker: Asker, text: Any) -> Any:
    """Return the hexadecimal digits of the md5 of a text."""

    @asker.ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def md5(text: str) -> str:  # type: ignore[empty-body]
        ...

    return md5(text)


def cut_out(asker: Asker, digits: Any, start: int, length: int) -> Any:
    """Return some of the digits; the first one has the index 0."""

    @asker.ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def substr(text: str, start: int, length: int) -> str:  # type: ignore[empty-body]
        ...

    return substr(digits, 1 + start, length)


def ordered(asker: Asker, digits: Any, start: int = 0) -> Any:
    """Return the digits of an md5 from an index on, to be compared with eight digits that `ordered_literal` returns.

    The digits that follow the eight do not matter, and cutting them off takes time. Some languages order the letters of
    a text otherwise (in Danish, "aa" comes last), so such an engine compares them as a UUID, which is a number.
    """
    if asker.kind.orders_by_language:
        rest = digits if start == 0 else cut_out(asker, digits, start, LENGTH - start) + "0" * start
        return rest.cast("uuid")
    return digits if start == 0 else cut_out(asker, digits, start, WIDTH)


def ordered_literal(asker: Asker, digits: str) -> Any:
    """Return eight digits as `ordered` returns those of an md5."""
    if asker.kind.orders_by_language:
        return asker.ibis.literal(digits.ljust(LENGTH, "0")).cast("uuid")
    return asker.ibis.literal(digits)
