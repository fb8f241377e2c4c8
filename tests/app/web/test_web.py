"""The layers around every web server: who may connect, with which token, how much may be sent, what errors say."""

from __future__ import annotations

import asyncio
import socket

import pytest
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from foldwise.app.web import address as addresses
from foldwise.app.web.address import LOCAL, check_extra, listening_socket, server_address
from foldwise.app.web.middleware import PlainErrors, protected
from foldwise.app.web.tokens import new_token, read_token
from foldwise.errors import InputError
from tests.app.web.requests import ask

TOKEN = "a-token-for-the-tests"
HOSTS = server_address(None, 0, token=None).allowed_hosts


async def hello(scope, receive, send):
    """Read the whole body and say how long it was."""
    n_bytes, more = 0, True
    while more:
        message = await receive()
        n_bytes, more = n_bytes + len(message["body"]), message["more_body"]
    await PlainTextResponse(f"{n_bytes} bytes")(scope, receive, send)


async def fail(scope, receive, send):
    raise RuntimeError("secret detail")


def test_only_this_computer_may_connect_by_default():
    assert server_address(None, 8000, token=None).host == LOCAL
    with listening_socket(server_address(None, 0, token=None)) as opened:
        assert opened.getsockname()[0] == LOCAL


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "example.org"])
def test_a_host_needs_a_token_and_a_certificate(host):
    with pytest.raises(InputError, match="--host needs a token"):
        server_address(host, 0, token=None, insecure=True)
    with pytest.raises(InputError, match="--host needs --cert and --key"):
        server_address(host, 0, token=TOKEN)
    assert server_address(host, 0, token=TOKEN, insecure=True).host == host


def test_a_certificate_is_checked_with_its_key(tmp_path):
    broken = tmp_path / "cert.pem"
    with pytest.raises(InputError, match="belong together"):
        server_address("0.0.0.0", 0, token=TOKEN, cert=broken)
    with pytest.raises(InputError, match="does not exist"):
        server_address("0.0.0.0", 0, token=TOKEN, cert=broken, key=broken)
    broken.write_text("not a certificate")
    with pytest.raises(InputError, match="cannot be used with the key"):
        server_address("0.0.0.0", 0, token=TOKEN, cert=broken, key=broken)


def test_a_port_in_use_is_an_error_in_one_sentence():
    with pytest.raises(InputError, match="--port must be"):
        server_address(None, 70000, token=None)
    with socket.socket() as taken:
        taken.bind((LOCAL, 0))
        taken.listen()
        with pytest.raises(InputError, match="address already in use"):
            listening_socket(server_address(None, taken.getsockname()[1], token=None))


def test_a_missing_extra_is_named(monkeypatch):
    check_extra()
    monkeypatch.setattr(addresses, "PACKAGES", ("no_such_package",))
    with pytest.raises(InputError, match=r"foldwise\[web\]"):
        check_extra()


def test_a_token_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("FOLDWISE_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("FOLDWISE_TOKEN", TOKEN)
    assert read_token(None) == TOKEN
    file = tmp_path / "token"
    file.write_text(f"{new_token()}\n")
    assert read_token(file) == file.read_text().strip()
    file.write_text("short")
    with pytest.raises(InputError, match="at least 16"):
        read_token(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path / "none")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:1"])
def test_a_host_header_may_name_this_computer(host):
    assert ask(protected(hello, HOSTS, 10), "GET", "/", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "a@localhost"]
)
def test_another_host_header_is_refused(host):
    reply = ask(protected(hello, HOSTS, 10), "GET", "/", headers={"host": host})
    assert reply.status == 421
    assert "Host header" in reply.json["error"]


def test_every_response_has_security_headers():
    for app, status in ((hello, 200), (fail, 500)):
        reply = ask(protected(app, HOSTS, 10), "GET", "/")
        assert reply.status == status
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert "unsafe" not in reply.headers["content-security-policy"]
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_a_response_may_have_a_policy_of_its_own():
    async def page(scope, receive, send):
        await PlainTextResponse("", headers={"Content-Security-Policy": "sandbox"})(scope, receive, send)

    reply = ask(protected(page, HOSTS, 10), "GET", "/")
    assert reply.headers["content-security-policy"] == "sandbox"


def test_an_error_shows_no_stack_trace(caplog):
    reply = ask(protected(fail, HOSTS, 10), "GET", "/")
    assert b"secret" not in reply.body
    assert b"RuntimeError" not in reply.body
    assert "secret detail" in caplog.text  # the operator sees it


def test_an_error_after_the_start_of_a_response_breaks_it_off(caplog):
    async def half(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise HTTPException(400, "too late")

    with pytest.raises(HTTPException):
        ask(PlainErrors(half), "GET", "/")


@pytest.mark.parametrize("sent", [None, "", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN, "Basic ???"])
def test_a_wrong_token_is_refused(sent):
    headers = {} if sent is None else {"authorization": sent}
    reply = ask(protected(hello, HOSTS, 10, token=TOKEN), "GET", "/", headers=headers)
    assert reply.status == 401
    assert TOKEN not in reply.body.decode()


def test_the_token_opens_the_door():
    app = protected(hello, HOSTS, 10, token=TOKEN)
    assert ask(app, "GET", "/", headers={"authorization": f"Bearer {TOKEN}"}).status == 200
    assert ask(app, "GET", "/", headers={"authorization": f"bearer  {TOKEN} "}).status == 200


def test_a_body_is_cut_off_at_the_limit_while_it_arrives():
    app = protected(hello, HOSTS, 10)
    assert ask(app, "POST", "/", b"x" * 10).body == b"10 bytes"
    endless = (b"x" * 6 for _ in iter(int, 1))  # would never end
    reply = ask(app, "POST", "/", endless)
    assert reply.status == 413
    assert reply.headers["connection"] == "close"
    lying = {"content-length": "5"}
    assert ask(app, "POST", "/", [b"x" * 6, b"x" * 6], headers=lying).status == 413
    stated = {"content-length": "9" * 30}
    assert ask(app, "POST", "/", b"", headers=stated).status == 413


def test_web_sockets_are_refused():
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    asyncio.run(protected(hello, HOSTS, 10)({"type": "websocket", "headers": []}, receive, send))
    assert sent[0]["type"] == "websocket.close"
