"""`foldwise ui --host`: other computers need the token, and a certificate or a warning. Other names are refused."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from foldwise.app.cli.commands import app
from foldwise.app.workbench import server as servers
from tests.app.workbench.running import FOLDWISE

PEM = str(Path(__file__).parents[1] / "web" / "self_signed.pem")  # for tests only; certificate and key in one file
SECURE = ["--cert", PEM, "--key", PEM]


@contextmanager
def started(folder: Path, *options: str) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """A workbench for other computers: its port, its token and its process."""
    command = [*FOLDWISE, "ui", str(folder), "--port", "0", "--host", "0.0.0.0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = (re.search(r"(https?)://[^/]*:(\d+)/\?token=(\S+)", line) for line in process.stdout)
        link = next(one for one in found if one)
        yield f"{link[1]}://127.0.0.1:{link[2]}", link[3], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--host", "0.0.0.0"], "--host needs --cert and --key"),
        (["--host", "0.0.0.0", "--cert", PEM], "belong together"),
        (["--host", "0.0.0.0", "--cert", "no.pem", "--key", "no.pem"], "does not exist"),
    ],
)
def test_a_host_needs_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], why: str
) -> None:
    monkeypatch.setattr(servers, "serve_workbench", lambda *_: pytest.fail("it was started"))
    ended = CliRunner().invoke(app, ["ui", str(tmp_path), *options])
    assert ended.exit_code == 2
    assert why in ended.output


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_other_computers_need_the_token_and_a_known_name(tmp_path: Path, is_encrypted: bool) -> None:
    options = [*(SECURE if is_encrypted else ["--insecure"]), "--allowed-host", "bench.example"]
    with started(tmp_path, *options) as (base, token, process):
        assert base.startswith("https://" if is_encrypted else "http://")
        with httpx.Client(base_url=base, verify=False) as browser:
            for path in ("/data", "/runs/x/events", "/static/style.css"):
                assert browser.get(path).status_code == 401
            for name in ("evil.example", f"{socket.gethostname()}.evil.example"):
                assert browser.get(f"/?token={token}", headers={"host": name}).status_code == 421
            answered = browser.get(f"/?token={token}", headers={"host": "bench.example"})  # still unused
            assert answered.status_code == 303
            assert ("; Secure" in answered.headers["set-cookie"]) is is_encrypted
            cookie = answered.headers["set-cookie"].split(";")[0]
            for name in ("bench.example", socket.gethostname(), "127.0.0.1"):
                assert browser.get("/data", headers={"host": name, "cookie": cookie}).status_code == 200
            browser.cookies.clear()
            assert browser.get(f"/?token={token}").status_code == 401  # used
        process.send_signal(signal.SIGTERM)
        warned = process.stderr is not None and process.stderr.read()
    assert ("--insecure sends the token and all rows unencrypted" in str(warned)) is not is_encrypted
