"""The workbench refuses whatever it must not do: one test for each way in."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldwise.app.workbench.worker import answer
from foldwise.errors import InputError
from tests.app.workbench.client import BenchClient, pieces
from tests.slow import slow

TABLE = b"age,play\n1,yes\n2,no\n3,yes\n"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[BenchClient]:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_bytes(TABLE)
    client = BenchClient(folder)
    yield client
    client.bench._lock.close()


def folder_of(bench: BenchClient) -> Path:
    return bench.bench.folder.path


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""])
def test_another_host_is_refused(bench: BenchClient, host: str) -> None:
    assert bench.get("/data", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:8765"]
)
def test_a_write_from_another_origin_is_refused(bench: BenchClient, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    answered = bench("POST", "/data/upload?name=b.csv", headers=headers, content=TABLE)
    assert answered.status_code == 403
    assert not (folder_of(bench) / "b.csv").exists()


@pytest.mark.parametrize("path", ["/", "/data", "/data/a.csv", "/runs", "/runs/x/events", "/static/style.css", "/no"])
def test_every_address_needs_the_cookie(bench: BenchClient, path: str) -> None:
    assert bench.get(path, signed=False).status_code == 401
    assert bench.get(path, signed=False, headers={"cookie": "foldwise-8765=wrong"}).status_code == 401
    assert bench.get(path, signed=False, headers={"cookie": bench.cookie.replace("8765", "1")}).status_code == 401


def test_a_token_works_once_and_leaves_the_address(bench: BenchClient) -> None:
    assert bench.get("/?token=wrong", signed=False).status_code == 401
    first = bench.get(f"/?token={bench.token}", signed=False)
    assert first.status_code == 303
    assert first.headers["location"] == "/"
    cookie = first.headers["set-cookie"]
    assert cookie.startswith("foldwise-8765=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert bench.get(f"/?token={bench.token}", signed=False).status_code == 401
    assert bench.get("/data", signed=False, headers={"cookie": cookie.split(";")[0]}).status_code == 200


def test_every_answer_has_security_headers(bench: BenchClient) -> None:
    for answered in (bench.get("/data"), bench.get("/no"), bench.get("/data", signed=False)):
        policy = answered.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answered.headers["referrer-policy"] == "no-referrer"
        assert answered.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name", ["../secret.csv", "..%2Fsecret.csv", "%2Fetc%2Fpasswd", "%2e%2e", ".foldwise", "a.csv%00"]
)
def test_names_of_requests_are_not_paths(bench: BenchClient, name: str) -> None:
    (folder_of(bench).parent / "secret.csv").write_bytes(TABLE)
    for path in (f"/data/{name}", f"/runs/{name}", f"/runs/{name}/report.html", f"/static/{name}"):
        assert bench.get(path).status_code == 404


@pytest.mark.parametrize("name", ["../../x.csv", "/etc/x.csv", "..\\x.csv", "x.csv\x00.csv", ".x.csv", "a.csv"])
def test_an_upload_gets_a_new_name_in_the_folder(bench: BenchClient, name: str) -> None:
    before = set(folder_of(bench).parent.rglob("*"))
    assert bench.upload(name, TABLE).status_code == 201
    new = set(folder_of(bench).parent.rglob("*.csv")) - before
    assert [one.parent for one in new] == [folder_of(bench)]
    assert (folder_of(bench) / "a.csv").read_bytes() == TABLE
    assert not list(folder_of(bench).rglob("*.part"))


def test_links_out_of_the_folder_are_not_followed(bench: BenchClient, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_bytes(TABLE)
    (outside / "run.json").write_text("{}")
    (outside / "report.html").write_text("secret")
    (folder_of(bench) / "link.csv").symlink_to(outside / "secret.csv")
    (folder_of(bench) / "linked").symlink_to(outside)
    (folder_of(bench) / "run").mkdir()
    (folder_of(bench) / "run" / "run.json").write_text("{}")
    (folder_of(bench) / "run" / "report.html").symlink_to(outside / "report.html")
    (folder_of(bench) / "inside.csv").symlink_to(folder_of(bench) / "a.csv")
    assert [one.name for one in bench.bench.folder.tables()] == ["a.csv", "inside.csv"]
    for path in ("/data/link.csv", "/runs/linked", "/runs/linked/report.html", "/runs/run/report.html"):
        assert bench.get(path).status_code == 404


def test_an_upload_is_cut_off_at_the_limit(bench: BenchClient) -> None:
    taken = bench.post("/data/upload", params={"name": "b.csv"}, content=pieces(40, 1 << 16))
    assert taken.status_code == 413
    assert bench.upload("b.csv", b"x" * (1 << 21)).status_code == 413
    assert not list(folder_of(bench).rglob("*.part"))
    assert [one.name for one in bench.bench.folder.tables()] == ["a.csv"]


@pytest.mark.slow
def test_a_gzip_bomb_is_refused(bench: BenchClient) -> None:
    bomb = 20 * gzip.compress(b"0,0\n" * (1 << 22))  # 320 MB
    assert bench.upload("bomb.csv.gz", bomb).status_code == 201
    page = bench.get("/data/bomb.csv.gz")
    assert page.status_code == 200
    assert "expands to more" in page.text


def test_a_zip_bomb_is_refused(bench: BenchClient) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/workbook.xml", b"<workbook/>")
        with bomb.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            for _ in range(300):
                sheet.write(b" " * (1 << 20))
    assert bench.upload("bomb.xlsx", file.getvalue()).status_code == 201
    page = bench.get("/data/bomb.xlsx")
    assert page.status_code == 200
    assert 'role="alert"' in page.text
    assert "expand" in page.text


class Trap:
    """What a hostile pickle does when it is loaded."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (os.environ["TRAP"],)


