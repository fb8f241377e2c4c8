"""Curves of predictions: ROC, precision-recall, calibration, lift, cost."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.markup import Html, join
from foldwise.report.pictures.canvas import Plot, svg
from foldwise.report.pictures.scales import Scale, around
from foldwise.report.reading import Facts, class_of, defined, number, numbers, percent

UNIT = Scale(0.0, 1.0)


def roc(curves: Sequence[Facts]) -> Html:
    """Found against falsely accused."""
    plot = Plot.over(UNIT, UNIT)
    lines = [lines_of(plot, curves, "x", "y", "area under the curve")]
    return svg(
        "ROC curve",
        "Share of the class that is found against the share of other rows wrongly taken for it.",
        plot.axes("false positive rate", "true positive rate"),
        plot.straight((0, 0), (1, 1), "chance"),
        *lines,
    )


def precision_recall(curves: Sequence[Facts]) -> Html:
    """How often a hit is right against how much is found."""
    plot = Plot.over(UNIT, UNIT)
    return svg(
        "Precision-recall curve",
        "Share of hits that are right against the share of the class that is found.",
        plot.axes("recall", "precision"),
        lines_of(plot, curves, "x", "y", "average precision"),
    )


def lines_of(plot: Plot, curves: Sequence[Facts], x: str, y: str, area: str) -> Html:
    drawn = []
    for i, curve in enumerate(curves):
        words = f"{class_of(curve)}: {area} {number(curve.get('area'))}"
        xs, ys = numbers(curve, x), numbers(curve, y)
        if len(xs) == len(ys) > 0:
            drawn.append(plot.line(xs, ys, words, f"s{i % 6}"))
    return join(drawn)


def calibration(curves: Sequence[Facts]) -> Html:
    """What was said against what came."""
    plot = Plot.over(UNIT, UNIT)
    marks: list[Html] = []
    for i, curve in enumerate(curves):
        said, came, low, high = (numbers(curve, name) for name in ("predicted", "observed", "low", "high"))
        if not len(said) == len(came) == len(low) == len(high):
            continue
        if len(curves) <= 2:  # more would hide each other
            marks += [plot.straight((x, a), (x, b), f"error s{i % 6}") for x, a, b in zip(said, low, high, strict=True)]
        marks.append(plot.line(said, came, class_of(curve), f"thin s{i % 6}"))
        rows = numbers(curve, "counts") or [0.0] * len(said)
        for x, y, n in zip(said, came, rows, strict=False):
            words = f"{class_of(curve)}: said {percent(x)}, came {percent(y)} ({number(int(n))} rows)"
            marks.append(plot.dot(x, y, words, f"f{i % 6}"))
    return svg(
        "Calibration",
        "How often the class came among rows of which it was said to be this likely; on the diagonal both agree.",
        plot.axes("probability that was said", "share that came"),
        plot.straight((0, 0), (1, 1), "chance"),
        *marks,
    )


def lift(curves: Sequence[Facts]) -> Html:
    """How much of a class the likeliest rows hold."""
    plot = Plot.over(UNIT, UNIT)
    marks = []
    for i, curve in enumerate(curves):
        share, captured = numbers(curve, "share"), numbers(curve, "captured")
        if len(share) == len(captured) > 0:
            marks.append(plot.line([0.0, *share], [0.0, *captured], class_of(curve), f"s{i % 6}"))
    return svg(
        "Lift",
        "Share of the class among the rows that are likeliest to be of it; on the diagonal as many as by chance.",
        plot.axes("likeliest share of rows", "share of the class found"),
        plot.straight((0, 0), (1, 1), "chance"),
        *marks,
    )


def cost(curve: Facts) -> Html | None:
    """What acting from a threshold on costs."""
    at, paid, chosen = numbers(curve, "threshold"), numbers(curve, "cost"), curve.get("chosen")
    if not at or len(at) != len(paid):
        return None
    plot = Plot.over(UNIT, around(paid))
    marks = [plot.line(at, paid, f"least {number(min(paid))}, at {number(at[paid.index(min(paid))])}", "s0")]
    if defined(chosen):
        x = float(chosen)
        words = f"the threshold that the costs call for: {number(x)}"
        marks.append(plot.straight((x, plot.y.low), (x, plot.y.high), "chosen", words))
    return svg(
        "Cost",
        "The mean cost of a row when one acts from this probability on; the line marks the threshold in use.",
        plot.axes("act from this probability on", "mean cost of a row"),
        *marks,
    )
