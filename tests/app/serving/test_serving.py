"""The prediction server answers as `foldwise predict` does: values, columns, sentences; batched or one by one."""

from __future__ import annotations

import asyncio
import io
import json

import numpy as np
import polars as pl
import pytest

from foldwise import predict_file
from foldwise.app.serving.json_rows import RowReader, records_in
from foldwise.app.serving.micro_batches import BusyError, MicroBatches
from foldwise.app.serving.prediction_app import PredictionApp, ServingLimits
from foldwise.app.serving.served_model import RequestRows, open_served, url_name
from foldwise.errors import InputError
from tests.app.command_line import refused
from tests.app.serving.conftest import MIXED, PLAIN
from tests.app.web.requests import ask, send_request

CSV = {"content-type": "text/csv"}


def json_rows(frame):
    """Rows of a frame as a client writes them."""
    return json.loads(frame.write_json())


def predicted_by_file(run, frame, tmp_path, ending="jsonl"):
    """The same rows through `predict_file`."""
    name = tmp_path / f"rows.{ending}"
    frame.write_ndjson(name) if ending == "jsonl" else frame.write_csv(name)
    predict_file(run, name, tmp_path / "out.jsonl")
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]


def assert_same(found, expected):
    assert [list(row) for row in found] == [list(row) for row in expected]
    for one, other in zip(found, expected, strict=True):
        for name, value in one.items():
            if isinstance(value, float):
                assert value == pytest.approx(other[name], rel=1e-9, abs=1e-12)
            else:
                assert value == other[name]


@pytest.mark.parametrize("name", ["plain", "dates", "missing"])
def test_json_is_answered_as_predict_answers_a_file(app, runs, tmp_path, name):
    frame = (MIXED if name == "dates" else PLAIN).X[:40]
    if name == "missing":
        frame = frame.with_columns(size=pl.when(pl.col("rings") > 4).then(-1.0).otherwise("size"))
    reply = ask(app, "POST", f"/models/{name}/predict", json.dumps({"rows": json_rows(frame)}).encode())
    assert reply.status == 200, reply.body
    assert_same(reply.json["predictions"], predicted_by_file(runs[name], frame, tmp_path))
    if name == "dates":
        assert "predicted_set" in reply.json["predictions"][0]


@pytest.mark.parametrize("name", ["plain", "dates"])
def test_csv_is_answered_as_predict_answers_a_file(app, runs, tmp_path, name):
    frame = (MIXED if name == "dates" else PLAIN).X[:40]
    body = frame.write_csv().encode()
    expected = predicted_by_file(runs[name], frame, tmp_path, "csv")
    reply = ask(app, "POST", f"/models/{name}/predict", body, CSV)
    assert reply.headers["content-type"].startswith("text/csv")
    assert_same(pl.read_csv(io.BytesIO(reply.body)).to_dicts(), expected)
    reply = ask(app, "POST", f"/models/{name}/predict", body, {**CSV, "accept": "application/json"})
    assert_same(reply.json["predictions"], expected)


def test_a_row_a_list_and_an_object_with_rows_are_the_same(app):
    row = json_rows(PLAIN.X[:1])[0]
    bodies = [row, [row], {"rows": [row]}]
    replies = [ask(app, "POST", "/models/plain/predict", json.dumps(body).encode()).json for body in bodies]
    assert replies[0] == replies[1] == replies[2]


def test_cells_that_need_a_conversion_are_read_as_in_a_file(app):
    row = json_rows(PLAIN.X.drop_nulls()[:1])[0]
    other = {**row, "size": str(row["size"]), "member": int(row["member"]), "rings": str(row["rings"])}
    first, second = (ask(app, "POST", "/models/plain/predict", json.dumps(one).encode()).json for one in (row, other))
    assert_same(first["predictions"], second["predictions"])


