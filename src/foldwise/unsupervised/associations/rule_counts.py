"""Counts rows for rules, and tests rules by Fisher's exact test.

Every count is taken over rows where all columns of the rule are known. Otherwise two columns that are missing in the
same rows would seem to occur together.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints
from foldwise.unsupervised.associations.eclat import bit_count
from foldwise.unsupervised.associations.items import Bits, Items


def overall_counts(items: Items, antecedents: Ints, consequents: Ints) -> Ints:
    """Count for each rule the rows: all known ones, with the antecedent, with the consequent, with both.

    `antecedents` is (n_rules, longest) with -1 as padding. The result is (n_rules, 4).
    """
    found = np.empty((len(consequents), 4), dtype=np.int64)
    count_rules(items.bits, items.known, items.is_complete, items.columns, antecedents, consequents, found)
    return found


def context_counts(items: Items, antecedents: Ints, consequents: Ints) -> Ints:
    """Count the same four numbers for each item of an antecedent, among the rows that contain its other items.

    The result is (n_rules, longest, 4); entries of padding are -1.
    """
    longest = antecedents.shape[1]
    found = np.full((len(consequents), longest, 4), -1, dtype=np.int64)
    for k in range(longest):
        has = np.flatnonzero(antecedents[:, k] >= 0)
        others = np.delete(antecedents[has], k, axis=1)
        part = np.empty((len(has), 4), dtype=np.int64)
        count_contexts(
            items.bits, items.known, items.is_complete, items.columns, others, antecedents[has, k], consequents[has],
            part,
        )  # fmt: skip
        found[has, k] = part
    return found


@njit(nogil=True, cache=True)
def restrict(rows: Bits, known: Bits, is_complete: NDArray[np.bool_], column: int) -> None:  # pragma: no cover
    """Keep only the rows where a column is known."""
    if not is_complete[column]:
        for w in range(len(rows)):
            rows[w] &= known[column, w]


@njit(nogil=True, cache=True)
def count_table(rows: Bits, a: Bits, c: Bits, out: Ints) -> None:  # pragma: no cover
    """Count rows, rows in `a`, rows in `c` and rows in both."""
    n, n_a, n_c, n_both = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for w in range(len(rows)):
        row = rows[w]
        in_a, in_c = row & a[w], row & c[w]
        n += bit_count(row)
        n_a += bit_count(in_a)
        n_c += bit_count(in_c)
        n_both += bit_count(in_a & in_c)
    out[0], out[1], out[2], out[3] = n, n_a, n_c, n_both


@njit(nogil=True, cache=True)
def count_rules(
    bits: Bits, known: Bits, is_complete: NDArray[np.bool_], columns: Ints, antecedents: Ints, consequents: Ints,
    out: Ints,
) -> None:  # pragma: no cover  # fmt: skip
    """Fill `out` (n_rules, 4) for whole antecedents."""
    n_words = bits.shape[1]
    every = np.zeros(n_words, np.uint64)  # bits beyond the last row stay 0
    for j in range(len(known)):
        for w in range(n_words):
            every[w] |= known[j, w]
    rows, a = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
    for r in range(len(consequents)):
        for w in range(n_words):
            rows[w] = a[w] = every[w]
        restrict(rows, known, is_complete, columns[consequents[r]])
        for i in antecedents[r]:
            if i >= 0:
                restrict(rows, known, is_complete, columns[i])
                for w in range(n_words):
                    a[w] &= bits[i, w]
        count_table(rows, a, bits[consequents[r]], out[r])


@njit(nogil=True, cache=True)
def count_contexts(
    bits: Bits, known: Bits, is_complete: NDArray[np.bool_], columns: Ints, others: Ints, added: Ints,
    consequents: Ints, out: Ints,
) -> None:  # pragma: no cover  # fmt: skip
    """Fill `out` (n_rules, 4) for one added item, among the rows that contain the others."""
    n_words = bits.shape[1]
    every = np.zeros(n_words, np.uint64)
    for j in range(len(known)):
        for w in range(n_words):
            every[w] |= known[j, w]
    rows = np.empty(n_words, np.uint64)
    for r in range(len(consequents)):
        for w in range(n_words):
            rows[w] = every[w]
        restrict(rows, known, is_complete, columns[consequents[r]])
        restrict(rows, known, is_complete, columns[added[r]])
        for i in others[r]:
            if i >= 0:
                for w in range(n_words):
                    rows[w] &= bits[i, w]
        count_table(rows, bits[added[r]], bits[consequents[r]], out[r])


def fisher_greater(counts: Ints) -> Floats:
    """Compute one-sided p-values of Fisher's exact test from tables (n, n_a, n_c, n_both), one per row.

    Notes
    -----
    The p-value is P(both >= n_both) if n_a of n rows were drawn at random (hypergeometric distribution).
    """
    out = np.empty(len(counts))
    hypergeometric_tails(np.ascontiguousarray(counts, dtype=np.int64), out)
    return out


@njit(nogil=True, cache=True)
def hypergeometric_tails(counts: Ints, out: Floats) -> None:  # pragma: no cover
    """Fill `out` with upper tails; terms are summed from `n_both` up by their ratio."""
    for r in range(len(counts)):
        n, n_a, n_c, k = counts[r, 0], counts[r, 1], counts[r, 2], counts[r, 3]
        if k <= max(0, n_a + n_c - n):
            out[r] = 1.0
            continue
        log_first = (
            math.lgamma(n_a + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n_a - k + 1.0)
            + math.lgamma(n - n_a + 1.0) - math.lgamma(n_c - k + 1.0) - math.lgamma(n - n_a - n_c + k + 1.0)
            - math.lgamma(n + 1.0) + math.lgamma(n_c + 1.0) + math.lgamma(n - n_c + 1.0)
        )  # fmt: skip
        term, total = 1.0, 1.0
        for x in range(k, min(n_a, n_c)):
            term *= (n_a - x) * (n_c - x) / ((x + 1.0) * (n - n_a - n_c + x + 1.0))
            total += term
            if term < total * 1e-17 and (x + 1.0) * n > float(n_a) * n_c:  # past the mode: terms only shrink
                break
        out[r] = min(1.0, math.exp(log_first + math.log(total)))
