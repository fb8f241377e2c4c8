"""A workbench in a process of its own, and the browser that opens it."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDWISE = [sys.executable, "-m", "foldwise.app.cli"]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("quic", "background-networking", "component-update", "sync")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]


class RunningBench:
    """`foldwise ui` on a folder, on any free port."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [*FOLDWISE, "ui", str(folder), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        found = (re.search(r"(http://\S+)/\?token=\S+", line) for line in self.process.stdout)
        link = next((one for one in found if one), None)
        assert link is not None, self.process.stderr and self.process.stderr.read()
        self.link, self.base = link[0], link[1]

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End the server by a signal."""
        self.process.send_signal(number)
        self.process.wait(20)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> RunningBench:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class WatchedPage:
    """A page with a list of all that went wrong in it, and of all requests that left for elsewhere."""

    def __init__(self, context: Any, base: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.base, self.troubles = base, []
        self.page.on("console", lambda said: self.troubles.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.troubles.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda sent: self._sent(sent.url))

    def _sent(self, url: str) -> None:
        if not url.startswith((f"{self.base}/", "data:")):
            self.troubles.append(f"request: {url}")

    def check(self) -> None:
        """No complaint, nothing wider than the page, and no serious fault of accessibility."""
        from axe_playwright_python.sync_playwright import Axe

        assert self.troubles == [], self.troubles
        width = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert width[0] <= width[1], width
        found = Axe().run(self.page).response["violations"]
        faults = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert faults == [], faults


def wait_for(done: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until something is true."""
    until = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
    return found
