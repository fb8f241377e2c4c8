"""Stores of each kind, empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store of each kind, empty."""
    if request.param == "sqlite":
        yield str(tmp_path / "trials.sqlite")
        return
    url = request.getfixturevalue("postgresql_server")
    name = f"t{abs(hash(str(tmp_path))):x}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f'create database "{name}"'))
    yield url.replace("/postgres?", f"/{name}?")
    with engine.connect() as connection:
        connection.execute(sa.text(f'drop database "{name}" with (force)'))
    engine.dispose()
