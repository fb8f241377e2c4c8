"""What every picture is drawn on: an accessible SVG, and a plot with two axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from foldwise.report.formatting import short
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.scales import Scale

WIDTH, HEIGHT = 330, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 42


def svg(title: str, about: str, *children: str) -> Html:
    """A picture that keeps its shape and says what it shows."""
    box = f"0 0 {WIDTH} {HEIGHT}"
    return el("svg", el("title", title), el("desc", about), *children, viewBox=box, role="img", class_="plot")


def strip(*children: str | None, height: int = 22, class_: str = "strip") -> Html:
    """A picture as wide as the page allows, with coordinates in percent; the text beside it describes it."""
    return el("svg", *children, height=height, width="100%", class_=class_, aria_hidden="true")


def hint(words: str) -> Html:
    """What the pointer shows."""
    return el("title", words)


def share_bar(share: float, words: str, class_: str = "bar") -> Html:
    """A bar whose length is a share of the width."""
    width = f"{100 * share:.2f}%"
    return strip(el("rect", hint(words), x=0, width=width, y=6, height=10, rx=1.5, class_=class_))


@dataclass(frozen=True)
class Plot:
    """A frame with an x and a y axis."""

    x: Scale
    y: Scale

    @classmethod
    def over(cls, x: Scale, y: Scale) -> Plot:
        """The same scales, laid over the frame."""
        return cls(replace(x, start=LEFT, end=WIDTH - RIGHT), replace(y, start=HEIGHT - BOTTOM, end=TOP))

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.x(x), self.y(y)

    def line(self, xs: Sequence[float], ys: Sequence[float], words: str, class_: str) -> Html:
        """A curve with a wide invisible copy, so that the pointer finds it."""
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))
        drawn = el("polyline", points=points, class_=f"curve {class_}")
        return el("g", hint(words), el("polyline", points=points, class_="reach"), drawn)

    def straight(self, a: tuple[float, float], b: tuple[float, float], class_: str, words: str | None = None) -> Html:
        (x1, y1), (x2, y2) = self.at(*a), self.at(*b)
        return el("line", None if words is None else hint(words), x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def dot(self, x: float, y: float, words: str, class_: str, radius: float = 3.0) -> Html:
        return el("circle", hint(words), cx=self.x(x), cy=self.y(y), r=radius, class_=class_)

    def axes(self, x_title: str, y_title: str, ticks: int = 5, names: Sequence[str] | None = None) -> Html:
        """Grid, ticks and titles; with names the x axis counts them from 0."""
        left, right, floor, top = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP
        marks: list[Html] = []
        room = max(4, 38 // max(1, len(names or ())))
        for tick in range(len(names)) if names else self.x.ticks(ticks):
            x = self.x(tick)
            name = names[int(tick)] if names else short(tick)
            full = None if len(name) <= room else hint(name)
            name = name if full is None else name[: room - 1] + "…"
            marks.append(el("line", x1=x, x2=x, y1=top, y2=floor, class_="grid"))
            marks.append(el("text", full, name, x=x, y=floor + 15, class_="tick middle"))
        for tick in self.y.ticks(ticks):
            y = self.y(tick)
            marks.append(el("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
            marks.append(el("text", short(tick), x=left - 6, y=y + 3.5, class_="tick end"))
        middle = (top + floor) / 2
        marks.append(el("line", x1=left, x2=right, y1=floor, y2=floor, class_="axis"))
        marks.append(el("text", x_title, x=(left + right) / 2, y=HEIGHT - 6, class_="label middle"))
        turned = f"rotate(-90 11 {middle:.0f})"
        marks.append(el("text", y_title, x=11, y=middle, transform=turned, class_="label middle"))
        return join(marks)
