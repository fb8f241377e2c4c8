"""A number of members that is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from foldwise.data.arguments import whole_at_least
from foldwise.ensembles.protocol import Size


@dataclass(repr=False, eq=False)
class Fixed(Size):
    """So many; None for as many as the members and their diversity make."""

    n: int | None = None

    def most(self, usual: int) -> int:
        hint = "an ensemble has at least one member; None takes the usual number."
        return usual if self.n is None else whole_at_least("size", self.n, 1, hint)
