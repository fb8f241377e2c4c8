"""What several tests share: fixtures, random mixed tables, and what may be skipped."""

from __future__ import annotations

import builtins
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# before any library starts threads of its own: test workers share the cores, and waiting OpenMP threads spin
os.environ.setdefault("OMP_NUM_THREADS", "1")
# what shared work raises is raised, and not hidden by a refit
os.environ.setdefault("FOLDWISE_STRICT", "1")

import numpy as np
import pytest
from hypothesis import settings

from tests.postgresql import postgresql_server as postgresql_server
from tests.spark import spark_session as spark_session

HERE = Path(__file__).parent

# What may be skipped where CI is set: (part of the test's address, part of its reason) and why that is right.
# .ci/run installs whatever else tests need, so any other skip fails the run.
ALLOWED_SKIPS = {
    ("tests/models/", "no column for it"): "a model is not offered for a table that has no column it can use",
    ("tests/bayes/test_torture.py", "is in the extra peers"): "one peer installs a package called tests over ours",
    ("tests/evaluation/test_sklearn_validation_tests.py", "not checking array_api input"): "libraries of other arrays",
    ("", "SCIPY_ARRAY_API is not set"): "a check of scikit-learn for estimators that take other arrays than numpy's",
    **{
        (address, "real tables"): "these tables are not ours to ship; the shipped ones take the same paths"
        for address in (
            "tests/app/test_raw_configs.py",
            "tests/data/test_findings.py",
            "tests/data/test_raw_files.py",
            "tests/engines/test_real_tables.py",
            "tests/rules/test_rules.py",
        )
    },
}

# a landing must not hang on the luck of a draw: new examples are drawn on developers' machines, the same ones in CI
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where CI is set, a skip that is not on the list fails the run."""
    if os.environ.get("CI") and not hasattr(session.config, "workerinput") and unexpected_skips(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if os.environ.get("CI") and (found := unexpected_skips(config)):
        terminalreporter.section("skipped, though not in ALLOWED_SKIPS of tests/conftest.py")
        for address, reason in found:
            terminalreporter.write_line(f"{address}: {reason}")


def unexpected_skips(config: pytest.Config) -> list[tuple[str, str]]:
    """The file and reason of every skipped test that ALLOWED_SKIPS does not name."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = [
        (report.nodeid.split("::")[0], report.longrepr[2])
        for report in reporter.stats.get("skipped", [])
        if report.longrepr
    ]
    return sorted(
        {
            (address, reason)
            for address, reason in skipped
            if not any(where in address and why in reason for where, why in ALLOWED_SKIPS)
        }
    )


@pytest.fixture(scope="session")
def worked() -> dict[str, Any]:
    return json.loads((HERE / "worked_examples.json").read_text())


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and matplotlib is not installed until the test ends."""

    def hide() -> None:
        real = builtins.__import__

        def without(name: str, *args: Any, **kwargs: Any) -> Any:
            if name.startswith("matplotlib"):
                raise ImportError(name)
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without)

    return hide


def mixed_columns(rng: np.random.Generator, n: int, missing: float = 0.15) -> dict[str, list[Any]]:
    """Columns of each kind with missing cells as None, as plain lists that every frame library takes."""
    columns: dict[str, list[Any]] = {
        "color": rng.choice(["red", "green", "blue"], n).tolist(),
        "size": rng.normal(5, 2, n).tolist(),
        "member": rng.choice([True, False], n).tolist(),
        "rings": rng.integers(0, 9, n).astype(float).tolist(),
        "grade": rng.choice(["a", "b", "c", "d"], n, p=[0.7, 0.2, 0.05, 0.05]).tolist(),
    }
    for cells in columns.values():
        for i in np.flatnonzero(rng.random(n) < missing):
            cells[i] = None
    return columns


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close the figures that a test has drawn: matplotlib warns when there are many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
