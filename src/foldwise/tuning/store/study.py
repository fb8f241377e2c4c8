"""A study: the trials of one search on one set of training rows, as processes claim and record them.

A block is claimed for a limited time, its lease. A process that works on keeps extending its leases. A block whose
lease has ended may be claimed by another process, and gets the next lease number. A result is recorded only by the
process that holds the latest lease, so every block is recorded exactly once.
"""

from __future__ import annotations

import json
import os
import platform
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from foldwise.folds.engine import Outcome, ScoringPlan
from foldwise.folds.protocol import Params
from foldwise.folds.scoring import TaskResult
from foldwise.tuning.space import Space
from foldwise.tuning.store.connection import StoreError, TrialStore
from foldwise.tuning.store.encoding import decode_result, decode_settings, encode_result, encode_settings
from foldwise.tuning.store.schema import blocks, proposals, studies

if TYPE_CHECKING:
    from foldwise.tuning.running_search import RunningSearch

LEASE = 30.0  # seconds
PROCESS = uuid.uuid4().hex[:8]  # tells processes with the same number apart


def holder() -> str:
    """The name of this process."""
    return f"{platform.node()} {os.getpid()} {PROCESS}"


def has_ended(name: str) -> bool:
    """Whether a process of this machine has ended; nothing is known about those of other machines."""
    node, _, rest = name.partition(" ")
    if not rest or node != platform.node():
        return False
    number, mark = rest.split(" ")
    if int(number) == os.getpid():
        return mark != PROCESS
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


@dataclass(frozen=True)
class StoredBlock:
    """Settings that share their work, on one split."""

    trials: tuple[int, ...]
    split: int  # -1 for all splits of leave-one-out


@dataclass(frozen=True)
class Claim:
    """A block that this process may compute and record."""

    id: int
    number: int
    lease: int


@dataclass(frozen=True)
class Stage:
    """Some blocks of a study that are scored together: a round of a search, or one fold of a race."""

    study_id: int
    first_trial: int
    number: int = 0

    @property
    def where(self) -> sa.ColumnElement[bool]:
        here = (blocks.c.study_id == self.study_id) & (blocks.c.first_trial == self.first_trial)
        return here & (blocks.c.stage == self.number)


