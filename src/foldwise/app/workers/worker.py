"""A worker: takes a table, then one job after the other, and answers each."""

from __future__ import annotations

import pickle
from multiprocessing.connection import Connection

from foldwise.app.workers.jobs import Bench, perform


def work(door: Connection) -> None:
    """Answer jobs until the connection is closed. Messages come from the process that started this one."""
    try:
        bench: Bench = pickle.loads(door.recv_bytes())
        while True:
            job = pickle.loads(door.recv_bytes())
            door.send_bytes(pickle.dumps(perform(job, bench), protocol=5))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
