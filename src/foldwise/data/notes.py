"""Notes for people: what was decided while a file was read, and what is suggested about it."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass

WIDTH = 80
MOST_SHOWN = 30  # notes on one topic


def counted(n: int, noun: str) -> str:
    """Write a number with its noun in the singular or plural: 1 cell, 2 cells."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def hanging(start: str, text: str) -> str:
    """Write a start and a text wrapped beside it, at 80 columns."""
    return textwrap.fill(start + text, WIDTH, subsequent_indent=" " * len(start)).rstrip()


@dataclass(frozen=True)
class Note:
    """One decision or suggestion.

    Attributes
    ----------
    topic : str
        What it is about in a word, such as "encoding".
    text : str
        A full sentence.
    column : str, optional
        The column it is about; None for the whole table.
    """

    topic: str
    text: str
    column: str | None = None

    def __str__(self) -> str:
        return f"{self.topic}: {self.text}"


class Notes(tuple[Note, ...]):
    """Notes in the order of the decisions, printed as one paragraph each at 80 columns, at most 30 on one topic.

    Examples
    --------
    >>> print(Notes([Note("encoding", "the text is encoded as utf-8 (plain ASCII).")]))
    encoding: the text is encoded as utf-8 (plain ASCII).
    """

    __slots__ = ()

    def about(self, topic: str) -> Notes:
        """Return the notes on one topic.

        Parameters
        ----------
        topic : str
            Such as "encoding" or "missing".

        Returns
        -------
        Notes
            The notes on it; empty if there are none.
        """
        return Notes(note for note in self if note.topic == topic)

    def __str__(self) -> str:
        count: Counter[str] = Counter()
        shown = []
        for note in self:
            count[note.topic] += 1
            if count[note.topic] <= MOST_SHOWN:
                shown.append(textwrap.fill(str(note), WIDTH, subsequent_indent="  "))
        more = [f"{topic}: … and {n - MOST_SHOWN:,} more notes" for topic, n in count.items() if n > MOST_SHOWN]
        return "\n".join([*shown, *more])

    __repr__ = __str__
