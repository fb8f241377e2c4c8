"""`association_rules`: rules found on one half of the rows and tested on the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.stats import false_discovery_control

from foldwise.arrays import Floats, Ints
from foldwise.data.arguments import at_least_zero, whole_at_least
from foldwise.errors import InputError
from foldwise.unsupervised.associations.baskets import Baskets
from foldwise.unsupervised.associations.eclat import SetTree, find_frequent
from foldwise.unsupervised.associations.items import Items, check_columns, plan_items, read_rows
from foldwise.unsupervised.associations.itemsets import check_share, least_rows
from foldwise.unsupervised.associations.rule_counts import context_counts, fisher_greater, overall_counts
from foldwise.unsupervised.associations.rule_list import AssociationRule, AssociationRules

ItemTable = pl.DataFrame | Baskets

FIRST_SUPPORT = 0.05  # where the search for a support starts that leaves few enough sets
STEP = 1.5
FEWEST_ROWS = 5  # a rule that holds in fewer rows is an anecdote
PURPOSE = "association rules"


def association_rules(
    table: Any,
    *,
    min_support: float | None = None,
    min_confidence: float = 0.5,
    min_lift: float = 1.05,
    max_length: int = 4,
    bins: int = 3,
    test_share: float = 0.5,
    level: float = 0.05,
    max_rules: int = 1000,
    max_itemsets: int = 200_000,
    random_state: int | np.random.Generator | None = 0,
) -> AssociationRules:
    """Find rules "rows with A and B mostly have C", and test them on rows that were not used to find them.

    The table is split at random. Rules come from the frequent itemsets of one part. Their support, confidence, lift
    and p-value are measured on the other part, so that selection does not make them look too good. A rule counts as
    confirmed if it is significant there after correction for the number of rules tested.

    Parameters
    ----------
    table : data frame, Table, array or list of lists
        The rows. A table of booleans, or of zeros and ones, is read as baskets, where an item is a column. In any
        other table, an item is a value of a column, or a range of a numeric column. Identifiers, texts and dates are
        left out.
    min_support : float, optional
        Smallest share of rows that contain antecedent and consequent. By default 0.05; if that gives more than
        `max_itemsets` itemsets, it is raised.
    min_confidence : float, default 0.5
        Smallest share of the rows with the antecedent that also have the consequent.
    min_lift : float, default 1.05
        Smallest lift: confidence divided by the share of all rows that have the consequent.
    max_length : int, default 4
        Largest number of items in a rule.
    bins : int, default 3
        Number of ranges of a numeric column.
    test_share : float, default 0.5
        Share of rows that are held out for the tests.
    level : float, default 0.05
        False discovery rate: expected share of wrong rules among those confirmed.
    max_rules : int, default 1000
        Largest number of rules tested: those with the highest leverage, which is the support minus the support
        expected by chance.
    max_itemsets : int, default 200,000
        Largest number of frequent itemsets.
    random_state : int, Generator or None, default 0
        Seed of the split into two parts.

    Returns
    -------
    AssociationRules
        The rules that were tested, confirmed ones first.

    Notes
    -----
    Candidates are rules with one item as consequent whose confidence is greater than that of every rule with one item
    fewer in the antecedent. The p-value of a rule is the greatest of several one-sided Fisher's exact tests on held-out
    rows: of antecedent and consequent, and of each item of the antecedent and the consequent among the rows that
    contain the other items (Webb, Machine Learning 68 (2007) 1-33). So a rule with an item that adds nothing is not
    confirmed. q-values are corrected by Benjamini and Hochberg. Rows with a missing cell in a column of the rule are
    not counted. Itemsets are found by Eclat (Zaki 2000).

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from foldwise import association_rules
    >>> rng = np.random.default_rng(0)
    >>> bread, milk = rng.random((2, 400)) < 0.4
    >>> butter = np.where(bread, rng.random(400) < 0.8, rng.random(400) < 0.1)
    >>> found = association_rules(pl.DataFrame({"bread": bread, "butter": butter, "milk": milk}))
    >>> [str(rule) for rule in found.confirmed]
    ['bread → butter', 'butter → bread']
    """
    check_share("min_confidence", min_confidence)
    at_least_zero("min_lift", min_lift)
    check_share("level", level)
    longest = whole_at_least("max_length", max_length, 2)
    whole_at_least("bins", bins, 2)
    whole_at_least("max_rules", max_rules, 1)
    whole_at_least("max_itemsets", max_itemsets, 1)
    if check_share("test_share", test_share) >= 1:
        raise InputError(f"test_share must be below 1, got {test_share!r}.", "pass 0.5 to hold out half of the rows.")
    if min_support is not None:
        check_share("min_support", min_support)
    frame = read_rows(table, 4, PURPOSE)
    found_on, tested_on = split_rows(frame, test_share, random_state)
    start = FIRST_SUPPORT if min_support is None else float(min_support)
    plan = plan_items(found_on, least_rows(start, found_on.height), bins)
    items = plan.encode(found_on)
    counts = items.counts()
    vary = np.flatnonzero((counts > 0) & (counts < items.n_rows))  # an item of every row says nothing
    items = items.take(vary)
    check_columns(items, PURPOSE)
    tree, support = frequent_sets(items, start, min_support is None, longest, max_itemsets)
    antecedents, consequents = candidates(items, tree, min_confidence, min_lift)
    held_out = plan.encode(tested_on).take(vary)
    n_candidates = len(consequents)
    if n_candidates > max_rules:
        leverage = rates(overall_counts(items, antecedents, consequents))[:, 3]
        best = np.sort(np.argsort(-leverage, kind="stable")[:max_rules])
        antecedents, consequents = antecedents[best], consequents[best]
    rules = tested_rules(items, held_out, antecedents, consequents, level)
    return AssociationRules(
        rules=tuple(rules),
        level=float(level),
        min_support=support,
        n_candidates=n_candidates,
        n_rows=frame.height,
        n_test_rows=tested_on.height,
        left_out=items.left_out,
    )


def split_rows(table: ItemTable, test_share: float, random_state: Any) -> tuple[ItemTable, ItemTable]:
    """Split rows at random into those where rules are found, and those where they are tested."""
    n = table.height
    n_test = min(max(round(test_share * n), 1), n - 1)
    order = np.random.default_rng(random_state).permutation(n)
    return table[np.sort(order[n_test:])], table[np.sort(order[:n_test])]


def frequent_sets(
    items: Items, support: float, may_raise: bool, max_length: int, max_itemsets: int
) -> tuple[SetTree, float]:
    """Find the frequent sets, and raise the support until they are few enough."""
    while True:
        min_count = max(least_rows(support, items.n_rows), min(FEWEST_ROWS, items.n_rows // 4) if may_raise else 1)
        tree = find_frequent(items.bits, min_count, max_length, max_itemsets)
        if tree.is_complete:
            return tree, max(support, min_count / items.n_rows) if may_raise else support
        if not may_raise:
            raise InputError(
                f"more than {max_itemsets:,} itemsets occur in at least {support:g} of the rows.",
                "raise min_support or max_itemsets, or lower max_length.",
            )
        if support >= 1:
            raise InputError(f"the table has more than {max_itemsets:,} items.", "pass fewer columns.")
        support = min(1.0, support * STEP)


def candidates(items: Items, tree: SetTree, min_confidence: float, min_lift: float) -> tuple[Ints, Ints]:
    """Make rules of frequent sets: antecedents (n_rules, longest), padded with -1, and consequents."""
    sets = tree.members()
    sets = sets[(sets >= 0).sum(axis=1) >= 2]
    if not len(sets):
        return np.zeros((0, 1), dtype=np.int64), np.zeros(0, dtype=np.int64)
    antecedents, consequents = [], []
    for k in range(sets.shape[1]):
        has = sets[:, k] >= 0
        consequents.append(sets[has, k])
        antecedents.append(np.delete(sets[has], k, axis=1))
    left, right = np.concatenate(antecedents), np.concatenate(consequents)
    figures = rates(overall_counts(items, left, right))
    good = (figures[:, 1] >= min_confidence) & (figures[:, 2] >= min_lift)
    left, right, confidence = left[good], right[good], figures[good, 1]
    n, n_a, n_c, _ = np.moveaxis(context_counts(items, left, right), 2, 0)
    without = np.divide(n_c, n, out=np.zeros(n.shape), where=n > 0)  # confidence without one item of the antecedent
    adds = np.where(n_a >= 0, without < confidence[:, None] * (1 - 1e-12), True).all(axis=1)
    return left[adds], right[adds]


def rates(counts: Ints) -> Floats:
    """Support, confidence, lift and leverage from the numbers (n, n_a, n_c, n_both) of each rule."""
    n, n_a, n_c, n_both = np.maximum(counts, 0).T.astype(np.float64)
    support = ratio(n_both, n)
    confidence = ratio(n_both, n_a)
    lift = ratio(confidence, ratio(n_c, n))
    return np.stack([support, confidence, lift, support - ratio(n_a, n) * ratio(n_c, n)], axis=1)


def ratio(a: Floats, b: Floats) -> Floats:
    """Divide, with 0 where there is nothing to divide by."""
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0)


def tested_rules(
    items: Items, held_out: Items, antecedents: Ints, consequents: Ints, level: float
) -> list[AssociationRule]:
    """Measure rules on held-out rows and test them; confirmed rules come first, then by lift."""
    found = rates(overall_counts(items, antecedents, consequents))
    counts = overall_counts(held_out, antecedents, consequents)
    measured = rates(counts)
    p = fisher_greater(counts)
    contexts = context_counts(held_out, antecedents, consequents)
    for k in range(contexts.shape[1]):
        has = np.flatnonzero(antecedents[:, k] >= 0)
        p[has] = np.maximum(p[has], fisher_greater(contexts[has, k]))
    q = np.asarray(false_discovery_control(p)) if len(p) else p
    order = np.lexsort((-measured[:, 3], -measured[:, 2].round(9), q > level))
    return [
        AssociationRule(
            antecedent=tuple(items.names[i] for i in sorted(antecedents[r].tolist()) if i >= 0),
            consequent=items.names[consequents[r]],
            support=float(counts[r, 3] / held_out.n_rows),
            confidence=float(measured[r, 1]),
            base_rate=float(counts[r, 2] / max(counts[r, 0], 1)),
            lift=float(measured[r, 2]),
            p_value=float(p[r]),
            q_value=float(q[r]),
            found_confidence=float(found[r, 1]),
            found_lift=float(found[r, 2]),
        )
        for r in order.tolist()
    ]
