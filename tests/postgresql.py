"""A PostgreSQL cluster of the tests' own, started as an ordinary user from Debian's package."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa


def program(name: str) -> str | None:
    """A program of PostgreSQL: Debian keeps servers outside of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


def ordinary_user() -> str | None:
    """The user that runs the server, which refuses to be root."""
    if os.getuid() != 0:
        return None
    names = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server that only this session knows."""
    if program("initdb") is None or program("postgres") is None:
        pytest.skip("PostgreSQL is not installed")
    with running_server() as url:
        yield url


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server, and stop it at the end."""
    initdb, server = program("initdb"), program("postgres")
    assert initdb is not None
    assert server is not None
    user = ordinary_user()
    folder = Path(tempfile.mkdtemp(prefix="fw-pg-"))  # a short path: the name of a socket has a limit
    process = None
    try:
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        subprocess.run(
            [initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"],
            user=user, cwd="/", check=True, capture_output=True,
        )  # fmt: skip
        process = subprocess.Popen(
            [server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"],
            user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        url = f"postgresql+psycopg://postgres@/postgres?host={folder}"
        engine = sa.create_engine(url)
        for _ in range(300):
            try:
                engine.connect().close()
                break
            except sa.exc.OperationalError:  # it is starting
                time.sleep(0.1)
        engine.dispose()
        yield url
    finally:
        if process is not None:
            process.send_signal(signal.SIGINT)  # does not wait for connections
            process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)
