"""Pictures of one prediction: the reasons for it, and what-if curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import short
from foldwise.report.markup import Html
from foldwise.report.pictures.canvas import Plot, svg
from foldwise.report.pictures.scales import Scale, around
from foldwise.report.sections.examples import contributions

LONGEST = 28  # characters of the title of an axis


def reasons(answer: Mapping[str, Any]) -> Html | None:
    """The contribution of each column, as the report draws it."""
    drawn = contributions(ReportFacts(dict(answer))) if answer["cells"] else None
    return drawn and Html(drawn.replace("h4>", "h3>"))  # the page has no heading between


def curve(one: Mapping[str, Any], what: str, is_share: bool) -> Html:
    """How the prediction changes with one column. A dot marks the row itself."""
    name, heights, here = str(one["column"]), [float(y) for y in one["predicted"]], one["here"]
    y = Scale(0.0, 1.0) if is_share else around(heights)
    about = f"{what} from {short(min(heights))} to {short(max(heights))} while {name} changes."
    title = f"{what} if {name} were different"
    what = what if len(what) <= LONGEST else f"{what[: LONGEST - 1]}…"  # beside an axis of this height
    if all(isinstance(x, float) for x in one["at"]):
        xs = [float(x) for x in one["at"]]
        plot = Plot.over(Scale(xs[0], xs[-1]), y)
        marks = [plot.line(xs, heights, about, "s0")]
        nearest = min(range(len(xs)), key=lambda i: abs(xs[i] - here)) if here is not None else None
        axes = plot.axes(name, what, 4)
    else:
        names, xs = [str(x) for x in one["at"]], [float(i) for i in range(len(one["at"]))]
        plot = Plot.over(Scale(-0.5, len(xs) - 0.5), y)
        marks = [plot.dot(i, h, f"{n}: {short(h)}", "point s0") for i, h, n in zip(xs, heights, names, strict=True)]
        nearest = names.index(here) if here in names else None
        axes = plot.axes(name, what, 4, names)
    if nearest is not None:
        marks.append(plot.dot(xs[nearest], heights[nearest], f"this row: {short(heights[nearest])}", "best", 5.0))
    return svg(title, about, axes, *marks)