def test_columns_can_be_kept(app):
    rows = [{**row, "id": i, "=name": "=cmd()"} for i, row in enumerate(json_rows(PLAIN.X[:3]))]
    reply = ask(app, "POST", "/models/plain/predict?keep=id&keep=%3Dname", json.dumps(rows).encode())
    assert [row["id"] for row in reply.json["predictions"]] == [0, 1, 2]
    reply = ask(app, "POST", "/models/plain/predict?keep=%3Dname", json.dumps(rows).encode(), {"accept": "text/csv"})
    assert reply.body.startswith(b"'=name,predicted_class")
    assert b"\n'=cmd()," in reply.body
    reply = ask(app, "POST", "/models/plain/predict?keep=no", json.dumps(rows).encode())
    assert reply.status == 422
    assert "must name columns of the request" in reply.json["error"]
    assert ask(app, "POST", "/models/plain/predict?keep=predicted_class", json.dumps(rows).encode()).status == 422


def test_notes_name_ignored_columns_and_unknown_categories(app):
    row = {**json_rows(PLAIN.X[:1])[0], "color": "mauve", "id": 3, "y": "up"}
    fast = ask(app, "POST", "/models/plain/predict", json.dumps(row).encode()).json["notes"]
    slow = ask(app, "POST", "/models/plain/predict", json.dumps({**row, "rings": "1"}).encode()).json["notes"]
    assert fast == slow
    assert "column 'id' was ignored" in fast[0]
    assert "'mauve'" in fast[1]


@pytest.mark.parametrize(
    "change",
    [{"size": "large"}, {"member": "perhaps"}, {"size": None, "city": None, "color": ...}],
    ids=["text for a number", "text for a truth", "a missing column"],
)
def test_schema_errors_are_sentences_of_the_command_line(app, runs, here, change):
    row = {**json_rows(PLAIN.X[:1])[0], **change}
    row = {name: value for name, value in row.items() if value is not ...}
    reply = ask(app, "POST", "/models/plain/predict", json.dumps(row).encode())
    assert reply.status == 422
    (here / "new.jsonl").write_text(json.dumps(row))
    sentence = refused("predict", runs["plain"], here / "new.jsonl")
    assert reply.json["error"].partition(" Hint:")[0] == sentence.partition(" Hint:")[0].replace(
        "the table", "the request"
    )
    assert "--" not in reply.json["error"]
    assert "/" not in reply.json["error"]


MALFORMED = {
    b"": 400,
    b"{": 400,
    b"\xff\xfe{": 400,
    b'{"size": NaN}': 400,
    b'{"size": "\\ud800"}': 400,
    b"[" * 100_000: 400,
    b"1" * 5000: 400,
    b"null": 422,
    b"[]": 422,
    b"{}": 422,
    b"[1, 2]": 422,
    b'{"rows": {}}': 422,
    b'{"rows": []}': 422,
    b'{"rows": [[1]]}': 422,
}


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body[:20]))
def test_malformed_json_is_refused(app, body):
    reply = ask(app, "POST", "/models/plain/predict", body)
    assert reply.status == MALFORMED[body]
    assert reply.json["error"].count("Hint:") == 1


@pytest.mark.parametrize("cell", [1e999, 10**400, [1], {"a": 1}], ids=["infinite", "huge", "list", "object"])
def test_cells_that_are_not_cells_are_refused(app, cell):
    body = json.dumps({**json_rows(PLAIN.X[:1])[0], "size": cell}).replace("Infinity", "1e999").encode()
    reply = ask(app, "POST", "/models/plain/predict", body)
    assert reply.status == 422, reply.body


@pytest.mark.parametrize(
    "body", [b"", b"\x00\x01", b"\x1f\x8b" + b"x" * 30, b"SQLite format 3\x00" + b"x" * 90, b"a,b\n1,2\n"]
)
def test_other_bodies_are_not_taken_for_csv(app, body):
    reply = ask(app, "POST", "/models/plain/predict", body, CSV)
    assert reply.status == 422
    assert "/tmp" not in reply.body.decode()
    assert "request.csv" not in reply.body.decode()


