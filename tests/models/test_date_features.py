"""Dates, times, timestamps with zones and durations as numbers; what depends on rows is learned from training rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from foldwise import (
    Column,
    DateFeatures,
    KNNClassifier,
    NaiveBayes,
    Schema,
    Table,
    TableEncoder,
    open_model,
    read_table,
    save_model,
)
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.models import catalogue, outline
from foldwise.models.column_transformers import KeepColumns
from foldwise.models.preprocessing import as_frame, date_features

FRAME = pl.DataFrame(
    {
        "day": [dt.date(1970, 1, 2), dt.date(1972, 12, 31), None],
        "at": [dt.datetime(2020, 2, 29, 18, 30), dt.datetime(2020, 2, 28, 6), None],
        "clock": [dt.time(12, 45), dt.time(0), None],
        "took": [dt.timedelta(days=2, hours=12), dt.timedelta(seconds=-1), None],
    }
)


def named(transformer, frame):
    return dict(zip(transformer.get_feature_names_out(), transformer.transform(frame).T.tolist(), strict=True))


def test_every_kind_has_its_parts():
    found = named(DateFeatures(parts=["elapsed", "year", "month", "weekday", "hour"]).fit(FRAME), FRAME[:2])
    assert found == {
        name: pytest.approx(values)
        for name, values in {
            "day_elapsed": [0, 1094],
            "day_year": [1970, 1972],
            "day_month": [1, 12],
            "day_weekday": [5, 7],
            "at_elapsed": [1.5 + 0.5 / 24, 0],
            "at_year": [2020, 2020],
            "at_month": [2, 2],
            "at_weekday": [6, 5],
            "at_hour": [18.5, 6],
            "clock_hour": [12.75, 0],
            "took_seconds": [216_000, -1],
        }.items()
    }
    last = DateFeatures().fit(FRAME).transform(FRAME[2:])
    assert np.isnan(last).all()


def test_cycles_close():
    """The last month, day and hour are as near to the first as any two that follow each other."""
    days = pl.DataFrame({"d": [dt.datetime(2021, month, 1, hour) for month, hour in ((1, 0), (2, 1), (12, 23))]})
    found = named(DateFeatures(parts=["cycles"]).fit(days), days)
    for part in ("month", "hour"):
        points = np.array([found[f"d_{part}_sin"], found[f"d_{part}_cos"]])
        np.testing.assert_allclose(np.linalg.norm(points, axis=0), 1)
        first, second, last = points.T
        np.testing.assert_allclose(np.linalg.norm(first - last), np.linalg.norm(first - second))


def test_weekdays_are_seven_equal_steps():
    week = pl.DataFrame({"d": [dt.date(2021, 2, 1) + dt.timedelta(days=k) for k in range(8)]})  # Monday to Monday
    found = named(DateFeatures(parts=["weekday", "cycles"]).fit(week), week)
    assert found["d_weekday"] == [1, 2, 3, 4, 5, 6, 7, 1]
    angle = 2 * np.pi * np.arange(1, 9) / 7
    np.testing.assert_allclose(found["d_weekday_sin"], np.sin(angle), atol=1e-12)
    np.testing.assert_allclose(found["d_weekday_cos"], np.cos(angle), atol=1e-12)
    assert not any("hour" in name for name in found)


def test_the_reference_is_learned_from_training_rows():
    train, test = FRAME[1:2].select("day"), FRAME[:1].select("day")
    found = DateFeatures(parts=["elapsed"]).fit(train)
    assert found.transform(train).tolist() == [[0.0]]
    assert found.transform(test).tolist() == [[-1094.0]]


def test_zones_are_compared_in_utc_but_the_calendar_is_local():
    texts = pl.DataFrame({"at": ["2020-01-01T01:00:00+02:00", "2019-12-31 23:30Z", "2020-01-01 00:15:00.5+0030", None]})
    found = named(DateFeatures().fit(texts), texts[:3])
    np.testing.assert_allclose(np.array(found["at_elapsed"]) * 24, [0, 0.5, 0.75 + 0.5 / 3600], atol=1e-6)
    np.testing.assert_allclose(found["at_hour"], [1, 23.5, 0.25])
    assert found["at_year"] == [2020, 2019, 2020]
    berlin = pd.DataFrame({"at": pd.to_datetime(["2020-01-01 00:30", "2020-07-01 00:30"]).tz_localize("Europe/Berlin")})
    found = named(DateFeatures().fit(berlin), berlin)
    assert found["at_hour"] == [0.5, 0.5]
    np.testing.assert_allclose(found["at_elapsed"], [0, 182 - 1 / 24])
    offset = pd.DataFrame({"at": pd.to_datetime(["2020-01-01 00:30+05:30", "2020-07-01 00:30+05:30"])})
    assert named(DateFeatures().fit(offset), offset)["at_hour"] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("cells", "form", "feature", "values"),
    [
        (["31.12.2020", "01.02.2021"], "%d.%m.%Y", "x_month", [12, 2]),
        (["Jan 5, 2020", "Feb 6, 2020"], "%B %d, %Y", "x_elapsed", [0, 32]),
        (["3/14/2024 2:30 PM", "12/1/2024 12:05 am"], "%m/%d/%Y %I:%M %p", "x_hour", [14.5, 5 / 60]),
        (["2024/03/14 01:00:30 AM"], "%Y/%m/%d %I:%M:%S %p", "x_hour", [1 + 30 / 3600]),
        (["10:30", "23:59:30"], "time", "x_hour", [10.5, 23 + 59.5 / 60]),
        (["36:15:00", "00:00:30"], "duration", "x_seconds", [130_500, 30]),
        (["1h 30m", "90 min"], "duration", "x_seconds", [5400, 5400]),
        (["P1DT2H", "PT45M"], "duration", "x_seconds", [93_600, 2_700]),
        (["2 days 03:00:00", "0 days 00:00:01"], "duration", "x_seconds", [183_600, 1]),
    ],
)
def test_text_is_read_by_the_format_that_fits_all_training_rows(cells, form, feature, values):
    found = DateFeatures().fit(pl.DataFrame({"x": cells}))
    assert found.formats_ == {"x": form}
    np.testing.assert_allclose(named(found, pl.DataFrame({"x": cells}))[feature], values)


def test_the_format_of_training_rows_decides_later():
    """A later table with days up to 12 only is not read with the month first."""
    found = DateFeatures(parts=["month"]).fit(pl.DataFrame({"x": ["31/01/2020", "01/02/2020"]}))
    assert found.transform(pl.DataFrame({"x": ["05/06/2020"]})).tolist() == [[6.0]]
    with pytest.raises(InputError, match=r"written as '%d/%m/%Y' when the model was fitted, but row 1 contains 'soon'"):
        found.transform(pl.DataFrame({"x": ["05/06/2020", "soon"]}))


def test_doubt_and_other_columns_are_refused():
    doubtful = pl.DataFrame({"x": ["01/02/2020", "03/04/2020"]})
    with pytest.raises(InputError, match=r"day or the month comes first.*formats=\{'x': '%d/%m/%Y'\}"):
        DateFeatures().fit(doubtful)
    assert DateFeatures(parts=["month"], formats={"x": "%m/%d/%Y"}).fit_transform(doubtful).tolist() == [[1], [3]]
    with pytest.raises(InputError, match="text that is not a date"):
        DateFeatures().fit(pl.DataFrame({"x": ["5m", "7m"]}))  # perhaps meters
    with pytest.raises(FoldwiseTypeError, match="'x' must contain dates"):
        DateFeatures().fit(pl.DataFrame({"x": [1, 2]}))
    with pytest.raises(InputError, match="parts must be 'elapsed'"):
        DateFeatures(parts=["holiday"]).fit(FRAME)
    with pytest.raises(FoldwiseTypeError, match=r"parts must be a list of names, got 'year'. Hint: pass \['year'\]"):
        DateFeatures(parts="year").fit(FRAME)
    with pytest.raises(InputError, match="'day' contained dates when the model was fitted, but is now of type Int64"):
        DateFeatures().fit(FRAME.select("day")).transform(pl.DataFrame({"day": [1]}))


def test_a_column_without_values_in_training_rows_is_zero():
    empty = pl.DataFrame({"day": pl.Series([None, None], dtype=pl.Date)})
    assert (DateFeatures().fit(empty).transform(FRAME.select("day")) == 0).all()


@pytest.mark.parametrize("make", [pl.DataFrame, lambda cells: pd.DataFrame(cells), lambda cells: pa.table(cells)])
def test_any_library_goes_in(make):
    frame = make({"at": [dt.datetime(2020, 2, 29, 18), dt.datetime(2020, 3, 1)], "d": [dt.date(2020, 1, 1)] * 2})
    expected = DateFeatures().fit_transform(pl.DataFrame({"at": FRAME["at"][:1], "d": [dt.date(2020, 1, 1)]}))
    assert DateFeatures().fit_transform(frame).shape == (2, expected.shape[1])


def test_in_a_pipeline_of_scikit_learn():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in range(60)]
    frame = pd.DataFrame({"day": days, "size": np.arange(60.0)})
    model = make_pipeline(
        make_column_transformer((DateFeatures(), ["day"]), remainder="passthrough"), LinearRegression()
    )
    y = np.array([3.0 * k for k in range(60)])
    assert model.fit(frame, y).score(frame, y) == pytest.approx(1)
    names = DateFeatures(parts=["year"]).set_output(transform="pandas").fit_transform(frame[["day"]]).columns
    assert list(names) == ["day_year"]


def seasonal(n=240):
    """A table whose class depends on the weekday alone, with the date as text, day first."""
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=k) for k in range(n)]
    return pl.DataFrame(
        {
            "when": [f"{day:%d.%m.%Y}" for day in days],
            "noise": np.random.default_rng(0).normal(size=n),
            "y": ["weekend" if day.isoweekday() > 5 else "week" for day in days],
        }
    )


@pytest.mark.parametrize("name", ["decision_tree", "logistic_regression", "naive_bayes", "knn"])
def test_models_of_the_catalog_learn_from_dates_that_are_text(name, tmp_path):
    seasonal().write_csv(tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv", target="y")
    about = outline(table)
    assert (about.roles["when"], about.date_formats["when"]) == ("date", "%d.%m.%Y")
    model = catalogue()[name].pipeline(about).fit(table.X[:180], table.y[:180])
    assert model.score(table.X[180:], table.y[180:]) > (0.9 if name != "knn" else 0.8)
    save_model(tmp_path / "m.foldwise", model, table.X)
    again = open_model(tmp_path / "m.foldwise")
    np.testing.assert_allclose(again.predict_proba(table.X[180:]), model.predict_proba(table.X[180:]), atol=1e-12)


def test_the_user_may_want_words_or_must_settle_the_order(tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame({"d": ["01/02/2020", "03/04/2020", "05/06/2020"] * 10, "y": [0, 1, 1] * 10}).write_csv(path)
    assert outline(read_table(path, target="y")).roles["d"] == "text"
    note = str(read_table(path, target="y").notes.about("date")).replace("\n  ", " ")
    assert "kinds={'d': 'date:%d/%m/%Y'} or kinds={'d': 'date:%m/%d/%Y'}" in note
    declared = read_table(path, target="y", kinds={"d": "date:%m/%d/%Y"})
    assert declared.X["d"][0] == dt.date(2020, 1, 2)
    assert outline(declared).roles["d"] == "date"
    pl.DataFrame({"d": ["2020-01-02", "2020-01-03", "2020-02-01"] * 10, "y": [0, 1, 1] * 10}).write_csv(path)
    assert outline(read_table(path, target="y")).roles["d"] == "date"
    assert outline(read_table(path, target="y", kinds={"d": "text"})).roles["d"] == "text"


def test_declared_timestamps_with_zones_keep_their_local_time(tmp_path):
    path = tmp_path / "t.csv"
    hours = [f"2020-01-{1 + k:02d}T{k:02d}:00:00{'+02:00' if k % 2 else '-05:00'}" for k in range(20)]
    pl.DataFrame({"at": hours, "y": [0, 1] * 10}).write_csv(path)
    for kinds in ({}, {"at": "date"}, {"at": "date:iso"}):
        table = read_table(path, target="y", kinds=kinds)
        about = outline(table)
        assert (about.roles["at"], about.date_formats["at"]) == ("date", "iso")
        found = DateFeatures(parts=["hour"], formats=about.date_formats).fit_transform(table.X)
        assert found[:, 0].tolist() == list(range(20))


def test_models_that_take_no_dates_name_what_converts_them():
    frame = pl.DataFrame({"day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2)] * 5, "x": [0.5, 1.5] * 5})
    for model in (NaiveBayes(), KNNClassifier()):
        with pytest.raises(InputError, match="DateFeatures or TableEncoder"):
            model.fit(frame, ["a", "b"] * 5)


def test_timestamps_at_midnight_have_no_hour() -> None:
    days = pd.DataFrame({"sold": pd.to_datetime(["2026-01-05", None, "2026-03-01"]), "y": [1.0, 2.0, 3.0]})
    late = pd.DataFrame({"sold": pd.to_datetime(["2026-01-05 12:00", None, "2026-03-01 00:00"]), "y": [1.0, 2.0, 3.0]})
    plain = pl.DataFrame({"sold": [dt.date(2026, 1, 5), None, dt.date(2026, 3, 1)]})
    found = DateFeatures().fit(days[["sold"]])
    names = list(found.get_feature_names_out())
    assert not any("hour" in name for name in names)
    assert names == list(DateFeatures().fit(plain).get_feature_names_out())
    np.testing.assert_array_equal(found.transform(days[["sold"]]), found.transform(plain))
    assert found.transform(late[["sold"]]).shape == (3, len(names))  # training rows decide
    for usual in (DateFeatures().fit(late[["sold"]]), DateFeatures(days=[]).fit(days[["sold"]])):
        assert "sold_hour" in list(usual.get_feature_names_out())
    for encoding in ("scaled", "trees", "codes"):
        roles = {"sold": "date", "y": "number"}
        assert not any("hour" in name for name in TableEncoder(encoding, roles=roles).fit(days).get_feature_names_out())
        assert any("hour" in name for name in TableEncoder(encoding, roles=roles).fit(late).get_feature_names_out())


def test_all_folds_of_a_run_have_the_same_features() -> None:
    at = [dt.datetime(2026, 1, 1) + dt.timedelta(days=i) for i in range(40)]
    midnight = Table(pl.DataFrame({"at": at}), None, Schema((Column("at", "date"),)), "table")
    about = outline(replace(midnight, y=np.array(["a", "b"] * 20), target="y"))
    assert about.date_shapes == {"at": "date"}
    for one in (as_frame(about), date_features(about)):
        assert one.days == ["at"]
    at[7] = dt.datetime(2026, 1, 8, 12)
    noon = replace(midnight, X=pl.DataFrame({"at": at}), y=np.array(["a", "b"] * 20), target="y")
    assert outline(noon).date_shapes == {"at": "datetime"}
    assert date_features(outline(noon)).fit(midnight.X).shapes_ == {"at": "datetime"}  # rows of a fold without hours


def test_transformers_of_earlier_versions_keep_the_hour() -> None:
    at = pl.DataFrame({"at": [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)]})
    for old in (DateFeatures(), KeepColumns([], dates=["at"])):
        del old.days  # which they do not have
        assert clone(old).days == ()
    del (stored := DateFeatures()).days
    assert "at_hour" in list(clone(stored).fit(at).get_feature_names_out())
