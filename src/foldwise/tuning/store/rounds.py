"""Evaluate the rounds of a search through a store: claim blocks, compute them, record them, wait for the others."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from joblib import effective_n_jobs

from foldwise.folds.engine import EvaluationTask, Group, Outcome, OutcomeBuilder, ScoringPlan, evaluate
from foldwise.folds.groups import group_settings
from foldwise.folds.protocol import FoldSession
from foldwise.folds.scoring import TaskResult
from foldwise.folds.splits import LeaveOneOutSplits
from foldwise.tuning.store.study import LEASE, Claim, Stage, StoredBlock, Study

BATCH = 1.0  # seconds of work that are claimed, and recorded, at once
SHORTEST, LONGEST = 0.01, 0.5  # seconds between looks at blocks of other processes


@dataclass
class StoredRound:
    """One stage of a search: its blocks, and what is known of them."""

    study: Study
    stage: Stage
    trials: Sequence[int]  # their numbers, in the order of the settings
    first_split: int  # number of the first split
    session: FoldSession
    task: EvaluationTask
    plan: ScoringPlan
    options: dict[str, Any]  # of `evaluate`
    results: dict[int, TaskResult] = field(default_factory=dict)  # by block, computed here
    waiting: list[tuple[Claim, TaskResult]] = field(default_factory=list)  # computed, to be recorded
    pace: float = 0.0  # seconds per block
    flushed: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.groups = [Group.of(self.task.settings, some) for some in group_settings(self.session, self.task.settings)]
        splits = [-1] if isinstance(self.task.splits, LeaveOneOutSplits) else range(len(self.task.splits))
        self.places = [(group, split) for group in self.groups for split in splits]

    def run(self) -> Outcome:
        """Return the outcome when all blocks are done, by this process or others, or at the deadline."""
        blocks = [
            StoredBlock(tuple(self.trials[i] for i in group.indices), split if split < 0 else self.first_split + split)
            for group, split in self.places
        ]
        self.study.begin(self.stage, blocks)
        pause = SHORTEST
        while not self.is_late:
            claims = self.study.claim(self.stage, self.n_wanted)
            if claims:
                self.compute(claims)
                pause = SHORTEST
            elif not self.study.n_left(self.stage):
                break
            else:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST)
        return self.outcome()

    @property
    def is_late(self) -> bool:
        deadline = self.options.get("deadline")
        return deadline is not None and time.monotonic() >= deadline

    @property
    def n_wanted(self) -> int:
        """Blocks to claim: for all jobs of this process, and about a second of work."""
        n_jobs = effective_n_jobs(self.options.get("n_jobs"))
        return int(max(n_jobs, BATCH * n_jobs / self.pace)) if self.pace else int(n_jobs)

    def compute(self, claims: Sequence[Claim]) -> None:
        """Compute blocks and record them, about once per second."""
        by_split: dict[int, list[Claim]] = defaultdict(list)
        for claim in claims:
            by_split[self.places[claim.number][1]].append(claim)
        left = {claim.id: claim for claim in claims}
        tasks, observers = [], []
        for split, some in by_split.items():
            indices = [i for claim in some for i in self.places[claim.number][0].indices]
            splits = self.task.splits if split < 0 else [self.task.splits[split]]
            tasks.append(EvaluationTask([self.task.settings[i] for i in indices], splits))
            by_first = {self.places[claim.number][0].indices[0]: claim for claim in some}
            observers.append(partial(self.take, left, indices, by_first))
        start = time.monotonic()
        with kept_alive(self.study, left):
            try:
                evaluate(self.session, tasks, self.plan, **self.options, observers=observers)
            finally:
                self.flush()
                self.study.release(list(left.values()))
        self.options["audit"] = False  # one check per round
        self.pace = (time.monotonic() - start) / len(claims)

    def take(
        self,
        left: dict[int, Claim],
        indices: Sequence[int],
        by_first: Mapping[int, Claim],
        some: Sequence[int],
        number: int | None,
        result: TaskResult,
    ) -> None:
        """Take the result of a block from the engine, and record results about once per second."""
        claim = by_first[indices[some[0]]]
        left.pop(claim.id)
        self.results[claim.number] = result
        self.waiting.append((claim, result))
        if time.monotonic() - self.flushed > BATCH:
            self.flush()

    def flush(self) -> None:
        """Record what was computed."""
        if self.waiting:
            for claim in self.study.record(self.waiting):
                del self.results[claim.number]  # another process was given the block, and records it
        self.waiting, self.flushed = [], time.monotonic()

    def outcome(self) -> Outcome:
        """The results of all processes as one outcome. Those of this process are not read again."""
        found = self.study.results(self.stage, list(self.results)) | self.results
        builder = OutcomeBuilder(self.task, self.plan)
        for number, result in sorted(found.items()):
            group, split = self.places[number]
            builder.add(group, None if split < 0 else split, result)
        return builder.outcome()


@contextmanager
def kept_alive(study: Study, claims: dict[int, Claim]) -> Iterator[None]:
    """Extend the leases of blocks while they are being computed."""
    done = threading.Event()

    def extend() -> None:
        while not done.wait(LEASE / 3):
            study.extend(list(claims.values()))

    thread = threading.Thread(target=extend, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
