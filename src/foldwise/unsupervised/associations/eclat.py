"""Eclat: all frequent itemsets, depth first, by intersecting sets of rows that are stored as bits.

Sets that share all items but the last one form a class. The rows of a longer set are the common rows of two members
of a class, so every support is one `and` of two bitsets and a count of its bits.

Reference: Zaki, IEEE Transactions on Knowledge and Data Engineering 12 (2000) 372-390.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from foldwise.arrays import Ints
from foldwise.unsupervised.associations.items import Bits


def _bit_count(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(*arguments)

    return types.uint64(types.uint64), generate


bit_count: Callable[[np.uint64], np.uint64] = cast(Any, intrinsic(_bit_count))
"""Count the bits of a word that are set."""


@dataclass(frozen=True, eq=False)
class SetTree:
    """Itemsets as a tree: each one is its parent and one more item. A parent comes before its children."""

    parent: Ints  # (n_sets,): -1 for single items
    item: Ints  # (n_sets,)
    count: Ints  # (n_sets,): rows that contain the set
    is_complete: bool  # False if the search stopped at the largest number of sets

    def members(self) -> Ints:  # (n_sets, longest)
        """The items of each set, in descending order of depth, padded with -1."""
        columns = []
        node = np.arange(len(self.item))
        while (node >= 0).any():
            columns.append(np.where(node >= 0, self.item[node], -1))
            node = np.where(node >= 0, self.parent[node], -1)
        return np.stack(columns, axis=1) if columns else np.zeros((0, 0), dtype=np.int64)


def find_frequent(bits: Bits, min_count: int, max_length: int, max_sets: int) -> SetTree:
    """Find all sets of at most `max_length` items that occur in at least `min_count` rows.

    The search stops after `max_sets` sets, and the result says so.
    """
    counts = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    order = np.argsort(counts, kind="stable")  # rare items first: their classes are small
    order = order[counts[order] >= min_count]
    sorted_bits, sorted_counts = np.ascontiguousarray(bits[order]), counts[order]
    parent, item, count, is_complete = grow_sets(sorted_bits, sorted_counts, min_count, max_length, max_sets)
    return SetTree(parent, order[item], count, bool(is_complete))


@njit(nogil=True, cache=True)
def intersect(a: Bits, b: Bits, out: Bits) -> np.int64:  # pragma: no cover
    """Write the common rows of two sets, and count them."""
    total = np.uint64(0)
    for w in range(len(a)):
        word = a[w] & b[w]
        out[w] = word
        total += bit_count(word)
    return np.int64(total)


@njit(nogil=True, cache=True)
def count_common(a: Bits, b: Bits) -> np.int64:  # pragma: no cover
    """Count the common rows of two sets."""
    total = np.uint64(0)
    for w in range(len(a)):
        total += bit_count(a[w] & b[w])
    return np.int64(total)


@njit(nogil=True, cache=True)
def grow_sets(
    bits: Bits, counts: Ints, min_count: int, max_length: int, max_sets: int
) -> tuple[Ints, Ints, Ints, bool]:  # pragma: no cover
    """Grow sets depth first. All members of the class at each depth have been recorded before they are extended."""
    n, n_words = bits.shape
    room = max(1024, 2 * n)
    parent, item, count = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    depth_of = max(max_length, 1)
    class_items = np.empty((depth_of, n), np.int64)
    class_sets = np.empty((depth_of, n), np.int64)
    size, position = np.zeros(depth_of, np.int64), np.zeros(depth_of, np.int64)
    class_bits = [bits]
    for i in range(n):
        parent[i], item[i], count[i] = -1, i, counts[i]
        class_items[0, i], class_sets[0, i] = i, i
    total = n
    if total > max_sets:
        return parent[:total], item[:total], count[:total], False
    size[0] = n
    depth = 0
    while depth >= 0 and max_length > 1:
        i = position[depth]
        if i >= size[depth] - 1:  # the last member of a class has no partner
            depth -= 1
            continue
        position[depth] += 1
        is_last = depth + 2 == max_length
        if not is_last and len(class_bits) == depth + 1:
            class_bits.append(np.empty((n, n_words), np.uint64))
        mine = class_bits[depth]
        n_children = 0
        for j in range(i + 1, size[depth]):
            if is_last:
                rows = count_common(mine[i], mine[j])
            else:
                rows = intersect(mine[i], mine[j], class_bits[depth + 1][n_children])
            if rows < min_count:
                continue
            if total == max_sets:
                return parent[:total], item[:total], count[:total], False
            if total == room:
                room *= 2
                parent, item, count = longer(parent, room), longer(item, room), longer(count, room)
            parent[total], item[total], count[total] = class_sets[depth, i], class_items[depth, j], rows
            if not is_last:
                class_items[depth + 1, n_children], class_sets[depth + 1, n_children] = class_items[depth, j], total
            n_children += 1
            total += 1
        if not is_last and n_children > 1:
            depth += 1
            size[depth], position[depth] = n_children, 0
    return parent[:total], item[:total], count[:total], True


@njit(nogil=True, cache=True)
def longer(values: Ints, room: int) -> Ints:  # pragma: no cover
    """Copy values into an array with more room."""
    out = np.empty(room, np.int64)
    for i in range(len(values)):
        out[i] = values[i]
    return out
