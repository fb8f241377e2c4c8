"""A real server: schemathesis, limits and tokens over the network, a browser, and the end of the process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from foldwise import NaiveBayes, read_table, save_model
from foldwise.app.serving.prediction_app import ServingLimits
from foldwise.app.serving.served_model import open_served
from tests.app.command_line import refused
from tests.app.serving.conftest import PLAIN, running
from tests.app.serving.test_serving import json_rows
from tests.report.test_browser import BROWSER, FLAGS, playwright

TOKEN = "a-token-for-the-tests"
ROW = json.dumps(json_rows(PLAIN.X[:1])[0]).encode()


def fetch(url, body=None, headers=None):
    """Status and body of a request."""
    request = urllib.request.Request(url, body, {"content-type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def connected(url):
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20)


@pytest.mark.filterwarnings("default")  # a model may warn about strange rows; here the answers count
def test_malformed_requests_never_give_an_internal_error(server):
    config = schemathesis.GenerationMode
    schema = schemathesis.openapi.from_url(f"{server}/openapi.json")
    seen = set()
    for operation in schema.get_all_operations():
        if operation.ok().path == "/predict":  # the same as /models/plain/predict
            continue
        for mode in (config.POSITIVE, config.NEGATIVE):
            post = operation.ok().method == "post"
            if mode == config.NEGATIVE and not post:
                continue

            @settings(
                max_examples=25 if post else 1,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.ok().as_strategy(generation_mode=mode))
            def check(case):
                response = case.call()
                seen.add(response.status_code)
                assert response.status_code < 500, response.text

            check()
    assert {200, 422} <= seen


def test_many_clients_get_their_own_answers(server):
    rows = json_rows(PLAIN.X[:60])
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda row: fetch(f"{server}/predict", json.dumps(row).encode()), rows))
    status, whole = fetch(f"{server}/predict", json.dumps(rows).encode())
    assert status == 200
    found = [json.loads(body)["predictions"][0] for _, body in replies]
    expected = json.loads(whole)["predictions"]
    assert [one["predicted_class"] for one in found] == [one["predicted_class"] for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one["predicted_p_up"] == pytest.approx(other["predicted_p_up"], rel=1e-9)


def test_the_network_sees_no_more_than_the_limits_allow(server):
    with connected(server) as client:
        client.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        try:
            for _ in range(200):  # an endless body; the limit is 100,000 bytes
                client.sendall(chunk)
        except OSError:
            pass  # the server has closed the connection
        else:
            pytest.fail("the server read 6 MB")
    assert fetch(f"{server}/health", headers={"host": "evil.example"})[0] == 421
    assert fetch(f"{server}/health")[0] == 200


def test_every_route_needs_the_token(models):
    with running({"plain": models["plain"]}, token=TOKEN) as url:
        for path in ("/", "/health", "/metrics", "/models", "/openapi.json", "/static/page.js", "/predict", "/none"):
            body = ROW if path == "/predict" else None
            assert fetch(f"{url}{path}", body)[0] == 401, path
            assert fetch(f"{url}{path}", body, {"authorization": "Bearer wrong"})[0] == 401, path
            right = fetch(f"{url}{path}", body, {"authorization": f"Bearer {TOKEN}"})[0]
            assert right == (404 if path == "/none" else 200), path


def test_a_slow_client_is_cut_off(models):
    with running({"plain": models["plain"]}, ServingLimits(seconds=0.3)) as url, connected(url) as client:
        client.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        assert client.recv(100).startswith(b"HTTP/1.1 408")


def test_late_and_endless_headers_are_cut_off(models, monkeypatch):
    monkeypatch.setattr("foldwise.app.web.limited_protocol.HEADER_SECONDS", 0.3)
    with running({"plain": models["plain"]}) as url:
        for start in (b"", b"GET /health HTTP/1.1\r\nHost: local"):  # nothing, and half of the headers
            with connected(url) as client:
                client.sendall(start)
                assert closed(client)
        with connected(url) as client:  # the time begins again with each request
            for _ in range(3):
                client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert client.recv(10_000).startswith(b"HTTP/1.1 200")
                time.sleep(0.2)
    monkeypatch.undo()
    with running({"plain": models["plain"]}) as url, connected(url) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nX: " + b"x" * 70_000)
        assert closed(client)


def closed(client):
    """Whether the server has closed a connection without an answer."""
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.slow
def test_sigterm_finishes_open_requests(runs, tmp_path):
    command = [sys.executable, "-m", "foldwise.app.cli", "serve", str(runs["plain"]), "--port", "0"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        url = server.stdout.readline().split()[1].removesuffix("/models/plain/predict")
        assert "Stop with Ctrl-C" in server.stdout.readline()
        assert url.startswith("http://127.0.0.1:")
        with connected(url) as client:
            start = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(ROW)}\r\n\r\n"
            client.sendall(start.encode() + ROW[:10])
            time.sleep(0.3)
            server.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            client.sendall(ROW[10:])
            answer = b"".join(iter(lambda: client.recv(10_000), b""))
        assert answer.startswith(b"HTTP/1.1 200"), answer
        assert b"predicted_class" in answer
        _, errors = server.communicate(timeout=20)
        assert (server.returncode, errors) == (0, "")
    finally:
        server.kill()
        server.communicate()


def test_the_client_of_the_examples_gets_predictions(tmp_path, capsys):
    table = read_table("examples/loans.csv", target="repaid")
    save_model(tmp_path / "loans.foldwise", NaiveBayes().fit(table.X, table.y), table.X, target="repaid")
    client = Path("examples/predict_client.py").read_text()
    assert len(client.splitlines()) <= 14
    with running(open_served([tmp_path / "loans.foldwise"])) as url:
        exec(client.replace("http://127.0.0.1:8000", url), {})
    assert capsys.readouterr().out.count("'predicted_class'") == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--host", "0.0.0.0"], "--host needs a token"),
        (["--max-rows", "0"], "--max-rows must be at least 1"),
        (["--port", "99999"], "--port must be a number"),
    ],
)
def test_wrong_options_are_refused(runs, monkeypatch, options, sentence):
    monkeypatch.delenv("FOLDWISE_TOKEN", raising=False)
    assert sentence in refused("serve", runs["plain"], *options)


def test_a_run_that_does_not_exist_is_refused(here):
    assert "does not exist" in refused("serve", here / "none")


@pytest.mark.skipif(BROWSER is None, reason="no chromium is installed: apt-get install chromium")
def test_the_form_of_the_page_predicts_in_a_browser(server):
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(30_000)
        problems, addresses = [], []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: addresses.append(request.url))
        page.goto(f"{server}/")
        page.click("button")
        page.wait_for_selector(".answer:not([hidden])")
        assert page.inner_text(".status").startswith("200 in ")
        assert "predicted_class" in page.inner_text(".answer")
        browser.close()
    assert problems == []
    assert [one for one in addresses if not one.startswith((server, "data:"))] == []
