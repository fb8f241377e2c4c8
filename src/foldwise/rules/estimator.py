"""`RuleList`: if this then that, else the next; the first rule that fits a row answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import at_least_zero
from foldwise.data.target import encode_target
from foldwise.data.validation import validate_table
from foldwise.data.view import View
from foldwise.errors import InputError
from foldwise.rules.cells import Condition, Scheme, learn_scheme, matches
from foldwise.rules.ripper import Learner, Rule


@dataclass(frozen=True)
class ListedRule:
    """A rule as people read it, with the training rows of each class that came to it."""

    conditions: tuple[Condition, ...]
    counts: tuple[int, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or "otherwise"


class RuleList(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An ordered list of rules learned by RIPPER, the rarest class first, for tables of mixed columns.

    Parameters
    ----------
    optimise : int, default 2
        How often rules are looked at again.
    least : int, default 2
        Rows of its class that a rule must cover.
    laplace : float, default 1.0
        What every class has beforehand in the probabilities of a rule.
    random_state : int
        Deals rows out to growing and pruning.

    Attributes
    ----------
    rules_ : the rules with their conditions and counts; the last fits all rows
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise.rules import RuleList
    >>> X = pl.DataFrame({"outlook": ["sunny", "rainy", "sunny", None] * 5, "humidity": [85.0, 70.0, 90.0, 60.0] * 5})
    >>> print(RuleList().fit(X, ["no", "yes", "no", "yes"] * 5))
    if outlook = sunny: no (10 rows)
    otherwise: yes (10 rows)

    Notes
    -----
    A condition on a missing cell, or on a category that was not learned, fails. Numbers are compared with at most 63
    cut points a column. Missing cells and unknown categories therefore fall through to later rules.
    """

    classes_: NDArray[Any]
    rules_: list[ListedRule]

    def __init__(self, *, optimise: int = 2, least: int = 2, laplace: float = 1.0, random_state: int = 0) -> None:
        self.optimise = optimise
        self.least = least
        self.laplace = laplace
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rules."""
        if self.optimise < 0 or self.least < 1:
            raise InputError(f"optimise must be at least 0 and least at least 1; got {self.optimise}, {self.least}.")
        at_least_zero("laplace", self.laplace)
        table = validate_table(self, X, None).table
        if not isinstance(table, View):
            raise InputError("RuleList takes no sparse matrices.", "pass a frame or an array.")
        target = encode_target(y, table.n_rows)
        self.classes_ = target.classes
        self._scheme = learn_scheme(table)
        codes, rng = self._scheme.codes(table), np.random.default_rng(self.random_state)
        found: list[Rule] = []
        left = np.ones(table.n_rows, dtype=np.bool_)
        sizes = np.bincount(target.codes, minlength=len(self.classes_))
        for c in np.argsort(sizes, kind="stable")[:-1]:
            learner = Learner(
                codes[left], target.codes[left] == c, self._scheme, rng, passes_over=self.optimise, least=self.least
            )
            for rule in learner.learn():
                found.append(rule)
                left &= ~matches(codes, rule)
        self._tests = [*found, ()]
        first = self._first(codes)
        counts = np.zeros((len(self._tests), len(self.classes_)), dtype=np.int64)
        np.add.at(counts, (first, target.codes), 1)
        if not counts[-1].any():
            counts[-1] = sizes  # nobody came so far: what is known of all
        self.rules_ = [
            ListedRule(tuple(self._scheme.condition(*test) for test in without_implied(rule)), tuple(row))
            for rule, row in zip(self._tests, counts.tolist(), strict=True)
        ]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most frequent class of the first rule that fits."""
        labels: NDArray[Any] = self.classes_[self._counts()[self._rows(X)].argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The shares of classes among the training rows of that rule."""
        counts = self._counts() + self.laplace
        shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return shares[self._rows(X)]

    def __str__(self) -> str:
        if not hasattr(self, "rules_"):
            return repr(self)
        lines = []
        for rule in self.rules_:
            start = f"if {rule}" if rule.conditions else str(rule)
            lines.append(f"{start}: {self.classes_[int(np.argmax(rule.counts))]} ({sum(rule.counts):,} rows)")
        return "\n".join(lines)

    def _counts(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.array([rule.counts for rule in self.rules_], dtype=np.float64)

    def _rows(self, X: Any) -> NDArray[np.intp]:
        table = validate_table(self, X, self._scheme.names).table
        assert isinstance(table, View)
        return self._first(self._scheme.codes(table))

    def _first(self, codes: Any) -> NDArray[np.intp]:
        """The place of the first rule that fits each row."""
        first = np.full(len(codes), len(self._tests) - 1, dtype=np.intp)
        for i in reversed(range(len(self._tests) - 1)):
            first[matches(codes, self._tests[i])] = i
        return first

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    _scheme: Scheme
    _tests: list[Rule]


def without_implied(rule: Rule) -> Rule:
    """The tests but those that a stricter one of the same column makes needless: they are read, not computed with."""
    kept = []
    for i, (j, sign, code) in enumerate(rule):
        same = [other for k, (column, its, other) in enumerate(rule) if (column, its) == (j, sign) and k != i]
        strictest = min([code, *same]) if sign == "<=" else max([code, *same])
        if sign == "=" or code == strictest:
            kept.append((j, sign, code))
    return tuple(dict.fromkeys(kept))
