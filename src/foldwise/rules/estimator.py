"""`RuleList`: an ordered list of if-then rules. The first rule that matches a row makes the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import at_least_zero, whole_at_least
from foldwise.data.notes import counted
from foldwise.data.target import encode_target
from foldwise.data.validation import validate_table
from foldwise.data.view import View
from foldwise.rules.conditions import CodingScheme, Condition, fit_scheme, matches
from foldwise.rules.ripper import RipperLearner, Rule


@dataclass(frozen=True)
class ListedRule:
    """One rule with the number of training rows of each class that it decided.

    Attributes
    ----------
    conditions : tuple of Condition
        All of them must hold. Empty for the last rule, which matches every row.
    counts : tuple of int
        Training rows per class, in the order of `classes_`.
    """

    conditions: tuple[Condition, ...]
    counts: tuple[int, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or "otherwise"


class RuleList(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by an ordered list of if-then rules, learned by RIPPER.

    Columns may be numeric or categorical, with missing values. Rules for the rarest class come first.

    Parameters
    ----------
    n_optimizations : int, default 2
        Number of optimization passes after the rules are built.
    min_rows : int, default 2
        Minimum number of training rows of its own class that a rule must cover.
    laplace : float, default 1.0
        Pseudo-count added to each class when the probabilities of a rule are computed.
    random_state : int, default 0
        Seed of the random split of training rows into rows for growing and rows for pruning.

    Attributes
    ----------
    rules_ : list of ListedRule
        The rules in order, with their conditions and counts. The last rule matches every row.
    classes_ : ndarray
        The class labels, sorted.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray
        Names of the columns seen during `fit`. Defined only if X has column names that are all strings.

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
    A condition is false for a missing value and for a category that did not occur in training. Such rows fall through
    to later rules. Numeric columns have at most 63 cut points.

    References
    ----------
    Cohen (1995), Fast effective rule induction, ICML.
    """

    classes_: NDArray[Any]
    rules_: list[ListedRule]

    def __init__(
        self, *, n_optimizations: int = 2, min_rows: int = 2, laplace: float = 1.0, random_state: int = 0
    ) -> None:
        self.n_optimizations = n_optimizations
        self.min_rows = min_rows
        self.laplace = laplace
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rules from training rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Training rows.
        y : array-like of shape (n_rows,)
            Class labels.

        Returns
        -------
        RuleList
            The fitted estimator itself.
        """
        whole_at_least("n_optimizations", self.n_optimizations, 0)
        whole_at_least("min_rows", self.min_rows, 1)
        at_least_zero("laplace", self.laplace)
        table = validate_table(self, X, None).table
        assert isinstance(table, View)
        target = encode_target(y, table.n_rows)
        self.classes_ = target.classes
        self._scheme = fit_scheme(table)
        codes, rng = self._scheme.codes(table), np.random.default_rng(self.random_state)
        found: list[Rule] = []
        left = np.ones(table.n_rows, dtype=np.bool_)
        sizes = np.bincount(target.codes, minlength=len(self.classes_))
        for c in np.argsort(sizes, kind="stable")[:-1]:
            is_class = target.codes[left] == c
            learner = RipperLearner(codes[left], is_class, self._scheme, rng, self.n_optimizations, self.min_rows)
            for rule in learner.learn():
                found.append(rule)
                left &= ~matches(codes, rule)
        self._tests = [*found, ()]
        first = self._first(codes)
        counts = np.zeros((len(self._tests), len(self.classes_)), dtype=np.int64)
        np.add.at(counts, (first, target.codes), 1)
        if not counts[-1].any():
            counts[-1] = sizes  # no training row reaches the last rule: use the class frequencies of all rows
        self.rules_ = [
            ListedRule(tuple(self._scheme.condition(*test) for test in without_implied(rule)), tuple(row))
            for rule, row in zip(self._tests, counts.tolist(), strict=True)
        ]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most frequent class of the first rule that matches each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted labels.
        """
        labels: NDArray[Any] = self.classes_[self._counts()[self._rows(X)].argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the class frequencies among the training rows of the first rule that matches each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, with one column per class in the order of `classes_`.
        """
        counts = self._counts() + self.laplace
        shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return shares[self._rows(X)]

    def __str__(self) -> str:
        if not hasattr(self, "rules_"):
            return repr(self)
        lines = []
        for rule in self.rules_:
            start = f"if {rule}" if rule.conditions else str(rule)
            lines.append(
                f"{start}: {self.classes_[int(np.argmax(rule.counts))]} ({counted(int(sum(rule.counts)), 'row')})"
            )
        return "\n".join(lines)

    def _counts(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.array([rule.counts for rule in self.rules_], dtype=np.float64)

    def _rows(self, X: Any) -> NDArray[np.intp]:
        table = validate_table(self, X, self._scheme.names).table
        assert isinstance(table, View)
        return self._first(self._scheme.codes(table))

    def _first(self, codes: Any) -> NDArray[np.intp]:
        """Find the index of the first rule that matches each row."""
        first = np.full(len(codes), len(self._tests) - 1, dtype=np.intp)
        for i in reversed(range(len(self._tests) - 1)):
            first[matches(codes, self._tests[i])] = i
        return first

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    _scheme: CodingScheme
    _tests: list[Rule]


def without_implied(rule: Rule) -> Rule:
    """Drop tests that a stricter test of the same column implies, to make the rule shorter to read."""
    kept = []
    for i, (j, sign, code) in enumerate(rule):
        same = [other for k, (column, its, other) in enumerate(rule) if (column, its) == (j, sign) and k != i]
        strictest = min([code, *same]) if sign == "<=" else max([code, *same])
        if sign == "=" or code == strictest:
            kept.append((j, sign, code))
    return tuple(dict.fromkeys(kept))
