"""Intervals and bars on one scale, one strip each; coordinates are percentages of the width."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import short
from foldwise.report.markup import Html, el
from foldwise.report.pictures.canvas import hint, strip
from foldwise.report.pictures.scales import Scale

MIDDLE = 11


def across(x: float) -> str:
    return f"{x:.2f}%"


def upright(x: str, class_: str, height: int = 22) -> Html:
    return el("line", x1=x, x2=x, y1=0, y2=height, class_=class_)


def span(scale: Scale, low: float | None, high: float | None, words: str, class_: str) -> Html | None:
    """A line from one end of an interval to the other."""
    if low is None or high is None:
        return None
    ends = {"x1": across(scale(low)), "x2": across(scale(high))}
    return el("line", hint(words), y1=MIDDLE, y2=MIDDLE, class_=class_, **ends)


def interval(
    scale: Scale,
    estimate: ReportFacts,
    class_: str,
    words: str,
    folds: Sequence[float] = (),
    reference: float | None = None,
) -> Html:
    """An estimate in its interval, scores of folds as faint dots, and a line at a reference value."""
    value = estimate.number("value")
    dots = [el("circle", cx=across(scale(x)), cy=MIDDLE, r=2.5, class_="fold") for x in folds if scale.holds(x)]
    dot = None
    if value is not None:
        dot = el("circle", hint(words), cx=across(scale(value)), cy=MIDDLE, r=5, class_=f"dot {class_}")
    return strip(
        None if reference is None else upright(across(scale(reference)), "reference"),
        *dots,
        span(scale, estimate.number("low"), estimate.number("high"), words, f"span {class_}"),
        dot,
    )


def point(scale: Scale, value: float, words: str) -> Html:
    """A hollow mark: an uncorrected score."""
    return strip(el("circle", hint(words), cx=across(scale(value)), cy=MIDDLE, r=4.5, class_="hollow"))


def axis(scale: Scale) -> Html:
    """The scale below the strips."""
    marks = []
    for tick in scale.ticks():
        x = across(scale(tick))
        marks += [upright(x, "axis", 4), el("text", short(tick), x=x, y=16, class_="tick middle")]
    return strip(el("line", x1="0", x2="100%", y1=0.5, y2=0.5, class_="axis"), *marks, height=20, class_="strip scale")


def ends_of(
    estimates: Sequence[ReportFacts],
    more: Sequence[float] = (),
    names: Sequence[str] = ("value", "low", "high", "search_score"),
) -> list[float]:
    """All values that a common scale must hold."""
    found = (estimate.number(name) for estimate in estimates for name in names)
    return [*(float(value) for value in found if value is not None), *more]


def bar(scale: Scale, value: float, low: float | None, high: float | None, words: str, class_: str = "bar") -> Html:
    """A bar from 0 with its interval."""
    zero = scale(0.0)
    left, right = sorted((zero, scale(value)))
    width = across(right - left)
    return strip(
        upright(across(zero), "reference"),
        el("rect", hint(words), x=across(left), width=width, y=6, height=10, rx=1.5, class_=class_),
        span(scale, low, high, words, "whisker"),
    )


def shares_bar(parts: Sequence[tuple[str, float]]) -> Html:
    """Parts of a whole beside each other, each with the words that the pointer shows."""
    total = sum(value for _, value in parts) or 1.0
    marks, left = [], 0.0
    for i, (words, value) in enumerate(parts):
        width = 100 * value / total
        box = {"x": across(left), "width": across(width), "y": 2, "height": 14}
        marks.append(el("rect", hint(words), class_=f"part f{i % 6}", **box))
        left += width
    return strip(*marks, height=18)
