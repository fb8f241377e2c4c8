"""What `find_leaks` finds, in which tables, and where it keeps silent."""

from __future__ import annotations

import datetime
import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from foldwise import Table, duplicate_groups, find_leaks, read_table
from foldwise.data.frames import as_polars, as_series
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.leaks.likeness import Likeness
from tests.conftest import mixed_columns
from tests.tables import catalogue

SHUFFLED = KFold(5, shuffle=True, random_state=0)
KINDS = ("numpy", "pandas", "polars", "pyarrow", "Table")


def table(rng, n=300):
    frame = pl.DataFrame(mixed_columns(rng, n)).with_columns(weight=rng.normal(size=n))
    return frame, rng.choice(["yes", "no"], n)


def held_as(kind, frame, y):
    """The same table in another container."""
    if kind == "numpy":
        return frame.to_pandas().to_numpy(dtype=object)
    if kind == "Table":
        return Table(frame, y, None, "made", "y")
    return {"pandas": frame.to_pandas, "polars": lambda: frame, "pyarrow": frame.to_arrow}[kind]()


def names(leaks, level=None):
    return [leak.name for leak in leaks if level is None or leak.level == level]


@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_table_is_clean_and_a_doubled_one_is_not(rng, kind):
    frame, y = table(rng)
    assert len(find_leaks(held_as(kind, frame, y), y, cv=SHUFFLED)) == 0
    rows = rng.permutation(np.repeat(np.arange(len(y)), 2))
    frame, y = frame[rows], y[rows]
    leaks = find_leaks(held_as(kind, frame, y), y, cv=SHUFFLED)
    [leak] = leaks
    twins = [np.isin(rows[test], rows[train]).sum() for train, test in SHUFFLED.split(rows)]
    assert (leak.name, leak.level, leak.rows) == ("duplicates", "leak", sum(twins))
    assert leak.share == pytest.approx(sum(twins) / 600)
    assert "100% of them with the same label" in leak.found
    assert leak.examples[0] in np.flatnonzero(pd.Series(rows).duplicated(keep=False))


def test_labels_of_duplicates_that_disagree_are_counted(rng):
    X = rng.normal(size=(200, 3))
    leaks = find_leaks(np.vstack([X, X]), np.r_[np.zeros(200, int), np.ones(200, int)], cv=SHUFFLED)
    assert ", 0% of them with the same label" in leaks.named("duplicates")[0].found


@pytest.mark.parametrize("kind", KINDS)
def test_duplicate_groups_are_those_of_a_plain_loop(rng, kind):
    n = 200
    frame = pl.DataFrame(
        {
            "a": rng.integers(0, 3, n),
            "b": rng.choice(["x", "y", None], n),
            "c": rng.choice([0.5, float("nan"), -1.0], n),
        }
    )
    seen: dict = {}
    plain = [seen.setdefault((a, b, str(c)), len(seen)) for a, b, c in frame.iter_rows()]
    np.testing.assert_array_equal(duplicate_groups(held_as(kind, frame, None)), plain)


def test_duplicate_groups_of_sparse_rows_and_of_zeros_with_a_sign(rng):
    X = rng.integers(0, 2, (60, 4)).astype(float)
    sparse = sp.csr_array(X)
    sparse.data[:] = sparse.data  # stored cells only
    np.testing.assert_array_equal(duplicate_groups(sparse), duplicate_groups(X))
    np.testing.assert_array_equal(duplicate_groups(sp.coo_array(X)), duplicate_groups(X))
    assert duplicate_groups(np.array([[0.0], [-0.0], [np.nan], [np.nan]])).tolist() == [0, 0, 1, 1]
    assert names(find_leaks(sp.csr_array(np.vstack([X] * 2)), np.zeros(120), cv=SHUFFLED), "suspicion") == [
        "duplicates"
    ]


def test_duplicates_kept_together_are_no_leak(rng):
    rows = rng.integers(0, 150, 400)
    X, y = rng.normal(size=(150, 3))[rows], rng.integers(0, 2, 150)[rows]
    assert "duplicates" in names(find_leaks(X, y, cv=SHUFFLED))
    assert len(find_leaks(X, y, cv=StratifiedGroupKFold(5), groups=duplicate_groups(X))) == 0


def test_rows_that_agree_by_chance_are_a_note(rng):
    X, y = rng.integers(0, 2, (400, 5)), rng.integers(0, 2, 400)
    [leak] = find_leaks(X, y, cv=SHUFFLED)
    assert (leak.name, leak.level) == ("duplicates", "note")
    assert "expected by chance alone" in leak.found


