"""Ask all questions within the time: first about some rows, then about more, if the answer is expected in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from foldwise.app.exploring.answers import ExploredTable, QuestionAnswer
from foldwise.app.timing import NO_TIME_AT_ALL, QUESTION_POWER, TICK, Clock
from foldwise.app.workers.executors import Executor
from foldwise.app.workers.jobs import JobFailure
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows

FIRST_ROWS = 500
GROWTH = 4  # times the rows, from one answer to the next
# question -> the most rows, and how it is called while it is asked; quick ones first, which leave time to the others
QUESTIONS: dict[str, tuple[float, str]] = {
    "factors": (100_000, "factors"),
    "map": (2_000, "the map"),
    "associations": (200_000, "rules"),
    "clusters": (20_000, "clusters"),
    "outliers": (float("inf"), "outliers"),
    "ranking": (50_000, "central and influential rows"),
}


@dataclass(frozen=True)
class Question:
    """A question about the first rows of the random order: a job for a worker."""

    name: str
    n_rows: int
    seed: int

    @property
    def model(self) -> str:
        return QUESTIONS[self.name][1]

    def run(self, data: ExploredTable) -> QuestionAnswer:
        frame, rows = data.sample(self.n_rows)
        try:
            return ask(self.name)(frame, rows, self.seed)
        except InputError as error:  # what this table cannot be asked, in one sentence
            return QuestionAnswer({"none": error.message[:1].upper() + error.message[1:]}, rows)


def ask(name: str) -> Callable[[pl.DataFrame, Rows, int], QuestionAnswer]:
    """The function that answers a question. Libraries are loaded here, by the worker that needs them."""
    if name == "clusters":
        from foldwise.app.exploring.clustering import ask_clusters

        return ask_clusters
    from foldwise.app.exploring import questions

    functions = {
        "map": questions.ask_map,
        "outliers": questions.ask_outliers,
        "factors": questions.ask_factors,
        "associations": questions.ask_rules,
        "ranking": questions.ask_ranking,
    }
    return functions[name]


@dataclass
class QuestionState:
    """How far a question has come."""

    name: str
    n_table: int
    answer: QuestionAnswer | None = None
    n_rows: int = 0  # of the answer
    seconds: float = 0.0  # that the answer took
    failure: str = ""
    is_stuck: bool = False  # no more rows will be tried

    @property
    def next_rows(self) -> int:
        """How many rows to ask about next; 0 if there is nothing more to ask."""
        most = int(min(self.n_table, QUESTIONS[self.name][0]))
        if self.is_stuck or self.n_rows >= most:
            return 0
        wanted = self.n_rows * GROWTH if self.n_rows else FIRST_ROWS
        return most if 1.5 * wanted >= most else wanted

    @property
    def expected(self) -> float:
        """Seconds that the next answer will take, judging by the last one."""
        return self.seconds * (self.next_rows / self.n_rows) ** QUESTION_POWER if self.n_rows else 0.0


@dataclass
class QuestionLoop:
    """Asks questions until all are answered about all rows, or the time is over."""

    table: ExploredTable
    executor: Executor
    clock: Clock
    deadline: float  # seconds from the start of the clock
    seed: int
    tell: Callable[[], None]
    progress: dict[str, QuestionState] = field(default_factory=dict)
    interrupted: bool = False

    def __post_init__(self) -> None:
        n = self.table.frame.height
        self.progress = {name: QuestionState(name, n) for name in QUESTIONS}

    def run(self) -> None:
        """Ask all questions. An interrupt ends this early and keeps the answers so far."""
        self.executor.give(self.table)
        asked: set[str] = set()
        try:
            while self.left > 0:
                self.start(asked)
                if not asked:
                    break
                for result in self.executor.collect(min(TICK, max(0.0, self.left))):
                    asked.discard(result.key)
                    self.take(result.key, result.job, result.value, result.seconds)
                self.tell()
        except KeyboardInterrupt:
            self.interrupted = True
        self.executor.stop()

    @property
    def left(self) -> float:
        return self.deadline - self.clock.elapsed

    def start(self, asked: set[str]) -> None:
        """Give every idle worker the question that has been asked about the fewest rows."""
        while self.executor.idle > 0:
            waiting = [
                one
                for one in self.progress.values()
                if one.name not in asked and one.next_rows and one.expected <= self.left
            ]
            if not waiting:
                return
            one = min(waiting, key=lambda each: each.n_rows)  # the first of those, in the order of QUESTIONS
            asked.add(one.name)
            self.executor.start(one.name, Question(one.name, one.next_rows, self.seed), self.left)

    def take(self, name: str, job: Any, value: Any, seconds: float) -> None:
        """Keep an answer; one about more rows replaces the one before."""
        one = self.progress[name]
        if isinstance(value, QuestionAnswer):
            one.answer, one.n_rows, one.seconds = value, job.n_rows, max(seconds, NO_TIME_AT_ALL)
            one.is_stuck = "none" in value.facts and job.n_rows >= one.n_table
            return
        one.is_stuck = True
        one.failure = value.error if isinstance(value, JobFailure) else ""

    @property
    def asked_now(self) -> tuple[str, ...]:
        """What is being asked, in words."""
        return tuple(job.model for job in self.executor.running)

    @property
    def answered(self) -> dict[str, QuestionAnswer]:
        """The answers by question."""
        return {name: one.answer for name, one in self.progress.items() if one.answer is not None}
