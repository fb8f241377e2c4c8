"""The server is killed while it works: nothing that it confirmed is lost. 20 kills: benchmarks/killed_workbench.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.workbench.killed_server import killed_server


@pytest.mark.slow
def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    found, ended = killed_server(tmp_path / "folder", n_kills=2, longest=12.0, seed=3)
    assert found.n_kills == 2
    assert sum(ended.values()) == len(found.runs) > 0
