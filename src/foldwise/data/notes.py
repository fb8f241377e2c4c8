"""What was decided while a file was read, and what is suggested about it: one sentence each, for people."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

WIDTH = 80


@dataclass(frozen=True)
class Note:
    """One decision or suggestion: its topic, a sentence, and the column it is about, if it is about one."""

    topic: str
    text: str
    column: str | None = None

    def __str__(self) -> str:
        return f"{self.topic}: {self.text}"


class Notes(tuple[Note, ...]):
    """Notes in the order in which things were decided; printed, one paragraph each at 80 columns.

    >>> print(Notes([Note("separator", "';' (every line of the first 200 has 3 cells).")]))
    separator: ';' (every line of the first 200 has 3 cells).
    """

    __slots__ = ()

    def about(self, topic: str) -> Notes:
        """The notes of one topic."""
        return Notes(note for note in self if note.topic == topic)

    def __str__(self) -> str:
        return "\n".join(textwrap.fill(str(note), WIDTH, subsequent_indent="  ") for note in self)

    def __repr__(self) -> str:
        return str(self)