def test_near_duplicates_by_rounding_and_by_a_row_number(rng):
    X = rng.normal(size=(200, 4))
    y = rng.integers(0, 2, 200)
    rounded = np.vstack([X, X.astype(np.float32).astype(float)])
    [leak] = find_leaks(rounded, np.r_[y, y], cv=SHUFFLED)
    assert (leak.name, leak.level) == ("near duplicates", "leak")
    numbered = pl.DataFrame(np.vstack([X, X])).with_row_index("case")
    leaks = find_leaks(numbered, np.r_[y, y], cv=SHUFFLED)
    assert names(leaks) == ["near duplicates"]
    assert "'case'" in leaks.findings[0].found


def test_iris_has_its_one_duplicate_pair():
    X, y = load_iris(return_X_y=True)
    [leak] = find_leaks(X, y, cv=SHUFFLED)
    assert (leak.name, leak.level, leak.rows, leak.examples) == ("duplicates", "note", 2, (101, 142))


def test_wine_has_nothing():
    X, y = load_wine(return_X_y=True)
    assert len(find_leaks(X, y, cv=SHUFFLED)) == 0


def test_groups_that_are_given(rng):
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    who = rng.permutation(np.repeat(np.arange(100), 3))
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    [leak] = find_leaks(X, y, cv=cv, groups=who)
    plain = sum(np.isin(who[test], who[train]).sum() for train, test in cv.split(X, y))
    assert (leak.name, leak.level, leak.rows) == ("groups", "leak", plain)
    assert len(find_leaks(X, y, cv=GroupKFold(5), groups=who)) == 0
    assert names(find_leaks(X, y, cv=cv, groups=[f"patient {i}" for i in who])) == ["groups"]


@pytest.mark.parametrize("kind", ["text", "numbers", "floats"])
def test_a_column_that_names_groups_is_suspected(rng, kind):
    who = rng.permutation(np.repeat(np.arange(100), 4))
    y = rng.integers(0, 2, 100)[who]
    codes = rng.permutation(1000)[:100][who]
    column = {"text": [f"p{i}" for i in codes], "numbers": codes, "floats": codes.astype(float)}[kind]
    X = pl.DataFrame({"tag": column, "age": rng.normal(size=400)})
    [leak] = find_leaks(X, y, cv=SHUFFLED)
    assert (leak.name, leak.level, leak.column) == ("groups", "suspicion", "tag")
    amount = pl.Series("amount", rng.normal(size=100)[who])  # the same for a quantity
    assert names(find_leaks(X, amount, cv=SHUFFLED)) == ["groups"]
    assert "groups" not in names(find_leaks(X, rng.integers(0, 2, 400), cv=SHUFFLED))  # it tells nothing
    assert "groups" in names(find_leaks(X.rename({"tag": "patient_id"}), rng.integers(0, 2, 400), cv=SHUFFLED))


def test_groups_by_which_the_rows_are_sorted_are_found_by_default(rng):
    nr = np.repeat(rng.permutation(1000)[:100], 6)
    X = pl.DataFrame({"nr": nr, "school": rng.integers(0, 25, 600), "x": rng.normal(size=600)})
    wage = rng.normal(size=1000)[nr] + rng.normal(size=600)
    for y in (None, wage):
        found = [leak for leak in find_leaks(X, y) if leak.name == "groups"]
        assert [leak.column for leak in found] == ["nr"]
    assert "the number of rows is nearly the same for all of them" in found[0].found
    assert "groups" not in names(find_leaks(X, rng.normal(size=600)))  # it tells nothing
    assert names(find_leaks(X, groups=nr)) == ["groups"]


def test_a_number_that_predicts_is_no_group(rng):
    age = rng.integers(20, 80, 1000)
    assert (
        len(
            find_leaks(
                pl.DataFrame({"age": age, "x": rng.normal(size=1000)}),
                (age > 50).astype(int) ^ (rng.random(1000) < 0.05),
                cv=SHUFFLED,
            )
        )
        == 0
    )


def test_time_that_is_given(rng):
    X, y = pl.DataFrame({"x": rng.normal(size=200), "t": rng.permutation(200)}), rng.integers(0, 2, 200)
    [leak] = find_leaks(X, y, cv=TimeSeriesSplit(4), time="t")  # in order, but of rows that are not
    assert (leak.name, leak.level, leak.column) == ("time", "leak", "t")
    assert len(find_leaks(X.sort("t"), y, cv=TimeSeriesSplit(4), time="t")) == 0
    moments = np.datetime64("2024-01-01") + np.arange(200)
    assert names(find_leaks(X, y, cv=SHUFFLED, time=moments)) == ["time"]
    assert names(find_leaks(X, y, cv=SHUFFLED, time=[str(day) for day in moments])) == ["time"]
    plain = sum((np.arange(200)[test] < train.max()).sum() for train, test in SHUFFLED.split(X))
    assert find_leaks(X, y, cv=SHUFFLED, time=np.arange(200)).findings[0].rows == plain


