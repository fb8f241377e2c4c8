"""The process that workers are forked from: it has loaded the libraries once, and runs nothing itself.

A fork of it starts in milliseconds and holds no threads of anybody, so workers can be stopped and replaced at will.
It reads import paths, one per line, and forks the process that compiles. Then it takes one end of a connection for
each worker that is wanted, and answers with the worker's process id.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection

from foldwise.app.workers.compiled_stamp import is_compiled


def main(socket_number: str, pipe_number: str, purpose: str) -> None:
    """Fork a worker for each connection that comes through the socket, until it is closed.

    What is compiled is written to the pipe. The workers of `explore` compile what their questions need themselves.
    """
    requests, compiled_pipe = socket.socket(fileno=int(socket_number)), int(pipe_number)
    sys.path[:] = receive_paths(requests)
    load(purpose)
    compiles = purpose == "fit" and not is_compiled()
    if not compiles:
        use_a_kernel()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for workers that end
    gc.freeze()
    if compiles and os.fork() == 0:
        requests.close()
        from foldwise.app.workers.compiling import compile_all

        compile_all(compiled_pipe)
        os._exit(0)
    os.close(compiled_pipe)
    requests.sendall(b"ready---")
    while True:
        word, handles, _, _ = socket.recv_fds(requests, 8, 1)
        if not word or not handles:  # the run has ended or was killed: nobody waits for its workers
            os.killpg(os.getpgrp(), signal.SIGKILL)
        child = os.fork()
        if child == 0:
            requests.close()
            from foldwise.app.workers.jobs import work

            work(Connection(handles[0]))
            os._exit(0)
        os.close(handles[0])
        requests.sendall(child.to_bytes(8, "little"))


def receive_paths(requests: socket.socket) -> list[str]:
    """The import paths of the process that asked, ended by an empty line."""
    text = b""
    while not text.endswith(b"\n\n"):
        part = requests.recv(1 << 16)
        if not part:
            sys.exit(0)
        text += part
    return text.decode().removesuffix("\n\n").split("\n")


def load(purpose: str) -> None:
    """Import what every worker needs."""
    import foldwise.app.workers.jobs

    if purpose == "explore":
        import foldwise.app.exploring.clustering
        import foldwise.app.exploring.questions
    else:
        import foldwise.models  # noqa: F401


def use_a_kernel() -> None:
    """Call some compiled code: the first call prepares numba, which takes 0.3 s, and workers inherit that."""
    import numpy as np

    from foldwise.data.transpose import transpose_into

    transpose_into(np.zeros((1, 1)), 0, 1, np.zeros((1, 1)))
