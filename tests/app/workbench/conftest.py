"""The browser that tests of the workbench share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.workbench.running import BROWSER, FLAGS


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright."""
    name = "playwright.sync_api"
    playwright = pytest.importorskip(name, reason="playwright, which drives the browser, is not installed")
    if BROWSER is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield running
        running.close()
