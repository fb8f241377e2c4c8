"""The time of a run: its clock, what the parts of a run take, and every constant that decisions about time rest on.

Each constant says how it was measured, or that it is a choice. They have to be right within a factor of two only: they
decide when the search ends, so that the rest of the run fits into the budget. `make tables` checks the outcome: every
real table ends within 1.05 of its budget. The constants of servers and of the workbench are here, too.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from foldwise.errors import InputError

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
SHORTEST_BUDGET = 1.0  # seconds; a choice
LOADING = "loading libraries"  # the phase before a run begins
SLOW_LOADING_SHARE = 0.25  # of the budget: a longer loading is reported as a reason why less was tried; a choice
FIRST_LOADING = 6.0  # seconds: 2 to 3.5 s is usual, 9 s where Python has to compile the libraries first
USUAL_START = 3.5  # seconds until the search of a small table begins, of which 2 to 3 s are the loading of libraries

# The end of a run. Figures after a colon were measured in CPU seconds on one core of a busy server.
LATEST = 0.97  # of the budget: when everything should be done; a choice
MOST_OVERRUN = 1.05  # of the budget: what would take longer is not begun, what took longer is reported; a choice
FACTS = 0.25  # leaderboard, facts, pictures and small files: 0.2 to 0.3 s for 700 to 4,500 rows, 6 to 20 columns
FACTS_PER_CLASS = 0.005  # seconds more: writing the report takes 0.5 s for 2 classes, 0.5 to 0.7 s for 18 to 26
FACTS_PER_COLUMN = 0.0005  # seconds more; not measured apart, `make tables` holds with it
FACTS_COLUMNS = 200  # columns that the report shows
FACTS_PER_WIDE_COLUMN = 2.5e-5  # seconds per column, also of those not shown: 0.75 s for 2,000, 0.89 s for 5,000
PER_BYTE = 4e-8  # seconds to write a model file: 3.7e-8 for 31 MB of training rows in kNN
LARGE_FILES = 1.2  # seconds to write a forest, many arrays of few bytes: 200 trees of loans take 2.1 s
LARGE_FILES_PER_ROW = 5e-5  # seconds, because trees grow with the rows; not measured apart
CHOOSING = 0.3  # seconds to choose members, whatever their number: 0.03 s for 1,000 rows and 20 candidates
# per candidate × row × class × split: 2.7e-8 for 10,000 rows of 10 classes, four times that for 2
CHOOSING_PER_CELL = 2.5e-8
CANDIDATES, CANDIDATES_SHORT = 20, 8  # a short run has few models to choose from
CHOOSING_PER_CLASS = 4e-3  # seconds per class and split, to calibrate decision values; not measured apart
IMPORTANCE_SHARE, IMPORTANCE_MOST = 0.04, 5.0  # of the budget, and seconds, for shuffling columns; a choice
LEAST_IMPORTANCE = 0.3  # seconds, with fewer rows and repeats where the share is less; a choice
MARGIN = 1.2  # a fit on all rows may take so many times what the splits predict; a choice
FITS_AND_HALVES = 1.5  # times the fits of members: half of the rows are fitted once more, for the gain by more rows
LARGE_FILES_SHARE = 0.2  # of the budget: the most that large files may take; a choice
CHOOSING_SHARE = 0.2  # of the budget: the most that is reserved for choosing members; a choice
FITTING_SHARE = 0.3  # of the budget: the most that is reserved for fits on all rows; a choice
EXAMPLES_SHARE, EXAMPLES_RESERVE = 0.04, 1.0  # of the budget, and seconds, reserved for worked examples; a choice
EXAMPLES_LEAST, EXAMPLES_MOST = 0.3, 3.0  # seconds: with less there are no contributions, more is not used; a choice
LEAST_FITTING = 0.5  # seconds that members may take, even if the time is over; a choice
MEMBER_ROOM = 1.3  # times the slowest fit: the time that each member counts for when their number is limited; a choice
REPORTING_LEAST = 0.8  # of the time for the report, which late fits must leave; a choice
AUDIT_SHARE = 0.03  # of the budget: when it is over, columns are checked in a sample only; a choice
SHORTEST_LOADING = 0.05  # seconds: from Python all libraries are loaded, and no such phase is reported; a choice
NO_TIME_AT_ALL = 1e-3  # seconds: shorter times count as this where something is divided by them

# Tables that are larger than memory.
MORE_ROWS_SHARE = 0.3  # of the time after drawing a sample, to train the final model on more rows; a choice
SAMPLE_ROWS_PER_SECOND = 20_000  # of the budget: the rows that are drawn, read and checked; a choice
MORE_ROWS_USED = 0.8  # of the time for training a booster on more rows, that is planned with; a choice
PREPARING = 2.0  # times the seconds of a fit, to prepare the rows as well; a choice

# `foldwise explore` and other commands.
QUESTION_POWER = 1.1  # the seconds of an answer grow with this power of the rows: 0.2 to 1 from 1,000 rows on
EXPLORE_ENDING = 0.8  # seconds to collect the facts and write the files; a choice
EXPLORE_ENDING_PER_ROW = 5e-6  # seconds more: 1,000,000 × 26 took 4.2 s to assign and write
QUESTIONS_LEAST = 3.0  # seconds of questions, without which there is hardly an answer; a choice
INSPECT_AUDIT = 20.0  # seconds, after which checks of a wide table take a sample of columns and say so; a choice
PROGRESS_LINES = 10.0  # seconds between lines of progress if stderr is not a terminal; a choice
PROGRESS_WRITES = 0.5  # seconds between writes of the progress to a run folder; a choice
LOCK_WAIT = 0.5  # seconds: who asks whether a folder is locked holds the lock for a moment; a choice
LOCK_PAUSE = 0.02  # seconds between tries to lock a folder; a choice

# Servers and the workbench: choices.
HEADER_SECONDS = 10.0  # seconds in which the head of a request must arrive
GRACE_SECONDS, KEEP_ALIVE_SECONDS = 30, 30  # seconds for requests when a server stops, and for idle connections
PAGE_SECONDS, FILE_SECONDS = 60.0, 600.0  # seconds that the work for a page may take, and that for a whole file
PAGE_AUDIT = 10.0  # seconds for the checks of a table on its page
STARTING_SECONDS = 30.0  # seconds in which a process may load libraries before its run folder appears
QUEUE_PAUSE, FOLDER_PAUSE = 0.3, 0.4  # seconds between looks at the queue, and at a run folder
STREAM_QUIET = 15.0  # seconds after which an unchanged stream says that it is still there

# The search: choices, most of them shares of the time that is left.
FINAL_TICK = 0.1  # seconds between looks at the clock while the final model is fitted
PROGRESS_TICK = 1.0  # seconds between lines of `tune`, whose strategy may compute long before a proposal; a choice
TICK = 0.2  # seconds between looks at the clock: a budget of 5 s is kept to 4%
OPENING_SHARE = 0.6  # a model that takes longer on all splits waits until the others are done
PATIENCE = 4.0  # times what jobs of the model took, before one is stopped
PATIENCE_LEAST = 3.0  # seconds: a busy machine may stall a short job for so long
PATIENCE_FIRST = 0.5  # for the first job of a model: the catalogue's costs are right within a factor of 3 only
PATIENCE_UNKNOWN = 0.7  # the most for such a job, so that other models have time in a short run
CHEAP_SHARE = 0.08  # the best batch of every model that needs less goes on to all splits
EXPLORE_SHARE = 0.4  # no new settings are drawn for a model that needs more for one split
SHORT = 15.0  # seconds: a shorter budget is spent on twice as many models with five folds at most; a choice
HURRIED = 10.0  # seconds: a search that ends earlier, or that begins late and has as little time, finishes one
# generally good model before it tries others
CLIMB_SHARE = 0.45  # of the search, after which the best models learn from more rows, however many were tried
CLIMB_ROOM = 0.7  # of the time left: a model that needs more for all splits of the next rung does not climb
VARIANT_SHARE = 0.25  # what a variant of the best model may take on all splits
LENGTHEN_SHARE = 0.5  # what more stages of the best model may take on all splits
FINISH_SHARE = 0.5  # what the best batch may still need, to be finished before other models are tried
PROMISING_SHARE = 1.5  # what a promising batch may need: costs are uncertain, and other jobs may turn out cheaper
OPENING_LEAST = 1.0  # seconds on all workers that a new model may need, even if hardly any time is left
SLOWEST_MACHINE, FASTEST_MACHINE = 3.0, 0.3  # times the costs of the catalogue: no machine counts as further off
RANK_POWER = 1.5  # of 1 + the rank of a model, by which the time spent on it is multiplied when settings are drawn
RESCUE_SECONDS = 3600.0  # where nothing was finished, one result comes before the clock


def seconds_of(budget: float | str) -> float:
    """Convert a budget to seconds.

    >>> seconds_of("2m"), seconds_of(30)
    (120.0, 30.0)
    """
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|)\s*", budget)
        given = float(found[1]) * UNITS[found[2]] if found else float("nan")
    else:
        given = float(budget) if isinstance(budget, int | float) else float("nan")
    if not math.isfinite(given):
        raise InputError(f"budget must be a duration such as '60s', got {budget!r}.", "pass '60s', '5m' or '1h'.")
    if given < SHORTEST_BUDGET:
        raise InputError(f"budget must be at least {SHORTEST_BUDGET:g} s, got {budget!r}.", "pass '60s', '5m' or '1h'.")
    return given


@dataclass
class Clock:
    """Counts seconds from the start of a run, and remembers when each phase began. Tests pass a `now` of their own."""

    budget: float
    started: float | None = None
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    phases: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.started is None:
            self.started = self.now()

    @property
    def elapsed(self) -> float:
        assert self.started is not None
        return self.now() - self.started

    def enter(self, phase: str) -> None:
        """Begin a new phase."""
        self.phases.append((phase, self.elapsed))

    @property
    def phase(self) -> str:
        return self.phases[-1][0] if self.phases else ""

    def times(self) -> RunTimes:
        """The seconds of each phase until now; what passed before the first is the loading of libraries."""
        loaded = self.phases[0][1] if self.phases else 0.0
        phases = [(LOADING, 0.0), *self.phases] if loaded > SHORTEST_LOADING else self.phases
        elapsed = self.elapsed
        ends = [start for _, start in phases[1:]] + [elapsed]
        spent = tuple((name, end - start) for (name, start), end in zip(phases, ends, strict=True))
        return RunTimes(self.budget, elapsed, spent)


@dataclass(frozen=True)
class RunTimes:
    """How long a run took, in all and by phase."""

    budget: float
    elapsed: float
    phases: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class TimePlan:
    """What the end of a run will take, by the size of its table. It reads no clock."""

    budget: float
    n_workers: int
    n_rows: int
    n_tested: int  # held-out rows of all splits
    n_classes: int
    n_columns: int
    n_splits: int
    train_share: float  # rows of a training set among all
    more_rows: float = 0.0  # seconds to train the final model on more rows of a table that is larger than memory

    @property
    def end(self) -> float:
        """When everything should be done, in seconds from the start."""
        return LATEST * self.budget

    @property
    def latest(self) -> float:
        """The same without the training on more rows and what it takes."""
        return self.end - self.more_rows

    @property
    def importance(self) -> float:
        """Seconds for shuffling columns."""
        return min(IMPORTANCE_MOST, IMPORTANCE_SHARE * self.budget)

    @property
    def facts(self) -> float:
        """Seconds for the facts and small files alone; as much again for the leaderboard before them."""
        columns = FACTS_PER_COLUMN * min(self.n_columns, FACTS_COLUMNS) + FACTS_PER_WIDE_COLUMN * self.n_columns
        return FACTS + FACTS_PER_CLASS * (self.n_classes - 2) + columns

    def reporting(self, large_files: float) -> float:
        """Seconds for leaderboard, worked examples, facts and files, which may be as large as those of a forest."""
        files = large_files * (LARGE_FILES + LARGE_FILES_PER_ROW * self.n_rows)
        examples = min(EXAMPLES_RESERVE, EXAMPLES_SHARE * self.budget)
        return 2 * self.facts + min(files, LARGE_FILES_SHARE * self.budget) + examples

    def refit(self, seconds: float, n_settings: int) -> float:
        """Seconds of a fit on all rows; where so many settings share a split's work, most of it is the others'."""
        return seconds / (self.train_share * math.sqrt(n_settings))

    def reserve(self, refits: Sequence[float], large_files: float) -> float:
        """Seconds to leave for the choice, the fits of members on all rows, and the report."""
        cells = self.n_tested * self.n_classes * (CANDIDATES_SHORT if self.budget <= SHORT else CANDIDATES)
        choosing = CHOOSING + CHOOSING_PER_CELL * cells * (self.n_splits + 1)
        if self.n_classes > 2:
            choosing += CHOOSING_PER_CLASS * self.n_classes * self.n_splits
        looking = refits[0] + self.importance if refits else 0.0
        fitting = max([0.0, *refits, (FITS_AND_HALVES * sum(refits) + looking) / self.n_workers])
        choosing = min(choosing, CHOOSING_SHARE * self.budget)
        return self.reporting(large_files) + choosing + min(MARGIN * fitting, FITTING_SHARE * self.budget)

    def last_moment(self, refit: float, large_files: float) -> float:
        """The latest time at which a run can still fit one model on all rows, which takes `refit` seconds."""
        return self.latest - self.reporting(large_files) - MARGIN * refit

    def check(self, elapsed: float, cheapest: float) -> None:
        """Raise an error if the budget is too short for one model; name the smallest budget that is not.

        Parameters
        ----------
        elapsed : float
            Seconds until the first model is fitted: to load libraries, read the table and check it.
        cheapest : float
            Expected seconds of the cheapest model on one fold.
        """
        needed = elapsed + cheapest * (-(-self.n_splits // self.n_workers) + 1) + self.reserve([], 0.0)
        if needed > MOST_OVERRUN * self.budget:
            smallest = math.ceil(needed / LATEST)
            raise InputError(
                f"budget= must be at least {smallest} s for this table on this machine, got {self.budget:g} s. "
                f"Loading libraries and reading the table took {elapsed:.1f} s.",
                f"pass {smallest}s or more.",
            )

    def spare(self, elapsed: float, large_files: float, n_bytes: int) -> float:
        """Seconds left for worked examples, once the final model is fitted."""
        return self.end - elapsed - 2 * self.facts - LARGE_FILES * large_files - PER_BYTE * n_bytes
