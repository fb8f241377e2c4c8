"""The calculation of a prediction, step by step: prior, factor of each column, product, normalization."""

from __future__ import annotations

import math
from collections import UserList
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.protocol import Factor
from foldwise.bayes.probability_table import RULE, html_rows, number_text, share_text, shorten, text_of
from foldwise.data.html import html_table
from foldwise.data.levels import plain

CLASSES_SHOWN = 3  # in text; HTML shows all
LINES_SHOWN = 40  # columns in text and in HTML


@dataclass(frozen=True, repr=False)
class Explanation:
    """The calculation of one prediction. Prints as text and as HTML.

    Attributes
    ----------
    classes : tuple
        The class labels.
    prior : Factor
        The prior probabilities.
    factors : tuple of Factor
        The factor of each column. The logarithms of the prior and the factors sum to `joint`.
    temperature : float
        `joint` is divided by it before it is normalized.
    calibrated : tuple of float or None
        The probabilities of a model that calibrates those of naive Bayes. They are then the probabilities of this
        prediction. None means that naive Bayes itself predicts.
    """

    classes: tuple[Any, ...]
    prior: Factor
    factors: tuple[Factor, ...]
    temperature: float = 1.0
    calibrated: tuple[float, ...] | None = None

    @property
    def joint(self) -> tuple[float, ...]:
        """log P(class, row), the sum of all terms, per class."""
        terms = (self.prior, *self.factors)
        return tuple(exact_sum([term.log[c] for term in terms]) for c in range(len(self.classes)))

    @property
    def tempered(self) -> tuple[float, ...]:
        """`joint` divided by the temperature; the prior instead if every class is impossible."""
        terms = self.prior.log if self.contradictory else self.joint
        return tuple(term / self.temperature for term in terms)

    @property
    def contradictory(self) -> bool:
        """Whether every class is impossible, so that the prior is predicted."""
        return max(self.joint) == -math.inf

    @property
    def log_normalizer(self) -> float:
        """log P(row), by which the joint probability is divided; with a temperature, the sum of the powers instead."""
        if self.contradictory:
            return -math.inf
        top = max(self.tempered)
        return top + math.log(sum(math.exp(v - top) for v in self.tempered))

    @property
    def uncalibrated(self) -> tuple[float, ...]:
        """P(class | row) of naive Bayes, before a wrapper calibrates it, per class."""
        return tuple(math.exp(v) for v in self._log_uncalibrated)

    @property
    def log_proba(self) -> tuple[float, ...]:
        """log P(class | row), per class."""
        if self.calibrated is not None:
            return tuple(math.log(p) if p > 0 else -math.inf for p in self.calibrated)
        return self._log_uncalibrated

    @property
    def proba(self) -> tuple[float, ...]:
        """P(class | row), per class."""
        return self.uncalibrated if self.calibrated is None else self.calibrated

    @property
    def _log_uncalibrated(self) -> tuple[float, ...]:
        if self.contradictory and self.temperature == 1:
            return self.prior.log
        top = max(self.tempered)
        total = top + math.log(sum(math.exp(v - top) for v in self.tempered))
        return tuple(v - total for v in self.tempered)

    @property
    def predicted(self) -> Any:
        """The most probable class."""
        return self.classes[int(np.argmax(self.log_proba))]

    def to_dict(self) -> dict[str, Any]:
        """Convert the calculation to plain values.

        Returns
        -------
        dict
            Ready for JSON, except that impossible terms are -inf.
        """
        labels = [plain(label) for label in self.classes]
        return {
            "classes": labels,
            "predicted": plain(self.predicted),
            "proba": list(self.proba),
            "uncalibrated_proba": list(self.uncalibrated),
            "log_proba": list(self.log_proba),
            "joint_log_proba": list(self.joint),
            "temperature": self.temperature,
            "log_normalizer": self.log_normalizer,
            "contradictory": self.contradictory,
            "prior": factor_to_dict(self.prior),
            "factors": [factor_to_dict(factor) for factor in self.factors],
        }

    def _order(self, most: int) -> list[int]:
        """Choose the classes to show: all in order, or the most probable ones."""
        if len(self.classes) <= most:
            return list(range(len(self.classes)))
        return sorted(range(len(self.classes)), key=lambda c: -self.log_proba[c])[:most]

    def _lines(self, shown: Sequence[int]) -> tuple[list[str], list[list[str]]]:
        versus = self._versus()
        header = ["", *(shorten(str(self.classes[c]), 12) for c in shown), "log-odds"]
        lines = [factor_line("prior", self.prior, shown, versus)]
        telling = self._telling(versus)
        lines += [factor_line(factor_name(factor), factor, shown, versus) for factor in telling]
        if len(telling) < len(self.factors):
            lines.append(["…", f"{len(self.factors) - len(telling):,} less informative columns are not shown"])
        lines.append([RULE])
        joint = self.joint
        lines.append(["product", *(product_text(joint[c]) for c in shown), odds_text(joint, versus)])
        if self.contradictory:
            lines.append(["", "every class is impossible, so the prior is predicted"])
        if self.temperature != 1:
            powers = self.tempered
            name = f"^(1/{self.temperature:.4g})"
            lines.append([name, *(product_text(powers[c]) for c in shown), odds_text(powers, versus)])
        name = "prior" if self.contradictory else f"÷ sum {product_text(self.log_normalizer)}"
        lines.append([name, *(number_text(self.uncalibrated[c]) for c in shown), ""])
        if self.calibrated is not None:
            lines.append(["calibrated", *(number_text(self.calibrated[c]) for c in shown), ""])
        return header, lines

    def _telling(self, versus: Sequence[int]) -> list[Factor]:
        """Choose the factors to show: of many, those that distinguish the two classes most."""
        factors = [f for f in self.factors if f.note or any(f.log)] if len(self.factors) > LINES_SHOWN else self.factors
        if len(factors) <= LINES_SHOWN:
            return list(factors)
        with np.errstate(invalid="ignore"):
            odds = [abs(np.nan_to_num(f.log[versus[0]] - f.log[versus[1]])) for f in factors]
        kept = sorted(np.argsort(odds)[::-1][:LINES_SHOWN].tolist())
        return [factors[i] for i in kept]

    def _notes(self) -> list[str]:
        """Explain numbers that are not simply a share or a density."""
        notes = dict.fromkeys(f.note for f in self._telling(self._versus()) if marked(f))
        before = ["Log-odds are those of naive Bayes before calibration."]
        return [f"* {note}" for note in notes] + before * (self.calibrated is not None)

    def __str__(self) -> str:
        header, lines = self._lines(self._order(CLASSES_SHOWN))
        hidden = len(self.classes) - len(header) + 2
        notes = self._notes()
        if hidden:
            notes.append(f"({hidden} less probable classes are not shown)")
        return "\n".join([self._title(), text_of(header, lines, left=1), *notes])

    __repr__ = __str__

    def to_html(self) -> str:
        """Convert the calculation to HTML, with all classes.

        Returns
        -------
        str
            HTML text, which notebooks show.
        """
        header, lines = self._lines(range(len(self.classes)))
        return html_table(self._title(), header, html_rows(header, lines), self._notes())

    _repr_html_ = to_html

    def _versus(self) -> list[int]:
        """Find the two classes whose odds are shown: the two most probable ones."""
        ranked = sorted(range(len(self.classes)), key=lambda c: (-self.log_proba[c], c))
        return ranked[:2] if len(ranked) > 1 else ranked * 2

    def _title(self) -> str:
        first, second = (shorten(str(self.classes[c])) for c in self._versus())
        share = number_text(max(self.proba))
        return f"Predicted: {first!r} (probability {share}). Log-odds compare {first!r} with {second!r}."