def test_a_formula_in_a_class_is_neutralized_in_csv_and_stays_text_in_json(app):
    body = json.dumps(json_rows(PLAIN.X[:20])).encode()
    text = ask(app, "POST", "/models/hostile/predict", body, {"accept": "text/csv"}).body.decode()
    assert "\n'=1+1," in text
    assert "\n=1+1," not in text
    classes = {row["predicted_class"] for row in ask(app, "POST", "/models/hostile/predict", body).json["predictions"]}
    assert classes == {"=1+1", "<script>alert(1)</script>"}
    page = ask(app, "GET", "/").body.decode()
    assert "<script>alert" not in page


def test_requests_at_the_same_time_share_a_pass(models):
    model = models["plain"]
    rows = [json.dumps(row).encode() for row in json_rows(PLAIN.X[:30])]
    expected = [model.predict([model.read_json(row)])[0] for row in rows]
    passes = []

    async def together():
        batches = MicroBatches(model, lambda n_requests, n_rows: passes.append((n_requests, n_rows)))
        return await asyncio.gather(*(batches.predict(model.read_json(row)) for row in rows))

    found = asyncio.run(together())
    assert passes == [(30, 30)]
    for one, other in zip(found, expected, strict=True):
        assert one[0] == other[0]
        np.testing.assert_allclose(np.array(one[1:3]), np.array(other[1:3]), rtol=1e-9)


def test_a_bad_request_does_not_disturb_its_neighbors(models, monkeypatch):
    model = models["plain"]
    inner = model._predictor.predicted

    def refuse(X):
        if (X["size"] == 13.0).any():
            raise ValueError("thirteen\nand details")
        if (X["size"] == 14.0).any():
            raise ZeroDivisionError
        return inner(X)

    monkeypatch.setattr(model._predictor, "predicted", refuse)
    rows = [{**row, "size": size} for row, size in zip(json_rows(PLAIN.X[:4]), [1.0, 13.0, 14.0, 2.0], strict=True)]
    app = PredictionApp({"plain": model})

    async def together():
        calls = [send_request(app, "POST", "/predict", json.dumps(row).encode()) for row in rows]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, thirteen, fourteen, last = asyncio.run(together())
    assert first.status == last.status == 200
    assert thirteen.status == 422
    assert "thirteen." in thirteen.json["error"]
    assert "details" not in thirteen.json["error"]
    assert isinstance(fourteen, ZeroDivisionError)  # the layer around the application answers 500


def test_frames_of_different_types_are_predicted_apart(models):
    model = models["dates"]
    rows = [model.read_json(json.dumps(row).encode()) for row in json_rows(MIXED.X[:12])]
    rows += [model.read_csv(MIXED.X[12:20].write_csv().encode())]
    together = model.predict(rows)
    alone = [model.predict([one])[0] for one in rows]
    assert together == alone


def test_a_large_request_lets_small_ones_pass(models, monkeypatch):
    monkeypatch.setattr("foldwise.app.serving.micro_batches.PASS_ROWS", 10)
    model = models["plain"]
    large = model.read_json(json.dumps(json_rows(PLAIN.X[:95])).encode())
    small = model.read_json(json.dumps(json_rows(PLAIN.X[:1])).encode())
    order = []

    async def together():
        batches = MicroBatches(model)

        async def predict(name, rows):
            found = await batches.predict(rows)
            order.append(name)
            return found

        first, _ = await asyncio.gather(predict("large", large), predict("small", small))
        return first

    found = asyncio.run(together())
    assert order == ["small", "large"]
    expected = model.predict([large])[0]
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


