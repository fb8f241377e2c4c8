"""Micro-batches: rows of requests that wait are predicted together in one pass.

While a pass runs in its own thread, new requests gather; the next pass takes them all. Nobody waits for a timer: a
request that arrives while the model is idle is predicted at once. A large request is predicted in parts, so that small
ones pass between them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from foldwise.app.serving.served_model import ColumnCells, RequestRows, ServedModel
from foldwise.errors import FoldwiseError

PASS_ROWS = 2_048  # in one pass
MOST_WAITING = 200_000  # rows


class BusyError(FoldwiseError):
    """Too many rows wait for a model."""


@dataclass(eq=False)
class WaitingRequest:
    """Rows that wait for their predictions, some of which may be there already."""

    rows: RequestRows
    answer: asyncio.Future[ColumnCells]
    n_done: int = 0
    parts: list[ColumnCells] = field(default_factory=list)

    @property
    def n_left(self) -> int:
        return len(self.rows) - self.n_done


class MicroBatches:
    """Predicts the rows of concurrent requests together.

    Parameters
    ----------
    model : ServedModel
        What predicts.
    watch : callable, optional
        Called with the number of requests and rows of each pass.
    """

    def __init__(self, model: ServedModel, watch: Callable[[int, int], None] | None = None) -> None:
        self._model, self._watch = model, watch
        self._waiting: deque[WaitingRequest] = deque()
        self._n_rows = 0  # that wait
        self._loop_task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"predict-{model.name}")

    async def predict(self, rows: RequestRows) -> ColumnCells:
        """Return the predictions of a request, column by column."""
        if self._n_rows + len(rows) > MOST_WAITING:
            raise BusyError(f"{self._n_rows:,} rows are already waiting for predictions.", "try again later.")
        request = WaitingRequest(rows, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        self._n_rows += len(rows)
        if self._loop_task is None or self._loop_task.done():
            self._loop_task = asyncio.create_task(self._run())
        return await request.answer

    async def _run(self) -> None:
        """Predict until nothing waits."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            n_before = 0
            while n_before < len(self._waiting):  # requests that have arrived already, but were not read yet
                n_before = len(self._waiting)
                await asyncio.sleep(0)
            taken = self._take()
            if taken:
                asked = [rows for _, rows in taken]
                try:
                    answers = await loop.run_in_executor(self._thread, self._model.predict, asked)
                except Exception as error:  # every request gets an answer, whatever happens
                    answers = [error] * len(taken)
                self._answer(taken, answers)

    def _take(self) -> list[tuple[WaitingRequest, RequestRows]]:
        """Take rows for one pass. What is left of a large request goes to the end of the queue."""
        taken: list[tuple[WaitingRequest, RequestRows]] = []
        n_rows = 0
        while self._waiting and n_rows < PASS_ROWS:
            request = self._waiting.popleft()
            if request.answer.done():  # the client is gone, or its time is up
                self._n_rows -= request.n_left
                continue
            rows = request.rows.part(request.n_done, request.n_done + PASS_ROWS - n_rows)
            n_rows += len(rows)
            taken.append((request, rows))
        if taken and self._watch is not None:
            self._watch(len(taken), n_rows)
        return taken

    def _answer(self, taken: list[tuple[WaitingRequest, RequestRows]], answers: list[Any]) -> None:
        for (request, rows), answer in zip(taken, answers, strict=True):
            if isinstance(answer, Exception):
                self._n_rows -= request.n_left
                if not request.answer.done():
                    request.answer.set_exception(answer)
                continue
            request.n_done += len(rows)
            self._n_rows -= len(rows)
            request.parts.append(answer)
            if request.n_left:
                self._waiting.append(request)
            elif not request.answer.done():
                request.answer.set_result(joined(request.parts))

    def close(self) -> None:
        """End the thread, after the pass that runs."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def joined(parts: list[ColumnCells]) -> ColumnCells:
    """Join the predictions of consecutive rows."""
    if len(parts) == 1:
        return parts[0]
    return [[cell for part in parts for cell in part[j]] for j in range(len(parts[0]))]
