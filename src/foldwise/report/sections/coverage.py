"""Intervals or sets: what they are, how often they contained the truth, and what is guaranteed."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import NOTHING, number, percent, test_rows_name
from foldwise.report.markup import Html, join
from foldwise.report.sections.elements import Section, bullets, details, figure, paragraph, table

THEOREMS = (
    ("split, used for a guaranteed coverage: some rows are used only for calibration", "1 − α"),
    ("jackknife+: for each row, a model trained without it is kept", "1 − 2α"),
    ("CV+: the model of each fold is kept", "slightly less than 1 − 2α"),
    ("default: the final model is trained on all rows and calibrated by errors of held-out rows", "none"),
)
NOTABLE = 0.01  # share of empty sets that calls for a word
EMPTY_WORDS = "The model is right more often than the coverage asks for. A higher coverage makes empty sets rare."
THEOREM_WORDS = (
    "The requested coverage is 1 − α. All theorems are about the average over new rows (marginal coverage) and assume "
    "that new rows are exchangeable with those of the table, as if all had been drawn at random from the same source."
)


def coverage(facts: ReportFacts) -> Section | None:
    """The section on intervals or sets."""
    found = facts.part("coverage")
    if not found:
        return None
    quantity = found.flag("quantity")
    body: list[Html | None] = [bullets(found.texts("words"))]
    size = "mean width" if quantity else "mean number of classes"
    rows = [measured_row("all rows", found.part("measured"))]
    test = found.part("test")
    if test:
        rows.append(measured_row(test_rows_name(facts.part("headline", "test")), test))
    body.append(table(["measured on", "rows", "coverage", "95% interval", size], rows, left=(0, 3)))
    classes = [measured_row(one.text("class"), one) for one in found.records("by_class")]
    if classes:
        body.append(figure("By true class", table(heads("class", size), classes, left=(0, 3))))
    bins = [
        measured_row(f"{value(one.number('from'), quantity)} to {value(one.number('to'), quantity)}", one)
        for one in found.records("by_bin")
    ]
    if bins:
        name = "predicted value" if quantity else "probability of the most probable class"
        body.append(figure(f"By {name}", table(heads(name, size), bins, left=(0, 3))))
    body.append(paragraph(size_words(found.part("set_sizes")), "note"))
    body.append(
        details(
            "What theorems guarantee",
            paragraph(THEOREM_WORDS),
            table(["method", "guaranteed coverage"], THEOREMS, left=(0, 1)),
        )
    )
    title = f"Prediction {'intervals' if quantity else 'sets'} with {percent(found.number('level'))} coverage"
    return Section("coverage", title, join(body))


def heads(name: str, size: str) -> list[str]:
    return [name, "rows", "coverage", "95% interval", size]


def value(at: float | None, quantity: bool) -> str:
    return number(at) if quantity else percent(at, 1)


def measured_row(name: str, one: ReportFacts) -> list[str]:
    """One line of a table of coverages."""
    low, high = one.number("low"), one.number("high")
    between = NOTHING if low is None or high is None else f"{percent(low, 1)} to {percent(high, 1)}"
    size = one.number("size")
    return [name, number(one.number("n")), percent(one.number("value"), 1), between, number(size, 2)]


def size_words(sizes: ReportFacts) -> str:
    """How large the sets are."""
    empty, one, more = (sizes.number(name) for name in ("empty", "one", "more"))
    if empty is None or one is None or more is None:
        return ""
    words = f"{percent(one)} of the sets contain one class, {percent(more)} several, and {percent(empty)} are empty."
    return f"{words} {EMPTY_WORDS}" if empty >= NOTABLE else words
