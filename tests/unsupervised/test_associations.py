"""Association rules: itemsets as mlxtend finds them, tests as scipy computes them, no rules in noise, bad input."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mlxtend.frequent_patterns import association_rules as mlxtend_rules
from mlxtend.frequent_patterns import fpgrowth
from scipy.stats import fisher_exact

from foldwise import association_rules, frequent_itemsets, read_table
from foldwise.errors import InputError
from foldwise.unsupervised.associations.items import plan_items, range_names
from foldwise.unsupervised.associations.rule_counts import context_counts, fisher_greater, overall_counts
from tests.tables import available, table_path

SUPPORTS = {"mushroom": 0.35, "adult": 0.15, "house_votes_84": 0.25, "tic_tac_toe": 0.03, "penguins": 0.05}


def sets_of(found) -> dict[frozenset[str], int]:
    frame = found.to_frame()
    return {frozenset(items): rows for items, rows in zip(frame["items"].to_list(), frame["rows"], strict=True)}


def peers_sets(table: pd.DataFrame, min_support: float) -> dict[frozenset[str], int]:
    peer = fpgrowth(table, min_support=min_support, use_colnames=True)
    return dict(zip(peer["itemsets"], (peer["support"] * len(table)).round().astype(int), strict=True))


def one_hot(frame: pl.DataFrame, bins: int = 3) -> pd.DataFrame:
    """The items of a table as columns, made by pandas alone."""
    parts = {}
    for name, column in frame.to_pandas().items():
        if pd.api.types.is_numeric_dtype(column) and column.nunique() > 5:
            cuts = np.unique(np.quantile(column.dropna(), np.arange(1, bins) / bins, method="inverted_cdf"))
            cuts = cuts[cuts < column.max()]
            coded = pd.cut(column, [-np.inf, *cuts, np.inf], labels=range_names(str(name), tuple(cuts)))
        else:
            coded = column.map(lambda level, name=name: f"{name} = {level}", na_action="ignore")
        for level in coded.dropna().unique():
            parts[level] = (coded == level).fillna(False).to_numpy(dtype=bool)
    return pd.DataFrame(parts)


@pytest.mark.parametrize("name", available(*SUPPORTS))
def test_itemsets_are_those_of_mlxtend(name):
    table = read_table(table_path(name)).X
    expected = peers_sets(one_hot(table), SUPPORTS[name])
    assert len(expected) > 50
    assert sets_of(frequent_itemsets(table, min_support=SUPPORTS[name])) == expected


@pytest.mark.parametrize("seed", range(6))
def test_itemsets_of_baskets_are_those_of_mlxtend(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 300)), int(rng.integers(2, 14))
    baskets = pd.DataFrame(rng.random((n, p)) < rng.random(p), columns=[f"item {j}" for j in range(p)])
    assert sets_of(frequent_itemsets(baskets, min_support=0.0501)) == peers_sets(baskets, 0.0501)
    assert sets_of(frequent_itemsets(baskets.astype(int), min_support=0.0501)) == peers_sets(baskets, 0.0501)


def test_the_length_of_sets_is_limited():
    baskets = np.random.default_rng(0).random((100, 8)) < 0.7
    found = sets_of(frequent_itemsets(baskets, min_support=0.1, max_length=3))
    everything = sets_of(frequent_itemsets(baskets, min_support=0.1))
    assert found == {items: rows for items, rows in everything.items() if len(items) <= 3}
    assert max(map(len, everything)) > 3
    assert all(len(items) == 1 for items in sets_of(frequent_itemsets(baskets, min_support=0.1, max_length=1)))


def test_too_many_sets_are_refused():
    with pytest.raises(InputError, match=r"more than 1,000 itemsets occur in at least 0\.5 of the rows"):
        frequent_itemsets(np.ones((10, 20), dtype=bool), min_support=0.5, max_itemsets=1000)


def test_fishers_test_is_scipys():
    rng = np.random.default_rng(0)
    tables = [[0, 0, 0, 0], [5, 5, 5, 5], [1, 1, 1, 1], [4, 0, 2, 0], [40_000, 9000, 8000, 2500]]
    for _ in range(300):
        n = int(rng.integers(2, 400))
        a, c = rng.integers(0, n + 1, 2).tolist()
        tables.append([n, a, c, int(rng.integers(max(0, a + c - n), min(a, c) + 1))])
    expected = [
        fisher_exact([[both, a - both], [c - both, n - a - c + both]], alternative="greater").pvalue if n else 1.0
        for n, a, c, both in tables
    ]
    np.testing.assert_allclose(fisher_greater(np.array(tables)), expected, rtol=1e-7)


def test_counts_of_rules_are_taken_over_known_rows():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.choice(["a", "b", None], 200, p=[0.5, 0.3, 0.2]).tolist() for name in "xyz"})
    items = plan_items(frame, 1, 3).encode(frame)
    cells = frame.to_numpy()
    rules = [(left, right) for pair in combinations(range(6), 2) for left, right in ((pair, k) for k in range(6))]
    rules = [(left, right) for left, right in rules if right not in left]
    antecedents, consequents = np.array([left for left, _ in rules]), np.array([right for _, right in rules])
    overall = overall_counts(items, antecedents, consequents)
    contexts = context_counts(items, antecedents, consequents)
    has = {i: cells[:, i // 2] == "ab"[i % 2] for i in range(6)}
    known = {i: np.array([cell is not None for cell in cells[:, i // 2]]) for i in range(6)}
    for r, ((a, b), c) in enumerate(rules):
        rows = known[a] & known[b] & known[c]
        left = has[a] & has[b]
        assert overall[r].tolist() == [(rows & one).sum() for one in (rows, left, has[c], left & has[c])]
        for k, (x, other) in enumerate(((a, b), (b, a))):
            within = known[x] & known[c] & has[other]
            tables = [(within & one).sum() for one in (within, has[x], has[c], has[x] & has[c])]
            assert contexts[r, k].tolist() == tables


def test_confidence_and_lift_are_those_of_mlxtend():
    rng = np.random.default_rng(2)
    base = rng.random((600, 1)) < 0.4
    baskets = pd.DataFrame(rng.random((600, 6)) < np.where(base, 0.7, 0.2), columns=list("abcdef"))
    found = association_rules(baskets, min_support=0.1, min_confidence=0.6, test_share=0.5, random_state=3)
    held_out = baskets.iloc[np.sort(np.random.default_rng(3).permutation(600)[:300])]
    peer = mlxtend_rules(fpgrowth(held_out, 0.001, use_colnames=True), metric="confidence", min_threshold=0.0)
    measured = {
        (frozenset(left), next(iter(right))): (support, confidence, lift)
        for left, right, support, confidence, lift in zip(
            *(peer[name] for name in ("antecedents", "consequents", "support", "confidence", "lift")), strict=True
        )
        if len(right) == 1
    }
    assert found.rules
    for rule in found.rules:
        figures = measured[frozenset(rule.antecedent), rule.consequent]
        np.testing.assert_allclose((rule.support, rule.confidence, rule.lift), figures, rtol=1e-12)


def test_noise_has_no_rules():
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = pl.DataFrame({f"x{j}": rng.integers(0, 3, 300).astype(str) for j in range(8)})
        wrong += bool(association_rules(table, min_support=0.02, min_confidence=0.2, random_state=seed).confirmed)
    assert wrong <= 7  # 5% of 60 runs; more has a probability below 2%


def test_an_item_that_adds_nothing_confirms_no_rule():
    rng = np.random.default_rng(0)
    a, b, c = rng.random((3, 4000)) < 0.5
    table = pl.DataFrame({"a": a, "b": b, "c": c, "y": np.where(a, rng.random(4000) < 0.9, rng.random(4000) < 0.2)})
    confirmed = {str(rule) for rule in association_rules(table).confirmed}
    assert {"a → y", "y → a"} <= confirmed
    assert not any("," in rule for rule in confirmed)


def test_cells_that_are_missing_together_make_no_rule():
    rng = np.random.default_rng(0)
    answered = rng.random(1000) < 0.4
    table = pl.DataFrame(
        {
            name: [("yes" if one else "no") if there else None for one, there in zip(said, answered, strict=True)]
            for name, said in zip("abc", rng.random((3, 1000)) < 0.9, strict=True)
        }
    )
    assert not association_rules(table).confirmed


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": [True, False, None, True], "b": [None, True, True, True]}),
        pl.DataFrame({"a": [1.0, 0.0, None, 1.0], "b": [float("nan"), 1.0, 1.0, 1.0]}),
        pd.DataFrame({"a": [True, False, None, True], "b": [None, True, True, True]}, dtype="boolean"),
        pd.DataFrame({"a": [1, 0, 0, 1], "b": [0.0, 1.0, 1.0, 1.0]}),
    ],
)
def test_a_missing_cell_of_a_basket_is_not_there(table):
    assert sets_of(frequent_itemsets(table, min_support=0.1)) == {
        frozenset("a"): 2,
        frozenset("b"): 3,
        frozenset("ab"): 1,
    }


def test_numbers_become_ranges_and_few_numbers_values():
    frame = pl.DataFrame(
        {"age": np.random.default_rng(0).permutation(90), "rooms": np.arange(90) % 3, "sex": ["f", "m", None] * 30}
    )
    items = plan_items(frame, 1, 3).encode(frame)
    assert items.names[:3] == ("age ≤ 29", "29 < age ≤ 59", "age > 59")
    assert items.names[3:] == ("rooms = 0", "rooms = 1", "rooms = 2", "sex = f", "sex = m")
    assert items.counts().tolist() == [30] * 8


def test_columns_that_identify_rows_are_left_out_and_named():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"id": np.arange(100), "a": rng.integers(0, 2, 100), "b": rng.integers(0, 4, 100)})
    found = association_rules(table)
    assert found.left_out == ("'id' (identifier: different in every row, with the name of an identifier)",)
    assert "Columns left out: 'id' (identifier" in repr(found)


def test_the_support_is_raised_until_sets_are_few():
    baskets = np.random.default_rng(0).random((500, 40)) < 0.5
    found = association_rules(baskets, max_itemsets=2000)
    assert found.min_support > 0.1
    with pytest.raises(InputError, match="raise min_support or max_itemsets"):
        association_rules(baskets, min_support=0.05, max_itemsets=2000)


def test_results_are_frames_pictures_and_words():
    found = association_rules(read_table("examples/loans.csv"))
    frame = found.to_frame()
    assert frame.height == len(found.rules)
    assert frame["confirmed"].sum() == len(found.confirmed) > 0
    assert found.summary in " ".join(repr(found).split())
    assert "<table" in found._repr_html_()
    assert len(found.plot(top=4).get_yticklabels()) == 4
    sets = frequent_itemsets(read_table("examples/loans.csv"))
    assert sets.plot().get_xlabel() == "Share of rows"
    assert "itemsets in at least 0.1" in repr(sets)
    assert "<table" in sets._repr_html_()


BAD = {
    "one column": pl.DataFrame({"a": [1, 2, 1, 2, 1, 2]}),
    "all constant": pl.DataFrame({"a": ["x"] * 30, "b": ["y"] * 30}),
    "all missing": pl.DataFrame({"a": [None] * 30, "b": [None] * 30}),
    "all text": pl.DataFrame({name: [f"a {i} long text of words {i}" for i in range(50)] for name in "ab"}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_table_without_pairs_of_items_is_refused(name):
    with pytest.raises(InputError, match="association rules need items from at least two columns"):
        association_rules(BAD[name])


def test_one_row_is_refused_and_has_itemsets():
    table = pl.DataFrame({"a": ["x"], "b": ["y"]})
    with pytest.raises(InputError, match="at least 4 rows, got 1 row"):
        association_rules(table)
    assert len(frequent_itemsets(table)) == 3


@pytest.mark.slow
def test_noise_of_five_thousand_columns_ends_soon():
    table = np.random.default_rng(0).normal(size=(100, 5000))
    assert not association_rules(table).confirmed


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("min_support", 0, "min_support must be above 0"),
        ("min_support", 2, "min_support must be above 0 and at most 1"),
        ("min_confidence", -1, "min_confidence must be finite and at least 0"),
        ("max_length", 1, "max_length must be an integer of at least 2"),
        ("bins", 1, "bins must be an integer of at least 2"),
        ("test_share", 1, "test_share must be below 1"),
    ],
)
def test_arguments_are_checked(argument, value, message):
    with pytest.raises(InputError, match=message):
        association_rules(read_table("examples/loans.csv"), **{argument: value})