@pytest.mark.parametrize("name", ["model.csv", *slow("model.parquet", "model.feather", "model.xlsx", "model.sqlite")])
def test_a_pickle_is_not_opened(bench: BenchClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("TRAP", str(tmp_path / "sprung"))
    content = pickle.dumps(Trap())
    assert bench.upload("model.pkl", content).status_code == 422
    assert bench.upload(name, content).status_code == 201
    assert bench.get(f"/data/{name}").status_code == 200
    assert not (tmp_path / "sprung").exists()


def test_hostile_cells_stay_text(bench: BenchClient) -> None:
    hostile = '"<script>alert(1)</script>","{{ 7*7 }}","\'><img src=x onerror=alert(1)>"\n'
    assert bench.upload("h.csv", (hostile + "=1+1,{% x %},<b>\n" * 5).encode()).status_code == 201
    page = bench.get("/data/h.csv").text
    for sign in ("<script>alert", "<img", "<b>alert", "49"):
        assert sign not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    name = "<img src=x onerror=alert(1)>.csv"
    (folder_of(bench) / name).write_bytes(TABLE)
    assert "<img" not in bench.get("/data").text
    assert "<img" not in bench.post("/data/a.csv", data={"target": "<img>", "missing": '"><img>'}).text


def test_workers_call_functions_of_the_workbench_only() -> None:
    assert "not a function" in answer("os:system", {"command": "true"})["error"]


def test_errors_have_no_stack_trace(bench: BenchClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(bench.bench.folder, "tables", broken)
    answered = bench.get("/data")
    assert answered.status_code == 500
    assert "secret" not in answered.text
    assert "Traceback" not in answered.text


def test_a_second_workbench_on_the_folder_is_refused(bench: BenchClient) -> None:
    with pytest.raises(InputError, match="a workbench is already open"):
        BenchClient(folder_of(bench))


def test_a_form_from_elsewhere_starts_no_run(bench: BenchClient) -> None:
    sent = bench("POST", "/data/a.csv/run", headers={"origin": "http://x"}, data={"target": "play"})
    assert sent.status_code == 403
    assert bench.bench.queue.views() == []
