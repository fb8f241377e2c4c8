"""Naive Bayes written out as the textbook has it: loops, dictionaries, no speed. The twin of everything fast.

Rows are dictionaries; a missing cell is None. Weights repeat rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.special import psi

Row = Mapping[str, Any]


class PlainNaiveBayes:
    def __init__(
        self,
        families: Mapping[str, str],
        alpha: float = 1.0,
        var_floor: float = 1e-9,
        ddof: float = 1,
        missing: str = "ignore",
        unseen: str = "ignore",
        levels: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.families = families
        self.alpha, self.var_floor, self.ddof = alpha, var_floor, ddof
        self.missing, self.unseen = missing, unseen
        self.levels = levels or {}

    def fit(self, rows: Sequence[Row], y: Sequence[Any], weights: Sequence[float] | None = None) -> PlainNaiveBayes:
        weights = [1.0] * len(rows) if weights is None else list(weights)
        kept = [(row, label, w) for row, label, w in zip(rows, y, weights, strict=True) if w > 0]
        self.kept = kept
        self.classes = sorted(set(y))
        return self

    def total(self, c: Any) -> float:
        return math.fsum(w for _, label, w in self.kept if label == c)

    def cells(self, name: str, c: Any = None) -> list[tuple[Any, float]]:
        """Present cells of a column with their weights, of one class or of all."""
        return [(r[name], w) for r, label, w in self.kept if r[name] is not None and (c is None or label == c)]

    def absent(self, name: str, c: Any) -> float:
        """The weight of the rows of a class whose cell is missing."""
        return math.fsum(w for r, label, w in self.kept if r[name] is None and label == c)

    def joint(self, row: Row) -> list[float]:
        everything = sum(self.total(c) for c in self.classes)
        scores = []
        for c in self.classes:
            score = log(self.total(c) / everything)
            for name, family in self.families.items():
                score += getattr(self, family)(name, c, row[name])
            scores.append(score)
        return scores

    def log_proba(self, row: Row) -> list[float]:
        joint = self.joint(row)
        top = max(joint)
        if top == -math.inf:
            everything = sum(self.total(c) for c in self.classes)
            return [log(self.total(c) / everything) for c in self.classes]
        z = top + math.log(math.fsum(math.exp(v - top) for v in joint))
        return [v - z for v in joint]

    def categorical(self, name: str, c: Any, value: Any) -> float:
        seen = sorted({v for v, _ in self.cells(name)}, key=repr)
        levels = list(self.levels.get(name, seen))
        levels += [v for v in seen if v not in levels]
        present = math.fsum(w for _, w in self.cells(name, c))
        counts = {v: math.fsum(w for u, w in self.cells(name, c) if u == v) for v in levels}
        slots, denominator = len(levels), present
        has_missing = any(r[name] is None for r, _, _ in self.kept)
        if self.missing == "category" and has_missing:
            slots += 1
            denominator = present + self.absent(name, c)
        if self.unseen == "smooth":
            slots += 1
        if value is None:
            if not (self.missing == "category" and has_missing):
                return 0.0
            count = self.absent(name, c)
        elif value not in counts:
            if self.unseen == "ignore":
                return 0.0
            count = 0.0
        else:
            count = counts[value]
        denominator += self.alpha * slots
        if denominator == 0:
            return log(1 / max(slots, 1))
        return log((count + self.alpha) / denominator)

    def presence(self, name: str, c: Any, value: Any) -> float:
        if self.missing != "category" or not any(r[name] is None for r, _, _ in self.kept):
            return 0.0
        total = self.total(c)
        present = math.fsum(w for _, w in self.cells(name, c))
        count = self.absent(name, c) if value is None else present
        denominator = total + 2 * self.alpha
        return log((count + self.alpha) / denominator) if denominator else log(0.5)

    def gaussian(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        if value is None:
            return there
        column = self.cells(name)
        if not column:
            return there
        mean, m2, n = moments(column)
        overall = m2 / n
        if overall == 0:
            return there
        here = self.cells(name, c)
        variance = overall
        if here:
            mean, m2, n = moments(here)
            variance = m2 / (n - self.ddof) if n > self.ddof else 0.0
            variance = max(variance, self.var_floor * overall)
        variance = max(variance, 1e-300, (2.0**-52 * mean) ** 2)
        return there - 0.5 * math.log(2 * math.pi * variance) - (value - mean) ** 2 / (2 * variance)

    def bernoulli(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        if value is None:
            return there
        here = self.cells(name, c)
        count = math.fsum(w for v, w in here if v == value)
        denominator = math.fsum(w for _, w in here) + 2 * self.alpha
        return there + (log((count + self.alpha) / denominator) if denominator else log(0.5))

    def multinomial(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        if value is None or value == 0:
            return there
        block = [other for other, family in self.families.items() if family == "multinomial"]
        sums = {other: math.fsum(v * w for v, w in self.cells(other, c)) for other in block}
        denominator = math.fsum(sums.values()) + self.alpha * len(block)
        share = (sums[name] + self.alpha) / denominator if denominator else 1 / len(block)
        return there + value * log(share)

    def overall_or_own(self, name: str, c: Any) -> list[tuple[Any, float]]:
        """The cells of a class, or those of the column where the class holds none."""
        return self.cells(name, c) or self.cells(name)

    def poisson(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        if value is None or not any(v for v, _ in self.cells(name)):
            return there
        rate = max(mean_of(self.overall_or_own(name, c)), self.var_floor * mean_of(self.cells(name)))
        return there + (value * log(rate) if value else 0.0) - rate - math.lgamma(value + 1)

    def binomial(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        column = self.cells(name)
        trials = max((v for v, _ in column), default=0)
        if value is None or value > trials or len({v for v, _ in column}) < 2:
            return there
        p, overall = mean_of(self.overall_or_own(name, c)) / trials, mean_of(column) / trials
        hit, miss = max(p, self.var_floor * overall), max(1 - p, self.var_floor * (1 - overall))
        ways = math.log(math.comb(trials, value))
        return (
            there
            + ways
            + (value * log(hit) if value else 0.0)
            + ((trials - value) * log(miss) if value < trials else 0.0)
        )

    def gamma(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        column = self.cells(name)
        if value is None or len({v for v, _ in column}) < 2:
            return there
        here = self.overall_or_own(name, c)
        mean, overall = mean_of(here), mean_of(column)
        k = gamma_shape(here)
        if self.cells(name, c) and self.var_floor:
            k = min(k, mean**2 / (self.var_floor * overall**2 / gamma_shape(column)))
        t = value / mean
        norm = k * math.log(k) - k - math.lgamma(k) if k < 1e3 else 0.5 * math.log(k / (2 * math.pi)) - 1 / (12 * k)
        return there + norm - math.log(value) - k * (t - 1 - math.log(t))

    def binned(self, name: str, c: Any, value: Any) -> float:
        present = [v for v, _ in self.cells(name)]
        low, high = min(present, default=0.0), max(present, default=0.0)
        cuts = sorted({low * (1 - i / 10) + high * (i / 10) for i in range(1, 10)}) if low < high else []
        twin = PlainNaiveBayes({}, self.alpha, missing=self.missing, levels={name: range(len(cuts) + 1)})
        place = lambda v: None if v is None else sum(cut < v for cut in cuts)  # noqa: E731
        twin.kept = [({name: place(row[name])}, label, w) for row, label, w in self.kept]
        return twin.categorical(name, c, place(value))

    def kde(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        column = self.cells(name)
        if value is None or len({v for v, _ in column}) < 2:
            return there
        here = self.overall_or_own(name, c)
        width = plain_bandwidth(here, self.ddof) or plain_bandwidth(column, self.ddof)
        _, m2, n = moments(column)
        width = max(width, math.sqrt(self.var_floor * m2 / n))
        logs = [math.log(w) - ((value - v) / width) ** 2 / 2 for v, w in here]
        top = max(logs)
        total = top + math.log(math.fsum(math.exp(v - top) for v in logs))
        return there + total - math.log(math.fsum(w for _, w in here) * width * math.sqrt(2 * math.pi))

    def text(self, name: str, c: Any, value: Any) -> float:
        there = self.presence(name, c, value)
        if value is None:
            return there
        words = [(word, w, label) for r, label, w in self.kept if r[name] is not None for word in r[name].split()]
        known = {word for word, _, _ in words}
        slots = len(known) + (self.unseen == "smooth")
        total = math.fsum(w for _, w, label in words if label == c) + self.alpha * slots
        for word in value.split():
            if word in known or self.unseen == "smooth":
                count = math.fsum(w for other, w, label in words if label == c and other == word)
                there += log((count + self.alpha) / total) if total else log(1 / slots)
        return there


def mean_of(cells: Sequence[tuple[float, float]]) -> float:
    return math.fsum(v * w for v, w in cells) / math.fsum(w for _, w in cells)


def gamma_shape(cells: Sequence[tuple[float, float]]) -> float:
    """The k with log k - ψ(k) = log mean - mean log, by halving."""
    if len({v for v, _ in cells}) == 1:
        return 2.0**104
    gap = math.log(mean_of(cells)) - mean_of([(math.log(v), w) for v, w in cells])
    low, high = math.log(1e-6), math.log(1e6)
    for _ in range(200):
        middle = (low + high) / 2
        if middle - float(psi(math.exp(middle))) > gap:
            low = middle
        else:
            high = middle
    return math.exp(low)


def plain_bandwidth(cells: Sequence[tuple[float, float]], ddof: float) -> float:
    """Silverman's rule; rows are repeated as often as their weights say."""
    cells = sorted(cells)
    _, m2, n = moments(cells)
    spread = math.sqrt(m2 / (n - ddof)) if n - ddof > 1e-9 * n else 0.0

    def row(k: float) -> float:
        for i, (v, _) in enumerate(cells):
            if math.fsum(w for _, w in cells[: i + 1]) > k + 1e-9:
                return v
        return cells[-1][0]

    def quantile(share: float) -> float:
        at = max(n - 1, 0.0) * share
        k = math.floor(at + 1e-9)
        return row(k) + (row(k + 1) - row(k)) * max(at - k, 0.0)

    between = (quantile(0.75) - quantile(0.25)) / 1.34
    if between > 0:
        spread = min(spread, between) if spread else between
    return 0.9 * spread * n**-0.2


def moments(cells: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    n = math.fsum(w for _, w in cells)
    first = cells[0][0]  # deviations from a value of the column: exact for a constant one
    mean = first + math.fsum((v - first) * w for v, w in cells) / n
    return mean, math.fsum(w * (v - mean) ** 2 for v, w in cells), n


def log(p: float) -> float:
    return -math.inf if p == 0 else math.log(p)
