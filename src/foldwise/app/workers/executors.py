"""Executors run jobs: in worker processes that can be stopped, or in this process.

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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Literal, Protocol

import cloudpickle

from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.app.workers.jobs import Job, JobData

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA")
ONE_THREAD = {**{f"{name}_NUM_THREADS": "1" for name in THREADS}, "POLARS_MAX_THREADS": "1"}
START_SERVER = "import sys; from foldwise.app.workers.fork_server import main; main(*sys.argv[1:])"
Purpose = Literal["fit", "explore"]
COMPILED = ("naive_bayes", "knn")  # models whose kernels are compiled on a new machine, in this order


@dataclass(frozen=True)
class JobResult:
    """A job that ended: its key and job, its value (None where it was stopped), its seconds, and the value's bytes."""

    key: Any
    job: Job
    value: Any
    seconds: float
    n_bytes: int = 0


class Executor(Protocol):
    """Does jobs on one table."""

    def give(self, data: JobData) -> None:
        """Take the table, before the first job."""

    def compiled(self, model: str) -> bool:
        """Whether a model can be fitted without compiling first."""

    @property
    def idle(self) -> int:
        """How many jobs can be started now."""

    def start(self, key: Any, job: Job, limit: float) -> None:
        """Begin a job, which is stopped after so many seconds."""

    def collect(self, timeout: float) -> list[JobResult]:
        """The jobs that ended, waiting so many seconds for one."""

    @property
    def running(self) -> list[Job]:
        """The jobs under way."""

    def stop(self) -> None:
        """Stop all jobs that run."""

    def close(self) -> None:
        """End all workers; a second call does no harm."""


def count_workers(n_jobs: int | None = None) -> int:
    """Return `n_jobs`, or the number of cores available to this process."""
    if n_jobs is not None:
        if n_jobs < 1:
            raise InputError(f"n_jobs must be at least 1, got {n_jobs}.", "leave it out to use all cores.")
        return n_jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_executor(n_workers: int, purpose: Purpose = "fit") -> Executor:
    """Forked workers where the system forks, else this process. They load libraries for their purpose."""
    if n_workers < 1 or not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        return InProcessExecutor()
    return ProcessExecutor(n_workers, purpose)


@dataclass
class Worker:
    """One worker process and what it does."""

    pid: int
    connection: Connection
    key: Any = None
    job: Job | None = None
    since: float = 0.0
    deadline: float = 0.0


class ProcessExecutor:
    """Workers forked from a server that is started at once, so that libraries load while the table is read."""

    def __init__(self, n_workers: int, purpose: Purpose = "fit") -> None:
        self._n_workers = n_workers
        self._workers: list[Worker] = []
        self._packed = b""
        self._ready = False
        self._compiled = b""  # names of models, one per line
        self._all_compiled = False
        mine, theirs = socket.socketpair()
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self._compiled_pipe = os.fdopen(reading, "rb", buffering=0)
        mine.sendall("\n".join([p or os.getcwd() for p in sys.path]).encode() + b"\n\n")
        self._socket = mine
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-c", START_SERVER, str(theirs.fileno()), str(writing), purpose],
            pass_fds=[theirs.fileno(), writing],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the keyboard is for the run alone
        )
        theirs.close()
        os.close(writing)

    def give(self, data: JobData) -> None:
        self._packed = cloudpickle.dumps(data.to_send(), protocol=5)
        if not self._ready:
            self._answer()  # the server has loaded its libraries
            self._ready = True

    def compiled(self, model: str) -> bool:
        if model in COMPILED and not self._all_compiled:
            text = self._compiled_pipe.read(1 << 12)  # None where there is nothing yet, empty where it has ended
            self._compiled += text or b""
            self._all_compiled = text == b""
        return model not in COMPILED or self._all_compiled or model.encode() in self._compiled.split(b"\n")

    @property
    def idle(self) -> int:
        return self._n_workers - len(self._busy)

    @property
    def _busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.job is not None]

    def start(self, key: Any, job: Job, limit: float) -> None:
        worker = next((one for one in self._workers if one.job is None), None) or self._fork()
        worker.key, worker.job, worker.since = key, job, time.monotonic()
        worker.deadline = worker.since + limit
        worker.connection.send_bytes(cloudpickle.dumps(job, protocol=5))

    def _fork(self) -> Worker:
        mine, theirs = socket.socketpair()
        socket.send_fds(self._socket, [b"one more"], [theirs.fileno()])
        theirs.close()
        worker = Worker(int.from_bytes(self._answer(), "little"), Connection(mine.detach()))
        worker.connection.send_bytes(self._packed)
        self._workers.append(worker)
        return worker

    def _answer(self) -> bytes:
        """The next eight bytes of the server."""
        text = b""
        while len(text) < 8:
            part = self._socket.recv(8 - len(text))
            if not part:
                raise RuntimeError("the fork server has ended")
            text += part
        return text

    def collect(self, timeout: float) -> list[JobResult]:
        busy = self._busy
        if not busy:
            return []
        soonest = min(worker.deadline for worker in busy)
        ready = wait([worker.connection for worker in busy], max(0.0, min(timeout, soonest - time.monotonic())))
        results = []
        for worker in busy:
            assert worker.job is not None
            key, job, spent = worker.key, worker.job, time.monotonic() - worker.since
            if worker.connection in ready:
                results.append(JobResult(key, job, *self._received(worker, spent)))
            elif time.monotonic() >= worker.deadline:
                self._kill(worker)
                results.append(JobResult(key, job, None, spent))
        return results

    def _received(self, worker: Worker, seconds: float) -> tuple[Any, float, int]:
        try:
            packed = worker.connection.recv_bytes()
            value, seconds = pickle.loads(packed)  # as the worker measured, which may have had to load the table first
        except (EOFError, OSError):  # a library crashed, or the system ran out of memory
            from foldwise.app.workers.jobs import JobFailure

            self._kill(worker)
            return JobFailure("the worker process ended unexpectedly"), seconds, 0
        worker.job = None
        return value, seconds, len(packed)

    @property
    def running(self) -> list[Job]:
        return [worker.job for worker in self._workers if worker.job is not None]

    def stop(self) -> None:
        for worker in self._busy:
            self._kill(worker)

    def _kill(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.connection.close()
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)

    def close(self) -> None:
        for worker in list(self._workers):
            self._kill(worker)
        self._compiled_pipe.close()
        self._socket.close()
        if self._server.poll() is None:
            os.killpg(self._server.pid, signal.SIGKILL)  # and with it the process that compiles
        self._server.wait()


class InProcessExecutor:
    """Does jobs in this process, one at a time. They cannot be stopped, so a slow one overruns the budget."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._data: JobData | None = None
        self._waiting: list[tuple[Any, Job]] = []

    def give(self, data: JobData) -> None:
        self._data = data

    def compiled(self, model: str) -> bool:
        return True

    @property
    def idle(self) -> int:
        return 1 - len(self._waiting)

    def start(self, key: Any, job: Job, limit: float) -> None:
        self._waiting.append((key, job))

    def collect(self, timeout: float) -> list[JobResult]:
        waiting, self._waiting = self._waiting, []
        results = []
        for key, job in waiting:
            start = self._now()
            value = self.perform(job)
            results.append(JobResult(key, job, value, self._now() - start))
        return results

    def perform(self, job: Job) -> Any:
        from foldwise.app.workers.jobs import perform

        assert self._data is not None
        return perform(job, self._data)

    @property
    def running(self) -> list[Job]:
        return [job for _, job in self._waiting]

    def stop(self) -> None:
        self._waiting = []

    def close(self) -> None:
        self._data = None
