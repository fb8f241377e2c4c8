"""Intervals on one scale: an estimate beside others, a leaderboard, an importance. One strip a line."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.canvas import hint, strip
from foldwise.report.pictures.scales import Scale
from foldwise.report.reading import Facts, defined, number, numbers, short

MIDDLE = 11


def across(place: float) -> str:
    return f"{place:.2f}%"


def interval(
    scale: Scale, estimate: Facts, class_: str, words: str, folds: Sequence[float] = (), beside: float | None = None
) -> Html:
    """A value in its interval, its folds as faint dots behind it, and a line where something else lies."""
    value, low, high = (estimate.get(name) for name in ("value", "low", "high"))
    marks: list[Html] = []
    if defined(beside):
        place = across(scale(beside))
        marks.append(el("line", x1=place, x2=place, y1=0, y2=22, class_="reference"))
    marks += [
        el("circle", cx=across(scale(fold)), cy=MIDDLE, r=2.5, class_="fold") for fold in folds if scale.holds(fold)
    ]
    if defined(low) and defined(high):
        ends = {"x1": across(scale(low)), "x2": across(scale(high))}
        marks.append(el("line", hint(words), y1=MIDDLE, y2=MIDDLE, class_=f"span {class_}", **ends))
    if defined(value):
        marks.append(el("circle", hint(words), cx=across(scale(value)), cy=MIDDLE, r=5, class_=f"dot {class_}"))
    return strip(*marks)


def point(scale: Scale, value: float, words: str) -> Html:
    """A hollow mark: a figure that is not to be believed."""
    return strip(el("circle", hint(words), cx=across(scale(value)), cy=MIDDLE, r=4.5, class_="hollow"))


def axis(scale: Scale, ticks: int = 5) -> Html:
    """The scale below the strips."""
    marks = []
    for tick in scale.ticks(ticks):
        place = across(scale(tick))
        marks.append(el("line", x1=place, x2=place, y1=0, y2=4, class_="axis"))
        marks.append(el("text", short(tick), x=place, y=16, class_="tick middle"))
    return strip(el("line", x1="0", x2="100%", y1=0.5, y2=0.5, class_="axis"), *marks, height=20, class_="strip scale")


def ends_of(estimates: Sequence[Facts], more: Sequence[float] = ()) -> list[float]:
    """All that a common scale must hold."""
    found = [e[name] for e in estimates for name in ("value", "low", "high", "naive") if defined(e.get(name))]
    return [*map(float, found), *more]


def bar(scale: Scale, value: float, low: float | None, high: float | None, words: str, class_: str = "bar") -> Html:
    """A bar from 0 with its interval."""
    zero, place = scale(0.0), scale(value)
    left, right = sorted((zero, place))
    marks: list[Html | None] = [
        el("line", x1=across(zero), x2=across(zero), y1=0, y2=22, class_="reference"),
        el("rect", hint(words), x=across(left), width=across(right - left), y=6, height=10, rx=1.5, class_=class_),
    ]
    if defined(low) and defined(high):
        ends = {"x1": across(scale(low)), "x2": across(scale(high))}
        marks.append(el("line", hint(words), y1=MIDDLE, y2=MIDDLE, class_="whisker", **ends))
    return strip(*marks)


def shares_bar(parts: Sequence[tuple[str, float]], words: str = "{name}: {value}") -> Html:
    """Parts of a whole beside each other."""
    total = sum(value for _, value in parts) or 1.0
    marks, at = [], 0.0
    for i, (name, value) in enumerate(parts):
        width = 100 * value / total
        told = hint(words.format(name=name, value=number(value)))
        marks.append(el("rect", told, x=across(at), width=across(width), y=2, height=14, class_=f"part f{i % 6}"))
        at += width
    return strip(join(marks), height=18)


def folds_of(entry: Facts) -> list[float]:
    return numbers(entry, "folds")