@pytest.mark.parametrize("as_text", [False, True])
def test_a_column_of_dates_is_suspected(rng, as_text):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(200)]
    X = pl.DataFrame({"x": rng.normal(size=200), "day": [str(day) for day in days] if as_text else days})
    y = rng.integers(0, 2, 200)
    [leak] = find_leaks(X, y, cv=SHUFFLED)
    assert (leak.name, leak.level, leak.column) == ("time", "suspicion", "day")
    assert len(find_leaks(X, y, cv=TimeSeriesSplit(5))) == 0


def test_labels_that_last_in_drifting_columns_are_suspected(rng):
    y = np.repeat(rng.integers(0, 2, 100), 5)
    X = np.cumsum(rng.normal(size=(500, 2)), axis=0)
    [leak] = find_leaks(X, y, cv=SHUFFLED)
    assert (leak.name, leak.level) == ("time", "suspicion")
    for quiet in (KFold(5), TimeSeriesSplit(5)):
        assert len(find_leaks(X, y, cv=quiet)) == 0
    assert len(find_leaks(rng.normal(size=(500, 2)), y, cv=SHUFFLED)) == 0  # no column knows the neighbors
    assert len(find_leaks(X, rng.permutation(y), cv=SHUFFLED)) == 0
    order = np.argsort(y, kind="stable")  # sorted by class is not sorted by time
    assert len(find_leaks(X[order], y[order], cv=SHUFFLED)) == 0


def test_a_column_that_holds_the_target(rng):
    y = rng.choice(["a", "b"], 300)
    X = pl.DataFrame({"code": np.where(y == "a", 3, 7), "x": rng.normal(size=300)})
    [leak] = find_leaks(X, y, cv=SHUFFLED)
    assert (leak.name, leak.level, leak.column) == ("target", "suspicion", "code")
    amount = rng.normal(size=300)
    assert [leak.column for leak in find_leaks(X.with_columns(z=2 * amount), amount, cv=SHUFFLED)] == ["z"]
    rare = np.zeros(5000, dtype=int)
    rare[7:9] = 1  # nearly all rows are of one class: no column gives that away
    assert (
        len(find_leaks(pl.DataFrame({"x": rng.normal(size=5000), "g": rng.integers(0, 5, 5000)}), rare, cv=KFold(5)))
        == 0
    )


def test_a_report_prints_at_80_columns_and_has_a_frame(rng):
    X = rng.normal(size=(100, 3))
    leaks = find_leaks(np.vstack([X, X]), np.tile(rng.integers(0, 2, 100), 2), cv=SHUFFLED, time=np.arange(200))
    text = repr(leaks)
    assert max(map(len, text.splitlines())) <= 80
    assert leaks.to_frame()["name"].to_list() == names(leaks) == ["duplicates", "time"]
    assert leaks.of("leak") == list(leaks)
    assert leaks._repr_html_().count("<tr>") == 3


def test_bad_input(rng):
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 2, 50)
    for options, words in (
        ({"groups": [1, 2]}, "groups must have one value per row of X"),
        ({"groups": [None, *range(49)]}, "row 0 has none"),
        ({"time": [1, 2]}, "time must have one value per row of X"),
        ({"time": "day"}, "X has no column .day., passed as time"),
        ({"time": [None, *range(49)]}, "missing"),
        ({"time": [f"day {i}" for i in range(50)]}, "order"),
    ):
        with pytest.raises(InputError, match=words):
            find_leaks(X, y, cv=SHUFFLED, **options)
    with pytest.raises(InputError, match="50 rows but y has 49"):
        find_leaks(X, y[1:])
    with pytest.raises(InputError, match="at least two rows"):
        find_leaks(X[:1], y[:1])
    with pytest.raises(InputError, match="2D"):
        find_leaks(X[:, 0], y)
    with pytest.raises(InputError, match="in both train and test"):
        find_leaks(X, y, cv=[(np.arange(40), np.arange(30, 50))])


