"""RIPPER: learns rules for one class against all others, and selects them by description length.

A rule is grown on two thirds of the rows by FOIL's information gain. It is then pruned from its end on the other third
by the value (p + 1)/(p + n + 2), as in Weka. (Cohen's (p - n)/(p + n) rates one correct row as high as a hundred.)
Rules are added until the description is 64 bits longer than the shortest so far. Then each rule is kept, replaced or
extended, whichever makes the description of the whole list shortest. Finally, rules that lengthen the description are
dropped.

Reference: Cohen (1995), Fast effective rule induction, ICML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Bools
from foldwise.rules.conditions import CodingScheme, ConditionCodes, matches, passes

Test = tuple[int, str, int]  # column, sign, code
Rule = tuple[Test, ...]
SLACK = 64.0  # bits by which the description may exceed the shortest one so far


@dataclass
class RipperLearner:
    """Learns rules that separate the rows marked `positive` from the other rows."""

    codes: ConditionCodes
    positive: Bools
    scheme: CodingScheme
    rng: np.random.Generator
    n_optimizations: int = 2
    min_rows: int = 2  # positive rows that a rule must cover
    n_tests: float = field(init=False)

    def __post_init__(self) -> None:
        columns = range(len(self.scheme.names))
        kinds = [1 if self.scheme.levels[j] is not None else 2 for j in columns]
        tests = [kind * max(self.scheme.n_codes(j) - (kind == 2), 0) for j, kind in zip(columns, kinds, strict=True)]
        self.n_tests = float(max(sum(tests), 1))

    def learn(self) -> list[Rule]:
        """Learn the rules, in order."""
        rules = self.add([], np.zeros(len(self.codes), dtype=np.bool_))
        for _ in range(self.n_optimizations):
            rules = self.optimize(rules)
            rules = self.add(rules, self.covered(rules))
        return self.without_redundant(rules)

    def add(self, rules: list[Rule], covered: Bools) -> list[Rule]:
        """Add rules for positive rows that are not covered yet, until the description gets too long."""
        rules, covered = list(rules), covered.copy()
        shortest = self.length(rules)
        while (self.positive & ~covered).any():
            grow, prune = self.split(~covered)
            rule = self.pruned(self.grown((), grow), prune)
            hit = matches(self.codes, rule) & ~covered
            right = int((hit & self.positive).sum())
            if not rule or right < min(self.min_rows, int((self.positive & ~covered).sum())):
                break
            held = prune & matches(self.codes, rule)
            if held.any() and (held & self.positive).sum() * 2 < held.sum():
                break  # wrong on more than half of the pruning rows it covers
            rules.append(rule)
            length = self.length(rules)
            if length > shortest + SLACK:
                rules.pop()
                break
            shortest, covered = min(shortest, length), covered | hit
        return rules

    def optimize(self, rules: list[Rule]) -> list[Rule]:
        """Keep, replace or extend each rule in turn, whichever makes the description shortest."""
        rules = list(rules)
        for i, rule in enumerate(rules):
            others = self.covered(rules[:i] + rules[i + 1 :])
            left = ~others
            if not (left & self.positive).any():
                continue
            grow, prune = self.split(left)
            fresh = self.pruned(self.grown((), grow), prune)
            revised = self.pruned(self.grown(rule, grow & matches(self.codes, rule)), prune)
            choices = [choice for choice in (rule, fresh, revised) if choice]
            lengths = [self.length([*rules[:i], choice, *rules[i + 1 :]]) for choice in choices]
            rules[i] = choices[int(np.argmin(lengths))]
        return rules

    def without_redundant(self, rules: list[Rule]) -> list[Rule]:
        """Drop rules that lengthen the description, starting with the last one."""
        rules = list(rules)
        for i in reversed(range(len(rules))):
            shorter = rules[:i] + rules[i + 1 :]
            if self.length(shorter) < self.length(rules):
                rules = shorter
        return rules

    def split(self, rows: Bools) -> tuple[Bools, Bools]:
        """Split rows at random into two thirds for growing and one third for pruning, stratified by class."""
        prune = np.zeros(len(rows), dtype=np.bool_)
        for part in (rows & self.positive, rows & ~self.positive):
            indices = self.rng.permutation(np.flatnonzero(part))
            prune[indices[: len(indices) // 3]] = True
        return rows & ~prune, prune

    def grown(self, start: Rule, rows: Bools) -> Rule:
        """Extend a rule by the test with the greatest gain, until it covers only positive rows or no test gains."""
        rule = start
        codes, positive = self.codes[rows], self.positive[rows]
        while not positive.all() and positive.any():
            test = self.best_test(codes, positive)
            if test is None:
                break
            rule = (*rule, test)
            kept = passes(codes, test)
            codes, positive = codes[kept], positive[kept]
        return rule

    def best_test(self, codes: ConditionCodes, positive: Bools) -> Test | None:
        """Find the test with the greatest gain p·(log p/(p+n) - log P/(P+N)); None if no test gains."""
        total, right = len(codes), int(positive.sum())
        before = np.log2(right / total)
        best, found = 1e-9, None
        for j in range(codes.shape[1]):
            n_codes = self.scheme.n_codes(j)
            column = codes[:, j]
            present = column >= 0
            every = np.bincount(column[present], minlength=n_codes).astype(np.float64)
            good = np.bincount(column[present & positive], minlength=n_codes).astype(np.float64)
            signs = ("=",) if self.scheme.levels[j] is not None else ("<=", ">")
            for sign in signs:
                p, all_rows = counts(sign, good), counts(sign, every)
                gain = np.where(p > 0, p * (np.log2(np.maximum(p, 1e-300) / np.maximum(all_rows, 1)) - before), -1.0)
                gain[all_rows == total] = -1.0  # all rows pass this test
                if gain.size and gain.max() > best:
                    best, found = float(gain.max()), (j, sign, int(gain.argmax()))
        return found

    def pruned(self, rule: Rule, rows: Bools) -> Rule:
        """Cut off the last tests of a rule where that raises its value on the pruning rows."""
        codes, positive = self.codes[rows], self.positive[rows]
        if not len(codes):
            return rule
        values = []
        passed = np.ones(len(codes), dtype=np.bool_)
        for test in rule:
            passed &= passes(codes, test)
            p, n = int((passed & positive).sum()), int((passed & ~positive).sum())
            values.append((p + 1) / (p + n + 2))
        return rule[: int(np.argmax(values)) + 1] if values else rule

    def covered(self, rules: list[Rule]) -> Bools:
        """Mark the rows that any rule covers."""
        found = np.zeros(len(self.codes), dtype=np.bool_)
        for rule in rules:
            found |= matches(self.codes, rule)
        return found

    def length(self, rules: list[Rule]) -> float:
        """Compute the description length in bits of the rules (halved for redundancy) and of their errors."""
        hit = self.covered(rules)
        wrong, missed = int((hit & ~self.positive).sum()), int((~hit & self.positive).sum())
        theory = 0.5 * sum(len(rule) * (np.log2(self.n_tests) + 1.0) for rule in rules)
        return float(theory + subset_bits(int(hit.sum()), wrong) + subset_bits(int((~hit).sum()), missed))


def counts(sign: str, of_code: NDArray[Any]) -> NDArray[Any]:
    """Count the rows that pass the test on each code: equal to it, up to it, or above it."""
    if sign == "=":
        return of_code
    up_to = np.cumsum(of_code)[:-1]
    return up_to if sign == "<=" else of_code.sum() - up_to


def subset_bits(total: int, chosen: int) -> float:
    """Compute the bits needed to encode which `chosen` of `total` rows are selected."""
    if total == 0:
        return 0.0
    share = chosen / total
    entropy = 0.0 if share in (0.0, 1.0) else -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    return float(np.log2(total + 1) + total * entropy)
