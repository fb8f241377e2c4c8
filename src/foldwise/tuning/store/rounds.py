"""Evaluate the rounds of searches through a store: claim blocks, compute them, record them, wait for the others.

The searches inside outer folds are evaluated together, so that they share one session, and each transaction serves all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs

from foldwise.folds.engine import (
    EvaluationJob,
    EvaluationTask,
    Outcome,
    OutcomeBuilder,
    ScoringPlan,
    audit_one,
    jobs_of,
    run_jobs,
)
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession
from foldwise.folds.scoring import TaskResult
from foldwise.tuning.store import study
from foldwise.tuning.store.connection import TrialStore
from foldwise.tuning.store.leases import lease_keeper
from foldwise.tuning.store.study import Claim, Stage, StageUpdate, StoredBlock

if TYPE_CHECKING:
    from foldwise.tuning.running_search import RunningSearch

BATCH = 1.0  # seconds of work that are claimed, and recorded, at once
SHORTEST, LONGEST = 0.01, 0.5  # seconds between looks at blocks of other processes


@dataclass
class StoredRound:
    """One stage of a search, and what this process has computed of it."""

    stage: Stage
    task: EvaluationTask
    trials: Sequence[int]  # their numbers, in the order of the settings
    first_split: int  # number of the first split
    printer: Callable[..., None] | None  # prints a line per fit
    jobs: list[EvaluationJob] = field(default_factory=list)  # one per block
    results: dict[int, TaskResult] = field(default_factory=dict)  # by block

    @classmethod
    def of(cls, search: RunningSearch) -> StoredRound:
        """The present stage of a search."""
        assert search.question is not None
        assert search.study is not None
        first, race = len(search.settings), search.race
        among = range(len(search.question.settings)) if race is None else np.flatnonzero(race.alive).tolist()
        stage = Stage(search.study.id, first, 0 if race is None else race.stage)
        first_split = 0 if race is None else race.first_split
        return cls(stage, search.question, [first + i for i in among], first_split, search.printer())

    @property
    def blocks(self) -> list[StoredBlock]:
        """The blocks as they are stored."""
        trials: dict[int, tuple[int, ...]] = {}  # by group, which has a block on each split
        found = []
        for job in self.jobs:
            key = id(job.group)
            if key not in trials:
                trials[key] = tuple(self.trials[i] for i in job.group.indices)
            found.append(StoredBlock(trials[key], -1 if job.number is None else self.first_split + job.number))
        return found


@dataclass
class StoredRounds:
    """The present stages of some searches that share a session and a store."""

    store: TrialStore
    rounds: list[StoredRound]
    session: FoldSession
    plan: ScoringPlan
    n_jobs: int | None = None
    audit: bool = False
    progress: Progress | None = None
    deadline: float | None = None
    waiting: list[tuple[Claim, TaskResult]] = field(default_factory=list)  # computed, to be recorded
    pace: float = 0.0  # seconds per block
    flushed: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.by_stage = {one.stage: one for one in self.rounds}
        self.tasks = [one.task for one in self.rounds]
        for job in jobs_of(self.session, self.tasks, self.plan):
            self.rounds[job.task].jobs.append(job)

    @classmethod
    def of(
        cls, store: TrialStore, searches: Sequence[RunningSearch], plan: ScoringPlan, options: dict[str, Any]
    ) -> StoredRounds:
        """The present stages of searches on one session."""
        return cls(store, [StoredRound.of(one) for one in searches], searches[0].session, plan, **options)

    def run(self) -> list[Outcome]:
        """Return the outcomes when all blocks are done, by this process or others, or at the deadline."""
        study.begin(self.store, [(one.stage, one.blocks) for one in self.rounds])
        pause, computed = SHORTEST, False
        with self.progress or Progress() as shown:
            shown.expect(sum(job.n_models for one in self.rounds for job in one.jobs))
            while not self.is_late:
                found = self.exchange(self.n_wanted)
                if found.claims:
                    self.compute(found.claims, shown)
                    pause, computed = SHORTEST, True
                elif not found.others:
                    break
                else:
                    time.sleep(pause)
                    pause = min(2 * pause, LONGEST)
        self.flush()
        if self.audit and computed and not self.is_late:
            audit_one(self.session, self.tasks, self.plan)
        return [self.outcome(one) for one in self.rounds]

    @property
    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def n_wanted(self) -> int:
        """Blocks to claim: for all jobs of this process, and about a second of work."""
        n_jobs = effective_n_jobs(self.n_jobs)
        return int(max(n_jobs, BATCH * n_jobs / self.pace)) if self.pace else int(n_jobs)

    def exchange(self, most: int) -> StageUpdate:
        """Record what was computed, and claim at most so many blocks."""
        found = study.exchange(self.store, list(self.by_stage), most, self.waiting)
        for claim in found.refused:
            del self.by_stage[claim.stage].results[claim.number]  # another process was given it, and records it
        self.waiting, self.flushed = [], time.monotonic()
        return found

    def flush(self) -> None:
        """Record what was computed."""
        if self.waiting:
            self.exchange(0)

    def compute(self, claims: Sequence[Claim], shown: Progress) -> None:
        """Compute blocks, and record them about once per second."""
        left = {claim.id: claim for claim in claims}
        jobs = [self.by_stage[claim.stage].jobs[claim.number] for claim in claims]
        start = time.monotonic()
        with lease_keeper().keeping(self.store, left):
            try:
                for claim, (job, result) in zip(
                    claims, run_jobs(self.session, jobs, self.plan, self.n_jobs, self.deadline), strict=False
                ):
                    del left[claim.id]
                    one = self.by_stage[claim.stage]
                    one.results[claim.number] = result
                    self.waiting.append((claim, result))
                    if one.printer is not None:
                        one.printer(job.group.indices, job.number, result)
                    shown.advance(job.n_models)
                    if time.monotonic() - self.flushed > BATCH:
                        self.flush()
            finally:
                if left:  # an error, an interrupt or the deadline
                    self.flush()
                    study.release(self.store, list(left.values()))
        self.pace = (time.monotonic() - start) / len(claims)

    def outcome(self, one: StoredRound) -> Outcome:
        """The results of all processes as one outcome. Those of this process are not read again."""
        others = [number for number in range(len(one.jobs)) if number not in one.results]
        found = study.results(self.store, one.stage, others) | one.results
        builder = OutcomeBuilder(one.task, self.plan)
        for number, result in sorted(found.items()):
            builder.add(one.jobs[number].group, one.jobs[number].number, result)
        outcome = builder.outcome()
        lacks = self.plan.recorder is not None and any(map(lacks_predictions, found.values()))
        return replace(outcome, kept=()) if lacks else outcome


def lacks_predictions(result: TaskResult) -> bool:
    """Whether a result has scores but no predictions, as it was recorded by nested cross-validation."""
    return not result.recorded and any(np.isfinite(values).any() for values in result.test.scores.values())