def test_likeness_is_the_agreement_of_pairs(rng):
    labels, units = rng.integers(0, 3, 60), rng.integers(0, 12, 60)
    pairs = [(i, j) for i in range(60) for j in range(60) if i != j]
    apart = np.mean([labels[i] != labels[j] for i, j in pairs])
    sizes = np.bincount(units)
    within = sum((labels[i] != labels[j]) / sizes[units[i]] for i, j in pairs if units[i] == units[j])
    freedom = 60 - np.count_nonzero(sizes)
    assert Likeness(labels).within(units) == pytest.approx(1 - within / freedom / apart)
    values = rng.normal(size=60)
    total = np.mean([(values[i] - values[j]) ** 2 / 2 for i, j in pairs])
    within = sum((values[i] - values[j]) ** 2 / 2 / sizes[units[i]] for i, j in pairs if units[i] == units[j])
    assert Likeness(values).within(units) == pytest.approx(1 - within / freedom / total)
    assert Likeness(labels).beside(np.arange(59), np.arange(1, 60)) == pytest.approx(
        1 - np.mean(labels[1:] != labels[:-1]) / apart
    )
    assert Likeness(labels).within(labels) == 1


def test_frames_of_odd_cells():
    mixed = np.array([[1, "a"], [None, 2], [float("nan"), "a"]], dtype=object)
    with pytest.raises(InputError, match=r"got 'loans.csv'. Hint: pass foldwise.read_table\('loans.csv'\)"):
        as_polars("loans.csv")
    assert as_polars(mixed)["x1"].to_list() == ["a", "2", "a"]
    assert as_polars(mixed)["x0"].to_list()[:1] == [1]
    frame = pd.DataFrame({"when": pd.to_datetime(["2024-01-01", None]), "c": pd.Categorical(["u", None])})
    assert as_polars(frame)["when"].null_count() == as_polars(frame)["c"].null_count() == 1
    assert as_polars(pd.DataFrame({3: [1, 2], 0: ["a", "b"]})).to_dict(as_series=False) == {
        "3": [1, 2],
        "0": ["a", "b"],
    }
    assert as_polars(nw.from_native(pl.DataFrame({"a": [1]}))).columns == ["a"]
    odd = pl.DataFrame({"a": pl.Series([1 + 2j, 1 + 2j, None], dtype=pl.Object)})
    assert as_polars(odd)["a"].to_list() == ["(1+2j)", "(1+2j)", None]
    assert as_series("t", pd.Series([1, None], dtype="Int64")).fill_nan(None).to_list() == [1, None]


# what is known of the real tables: rows that are there twice, and rows in the order of time or place
LEAKING = {
    "soybean", "letter", "segment", "phishing", "wine_quality", "anneal", "mammography", "online_shoppers", "sms_spam",
    "survey",
}  # fmt: skip
# rows of abalone came in batches: the rings of neighboring rows are alike
SUSPECTED = {"abalone": "time", "electricity": "time", "california_housing": "time", "survey": "time"}


@pytest.mark.slow  # all of them
def test_the_real_tables_give_few_alarms():
    for entry in catalogue().values():
        found = read_table(entry["path"], target=entry["target"] or None)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            leaks = find_leaks(found, cv=SHUFFLED)
        assert names(leaks, "leak") == ["duplicates"] * (entry["name"] in LEAKING), entry["name"]
        assert names(leaks, "suspicion") == [SUSPECTED[n] for n in [entry["name"]] if n in SUSPECTED], entry["name"]


def test_the_twin_that_is_named_is_a_training_row(rng):
    X = rng.normal(size=(40, 3))
    doubled = np.vstack([X, X])
    [leak] = find_leaks(doubled, cv=TimeSeriesSplit(3))
    assert "For example, row 40 equals row 0." in leak.found
    thrice = np.vstack([X, X, X])  # rows 0 and 40 are tested together, row 80 is learned
    [leak] = find_leaks(thrice, cv=[(range(80, 120), range(80))])
    assert "For example, row 0 equals row 80." in leak.found


@pytest.mark.parametrize("shown", [repr, lambda leaks: leaks._repr_html_()])
def test_what_rows_cannot_show_is_said(shown):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2000)), rng.integers(0, 2, 60)
    selected = X[:, np.argsort(-np.abs(np.corrcoef(X.T, y)[-1, :-1]))[:10]]  # chosen with the labels of all rows
    found = find_leaks(selected, y)
    assert not found.of("leak")
    assert "Not checked" in shown(found)
    assert "feature selection" in shown(found).replace("\n", " ")


def test_the_name_of_a_column_is_no_target():
    with pytest.raises(FoldwiseTypeError, match="target must have one value per row, but is the text 'y'"):
        find_leaks(pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}), "y")
