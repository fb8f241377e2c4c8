"""Workers as the run sees them: give one a job, wait for results, stop one that takes too long.

This file loads no library, so that workers can load theirs while the run still loads its own.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Protocol

import cloudpickle

if TYPE_CHECKING:
    from foldwise.app.workers.jobs import Bench, Job

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA")
ONE_THREAD = {**{f"{name}_NUM_THREADS": "1" for name in THREADS}, "POLARS_MAX_THREADS": "1"}
STARTING = "from foldwise.app.workers.nurse import main; import sys; main(*map(int, sys.argv[1:]))"
COMPILED = ("naive_bayes", "knn")  # families whose kernels are compiled on a new machine, in this order


@dataclass(frozen=True)
class Done:
    """A job that ended, its result, the seconds it took, and how large the result is in bytes."""

    job: Job
    result: Any
    seconds: float
    size: int = 0


class Pool(Protocol):
    """Who does jobs."""

    def give(self, bench: Bench) -> None:
        """The table, before the first job."""

    def compiled(self, family: str) -> bool:
        """Whether a family can be fitted without compiling first."""

    @property
    def idle(self) -> int:
        """How many jobs can be started now."""

    def start(self, job: Job, deadline: float) -> None:
        """Begin a job, which is stopped at the deadline (of time.monotonic)."""

    def collect(self, timeout: float) -> list[Done]:
        """The jobs that ended, waiting for one so many seconds; of those that were stopped the result is None."""

    @property
    def running(self) -> list[tuple[Job, float]]:
        """The jobs under way, and since when."""

    def stop(self) -> None:
        """Stop all jobs that run."""

    def close(self) -> None:
        """End all workers; once more does no harm."""


def cores(n_jobs: int | None = None) -> int:
    """So many workers, or as many as this process may use processors."""
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_pool(n_workers: int) -> Pool:
    """Forked workers where the system forks, else a pool that works in this process."""
    if n_workers < 1 or not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        return InlinePool()
    return ForkedPool(n_workers)


@dataclass
class Worker:
    """One worker and what it does."""

    pid: int
    door: Connection
    job: Job | None = None
    since: float = 0.0
    deadline: float = 0.0


class ForkedPool:
    """Workers forked from a nurse that is started at once, so that libraries load while the table is read."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._workers: list[Worker] = []
        self._packed = b""
        self._ready = False
        self._heard = b""  # lines of what is compiled
        self._all_heard = False  # there is nothing more to hear
        mine, theirs = socket.socketpair()
        hear, bell = os.pipe()
        os.set_blocking(hear, False)
        self._hear = os.fdopen(hear, "rb", buffering=0)
        mine.sendall("\n".join([p or os.getcwd() for p in sys.path]).encode() + b"\n\n")
        self._nurse_door = mine
        self._nurse = subprocess.Popen(
            [sys.executable, "-P", "-c", STARTING, str(theirs.fileno()), str(bell)],
            pass_fds=[theirs.fileno(), bell],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the keyboard is for the run alone
        )
        theirs.close()
        os.close(bell)

    def give(self, bench: Bench) -> None:
        self._packed = cloudpickle.dumps(bench, protocol=5)

    def compiled(self, family: str) -> bool:
        if family in COMPILED and not self._all_heard:
            text = self._hear.read(1 << 12)  # None where there is nothing yet, empty where it has ended
            self._heard += text or b""
            self._all_heard = text == b""
        return family not in COMPILED or self._all_heard or family.encode() in self._heard.split(b"\n")

    @property
    def idle(self) -> int:
        return self._n_workers - sum(worker.job is not None for worker in self._workers)

    def start(self, job: Job, deadline: float) -> None:
        worker = next((one for one in self._workers if one.job is None), None) or self._fork()
        worker.job, worker.since, worker.deadline = job, time.monotonic(), deadline
        worker.door.send_bytes(cloudpickle.dumps(job, protocol=5))

    def _fork(self) -> Worker:
        if not self._ready:
            self._told()
            self._ready = True
        mine, theirs = socket.socketpair()
        socket.send_fds(self._nurse_door, [b"one more"], [theirs.fileno()])
        theirs.close()
        worker = Worker(int.from_bytes(self._told(), "little"), Connection(mine.detach()))
        worker.door.send_bytes(self._packed)
        self._workers.append(worker)
        return worker

    def _told(self) -> bytes:
        text = b""
        while len(text) < 8:
            part = self._nurse_door.recv(8 - len(text))
            if not part:
                raise RuntimeError("the process that workers come from has ended")
            text += part
        return text

    def collect(self, timeout: float) -> list[Done]:
        busy = [worker for worker in self._workers if worker.job is not None]
        if not busy:
            return []
        now = time.monotonic()
        soonest = min(worker.deadline for worker in busy)
        found = wait([worker.door for worker in busy], max(0.0, min(timeout, soonest - now)))
        done = []
        for worker in busy:
            assert worker.job is not None
            job, spent = worker.job, time.monotonic() - worker.since
            if worker.door in found:
                done.append(Done(job, *self._received(worker, spent)))
            elif time.monotonic() >= worker.deadline:
                self._kill(worker)
                done.append(Done(job, None, spent))
        return done

    def _received(self, worker: Worker, seconds: float) -> tuple[Any, float, int]:
        try:
            packed = worker.door.recv_bytes()
            result = pickle.loads(packed)
        except (EOFError, OSError):  # it died: a library crashed, or the system wanted its memory
            from foldwise.app.workers.jobs import Failed

            self._kill(worker)
            return Failed("the process that fitted it ended"), seconds, 0
        worker.job = None
        return result, seconds, len(packed)

    @property
    def running(self) -> list[tuple[Job, float]]:
        return [(worker.job, worker.since) for worker in self._workers if worker.job is not None]

    def stop(self) -> None:
        for worker in [one for one in self._workers if one.job is not None]:
            self._kill(worker)

    def _kill(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.door.close()
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)

    def close(self) -> None:
        for worker in list(self._workers):
            self._kill(worker)
        self._hear.close()
        self._nurse_door.close()
        if self._nurse.poll() is None:
            os.killpg(self._nurse.pid, signal.SIGKILL)  # and with it whoever compiles
        self._nurse.wait()


class InlinePool:
    """Does jobs in this process, one at a time: they cannot be stopped."""

    def __init__(self) -> None:
        self._bench: Bench | None = None
        self._waiting: list[Job] = []

    def give(self, bench: Bench) -> None:
        self._bench = bench

    def compiled(self, family: str) -> bool:
        return True

    @property
    def idle(self) -> int:
        return 1 - len(self._waiting)

    def start(self, job: Job, deadline: float) -> None:
        self._waiting.append(job)

    def collect(self, timeout: float) -> list[Done]:
        from foldwise.app.workers.jobs import perform

        done = []
        for job in self._waiting:
            assert self._bench is not None
            start = time.monotonic()
            result = perform(job, self._bench)
            done.append(Done(job, result, time.monotonic() - start))
        self._waiting = []
        return done

    @property
    def running(self) -> list[tuple[Job, float]]:
        return [(job, time.monotonic()) for job in self._waiting]

    def stop(self) -> None:
        self._waiting = []

    def close(self) -> None:
        self._bench = None
