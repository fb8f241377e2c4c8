"""Frequent itemsets against mlxtend's `fpgrowth` on the same tables, in one run.

The supermarket has 200 products of very different popularity and 60 groups of products that are bought together, as in
the generator of Agrawal and Srikant (1994). Both libraries get the same pandas table of booleans and return a frame
with the names of the items. `make bench` writes benchmarks/associations.md. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from mlxtend.frequent_patterns import apriori, fpgrowth

from foldwise import association_rules, frequent_itemsets, read_table
from foldwise.data.frames import as_polars
from foldwise.unsupervised.associations.items import plan_items

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FOLDWISE_DATA", HERE.parent.parent / "shared" / "data")) / "tables"
REPEATS = 50
PEERS_REPEATS = 6
NOISE_TABLES = 400
GOAL = 20
SUPPORTS = (0.02, 0.01, 0.005)
TABLES = {"mushroom.csv": 0.3, "adult.parquet": 0.1, "house_votes_84.csv": 0.2}


def supermarket(n_rows: int = 5000, n_products: int = 200, n_groups: int = 60, seed: int = 0) -> pd.DataFrame:
    """Baskets: products by popularity, and groups of products that are mostly bought together."""
    rng = np.random.default_rng(seed)
    popularity = rng.permutation(0.25 / np.arange(1, n_products + 1) ** 0.7)
    baskets = rng.random((n_rows, n_products)) < popularity
    for share in rng.exponential(0.03, n_groups):
        products = rng.choice(n_products, 2 + rng.poisson(2), replace=False)
        buyers = np.flatnonzero(rng.random(n_rows) < share)
        baskets[np.ix_(buyers, products)] |= rng.random((len(buyers), len(products))) < 0.8
    return pd.DataFrame(baskets, columns=[f"product {j}" for j in range(n_products)])


def one_hot(name: str) -> pd.DataFrame:
    """The items of a real table as booleans, the same for both libraries."""
    frame = as_polars(read_table(DATA / name))
    items = plan_items(frame, 1, 3).encode(frame)
    bits = np.unpackbits(items.bits.view(np.uint8), axis=1, bitorder="little")[:, : items.n_rows]
    return pd.DataFrame(bits.T.astype(bool), columns=list(items.names))


def best(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The result and the least time in seconds; the first call, which may compile, does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, min(times)


def line(title: str, table: pd.DataFrame, support: float) -> tuple[str, float]:
    """Time both libraries on one table, and compare what they find."""
    ours, spent = best(lambda: frequent_itemsets(table, min_support=support).to_frame(), REPEATS)
    peer, peers = best(lambda: fpgrowth(table, min_support=support, use_colnames=True), PEERS_REPEATS)
    found = dict(zip(map(frozenset, ours["items"].to_list()), ours["rows"].to_list(), strict=True))
    expected = dict(zip(peer["itemsets"], (peer["support"] * len(table)).round().astype(int).tolist(), strict=True))
    same = "the same" if found == expected else "DIFFERENT"
    size = f"{len(table):,} × {table.shape[1]}"
    cells = [title, size, f"{support:g}", f"{len(found):,}", same, f"{spent * 1e3:.1f} ms", f"{peers * 1e3:,.0f} ms"]
    return f"| {' | '.join(cells)} | {peers / spent:,.0f} × |", peers / spent


def share_of_noise_with_rules() -> float:
    """The share of tables without any association in which some rule is confirmed."""
    wrong = 0
    for seed in range(NOISE_TABLES):
        rng = np.random.default_rng(seed)
        table = pl.DataFrame(
            {f"category {j}": rng.choice(list("abcd"), 400, p=[0.4, 0.3, 0.2, 0.1]).tolist() for j in range(6)}
            | {f"number {j}": rng.normal(size=400) for j in range(6)}
        )
        wrong += bool(association_rules(table, min_support=0.02, min_confidence=0.2, random_state=seed).confirmed)
    return wrong / NOISE_TABLES


def main() -> None:
    market = supermarket()
    lines = ["| table | size | support | itemsets | found | foldwise | fpgrowth | ratio |", "|---" * 8 + "|"]
    ratios = []
    for support in SUPPORTS:
        text, ratio = line("supermarket", market, support)
        lines.append(text)
        ratios.append(ratio)
    for name, support in TABLES.items():
        lines.append(line(name.split(".")[0], one_hot(name), support)[0])
    rules, spent = best(lambda: association_rules(market, min_support=0.01, min_confidence=0.2), REPEATS)
    _, by_apriori = best(lambda: apriori(market, min_support=SUPPORTS[0], use_colnames=True, max_len=3), PEERS_REPEATS)
    _, ours = best(lambda: frequent_itemsets(market, min_support=SUPPORTS[0], max_length=3).to_frame(), REPEATS)
    verdict = "reached" if min(ratios) >= GOAL else "NOT REACHED"
    lines += [
        "",
        f"Goal on the supermarket: at least {GOAL} ×, {verdict} (least ratio {min(ratios):.0f} ×). mlxtend's `apriori` "
        f"needs {by_apriori * 1e3:,.0f} ms for sets of at most three items at support {SUPPORTS[0]:g} "
        f"(foldwise {ours * 1e3:.1f} ms).",
        "",
        f"Rules of the supermarket, found on one half and tested on the other: {spent * 1e3:.0f} ms, "
        f"{len(rules.rules):,} tested, {len(rules.confirmed):,} confirmed. Of {NOISE_TABLES} tables of noise, "
        f"{share_of_noise_with_rules():.1%} have a confirmed rule (false discovery rate 5%).",
    ]
    print("\n".join(lines))
    about = (
        "Frequent itemsets by Eclat on bitsets and by mlxtend's `fpgrowth` in one run, from a pandas table of booleans "
        "to a frame of names. One thread each, best of several runs. Made by `make bench` "
        "(`benchmarks/associations.py`)."
    )
    page = f"# Benchmarks: association rules\n\n{about}\n\n" + "\n".join(lines) + "\n"
    (HERE / "associations.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