@dataclass(frozen=True)
class Study:
    """A study in a store."""

    store: TrialStore
    id: int
    seed: int
    space: Space
    initial: Sequence[Params]

    def evaluate(self, running: RunningSearch, work: ScoringPlan, options: dict[str, Any]) -> Outcome:
        """Compute what no process has computed of the question of a running search, and return all of it."""
        from foldwise.tuning.store.rounds import StoredRound

        assert running.question is not None
        first, race = len(running.settings), running.race
        among = range(len(running.question.settings)) if race is None else np.flatnonzero(race.alive).tolist()
        stage = Stage(self.id, first, 0 if race is None else race.stage)
        numbers = [first + i for i in among], 0 if race is None else race.first_split
        return StoredRound(self, stage, *numbers, running.session, running.question, work, options).run()

    def proposed(self, first_trial: int, propose: Callable[[], Sequence[Params]]) -> Sequence[Params]:
        """Return the stored settings from a trial on. If there are none, propose and store them."""
        query = sa.select(proposals.c.settings).where(
            proposals.c.study_id == self.id, proposals.c.first_trial == first_trial
        )
        with self.store.transaction(self.id) as connection:
            text = connection.execute(query).scalar()
        if text is None:
            settings = propose()
            if not settings:
                return settings
            text = encode_settings(settings, self.space, self.initial)
            with self.store.transaction(self.id) as connection:
                row = {"study_id": self.id, "first_trial": first_trial, "settings": text}
                insert_new(connection, proposals, [row])
                stored = connection.execute(query).scalar_one()
            if stored == text:
                return settings
            text = stored  # another process was faster
        return decode_settings(text, self.space, self.initial)

    def begin(self, stage: Stage, found: Sequence[StoredBlock]) -> None:
        """Store the blocks of a stage, if no process has; they must be the same as those stored."""
        rows = [
            {
                "study_id": self.id,
                "first_trial": stage.first_trial,
                "stage": stage.number,
                "number": number,
                "trials": json.dumps(block.trials),
                "split": block.split,
                "state": "waiting",
                "lease": 0,
                "holder": "",
                "expires": 0.0,
            }
            for number, block in enumerate(found)
        ]
        query = sa.select(blocks.c.trials, blocks.c.split).where(stage.where).order_by(blocks.c.number)
        with self.store.transaction(self.id) as connection:
            stored = [tuple(row) for row in connection.execute(query)]
            if not stored:
                insert_new(connection, blocks, rows)
        if stored and stored != [(row["trials"], row["split"]) for row in rows]:
            raise StoreError(
                f"the store {self.store.name} divides the settings into groups differently than this process does.",
                "continue the search with the versions of Foldwise and scikit-learn that started it.",
            )

    def claim(self, stage: Stage, most: int) -> list[Claim]:
        """Claim at most so many blocks: those that wait, then those whose lease has ended or whose process has."""
        now, me = self.store.now, holder()
        columns = (blocks.c.id, blocks.c.number, blocks.c.lease, blocks.c.holder, blocks.c.expires)
        query = sa.select(*columns).where(stage.where).order_by(blocks.c.number)
        with self.store.transaction(self.id) as connection:
            free = list(connection.execute(query.where(blocks.c.state == "waiting").limit(most)))
            if len(free) < most:
                running = connection.execute(query.where(blocks.c.state == "running"))
                free += [row for row in running if row.expires < now or has_ended(row.holder)][: most - len(free)]
            if free:
                change = sa.update(blocks).where(blocks.c.id == sa.bindparam("of"))
                change = change.values(lease=sa.bindparam("next"), holder=me, expires=now + LEASE, state="running")
                connection.execute(change, [{"of": row.id, "next": row.lease + 1} for row in free])
        return [Claim(row.id, row.number, row.lease + 1) for row in free]

    def extend(self, claims: Sequence[Claim]) -> None:
        """Extend the leases of blocks that are still being computed."""
        change = sa.update(blocks).where(blocks.c.id == sa.bindparam("of"), blocks.c.lease == sa.bindparam("held"))
        change = change.where(blocks.c.state == "running").values(expires=self.store.now + LEASE)
        with self.store.transaction(self.id) as connection:
            connection.execute(change, [{"of": one.id, "held": one.lease} for one in claims])

    def release(self, claims: Sequence[Claim]) -> None:
        """Give back blocks that were not computed."""
        change = sa.update(blocks).where(blocks.c.id == sa.bindparam("of"), blocks.c.lease == sa.bindparam("held"))
        change = change.where(blocks.c.state == "running").values(state="waiting")
        if claims:
            with self.store.transaction(self.id) as connection:
                connection.execute(change, [{"of": one.id, "held": one.lease} for one in claims])

    def record(self, found: Sequence[tuple[Claim, TaskResult]]) -> list[Claim]:
        """Record results. Those whose lease was taken over are refused and returned."""
        refused = []
        encoded = [(claim, *encode_result(result)) for claim, result in found]
        with self.store.transaction(self.id) as connection:
            for claim, text, answers in encoded:
                change = sa.update(blocks).where(blocks.c.id == claim.id, blocks.c.lease == claim.lease)
                change = change.where(blocks.c.state == "running").values(state="done", result=text, answers=answers)
                if not connection.execute(change).rowcount:
                    refused.append(claim)
        return refused

    def results(self, stage: Stage, without: Sequence[int] = ()) -> dict[int, TaskResult]:
        """Return the recorded results of a stage by block, without some blocks."""
        query = sa.select(blocks.c.number, blocks.c.result, blocks.c.answers).where(stage.where)
        query = query.where(blocks.c.state == "done")
        if without:
            query = query.where(blocks.c.number.not_in(without))
        with self.store.transaction(self.id) as connection:
            return {row.number: decode_result(row.result, row.answers) for row in connection.execute(query)}

    def n_left(self, stage: Stage) -> int:
        """Return how many blocks of a stage are not done."""
        query = sa.select(sa.func.count()).where(stage.where, blocks.c.state != "done")
        with self.store.transaction(self.id) as connection:
            return int(connection.execute(query).scalar_one())


def insert_new(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows that are not there, also if another process inserts them at the same moment."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
    connection.execute(insert(table).on_conflict_do_nothing(), rows)


def open_study(
    store: TrialStore,
    name: str,
    training_rows: str,
    fixed_parts: dict[str, str],
    description: dict[str, Any],
    seed: Callable[[], int],
    space: Space,
    initial: Sequence[Params],
) -> tuple[Study, str]:
    """Open the study with this name and these training rows, or begin it. Returns it, and what to say about it.

    A study whose fixed parts differ is refused.
    """
    of_name = sa.select(studies).where(studies.c.name == name)
    with store.transaction() as connection:
        known = list(connection.execute(of_name))
        mine = next((row for row in known if row.training_rows == training_rows), None)
        if mine is None:
            row = {
                "name": name,
                "training_rows": training_rows,
                "fixed_parts": json.dumps(fixed_parts),
                "description": json.dumps(description),
                "seed": seed(),
                "created": time.time(),
            }
            insert_new(connection, studies, [row])
            mine = connection.execute(of_name.where(studies.c.training_rows == training_rows)).one()
    before = json.loads(mine.fixed_parts)
    changed = [part for part in fixed_parts if before.get(part) != fixed_parts[part]]
    if changed:
        raise StoreError(
            f"the search {name!r} in {store.name} was started with another {' and another '.join(changed)}.",
            advice(changed),
        )
    word = ""
    if known and all(row.training_rows != training_rows for row in known):
        word = f"the search {name!r} in {store.name} has other training rows, so a separate search was started."
    return Study(store, mine.id, mine.seed, space, initial), word


def advice(changed: Sequence[str]) -> str:
    """What to do about parts of a search that have changed."""
    if changed == ["cv"]:
        return "use splits that do not change, such as KFold(shuffle=True, random_state=0), or another name."
    return "use another name for another search, or restore what was changed."
