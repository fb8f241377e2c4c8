"""`TrialRecord`: every setting, fold score and out-of-fold prediction of a run, written to its trial store at once.

A job is recorded when it starts and when it ends, each in one transaction. So a run that is killed loses the jobs that
were under way, and nothing else.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.predictions import FoldPredictions
from foldwise.app.recording import tables
from foldwise.app.recording.fingerprint import ROWS, SPLITS, FingerprintParts, check_same, fingerprint
from foldwise.app.search_state import JobOutcome, SearchState, SettingBatch, SplitJob, batch_of
from foldwise.app.setup import RunSetup
from foldwise.app.timing import Clock
from foldwise.npz import to_npz
from foldwise.tuning.store.connection import StoreError, TrialStore
from foldwise.tuning.store.databases import StoreTransaction
from foldwise.tuning.store.encoding import decode_answers
from foldwise.tuning.store.statements import INSERT_PROPOSALS, INSERT_STUDY, STUDY
from foldwise.tuning.store.study import holder

UNNEEDED = ("failed", "outranked")  # batches that are not continued and whose predictions nobody needs
ELSEWHERE = ("number", "model", "settings", "scores", "seconds", "started_splits")  # not in the content of a batch
DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OSError, zipfile.BadZipFile)


@dataclass(frozen=True)
class RunSession:
    """One call of `fit` that worked on a run: the first, or one that resumed it."""

    number: int
    started: float  # seconds since 1970
    budget: float
    n_workers: int
    before: float  # seconds of all earlier sessions
    elapsed: float
    writing: float
    ended: str
    command: str | None


@dataclass
class TrialRecord:
    """The trial store of a run, opened for one session."""

    store: TrialStore
    setup: RunSetup
    clock: Clock
    session: RunSession
    earlier: list[RunSession]
    parts: FingerprintParts
    writing: float = 0.0  # seconds
    has_begun: bool = False
    when: dict[tuple[int, int], tuple[int, float]] = field(
        default_factory=dict
    )  # by fold: session, seconds since start
    _studies: dict[str, int] = field(default_factory=dict)  # ids, by model
    _positions: dict[int, tuple[int, int]] = field(default_factory=dict)  # by batch: study and first trial
    _n_trials: dict[str, int] = field(default_factory=dict)  # by model

    @classmethod
    def open(cls, file: Path, setup: RunSetup, clock: Clock, command: str | None) -> TrialRecord:
        """Open the trials of a run, and create them if it is new. Raise if it was started with anything else."""
        is_new, parts, now = not file.exists(), fingerprint(setup), time.time()
        store = TrialStore(file)
        with store.begin() as transaction:
            if not is_new and (found := transaction.run(tables.CHECK).value) != "ok":
                raise damaged(store, str(found))
            for statement in tables.CREATION:
                transaction.run(statement)
            rows = [row._asdict() for row in transaction.run(tables.SESSIONS).all]
            with explained(store):
                earlier = [RunSession(**{k: v for k, v in row.items() if k != "parts"}) for row in rows]
                before = {k: (one[0], one[1]) for k, one in json.loads(rows[0]["parts"]).items()} if rows else parts
            check_same(file.parent, before, parts)
        spent = sum(one.elapsed for one in earlier)
        session = RunSession(
            len(earlier) + 1, now - clock.elapsed, clock.budget, setup.time.n_workers, spent, 0.0, 0.0, "", command
        )
        return cls(store, setup, clock, session, earlier, parts, time.time() - now)

    def begin(self, predictions: FoldPredictions) -> SearchState:
        """Begin a session: the state of the search when the run stopped, whose predictions are added to those given."""
        with self.store.begin() as transaction:
            with explained(self.store):
                rows = transaction.run(tables.BATCHES).all
                found = [self._batch(transaction, row, predictions) for row in rows]
                for number, batch in enumerate(found):
                    if batch.number != number or batch.model not in self.setup.specs:
                        raise ValueError(f"batch {number} is missing")
            transaction.run(tables.INSERT_SESSION, {**vars(self.session), "parts": json.dumps(self.parts)})
            transaction.run(tables.STOP_FOLDS)
        self.has_begun = True
        return SearchState(self.setup.config.seed, len(self.setup.splits), tuple(found))

    def _batch(self, transaction: StoreTransaction, row: Any, predictions: FoldPredictions) -> SettingBatch:
        """Read a batch with its scores and predictions."""
        settings, position = json.loads(row.settings), (row.study_id, row.first_trial)
        self._studies[row.model] = row.study_id
        self._positions[row.number] = position
        self._n_trials[row.model] = row.first_trial + len(settings)
        facts: dict[str, Any] = {**json.loads(row.content), "number": row.number, "model": row.model}
        facts |= {"settings": settings, "scores": {}, "seconds": {}, "started_splits": []}
        for block in transaction.run(tables.FINISHED_FOLDS, self._of_batch(row.number)).all:
            result = json.loads(block.result)
            self.when[row.number, block.split] = result["session"], result["at"]
            scores = result["scores"].get(self.metric)
            if scores is None:
                continue  # the job failed
            facts["scores"][block.split] = [one[0] for one in scores]
            facts["seconds"][block.split] = result["seconds"]
            facts["started_splits"].append(block.split)
            if facts["stopped"] not in UNNEEDED:
                ((_, _, answer),) = decode_answers(block.answers)
                predictions.restore(row.number, block.split, answer["values"], facts["kept"])
        return batch_of(facts)

    @property
    def has_trials(self) -> bool:
        """Whether any setting was recorded."""
        return bool(self._positions)

    @property
    def metric(self) -> str:
        """The name of the scores, which are always better if they are higher."""
        metric = self.setup.metric
        return metric.name if metric.greater_is_better else f"neg_{metric.name}"

    def start(self, state: SearchState, job: SplitJob) -> None:
        """Record that a job starts, and its batch if that is new."""
        batch = state.batches[job.batch.number]
        with self._transaction() as transaction:
            if batch.number not in self._positions:
                self._add(transaction, batch)
            _, first = self._positions[batch.number]
            trials = json.dumps([*range(first, first + len(batch.settings))])
            fold = {**self._of_batch(batch.number), "of_split": job.split}
            transaction.run(tables.START_FOLD, {**fold, "members": trials, "me": holder()})
            self._write_batch(transaction, batch)

    def end(
        self, before: SearchState, after: SearchState, job: SplitJob, outcome: JobOutcome, predictions: FoldPredictions
    ) -> None:
        """Record what came of a job, and what the schedule concluded from it."""
        number, split = job.batch.number, job.split
        changed = [one for one, old in zip(after.batches, before.batches, strict=True) if one is not old]
        answers: dict[tuple[int, int], bytes | None] = {(number, split): None}
        for batch in changed:
            was = before.batches[batch.number]
            if batch.stopped in UNNEEDED and batch.stopped != was.stopped:
                answers |= {(batch.number, k): None for k in batch.scores}
            elif batch.kept is not None and was.kept is None:  # predictions of the other settings are dropped
                answers |= {(batch.number, k): packed(predictions.stored(batch.number, k)) for k in batch.scores}
            elif batch.number == number and outcome.scores is not None and batch.stopped not in UNNEEDED:
                answers[number, split] = packed(predictions.stored(number, split))
        done = outcome.scores is not None or bool(outcome.failure)
        if done:
            self.when[number, split] = self.session.number, self.session.before + self.clock.elapsed
        with self._transaction() as transaction:
            for batch in changed:
                self._write_batch(transaction, batch)
            for (of, k), content in answers.items():
                given: dict[str, Any] = {**self._of_batch(of), "of_split": k, "predicted": content}
                if (of, k) == (number, split):
                    result = self._result(job, outcome) if done else None
                    given |= {"how": "done" if done else "waiting", "found": result, "at": time.time()}
                transaction.run(tables.END_FOLD if "how" in given else tables.UPDATE_ANSWERS, given)

    def stop(self) -> None:
        """Record that the jobs under way were stopped."""
        with self._transaction() as transaction:
            transaction.run(tables.STOP_FOLDS)

    def close(self, ended: str) -> None:
        """End the session. The file is complete without its write-ahead log then."""
        if self.has_begun:
            with self._transaction() as transaction:
                transaction.run(tables.UPDATE_ENDED, {"of_session": self.session.number, "how": ended})
        self.store.close()

    def sessions(self) -> list[RunSession]:
        """All sessions, this one as it is now."""
        now = {"elapsed": self.clock.elapsed, "writing": self.writing}
        return [*self.earlier, RunSession(**{**vars(self.session), **now})]

    @contextmanager
    def _transaction(self) -> Iterator[StoreTransaction]:
        start = time.perf_counter()
        try:
            with self.store.begin() as transaction:
                yield transaction
                spent = {"now_elapsed": self.clock.elapsed, "now_writing": self.writing + time.perf_counter() - start}
                transaction.run(tables.UPDATE_SPENT, {"of_session": self.session.number, **spent})
        except StoreError as error:
            folder = Path(self.store.name).parent
            hint = f"free some space or check the disk, then continue with resume={str(folder)!r}."
            raise StoreError(error.message, hint) from error
        self.writing += time.perf_counter() - start

    def _of_batch(self, number: int) -> dict[str, int]:
        """What finds the folds of a batch."""
        study_id, first = self._positions[number]
        return {"of_study": study_id, "from_trial": first}

    def _add(self, transaction: StoreTransaction, batch: SettingBatch) -> None:
        """Record the settings of a new batch."""
        if batch.model not in self._studies:
            self._studies[batch.model] = self._new_study(transaction, batch.model)
        first, study_id = self._n_trials.get(batch.model, 0), self._studies[batch.model]
        row = {"study_id": study_id, "first_trial": first, "settings": json.dumps(batch.settings)}
        transaction.run(INSERT_PROPOSALS, row)
        self._positions[batch.number] = study_id, first
        self._n_trials[batch.model] = first + len(batch.settings)

    def _new_study(self, transaction: StoreTransaction, model: str) -> int:
        fixed = {name: one[0] for name, one in self.parts.items() if name not in (ROWS, SPLITS)}
        description = {
            "estimator": self.setup.specs[model].title,
            "metric": self.metric,
            "metrics": [self.metric],
            "n_splits": len(self.setup.splits),
            "strategy": "foldwise fit",
        }
        row = {"name": model, "training_rows": self.parts[ROWS][0], "created": time.time()}
        row |= {"fixed_parts": json.dumps(fixed), "description": json.dumps(description)}
        row |= {"seed": self.setup.config.seed}
        transaction.run(INSERT_STUDY, row)
        return int(transaction.run(STUDY, {"of_name": model, "of_rows": self.parts[ROWS][0]}).first.id)

    def _write_batch(self, transaction: StoreTransaction, batch: SettingBatch) -> None:
        study_id, first = self._positions[batch.number]
        content = {one.name: getattr(batch, one.name) for one in fields(batch) if one.name not in ELSEWHERE}
        row = {"number": batch.number, "model": batch.model, "study_id": study_id, "first_trial": first}
        transaction.run(tables.WRITE_BATCH, {**row, "content": json.dumps(content)})

    def _result(self, job: SplitJob, outcome: JobOutcome) -> str:
        """The result of a job, as the trial store has it for a block of settings on one split."""
        errors: Mapping[int, str] = outcome.errors
        if outcome.failure:
            errors = dict.fromkeys(range(len(job.batch.settings)), outcome.failure)
        scores = {} if outcome.scores is None else {self.metric: [[one] for one in outcome.scores]}
        session, at = self.when[job.batch.number, job.split]
        facts = {"scores": scores, "train_scores": {}, "seconds": outcome.seconds, "fits": 1}
        facts |= {"failed": [[i, 0, why] for i, why in errors.items()], "unscored": [], "train_unscored": []}
        return json.dumps({**facts, "session": session, "at": at})


def packed(values: NDArray[np.floating]) -> bytes:
    """Predictions as the trial store has them: arrays with a checksum, which opening never executes."""
    return to_npz({f"0 {len(values)} values": values})


def damaged(store: TrialStore, why: str) -> StoreError:
    return StoreError(
        f"the trials in {store.name} are damaged: {' '.join(why.split()).rstrip('.')}.",
        "start a new run. Nothing was changed.",
    )


@contextmanager
def explained(store: TrialStore) -> Iterator[None]:
    """Turn what goes wrong with the content of a store into one sentence."""
    try:
        yield
    except DAMAGE as error:
        if isinstance(error, StoreError):
            raise
        raise damaged(store, f"{type(error).__name__}: {error}") from error
