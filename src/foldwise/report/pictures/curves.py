"""Curves of predictions: ROC, precision-recall, calibration, lift, cost."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import class_label, counted, number, percent
from foldwise.report.markup import Html
from foldwise.report.pictures.canvas import Plot, svg
from foldwise.report.pictures.scales import Scale, around

UNIT = Scale(0.0, 1.0)
PLOT = Plot.over(UNIT, UNIT)
DIAGONAL = PLOT.straight((0, 0), (1, 1), "chance")


def roc(curves: Sequence[ReportFacts]) -> Html:
    """True against false positive rate."""
    about = "True positive rate against false positive rate; the diagonal is a random ranking."
    axes = PLOT.axes("false positive rate", "true positive rate")
    return svg("ROC curve", about, axes, DIAGONAL, *lines(curves, "x", "y", "area under the curve"))


def precision_recall(curves: Sequence[ReportFacts]) -> Html:
    """Precision against recall."""
    drawn = lines(curves, "x", "y", "average precision")
    return svg("Precision-recall curve", "Precision against recall.", PLOT.axes("recall", "precision"), *drawn)


def lift(curves: Sequence[ReportFacts]) -> Html:
    """The share of a class among the rows with the highest probability."""
    about = "Share of the class found among the rows with the highest probability; the diagonal is a random choice."
    axes = PLOT.axes("share of rows, highest probability first", "share of the class found")
    return svg("Lift", about, axes, DIAGONAL, *lines(curves, "share", "captured"))


def lines(curves: Sequence[ReportFacts], x: str, y: str, area: str = "") -> list[Html]:
    """One line per class, from the origin on."""
    drawn = []
    for i, curve in enumerate(curves):
        words = f"{class_label(curve)}: {area} {number(curve.number('area'))}" if area else class_label(curve)
        xs, ys = curve.numbers(x), curve.numbers(y)
        if len(xs) == len(ys) > 0:
            start = [] if area else [0.0]
            drawn.append(PLOT.line(start + xs, start + ys, words, f"s{i % 6}"))
    return drawn


def calibration(curves: Sequence[ReportFacts]) -> Html:
    """Observed shares against predicted probabilities."""
    marks: list[Html] = []
    for i, curve in enumerate(curves):
        predicted, observed, low, high = map(curve.numbers, ("predicted", "observed", "low", "high"))
        if not len(predicted) == len(observed) == len(low) == len(high):
            continue
        if len(curves) <= 2:  # more would hide each other
            ends = zip(predicted, low, high, strict=True)
            marks += [PLOT.straight((x, a), (x, b), f"error s{i % 6}") for x, a, b in ends]
        marks.append(PLOT.line(predicted, observed, class_label(curve), f"thin s{i % 6}"))
        counts = curve.numbers("counts") or [0.0] * len(predicted)
        for x, y, n in zip(predicted, observed, counts, strict=False):
            rows = counted(int(n), "row", "rows")
            words = f"{class_label(curve)}: predicted {percent(x)}, observed {percent(y)} ({rows})"
            marks.append(PLOT.dot(x, y, words, f"f{i % 6}"))
    return svg(
        "Calibration curve",
        "Observed share of the class against its predicted probability; on the diagonal both agree.",
        PLOT.axes("predicted probability", "observed share"),
        DIAGONAL,
        *marks,
    )


def cost(curve: ReportFacts) -> Html | None:
    """Mean cost against the threshold."""
    thresholds, costs, chosen = curve.numbers("threshold"), curve.numbers("cost"), curve.number("chosen")
    if not thresholds or len(thresholds) != len(costs):
        return None
    plot = Plot.over(UNIT, around(costs))
    least = min(costs)
    words = f"lowest cost {number(least)} at threshold {number(thresholds[costs.index(least)])}"
    marks = [plot.line(thresholds, costs, words, "s0")]
    if chosen is not None:
        words = f"threshold that follows from the costs: {number(chosen)}"
        marks.append(plot.straight((chosen, plot.y.low), (chosen, plot.y.high), "chosen", words))
    return svg(
        "Cost curve",
        "Mean cost per row for each threshold on the probability of the class; the vertical line marks the one in use.",
        plot.axes("threshold on the probability of the class", "mean cost per row"),
        *marks,
    )