class Explanations(UserList[Explanation]):
    """A list of explanations, one per row. Prints as text and as HTML."""

    def to_dict(self) -> list[dict[str, Any]]:
        """Convert the calculations to plain values.

        Returns
        -------
        list of dict
            One dict per row.
        """
        return [row.to_dict() for row in self.data]

    def __str__(self) -> str:
        if len(self.data) == 1:
            return str(self.data[0])
        return "\n\n".join(f"Row {i}. {row}" for i, row in enumerate(self.data))

    __repr__ = __str__

    def to_html(self) -> str:
        """Convert the calculations to HTML.

        Returns
        -------
        str
            HTML text, which notebooks show.
        """
        return "".join(row.to_html() for row in self.data)

    _repr_html_ = to_html


def exact_sum(terms: Sequence[float]) -> float:
    """Sum with a single rounding; -inf if any term is."""
    return -math.inf if -math.inf in terms else math.fsum(terms)


def marked(factor: Factor) -> bool:
    """Check whether the note is printed below the table; ignored values and powers have theirs in the line."""
    return bool(factor.note) and not factor.is_ignored and not factor.note.startswith("to the power")


def factor_name(factor: Factor) -> str:
    value, mark = "?" if factor.value is None else value_text(factor.value), "*" * marked(factor)
    room = 21 - len(mark)
    if len(factor.column) + len(value) <= room:
        return f"{factor.column} = {value}{mark}"
    column = shorten(factor.column, max(10, room - len(value)))  # both stay readable, whichever is long
    return f"{column} = {shorten(value, room - len(column))}{mark}"


def value_text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def factor_line(name: str, factor: Factor, shown: Sequence[int], versus: Sequence[int]) -> list[str]:
    """Make one line of the calculation; for an ignored value, the reason."""
    if factor.is_ignored:
        return [name, factor.note]
    power = factor.note.removeprefix("to the power ") if factor.note.startswith("to the power") else ""
    cells = []
    for c in shown:
        text = share_text(math.exp(factor.log[c]), factor.fractions[c] if factor.fractions else None)
        cells.append(f"({text})^{power}" if power and "/" in text else text)
    return [name, *cells, odds_text(factor.log, versus)]


def odds_text(log: Sequence[float], versus: Sequence[int]) -> str:
    a, b = log[versus[0]], log[versus[1]]
    if a == b:
        return "0"
    return f"{a - b:+.4f}" if math.isfinite(a - b) else ("+inf" if a > b else "-inf")


def product_text(log: float) -> str:
    """Format a product that may underflow."""
    if log == -math.inf:
        return "0"
    if abs(log) < 690:
        return number_text(math.exp(log))
    power = math.floor(log / math.log(10))
    return f"{math.exp(log - power * math.log(10)):.5g}e{power:+d}"


def factor_to_dict(factor: Factor) -> dict[str, Any]:
    return {
        "column": factor.column,
        "value": plain(factor.value),
        "log": list(factor.log),
        "fractions": None if factor.fractions is None else [str(fraction) for fraction in factor.fractions],
        "note": factor.note,
    }
