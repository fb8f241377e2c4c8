"""What sections are built of: headings, details, tables, figures, strips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import class_label, signed
from foldwise.report.markup import Html, each, el, join
from foldwise.report.pictures.intervals import axis, bar
from foldwise.report.pictures.scales import Scale

PROSE = 40  # characters of a last cell that needs a wide column


@dataclass(frozen=True)
class Section:
    """A part of the page; `name` is its anchor in the contents."""

    name: str
    title: str
    body: Html

    def html(self) -> Html:
        return el("section", el("h2", self.title), self.body, id=self.name)


def paragraph(words: str | None, class_: str | None = None) -> Html | None:
    return el("p", words, class_=class_) if words else None


def bullets(words: Sequence[str]) -> Html | None:
    return el("ul", each("li", words)) if words else None


def details(summary: str, *children: str | None, is_open: bool = False) -> Html:
    """Content that a click opens or closes."""
    return el("details", el("summary", summary), *children, open=is_open)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), class_: str | None = None
) -> Html:
    """A table, right-aligned except for the columns of `left`; a wide table scrolls by itself."""
    rows = [list(row) for row in rows]
    if any(len(row[-1]) > PROSE for row in rows):
        class_ = f"{class_} prose" if class_ else "prose"
    sides = [None if i in left else "right" for i in range(len(heads))]
    head = el("tr", *(el("th", name, class_=side, scope="col") for name, side in zip(heads, sides, strict=True)))
    body = [el("tr", *(el("td", cell, class_=side) for cell, side in zip(row, sides, strict=True))) for row in rows]
    return el("div", el("table", el("thead", head), el("tbody", *body), class_=class_), class_="wide")


def figure(title: str, *children: str | None, class_: str | None = None) -> Html:
    return el("figure", el("figcaption", title) if title else None, *children, class_=class_)


def strip_row(name: str | Html, mark: Html | None, value: str | Html | None = None, class_: str = "figure") -> Html:
    """One row of `strips`: a name, a picture, a number."""
    label = name if isinstance(name, Html) else el("span", name, class_="name", title=name)
    shown = None if value is None else el("span", value, class_=class_)
    return join([label, el("span") if mark is None else mark, shown])


def strips(rows: Sequence[Html | None], scale: Scale | None = None, class_: str = "") -> Html:
    """Rows of small pictures on one scale, with its axis below if it is given."""
    below = [] if scale is None else [el("span"), axis(scale), el("span")]
    return el("div", *rows, *below, class_=f"strips {class_}".strip())


def signed_bars(pairs: Sequence[tuple[str, float]]) -> list[Html]:
    """One row of `strips` per number: its name, a bar to the right or to the left of 0, and the number."""
    most = max((abs(value) for _, value in pairs), default=1.0) or 1.0
    scale = Scale(-most, most, 1.0, 99.0)
    rows = []
    for name, value in pairs:
        mark = bar(scale, value, None, None, f"{name}: {signed(value)}", "bar for" if value >= 0 else "bar against")
        rows.append(strip_row(name, mark, signed(value)))
    return rows


def legend(curves: Sequence[ReportFacts], values: Sequence[str] = ()) -> Html | None:
    """Class names with their colors and values; a single curve needs no color."""
    entries = []
    for i, curve in enumerate(curves):
        value = join([" ", el("b", values[i])]) if values else None
        swatch = el("i", class_=f"b{i % 6}") if len(curves) > 1 else None
        entries.append(el("li", swatch, class_label(curve), value))
    return el("ul", *entries, class_="legend") if entries else None
