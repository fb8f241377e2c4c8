"""What tells whether a table in an engine changed while a run read it: its files, or what is counted in it.

Each scan of a run sees the rows of one moment, but the sample and the sums over all rows come from different scans.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from foldwise.engines.asking import Asker
from foldwise.engines.checks import check_there, decide_task
from foldwise.engines.spark_tables import FileState
from foldwise.engines.statements import number

MOST_COLUMNS = 30  # that are counted, so that this is one statement


@dataclass(frozen=True)
class TableState:
    """What a table was like at one moment; two states are compared with ==."""

    target: str
    by_class: bool
    files: tuple[FileState, ...]  # size and time of the last change of each file
    counts: tuple[
        str, ...
    ]  # of each class: rows, present cells, smallest and largest numbers; of a table of files none
    seconds: float = field(compare=False)  # that looking took

    @classmethod
    def of(cls, table: Any, target: str, task: str | None) -> TableState:
        """Look at a table for the first time."""
        start, asker = time.monotonic(), Asker(table)
        check_there([target], table.columns)
        if files := asker.kind.files(asker.connection, table):
            return cls(target, False, files, (), time.monotonic() - start)
        by_class = decide_task(asker, target, task) == "classification"
        return cls(target, by_class, (), counts_of(asker, target if by_class else None), time.monotonic() - start)

    def has_changed(self, table: Any) -> bool:
        """Look at the table again, and say whether anything differs."""
        asker = Asker(table)
        if self.files:
            return asker.kind.files(asker.connection, table) != self.files
        return counts_of(asker, self.target if self.by_class else None) != self.counts


def counts_of(asker: Asker, target: str | None) -> tuple[str, ...]:
    """Count rows and present cells, and find the smallest and the largest numbers, by class if there is a target."""
    table = asker.table
    wanted = {"rows": table.count()}
    for k, name in enumerate(table.columns[:MOST_COLUMNS]):
        column, kind = table[name], table.schema()[name]
        if kind.is_numeric() and not kind.is_boolean():
            column = number(asker, column)  # NaN would be the largest
            wanted |= {f"smallest{k}": column.min(), f"largest{k}": column.max()}
        wanted[f"present{k}"] = column.count()
    with asker.prepared():
        grouped = table if target is None else table.group_by(label=table[target])
        found = asker.ask(grouped.aggregate(**wanted))
    # as text, because a class may be NaN; -0 and 0 are the same number, either of which may be the smallest
    return tuple(sorted(repr([one + 0.0 if isinstance(one, float) else one for one in row]) for row in found.rows()))