def test_too_many_waiting_rows_are_refused(models, monkeypatch):
    monkeypatch.setattr("foldwise.app.serving.micro_batches.MOST_WAITING", 5)
    rows = models["plain"].read_json(json.dumps(json_rows(PLAIN.X[:6])).encode())
    with pytest.raises(BusyError):
        asyncio.run(MicroBatches(models["plain"]).predict(rows))


def test_a_request_that_takes_too_long_is_ended(models, monkeypatch):
    model = models["plain"]
    app = PredictionApp({"plain": model}, ServingLimits(seconds=0.05))
    body = json.dumps(json_rows(PLAIN.X[:1])).encode()

    async def slow_body():
        async def receive():
            await asyncio.sleep(10)

        scope = {"type": "http", "method": "POST", "path": "/predict", "headers": [], "query_string": b""}
        await app(scope, receive, None)

    with pytest.raises(Exception, match="did not arrive") as raised:
        asyncio.run(slow_body())
    assert raised.value.status_code == 408
    monkeypatch.setattr(MicroBatches, "predict", lambda self, rows: asyncio.sleep(10))
    with pytest.raises(Exception, match="took more than") as raised:
        ask(app, "POST", "/predict", body)
    assert raised.value.status_code == 503


def test_limits_of_rows(models):
    app = PredictionApp(models, ServingLimits(n_rows=2))
    body = json.dumps(json_rows(PLAIN.X[:3])).encode()
    with pytest.raises(Exception, match="may have at most 2 rows") as raised:
        ask(app, "POST", "/models/plain/predict", body)
    assert raised.value.status_code == 413


def test_addresses(app, models):
    assert ask(app, "GET", "/health").json == {"status": "ok", "models": list(models)}
    assert ask(app, "GET", "/models").json["plain"]["columns"]["size"] == "number"
    assert ask(app, "GET", "/predict").status == 404  # there are several models
    assert ask(app, "POST", "/models/none/predict", b"{}").status == 404
    assert "plain" in ask(app, "POST", "/models/none/predict", b"{}").json["error"]
    assert ask(app, "GET", "/models/plain/predict").status == 405
    assert ask(app, "POST", "/health").status == 405
    assert ask(app, "GET", "/static/../page.py").status == 404
    assert ask(app, "POST", "/models/plain/predict", b"x", {"content-type": "application/pickle"}).status == 415


def test_metrics_count_requests_and_rows(models):
    app = PredictionApp({"plain": models["plain"]})
    ask(app, "POST", "/predict", json.dumps(json_rows(PLAIN.X[:3])).encode())
    ask(app, "POST", "/predict", b"{}")
    text = ask(app, "GET", "/metrics").body.decode()
    assert 'foldwise_requests_total{model="plain",status="200"} 1.0' in text
    assert 'foldwise_requests_total{model="plain",status="422"} 1.0' in text
    assert 'foldwise_rows_total{model="plain"} 3.0' in text
    assert "foldwise_request_seconds_bucket" in text


def test_the_page_loads_only_its_own_files(app):
    page = ask(app, "GET", "/").body.decode()
    assert "//" not in page.replace("<!doctype", "")
    for path in ("/static/page.js", "/static/page.css"):
        assert path in page
        text = ask(app, "GET", path).body.decode()
        assert "http" not in text
        assert "eval(" not in text
        assert "innerHTML" not in text


def test_names_of_models_come_from_their_paths(runs, tmp_path):
    model = tmp_path / "my loans.foldwise"
    model.write_bytes((runs["plain"] / "model.foldwise").read_bytes())
    assert list(open_served([model])) == ["my-loans"] == [url_name(model)]
    with pytest.raises(InputError, match="two models have the name"):
        open_served([model, model])


def test_numbers_keep_their_value():
    reader = RowReader({"a": "number"})
    assert reader.cells(records_in(b'{"a": 9007199254740993}')[0]) is None  # no float has this value
    assert reader.frame([(2**53,)])["a"][0] == 2**53
    assert len(RequestRows([(1.0,), (2.0,)]).part(0, 1)) == 1
