"""Every statement that a store executes, written once for all databases.

SQLAlchemy translates statements again for each opened database. Those for SQLite are the same for every file, so they
are translated once per process.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from foldwise.tuning.store import schema
from foldwise.tuning.store.schema import blocks, proposals, studies, versions

StatementValues = Mapping[str, Any]


@dataclass(frozen=True)
class StatementRows:
    """What a statement returned: rows with named values, and how many rows it changed."""

    all: Sequence[Any]
    n_changed: int

    @property
    def first(self) -> Any:
        """The first row; None if there is none."""
        return self.all[0] if self.all else None

    @property
    def value(self) -> Any:
        """The first value of the first row; None if there is none."""
        return self.all[0][0] if self.all else None


class Statement:
    """A statement with named values to fill in."""

    def __init__(self, clause: Any, for_postgresql: Any = None) -> None:
        self.clause = clause
        self.for_postgresql = clause if for_postgresql is None else for_postgresql
        self._make: Any = None

    @cached_property
    def for_sqlite(self) -> tuple[str, dict[str, Any]]:
        """The text for SQLite, and values that are always the same."""
        found = self.clause.compile(dialect=sqlite.dialect(paramstyle="named"))
        return str(found), {name: value for name, value in (found.params or {}).items() if value is not None}

    def rows_of(self, names: Sequence[str], found: Sequence[Sequence[Any]]) -> list[Any]:
        """Name the values of rows."""
        if not found:
            return []
        if self._make is None:
            self._make = row_maker(names)
        return [self._make(one) for one in found]


def row_maker(names: Sequence[str]) -> Any:
    """A function that turns values into a row with names."""
    kind: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    return kind._make


def insert_new(table: sa.Table) -> Statement:
    """Insert rows that are not there, also if another process inserts them at the same moment."""
    columns = [name for name in table.c.keys() if name not in ("id", "result", "answers", "recorded")]  # noqa: SIM118
    given: dict[str, Any] = {name: sa.bindparam(name) for name in columns}
    return Statement(
        sqlite.insert(table).values(given).on_conflict_do_nothing(),
        postgresql.insert(table).on_conflict_do_nothing(),
    )


def bound(name: str) -> sa.BindParameter[Any]:
    return sa.bindparam(name)


CREATION = [Statement(one) for one in schema.creation()]
HAS_TABLES = Statement(
    sa.text("select count(*) from sqlite_master where name = 'foldwise_store'"),
    sa.text("select count(*) from pg_class where oid = to_regclass('foldwise_store')"),
)
CHANGES = {number: [Statement(one) for one in changes] for number, changes in schema.CHANGES.items()}
VERSION_FOUND = Statement(sa.select(versions.c.version))
INSERT_VERSION = Statement(sa.insert(versions).values(version=bound("version")))
UPDATE_VERSION = Statement(sa.update(versions).values(version=bound("now")))

STUDIES = Statement(
    sa.select(studies.c.id, studies.c.name, studies.c.training_rows, studies.c.created).order_by(studies.c.id)
)
OF_NAME = studies.c.name == bound("of_name")
STUDIES_OF_NAME = Statement(sa.select(studies).where(OF_NAME).order_by(studies.c.id))
N_STUDIES_OF_NAME = Statement(sa.select(sa.func.count()).where(OF_NAME))
STUDY = Statement(
    sa.select(studies.c.id, studies.c.seed, studies.c.fixed_parts).where(
        OF_NAME, studies.c.training_rows == bound("of_rows")
    )
)
INSERT_STUDY = insert_new(studies)

SETTINGS = Statement(
    sa.select(proposals.c.settings).where(
        proposals.c.study_id == bound("of_study"), proposals.c.first_trial == bound("from_trial")
    )
)
INSERT_PROPOSALS = insert_new(proposals)
ALL_PROPOSALS = Statement(
    sa.select(proposals).where(proposals.c.study_id == bound("of_study")).order_by(proposals.c.first_trial)
)

IN_STAGE = (
    (blocks.c.study_id == bound("of_study"))
    & (blocks.c.first_trial == bound("from_trial"))
    & (blocks.c.stage == bound("of_stage"))
)
HELD = (blocks.c.id == bound("of_block")) & (blocks.c.lease == bound("held")) & (blocks.c.state == "running")
INSERT_BLOCKS = insert_new(blocks)
BLOCKS_OF_STAGE = Statement(
    sa.select(blocks.c.trials, blocks.c.split).where(IN_STAGE).order_by(blocks.c.number),
)
HELD_COLUMNS = (blocks.c.id, blocks.c.number, blocks.c.lease, blocks.c.holder, blocks.c.expires)
WAITING_BLOCKS = Statement(
    sa.select(*HELD_COLUMNS).where(IN_STAGE, blocks.c.state == "waiting").order_by(blocks.c.number).limit(bound("most"))
)
RUNNING_BLOCKS = Statement(
    sa.select(*HELD_COLUMNS).where(IN_STAGE, blocks.c.state == "running").order_by(blocks.c.number)
)
CLAIM = Statement(
    sa.update(blocks)
    .where(blocks.c.id == bound("of_block"))
    .values(lease=bound("next_lease"), holder=bound("me"), expires=bound("until"), state="running")
)
EXTEND = Statement(sa.update(blocks).where(HELD).values(expires=bound("until")))
RELEASE = Statement(sa.update(blocks).where(HELD).values(state="waiting"))
RECORD = Statement(
    sa.update(blocks)
    .where(HELD)
    .values(state="done", result=bound("found"), answers=bound("predicted"), recorded=bound("at"))
)
DONE_BLOCKS = Statement(
    sa.select(blocks.c.number, blocks.c.result, blocks.c.answers).where(
        IN_STAGE, blocks.c.state == "done", blocks.c.number >= bound("first"), blocks.c.number <= bound("last")
    )
)
ALL_BLOCKS = Statement(
    sa.select(*(one for one in blocks.c if one.name != "answers"))
    .where(blocks.c.study_id == bound("of_study"))
    .order_by(blocks.c.stage, blocks.c.id)
)


def changes_since(version: int) -> list[Statement]:
    """What turns the tables of a version into those of the present version."""
    return [change for number in range(version + 1, schema.VERSION + 1) for change in CHANGES[number]]
