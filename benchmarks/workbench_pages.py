"""Time and size of the pages of the workbench after a run, in chromium. Writes benchmarks/workbench_pages.md.

python benchmarks/workbench_pages.py TABLE --target COLUMN [--budget 60s]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.app.workbench.running import BROWSER, FLAGS, FOLDWISE, RunningBench  # noqa: E402

N_LOADS = 5
N_STARTS = 5
WARM_SECONDS = 10  # until the workers have loaded their libraries
HEAD = """# Benchmarks: pages of the workbench

Made by `benchmarks/workbench_pages.py` after a run of {budget} on `{name}`: the time from the request to the load event
in chromium, and all bytes that were sent for the page. The first load also reads the run or the table in a worker,
which the server starts beforehand. The others are the median of {n}. Browsers keep scripts and styles for an hour, but
here every load fetches them.

Cold start: `foldwise ui` printed its link {start:.2f} s after it was started. The result page, opened at once, was
loaded {cold:.2f} s later. Both are medians of {n_starts} starts.

| page | first load | further loads | bytes |
|---|---|---|---|
"""
LOAD = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    """Run, load, write."""
    asked = argparse.ArgumentParser()
    asked.add_argument("table", type=Path)
    asked.add_argument("--target", required=True)
    asked.add_argument("--budget", default="60s")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, table = Path(place), given.table.resolve()
        (folder / table.name).write_bytes(table.read_bytes())
        options = ["--target", given.target, "--budget", given.budget, "--out", "run", "--quiet"]
        command = [*FOLDWISE, "fit", table.name, *options]
        subprocess.run(command, cwd=folder, check=True)
        start, cold = cold_starts(folder)
        with RunningBench(folder) as bench, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
            context = browser.new_context()
            context.new_page().goto(bench.link)
            time.sleep(WARM_SECONDS)
            pages = ("/runs/run", "/runs/run/report", f"/data/{table.name}", "/runs", "/runs/run/ask")
            rows = [measured(context, bench.base + path, path) for path in pages]
            browser.close()
    times = {"start": start, "cold": cold, "n_starts": N_STARTS}
    text = HEAD.format(budget=given.budget, name=given.table.stem, n=N_LOADS - 1, **times) + "\n".join(rows) + "\n"
    (HERE / "workbench_pages.md").write_text(text, encoding="utf-8")
    print(text)


def cold_starts(folder: Path) -> tuple[float, float]:
    """Seconds until the link of a new server is printed, and from then until the result page is loaded."""
    starts, loads = [], []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        for _ in range(N_STARTS):
            page = browser.new_context().new_page()
            began = time.perf_counter()
            with RunningBench(folder) as bench:
                printed = time.perf_counter()
                page.request.get(bench.link)  # the cookie
                page.goto(f"{bench.base}/runs/run", wait_until="load")
                starts.append(printed - began)
                loads.append(time.perf_counter() - printed)
        browser.close()
    return median(starts), median(loads)


def measured(context: object, url: str, path: str) -> str:
    """One row of the table."""
    seconds, sizes = [], []
    for _ in range(N_LOADS):
        page = context.new_page()  # type: ignore[attr-defined]
        page.context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})
        answers: list[object] = []
        page.on("requestfinished", lambda one, found=answers: found.append(one))
        page.goto(url, wait_until="load")
        seconds.append(page.evaluate(LOAD) / 1000)
        sizes.append(sum(len(one.response().body()) for one in answers))  # type: ignore[attr-defined]
        page.close()
    return f"| `{path}` | {seconds[0]:.2f} s | {median(seconds[1:]):.2f} s | {max(sizes) / 1e6:.2f} MB |"


if __name__ == "__main__":
    main()
