"""Load on the prediction server and on plain FastAPI + joblib servers, on one machine. Writes benchmarks/serving.md.

    python benchmarks/serving.py [--seconds 8] [--memory 300] [--folder models]

Needs fastapi besides the extra web. 64 clients send single rows over kept connections, as fast as answers come, from a
process of their own. `--memory` only measures memory, in a run of so many seconds at full load for each model. The page
takes its result from the folder, so measure memory first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
N_CLIENTS, WARM_UP = 64, 2.0
TEXT = """# Benchmarks: serving predictions

Made by `benchmarks/serving.py` on {cores} cores, which the server and the clients share. {clients} clients send single
rows as JSON over persistent connections, each as soon as it has its last answer; {seconds:g} s after {warm_up:g} s of
warm-up. The clients are a process of their own. The table has 20,000 rows, 10 numbers and 5 categories.

The peer is what tutorials show: FastAPI with a model loaded by joblib, a pandas frame of one row, `predict_proba`. Its
handler is a plain function (run in threads) or a coroutine, in one or two processes. It has the same fitted model,
uvicorn, uvloop and httptools. `foldwise serve` has one process, checks the schema, and also returns the decision,
its expected cost and notes.

{table}

{ratios}

{memory}"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--memory", type=float, default=0)
    parser.add_argument("--only", default="", help="one model, without writing the page")
    parser.add_argument("--folder", type=Path, help="where the fitted models are kept for the next run")
    parser.add_argument("--load", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.load:
        url, rows, seconds = given.load
        print(json.dumps(asyncio.run(load(url, Path(rows), float(seconds)))))
        return
    with tempfile.TemporaryDirectory() as folder:
        place = given.folder or Path(folder)
        place.mkdir(exist_ok=True)
        models = [given.only] if given.only else ["random_forest", "blend"]
        if not all((place / f"{name}.joblib").exists() for name in models):
            make_models(place, models)
        noted = place / "memory.txt"
        if given.memory:
            noted.write_text("".join(memory_words(place, name, given.memory) for name in models))
            print(noted.read_text())
            return
        found = {name: measure(place, name, given.seconds) for name in models}
        memory = noted.read_text() if noted.exists() else ""
    lines = ["| model | server | requests per second | p50 | p99 |", "|---|---|---|---|---|"]
    ratios = []
    for name, servers in found.items():
        for server, one in servers.items():
            figures = f"{one['rate']:,.0f} | {one['p50']:.0f} ms | {one['p99']:.0f} ms"
            lines.append(f"| {name.replace('_', ' ')} | {server} | {figures} |")
        ours, *peers = servers.values()
        rate = ours["rate"] / max(one["rate"] for one in peers)
        p50, p99 = (min(one[key] for one in peers) / ours[key] for key in ("p50", "p99"))
        ratios.append(
            f"{name.replace('_', ' ').capitalize()}: {rate:.1f} times the requests of the best peer, {p50:.1f} times "
            f"shorter p50 and {p99:.1f} times shorter p99 than the best of each (goal: 3)."
        )
    text = TEXT.format(
        cores=os.cpu_count(),
        clients=N_CLIENTS,
        seconds=given.seconds,
        warm_up=WARM_UP,
        table="\n".join(lines),
        ratios="\n".join(ratios),
        memory=memory,
    )
    print(text)
    if not given.only:
        (HERE / "serving.md").write_text(text.rstrip() + "\n")


def make_models(place: Path, names: list[str]) -> None:
    """Fit a random forest and a run, and store each as a model file and with joblib."""
    import joblib
    import polars as pl

    import foldwise
    from foldwise.data.table import Table
    from foldwise.data.view import view
    from foldwise.models import catalogue, outline

    rng = np.random.default_rng(0)
    n = 20_000
    numbers = {f"x{i}": rng.normal(size=n).round(4) for i in range(10)}
    categories = {f"c{i}": rng.choice([f"level {k}" for k in range(4 + 3 * i)], n) for i in range(5)}
    X = pl.DataFrame({**numbers, **categories})
    score = X["x0"] + X["x1"] * X["x2"] + (X["c0"] == "level 1") + rng.normal(size=n)
    y = np.where(score.to_numpy() > 0.3, "yes", "no")
    (place / "rows.json").write_text(json.dumps(X[:2_000].to_dicts()))
    if "random_forest" in names:
        table = Table(X, y, view(X).schema, "rows", "y")
        forest = catalogue()["random_forest"].pipeline(outline(table)).fit(X, y)
        foldwise.save_model(place / "random_forest.foldwise", forest, X, target="y")
    if "blend" in names:
        X.with_columns(y=y).write_parquet(place / "rows.parquet")
        result = foldwise.fit(place / "rows.parquet", target="y", budget=40, seed=0)
        result.save(place / "run")
        os.replace(place / "run" / "model.foldwise", place / "blend.foldwise")
    for name in names:
        joblib.dump(foldwise.open_model(place / f"{name}.foldwise").model, place / f"{name}.joblib")


def measure(place: Path, name: str, seconds: float) -> dict[str, dict[str, float]]:
    """Requests per second and latencies of all servers with one model."""
    found = {}
    with ours(place, name) as (url, _):
        first = answer(url, place)
        found["foldwise serve"] = load_process(url, place, seconds)
    for workers in (1, 2):
        for kind in ("sync", "async"):
            with peer(place, name, kind, workers) as url:
                for label, p in answer(url, place)["proba"].items():
                    assert abs(p - first["predictions"][0][f"predicted_p_{label}"]) < 1e-9
                words = f"FastAPI, {kind}, {workers} process{'es' if workers > 1 else ''}"
                found[words] = load_process(url, place, seconds)
    return found


def answer(url: str, place: Path) -> Any:
    """The answer for the first row."""
    body = json.dumps(json.loads((place / "rows.json").read_text())[0]).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


@contextmanager
def ours(place: Path, name: str) -> Any:
    command = [sys.executable, "-m", "foldwise.app.cli", "serve", str(place / f"{name}.foldwise"), "--port", "0"]
    with process(command) as server:
        yield server.stdout.readline().split()[1], server.pid


@contextmanager
def peer(place: Path, name: str, kind: str, workers: int) -> Any:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", f"serving_peer:{kind}_app", "--port", str(port), "--no-access-log"]
    environment = {**os.environ, "PEER_MODEL": str(place / f"{name}.joblib"), "OMP_NUM_THREADS": "1"}
    with process([*command, "--workers", str(workers), "--log-level", "error"], env=environment, cwd=HERE):
        url = f"http://127.0.0.1:{port}/predict"
        for _ in range(300):
            try:
                answer(url, place)
                break
            except OSError:
                time.sleep(0.2)
        time.sleep(3 if workers > 1 else 0)  # the second process may still be loading
        yield url


@contextmanager
def process(command: list[str], **options: Any) -> Any:
    """A server, which is ended by SIGTERM."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)


def load_process(url: str, place: Path, seconds: float) -> dict[str, float]:
    """Put load on a server from another process."""
    command = [sys.executable, __file__, "--load", url, str(place / "rows.json"), str(seconds)]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


class Client(asyncio.Protocol):
    """One connection that sends a row as soon as the last answer has come."""

    def __init__(self, requests: list[bytes], at: int) -> None:
        self._requests, self._at = requests, at
        self._buffer = b""
        self.times: list[tuple[float, float]] = []  # when an answer came, and how long it took

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._at = (self._at + 1) % len(self._requests)
        self._started = time.perf_counter()
        self._transport.write(self._requests[self._at])

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self._buffer.find(b"content-length: ")
        length = int(self._buffer[at + 16 : self._buffer.find(b"\r", at)])
        if len(self._buffer) < end + 4 + length:
            return
        assert self._buffer.startswith(b"HTTP/1.1 200"), self._buffer
        now = time.perf_counter()
        self.times.append((now, now - self._started))
        self._buffer = b""
        self._send()


async def load(url: str, rows: Path, seconds: float) -> dict[str, float]:
    """Requests per second and latencies, after the warm-up."""
    host, _, path = url.removeprefix("http://").partition("/")
    bodies = [json.dumps(row).encode() for row in json.loads(rows.read_text())]
    head = f"POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: "
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    name, _, port = host.partition(":")
    loop = asyncio.get_running_loop()
    clients = [Client(requests, i * len(requests) // N_CLIENTS) for i in range(N_CLIENTS)]
    for client in clients:
        await loop.create_connection(lambda client=client: client, name, int(port))
    await asyncio.sleep(WARM_UP)
    started = time.perf_counter()
    await asyncio.sleep(seconds)
    ended = time.perf_counter()
    taken = np.array([took for client in clients for when, took in client.times if started <= when <= ended]) * 1000
    p50, p99 = (float(np.percentile(taken, q)) if len(taken) else float("nan") for q in (50, 99))
    return {"rate": len(taken) / (ended - started), "p50": p50, "p99": p99}


def memory_words(place: Path, name: str, seconds: float) -> str:
    """How much memory the server has while it works at full load."""
    with ours(place, name) as (url, pid):
        command = [sys.executable, __file__, "--load", url, str(place / "rows.json"), str(seconds)]
        loading = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        sizes = []
        time.sleep(WARM_UP + 3)  # the clients start
        while loading.poll() is None:
            sizes.append(resident(pid))
            time.sleep(min(2.0, seconds / 10))
        rate = json.loads(loading.communicate()[0])["rate"]
    n = max(1, len(sizes) // 5)
    parts = [float(np.mean(sizes[i : i + n])) for i in range(0, len(sizes), n)][:5]
    listed = ", ".join(f"{size:,.0f}" for size in parts)
    return (
        f"- Memory of `foldwise serve` with the {name.replace('_', ' ')} over {seconds:g} s at full load "
        f"({rate * seconds:,.0f} requests), mean of each fifth in MB: {listed}.\n"
    )


def resident(pid: int) -> float:
    """Memory of a process in MB."""
    line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
