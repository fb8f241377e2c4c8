"""Work with files of others, done in a process that can be killed: `WorkerPool` asks, `main` answers.

Requests and answers are JSON lines in pipes. A worker that takes too long or too much memory is killed and replaced.
It ends when the server ends in any way, because its input is closed then.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sys
import threading
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

from foldwise.app.timing import PAGE_SECONDS
from foldwise.app.workbench.control_words import with_controls
from foldwise.errors import FoldwiseError, InputError

SHARE_OF_MEMORY = 0.75
LONGEST_ANSWER = 64 << 20  # bytes
ROOM = "foldwise.app.workbench."  # functions elsewhere are not called
MODULES = ("run_results", "decisions", "describing", "one_row")  # in the order in which they are loaded beforehand


class WorkerPool:
    """A few worker processes, each with one request at a time."""

    def __init__(self, n_workers: int = 2) -> None:
        self._idle: list[asyncio.subprocess.Process] = []
        self._n_workers = n_workers
        self._free = asyncio.Semaphore(n_workers)
        self.is_warm = False  # all libraries are loaded

    async def __call__(self, function: str, seconds: float = PAGE_SECONDS, **arguments: Any) -> Any:
        """Call `module:function` of this room in a worker. Raise its InputError, or one if it was killed."""
        async with self._free:
            worker = await self._take()
            try:
                answer = await asyncio.wait_for(self._ask(worker, function, arguments), seconds)
            except TimeoutError:
                raise InputError(
                    f"this took longer than {seconds:.0f} seconds, so it was stopped.",
                    "use a smaller table, or the command line, which has no such limit.",
                ) from None
            finally:
                if worker.returncode is None and worker not in self._idle:
                    worker.kill()
                    await worker.wait()
        if "result" in answer:
            return answer["result"]
        raise InputError(answer["error"])

    async def _ask(self, worker: asyncio.subprocess.Process, function: str, arguments: dict[str, Any]) -> Any:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps([function, arguments]).encode() + b"\n")
        with suppress(ConnectionError):
            await worker.stdin.drain()
        try:
            line = await worker.stdout.readline()
        except ValueError:
            line = b""
        if not line:
            return {"error": "the process that read the file ended unexpectedly, perhaps for lack of memory."}
        self._idle.append(worker)
        return json.loads(line)

    async def _take(self) -> asyncio.subprocess.Process:
        while self._idle:
            worker = self._idle.pop()
            if worker.returncode is None:
                return worker
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", __name__)
        return await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, limit=LONGEST_ANSWER, start_new_session=True
        )

    async def warm(self) -> None:
        """Load libraries before they are needed, which takes seconds. Requests are answered between the steps."""
        for module in MODULES:
            await asyncio.gather(*(self(f"{__name__}:load", module=module) for _ in range(self._n_workers)))
        self.is_warm = True

    async def close(self) -> None:
        """Kill the workers."""
        while self._idle:
            worker = self._idle.pop()
            with suppress(ProcessLookupError):
                worker.kill()
            await worker.wait()


def main() -> None:
    """Answer requests from standard input until it is closed."""
    limit_memory()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not an answer
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=read_requests, args=[requests], daemon=True).start()
    warnings.simplefilter("ignore")
    while True:
        function, arguments = json.loads(requests.get())
        answers.write(json.dumps(answer(function, arguments)).encode() + b"\n")
        answers.flush()


def read_requests(requests: queue.SimpleQueue[bytes]) -> None:
    """Pass on lines. The process ends with its input, whatever it is doing."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def answer(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a function of this room; an error becomes one sentence."""
    try:
        module, _, name = function.partition(":")
        if not module.startswith(ROOM):
            raise InputError(f"{function!r} is not a function of the workbench.")
        return {"result": getattr(import_module(module), name)(**arguments)}
    except FoldwiseError as error:
        return {"error": with_controls(str(error))}
    except MemoryError:
        return {"error": "there was not enough memory for this file."}
    except Exception as error:  # the trace is for the log, not for the page
        sys.excepthook(type(error), error, error.__traceback__)
        return {"error": f"this failed with an internal error ({type(error).__name__}). The log has the details."}


def load(module: str) -> None:
    """Import a module of this room."""
    import_module(f"{ROOM}{module}")


def limit_memory() -> None:
    """Limit the memory of this process to a share of the computer's, where the system can."""
    with suppress(ImportError, ValueError, OSError, AttributeError):
        import resource

        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        most = int(SHARE_OF_MEMORY * whole)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
