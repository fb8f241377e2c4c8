"""Tables in databases and in many files: runs on a sample with test rows outside of it, streamed predictions."""

from __future__ import annotations

import datetime as dt
import gc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest
from sklearn.base import clone
from typer.main import get_command

import foldwise
from foldwise import NaiveBayes, predict_file, save_model
from foldwise.app import engine_tables, file_predictions
from foldwise.app.cli.commands import app
from foldwise.app.cli.exit_codes import show_traceback
from foldwise.app.database_predictions import DatabaseWriter
from foldwise.engines import table_of
from foldwise.engines.drawing import draw
from foldwise.errors import EngineError
from tests.app.command_line import WEATHER, ask, refused
from tests.app.enlarging.large_tables import large_table
from tests.app.fakes import fake_runs
from tests.engines.conftest import loader
from tests.engines.conftest import spark_interpreter as spark_interpreter
from tests.engines.tables import mixed_table
from tests.slow import slow


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_a_sample_is_stratified_seeded_and_disjoint(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    frame = mixed_table(1000)
    with loader(engine, request, tmp_path) as load:
        table = load(frame)
        drawn, again, other = (draw(table, "label", 200, seed) for seed in (0, 0, 1))
        assert draw(table, "label", 1000).outside is None
    assert drawn.n_rows == 1000
    assert drawn.outside is not None
    assert sorted(drawn.sample["id"]) == sorted(again.sample["id"])
    assert set(drawn.sample["id"]) != set(other.sample["id"])
    assert not set(drawn.sample["id"]) & set(drawn.outside["id"])
    for part, share in ((drawn.sample, 0.2), (drawn.outside, 0.1)):
        counts = dict(part["label"].value_counts().iter_rows())
        wanted = dict(frame["label"].value_counts().iter_rows())
        assert counts == {label: round(n * share) for label, n in wanted.items()}


def test_a_run_on_a_folder_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "orders"
    folder.mkdir()
    frame = mixed_table(4000).drop("id")
    for part in range(2):
        frame[part * 2000 : (part + 1) * 2000].write_parquet(folder / f"{part}.parquet")
    monkeypatch.setattr(engine_tables, "memory_bytes", lambda: 20 * 16 * 7 * 1200)
    run = foldwise.fit(table_of(folder), target="label", budget=6, models=["naive_bayes"], n_jobs=1)
    words = run.facts["headline"]["words"][0]
    assert "The table has 4,000 rows" in words
    assert "sample of 1,200 rows" in words
    assert run.task.n_rows == 1200
    # naive Bayes learned from all rows that are not kept out, unless it has kernel densities of too many values
    kept_out = run.task.large.drawn.kept_out
    for one, member in zip(run.facts["final"]["members"], run.model.members, strict=True):
        assert one["rows"] == (1200 if one["only_sample"] else 4000 - kept_out.height)
        assert one["rows"] == member["model"].class_count_.sum()
        assert f"{one['rows']:,}" in words
    assert "It was tested on 600 other rows. No model was trained on them." in words
    assert run.facts["headline"]["test"]["n_rows"] == 600
    assert "sample of 1,200 rows" in " ".join(str(run).split())
    top = run.report(tmp_path / "report.html").read_text().partition("<h2")[0]  # before the first section
    assert "sample of 1,200 rows" in top
    assert "was trained on" in top
    # the estimate shown first is that of the rows outside of the sample, with an interval
    outside = run.task.test
    assert outside is not None
    losses = -np.log([row[code] for row, code in zip(run.model.predict_proba(outside.X), outside.y, strict=True)])
    assert run.estimate.value == pytest.approx(losses.mean())
    low, high = run.estimate.interval()
    assert high - low == pytest.approx(2 * 1.96 * losses.std(ddof=1) / np.sqrt(600), rel=0.02)
    assert run.facts["headline"]["estimate"]["value"] == run.estimate.value
    assert "600 rows of the table that are not in the sample" in run.estimate.method


@pytest.mark.slow
def test_a_run_on_a_table_of_spark(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    frame = large_table(4_000).drop("label")
    monkeypatch.setattr(engine_tables, "memory_bytes", lambda: 20 * 16 * frame.width * 1_200)
    request.getfixturevalue("spark_interpreter")
    with loader("spark", request, tmp_path) as load, fake_runs(1.0):
        run = foldwise.fit(load(frame), target="amount", budget=30, models=["ridge"], n_jobs=1)
    kept_out = run.task.large.drawn.kept_out
    assert run.task.large.drawn.sample.height < 1_500
    known = frame.join(kept_out, on="skewed", how="anti")
    for one, member in zip(run.facts["final"]["members"], run.model.members, strict=True):
        assert (one["rows"], one["only_sample"]) == (4_000 - kept_out.height, "")
        prepare, X = member["prepare"], run.task.test.X
        local = clone(member["model"]).fit(prepare.transform(known), known["amount"].to_numpy())
        np.testing.assert_allclose(member.predict(X), local.predict(prepare.transform(X)), rtol=1e-10)
    words = " ".join(str(run).split())
    assert f"was trained on {4_000 - kept_out.height:,} rows" in words
    assert f"It was tested on {run.task.test.X.height:,} other rows" in words


@pytest.mark.slow
def test_a_large_csv_file_is_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "orders.csv"
    mixed_table(4000).drop("id", "gaps").write_csv(path)
    assert not engine_tables.is_large_csv(path)
    monkeypatch.setattr(engine_tables, "memory_bytes", lambda: 20 * 16 * 6 * 1200)
    assert engine_tables.is_large_csv(path)
    assert not engine_tables.needs_engine(path)  # predictions are streamed by the reader of CSV files
    given = ["fit", path, "--target", "label", "--out", tmp_path / "r", "--budget", "6s", "--models", "naive_bayes"]
    assert "--missing cannot be used" in refused(*given, "--missing", "?")
    code, said, _ = ask(*given)
    assert code == 0
    assert "sample of 1,200 rows" in " ".join(said.split())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    frame = mixed_table(300).drop("id")
    X = frame.drop("label")
    fitted = NaiveBayes().fit(X, frame["label"].to_numpy())
    return save_model(tmp_path / "m.foldwise", fitted, X, target="label") or tmp_path / "m.foldwise"


def test_predictions_from_and_to_a_database(
    model: Any,
    request: pytest.FixtureRequest,
    postgresql_server: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = postgresql_server.replace("+psycopg", "")
    path = tmp_path / "m.foldwise"
    frame = mixed_table(300)
    with loader("postgres", request, tmp_path) as load, psycopg.connect(url, autocommit=True) as connection:
        name = load(frame).get_name()
        connection.execute("drop table if exists predictions")
        assert ask("predict", path, url, "--table", name, "--keep", "id", "--to-table", "predictions")[0] == 0
        found = connection.execute("select id, predicted_class from predictions order by id").fetchall()
        wanted = foldwise.open_model(path).predict(frame.drop("id", "label"))
        assert [row[1] for row in found] == wanted.tolist()
        # the table exists, and stays as it is
        assert "already exists" in ask("predict", path, url, "--table", name, "--to-table", "predictions")[2]
        gc.collect()
        assert not caplog.records  # of the driver, about a cursor that was left open
        # an error midway leaves nothing behind
        with DatabaseWriter(url, "half") as writer:
            writer.write(pl.DataFrame({'a"; drop table predictions': ["x"]}))
        assert connection.execute("select to_regclass('half')").fetchone() == (None,)
        out = tmp_path / "out.parquet"
        query = f"select * from {name} where id < 700"
        assert ask("predict", path, url, "--query", query, "-o", out, "--keep", "id")[0] == 0
        assert pl.read_parquet(out)["id"].sort().to_list() == list(range(0, 700, 7))
        connection.execute("drop table predictions")


def test_predictions_from_a_file_to_a_database(
    model: Any, postgresql_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, path, source = postgresql_server.replace("+psycopg", ""), tmp_path / "m.foldwise", tmp_path / "rows.parquet"
    frame = mixed_table(300)
    frame.write_parquet(source)
    given = ("predict", path, source, "--keep", "id", "--to-table", "from_file")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop table if exists from_file")
        code, said, _ = ask(*given, "--out", url)
        assert code == 0
        assert said.endswith("\nfrom_file\n")
        found = connection.execute("select id, predicted_class from from_file order by id").fetchall()
        wanted = foldwise.open_model(path).predict(frame.drop("id", "label"))
        assert found == list(zip(frame["id"].to_list(), wanted, strict=True))
        connection.execute("drop table from_file")
        # an error in the middle: the server refuses the text of the last row, after it has copied the others
        texts = pl.Series("id", [*map(str, range(299)), "a\0b"])
        frame.with_columns(texts).write_parquet(source)
        monkeypatch.setattr(file_predictions, "ROWS", 100)
        written = []
        write = DatabaseWriter.write
        monkeypatch.setattr(
            DatabaseWriter, "write", lambda self, rows: [write(self, rows), written.append(rows.height)]
        )
        said = refused(*given, "--out", url)
        assert written == [100, 100]
        assert said.startswith("table 'from_file' could not be written: ")
        assert said.endswith("Nothing was written.")
        assert connection.execute("select to_regclass('from_file')").fetchone() == (None,)
    assert "--to-table needs a PostgreSQL database, but TABLE is not" in refused(*given)
    assert "--out must be the address of a PostgreSQL database, got 'o.csv'" in refused(*given, "--out", "o.csv")
    assert "pass --to-table" in refused(*given[:3], "--out", url)


def test_predictions_of_a_glob_equal_those_of_one_file(model: Any, tmp_path: Path) -> None:
    frame = mixed_table(300).drop("label")
    (tmp_path / "parts").mkdir()
    for part in range(3):
        frame[part * 100 : (part + 1) * 100].write_parquet(tmp_path / "parts" / f"{part}.parquet")
    frame.write_parquet(tmp_path / "whole.parquet")
    outs = []
    for source in (table_of(tmp_path / "parts" / "*.parquet"), tmp_path / "whole.parquet"):
        outs.append(tmp_path / f"out{len(outs)}.parquet")
        predict_file(tmp_path / "m.foldwise", source, outs[-1], keep=["id"])
    a, b = (pl.read_parquet(out).sort("id") for out in outs)
    assert a.equals(b)


def test_messages(tmp_path: Path) -> None:
    said = ask(
        "fit", "postgresql://ann:geheim@127.0.0.1:1/shop", "--table", "t", "--target", "y", "--out", tmp_path / "r"
    )
    assert said[0] in (1, 2)
    assert "ann:***@" in said[2]
    assert "geheim" not in said[1] + said[2]
    assert "no Parquet or CSV files" in refused("fit", tmp_path / "*.parquet", "--target", "y", "--out", tmp_path / "r")
    with pytest.raises(EngineError, match="could not be written"), DatabaseWriter("postgresql://127.0.0.1:1/x", "t"):
        pass


def test_types_of_a_table_of_predictions(postgresql_server: str) -> None:
    url, zone = postgresql_server.replace("+psycopg", ""), dt.UTC
    row: dict[str, Any] = {
        "day": dt.date(2026, 1, 31),
        "local": dt.datetime(2026, 1, 31, 12, 30),
        "moment": dt.datetime(2026, 1, 31, 12, 30, tzinfo=zone),
        "clock": dt.time(12, 30),
        "n": 3,
        "share": 0.5,
        "sure": True,
        "name": "Ann",
    }
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop table if exists typed")
        with DatabaseWriter(url, "typed") as writer:
            writer.write(pl.DataFrame([row]))
            writer.write(pl.DataFrame({name: [None] for name in row}))
            writer.finish()
        found = connection.execute("select * from typed").fetchall()
        connection.execute("drop table typed")
    assert found == [tuple(row.values()), (None,) * len(row)]


SECRETS = ("postgresql://ann:geheim@127.0.0.1:1/shop", "mysql://ann:hush@ge heim@db/shop")
GIVEN = {
    "target": "play",
    "row": "0",
    "model": "knn",
    "models": "knn,naive_bayes",
}  # options that some command requires


def places_of_paths() -> list[tuple[str, str]]:
    """Each command with each of its arguments and options that is a path, and with one argument too many."""
    found = [("predict", "--out"), ("no such command", "")]
    for name, one in get_command(app).commands.items():
        paths = [param for param in one.params if param.type_descriptor.annotation is Path]
        paths += [param for param in one.params if param.param_type_name == "argument"]
        found += [(name, param.opts[0]) for param in dict.fromkeys(paths)]
        found += [(name, ""), (name, "--no-such-option")]
    return found


def typed(command: str, place: str, address: str, run: Path) -> list[str]:
    """A command with an address in one place, and files that exist in the others."""
    known = getattr(get_command(app).commands.get(command), "params", [])
    words = [] if command == "no such command" else [command]
    for one in known:
        if one.param_type_name == "argument":
            usual = {"RUN": str(run), "FOLDER": "."}.get(str(one.metavar).strip("[].")) or WEATHER
            words.append(address if one.opts[0] == place else usual)
        elif one.opts[0] == place or place in one.opts:
            words += [place, address]
        elif one.required:
            words += [one.opts[0], GIVEN[one.name]]
    if place == "--no-such-option":
        return [*words, f"{place}={address}", address]
    return words if place else [*words, address]


FIRST = list({command: (command, place) for command, place in reversed(places_of_paths())}.values())


@pytest.mark.parametrize(("command", "place"), FIRST + slow(*(pair for pair in places_of_paths() if pair not in FIRST)))
def test_no_command_prints_a_password(command: str, place: str, bayes_run: Path) -> None:
    for address in SECRETS:
        code, *said = ask(*typed(command, place, address, bayes_run))
        assert code == 2, said
        assert "heim" not in "".join(said)
        assert "hush" not in "".join(said)


def test_commands_are_tried_with_addresses() -> None:
    found = places_of_paths()
    assert {("fit", "--resume"), ("ui", "folder"), ("inspect", "--config"), ("refit", "--with")} <= {*found}
    assert len(found) > 60
    assert typed("explain", "--background", "x", Path("r")) == [
        "explain",
        "r",
        WEATHER,
        "--row",
        "0",
        "--background",
        "x",
    ]


@pytest.mark.parametrize("command", ["inspect", "compare", "tune", "explore", "explain", "check", "refit"])
def test_commands_that_read_files_say_how_to_export_a_query(command: str, bayes_run: Path) -> None:
    [place] = [
        one.opts[0] for one in get_command(app).commands[command].params if str(one.metavar).strip("[]") == "TABLE"
    ]
    said = refused(*typed(command, place, "postgresql://ann@127.0.0.1/shop", bayes_run))
    assert said.startswith(
        "a file is needed, but the path is the address of a database. Hint: only fit and predict read"
    )
    assert said.endswith(
        'psql postgresql://user@host/database -c "\\copy (select * from orders) to orders.csv csv header".'
    )


def test_an_internal_error_is_shown_without_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise RuntimeError(f"cannot use {SECRETS[0]}")
    except RuntimeError as error:
        show_traceback(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last):")
    assert said.endswith("RuntimeError: cannot use postgresql://ann:***@127.0.0.1:1/shop\n")


def test_no_folder_is_named_after_an_address(here: Path) -> None:
    said = refused("fit", Path(__file__).parents[2] / WEATHER, "--target", "play", "--out", SECRETS[0])
    assert said.startswith(
        "a run folder must be a folder on this computer, got 'postgresql:/ann:***@127.0.0.1:1/shop'."
    )
    assert not list(here.iterdir())


@pytest.mark.slow
def test_spark_scores_any_model(model: Any, spark_session: Any, tmp_path: Path) -> None:
    frame = mixed_table(300)
    frame.drop("label").write_parquet(tmp_path / "rows.parquet")
    rows = spark_session.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)
    found = foldwise.predict_spark(tmp_path / "m.foldwise", rows, keep=["id"])
    with pytest.raises(TypeError, match="frame must be a DataFrame of Spark, got str"):
        foldwise.predict_spark(tmp_path / "m.foldwise", "orders")
    with pytest.raises(TypeError, match=r"frame must be a DataFrame of Spark, got polars\.DataFrame"):
        foldwise.predict_spark(tmp_path / "m.foldwise", frame)
    assert found.columns[:2] == ["id", "predicted_class"]
    answers = pl.from_arrow(found.toArrow()).sort("id")
    predict_file(tmp_path / "m.foldwise", tmp_path / "rows.parquet", tmp_path / "out.parquet", keep=["id"])
    wanted = pl.read_parquet(tmp_path / "out.parquet").sort("id")
    assert answers["predicted_class"].to_list() == wanted["predicted_class"].to_list()
    for name in wanted.columns[2:-2]:
        assert answers[name].to_list() == pytest.approx(wanted[name].to_list(), rel=1e-9)
