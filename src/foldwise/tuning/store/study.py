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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from foldwise.folds.engine import Outcome, ScoringPlan
from foldwise.folds.protocol import Params
from foldwise.folds.scoring import TaskResult
from foldwise.tuning.dimensions import Space
from foldwise.tuning.store import statements
from foldwise.tuning.store.connection import StoreError, TrialStore
from foldwise.tuning.store.databases import StoreTransaction
from foldwise.tuning.store.encoding import decode_result, decode_settings, encode_result, encode_settings

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
class Stage:
    """Some blocks of a study that are scored together: a round of a search, or one fold of a race."""

    study_id: int
    first_trial: int
    number: int = 0

    @property
    def where(self) -> dict[str, int]:
        """What selects its blocks in statements."""
        return {"of_study": self.study_id, "from_trial": self.first_trial, "of_stage": self.number}


@dataclass(frozen=True)
class Claim:
    """A block that this process may compute and record."""

    id: int
    stage: Stage
    number: int
    lease: int

    @property
    def held(self) -> dict[str, int]:
        """What selects the block in statements, as long as no other process was given it."""
        return {"of_block": self.id, "held": self.lease}


@dataclass(frozen=True)
class Study:
    """A study in a store."""

    store: TrialStore
    id: int
    seed: int
    space: Space
    initial: Sequence[Params]
    is_new: bool = False  # whether this process has begun it
    grid: Sequence[Params] | None = None  # all settings, which were stored when it was begun

    def evaluate(self, searches: Sequence[RunningSearch], work: ScoringPlan, options: dict[str, Any]) -> list[Outcome]:
        """Compute what no process has computed of the questions of searches in one store, and return all of it."""
        from foldwise.tuning.store.rounds import StoredRounds

        return StoredRounds.of(self.store, searches, work, options).run()

    def proposed(self, first_trial: int, propose: Callable[[], Sequence[Params]]) -> Sequence[Params]:
        """Return the stored settings from a trial on. If there are none, propose and store them."""
        where = {"of_study": self.id, "from_trial": first_trial}
        text = None
        if self.is_new and self.grid is not None and not first_trial:
            return self.grid
        if not self.is_new or first_trial:
            text = self.store.access(lambda transaction: transaction.run(statements.SETTINGS, where).value, [self.id])
        if text is None:
            settings = propose()
            if not settings:
                return settings
            row = {
                "study_id": self.id,
                "first_trial": first_trial,
                "settings": encode_settings(settings, self.space, self.initial),
            }

            def insert(transaction: StoreTransaction) -> str:
                transaction.run(statements.INSERT_PROPOSALS, row)
                return str(transaction.run(statements.SETTINGS, where).value)

            text = self.store.access(insert, [self.id])
            if text == row["settings"]:
                return settings  # else another process was faster
        return decode_settings(text, self.space, self.initial)


def begin(store: TrialStore, stages: Sequence[tuple[Stage, Sequence[StoredBlock]]]) -> None:
    """Store the blocks of stages, if no process has; they must be the same as those stored."""
    rows = [[row_of(stage, number, block) for number, block in enumerate(found)] for stage, found in stages]

    def work(transaction: StoreTransaction) -> list[list[tuple[str, int]]]:
        known = [
            [tuple(row) for row in transaction.run(statements.BLOCKS_OF_STAGE, one.where).all] for one, _ in stages
        ]
        new = [row for stored, some in zip(known, rows, strict=True) if not stored for row in some]
        if new:
            transaction.run(statements.INSERT_BLOCKS, new)
        return known

    for stored, some in zip(store.access(work, locks_of(stages)), rows, strict=True):
        if stored and stored != [(row["trials"], row["split"]) for row in some]:
            raise StoreError(
                f"the store {store.name} divides the settings into groups differently than this process does.",
                "continue the search with the versions of Foldwise and scikit-learn that started it.",
            )


def row_of(stage: Stage, number: int, block: StoredBlock) -> dict[str, Any]:
    """A block that no process has claimed."""
    return {
        "study_id": stage.study_id,
        "first_trial": stage.first_trial,
        "stage": stage.number,
        "number": number,
        "trials": trials_text(block.trials),
        "split": block.split,
        "state": "waiting",
        "lease": 0,
        "holder": "",
        "expires": 0.0,
    }


@lru_cache(64)
def trials_text(trials: tuple[int, ...]) -> str:
    """The numbers of trials as JSON; blocks of the same settings on other splits have the same."""
    return json.dumps(trials)


def locks_of(stages: Iterable[tuple[Stage, Any]]) -> list[int]:
    """The locks of the studies of some stages."""
    return sorted({stage.study_id for stage, _ in stages})


@dataclass(frozen=True)
class StageUpdate:
    """What one transaction recorded and claimed."""

    refused: list[Claim]  # results that were not recorded, as another process was given the block
    claims: list[Claim]  # blocks to compute next
    others: bool  # whether other processes compute blocks, if there was not enough to claim


