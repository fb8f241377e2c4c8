"""What sections are built of: headings, folds, tables, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foldwise.report.markup import Html, each, el, join
from foldwise.report.reading import Facts, class_of


@dataclass(frozen=True)
class Section:
    """A part of the page with its place in the contents."""

    name: str
    title: str
    body: Html

    def html(self) -> Html:
        return el("section", el("h2", self.title), self.body, id=self.name)


def paragraph(words: str | None, class_: str | None = None) -> Html | None:
    return el("p", words, class_=class_) if words else None


def bullets(words: Iterable[str], class_: str | None = None) -> Html | None:
    found = [str(word) for word in words]
    return el("ul", each("li", found), class_=class_) if found else None


def folded(summary: str, *children: str | None) -> Html:
    """Details that a click opens."""
    return el("details", el("summary", summary), *children)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), class_: str | None = None
) -> Html:
    """A table of numbers, to the right, except for the columns of `left`; where it is wide it scrolls by itself."""
    sides = [None if i in left else "right" for i in range(len(heads))]
    head = el("tr", *(el("th", name, class_=side, scope="col") for name, side in zip(heads, sides, strict=True)))
    body = [el("tr", *(el("td", cell, class_=side) for cell, side in zip(row, sides, strict=True))) for row in rows]
    return el("div", el("table", el("thead", head), el("tbody", *body), class_=class_), class_="wide")


def figure(title: str, picture: Html, *below: str | None) -> Html:
    return el("figure", el("figcaption", title), picture, *below)


def legend(curves: Sequence[Facts], value: str | None = None, show: Sequence[str] = ()) -> Html | None:
    """Class names with their colours; one curve needs no legend but its figure."""
    entries = []
    for i, curve in enumerate(curves):
        shown = el("b", show[i]) if value and i < len(show) else None
        swatch = el("i", class_=f"b{i % 6}") if len(curves) > 1 else None
        entries.append(el("li", swatch, class_of(curve), " " if shown else None, shown))
    return el("ul", join(entries), class_="legend") if entries else None