def exchange(
    store: TrialStore, stages: Sequence[Stage], most: int, found: Sequence[tuple[Claim, TaskResult]] = ()
) -> StageUpdate:
    """Record results, and claim at most so many blocks, in one transaction.

    Blocks that wait are claimed first, then those whose lease has ended or whose process has.
    """
    encoded = [(claim, *encode_result(result)) for claim, result in found]

    def work(transaction: StoreTransaction) -> StageUpdate:
        now, refused = transaction.now(), []
        for claim, text, answers in encoded:
            given = {**claim.held, "found": text, "predicted": answers, "at": now}
            if not transaction.run(statements.RECORD, given).n_changed:
                refused.append(claim)
        free: list[tuple[Stage, Any]] = []
        for stage in stages:
            given = {**stage.where, "most": most - len(free)}
            if len(free) < most:
                free += [(stage, row) for row in transaction.run(statements.WAITING_BLOCKS, given).all]
        running: list[tuple[Stage, Any]] = []
        if len(free) < most:
            for stage in stages:
                running += [(stage, row) for row in transaction.run(statements.RUNNING_BLOCKS, stage.where).all]
            over = [one for one in running if one[1].expires < now or has_ended(one[1].holder)]
            free += over[: most - len(free)]
        if free:
            given = {"me": holder(), "until": now + LEASE}
            rows = [{"of_block": row.id, "next_lease": row.lease + 1, **given} for _, row in free]
            transaction.run(statements.CLAIM, rows)
        claims = [Claim(row.id, stage, row.number, row.lease + 1) for stage, row in free]
        return StageUpdate(refused, claims, bool(running))

    return store.access(work, locks_of((stage, None) for stage in stages))


def extend(store: TrialStore, claims: Sequence[Claim]) -> None:
    """Extend the leases of blocks that are still being computed."""

    def work(transaction: StoreTransaction) -> None:
        until = transaction.now() + LEASE
        transaction.run(statements.EXTEND, [{**claim.held, "until": until} for claim in claims])

    if claims:
        store.access(work, locks_of((claim.stage, None) for claim in claims))


def release(store: TrialStore, claims: Sequence[Claim]) -> None:
    """Give back blocks that were not computed."""
    if claims:
        given = [claim.held for claim in claims]
        store.access(
            lambda transaction: transaction.run(statements.RELEASE, given),
            locks_of((one.stage, None) for one in claims),
        )


def results(store: TrialStore, stage: Stage, numbers: Sequence[int]) -> dict[int, TaskResult]:
    """Return the recorded results of some blocks of a stage, by number."""
    runs: list[tuple[int, int]] = []  # consecutive numbers, each read at once
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))

    def work(transaction: StoreTransaction) -> list[Any]:
        given = [{**stage.where, "first": first, "last": last} for first, last in runs]
        return [row for one in given for row in transaction.run(statements.DONE_BLOCKS, one).all]

    return {row.number: decode_result(row.result, row.answers) for row in store.access(work)} if runs else {}


def open_study(
    store: TrialStore,
    name: str,
    training_rows: str,
    fixed_parts: dict[str, str],
    description: dict[str, Any],
    seed: Callable[[], int],
    space: Space,
    initial: Sequence[Params],
    grid: tuple[Sequence[Params], str] | None = None,
) -> tuple[Study, str]:
    """Open the study with this name and these training rows, or begin it. Returns it, and what to say about it.

    A study whose fixed parts differ is refused. All settings of a grid, given with their JSON, are stored at once.
    """
    row: dict[str, Any] = {"name": name, "training_rows": training_rows, "created": time.time()}

    def work(transaction: StoreTransaction) -> tuple[Any, bool, bool]:
        where = {"of_name": name, "of_rows": training_rows}
        mine = transaction.run(statements.STUDY, where).first
        if mine is not None:
            return mine, False, False
        others = bool(transaction.run(statements.N_STUDIES_OF_NAME, where).value)
        row.update(fixed_parts=json.dumps(fixed_parts), description=json.dumps(description), seed=seed())
        transaction.run(statements.INSERT_STUDY, row)
        mine = transaction.run(statements.STUDY, where).first
        if grid is not None:
            first = {"study_id": mine.id, "first_trial": 0, "settings": grid[1]}
            transaction.run(statements.INSERT_PROPOSALS, first)
        return mine, True, others

    mine, is_new, others = store.access(work)
    before = json.loads(mine.fixed_parts)
    changed = [part for part in fixed_parts if before.get(part) != fixed_parts[part]]
    if changed:
        raise StoreError(
            f"the search {name!r} in {store.name} was started with another {' and another '.join(changed)}.",
            advice(changed),
        )
    word = ""
    if others:
        word = f"the search {name!r} in {store.name} was started with other training rows, so a separate search begins."
    return Study(store, mine.id, mine.seed, space, initial, is_new, None if grid is None else grid[0]), word


def advice(changed: Sequence[str]) -> str:
    """What to do about parts of a search that have changed."""
    if changed == ["cv"]:
        return "use splits that do not change, such as KFold(shuffle=True, random_state=0), or another name."
    return "use another name for another search, or restore what was changed."
