"""Pictures of predictions of a quantity: observed against predicted values, and residuals."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted, number, signed
from foldwise.report.markup import Html
from foldwise.report.pictures.canvas import Plot, svg
from foldwise.report.pictures.scales import Scale, around

TWO_ERRORS = 2.0  # standard errors on each side of a mean


def observed_against_predicted(predicted: Sequence[float], observed: Sequence[float]) -> Html:
    """One dot per row; on the diagonal the prediction is right."""
    scale = around([*predicted, *observed], 0.03)
    plot = Plot.over(scale, scale)
    dots = [
        plot.dot(x, y, f"predicted {number(x)}, observed {number(y)}", "point", 1.8)
        for x, y in zip(predicted, observed, strict=True)
    ]
    diagonal = plot.straight((scale.low, scale.low), (scale.high, scale.high), "chance")
    about = "Observed against predicted value, one dot per held-out row; on the diagonal both agree."
    return svg("Observed and predicted values", about, plot.axes("predicted", "observed"), diagonal, *dots)


def residuals_against_predictions(
    predicted: Sequence[float], residuals: Sequence[float], bins: Sequence[ReportFacts]
) -> Html:
    """One dot per row, and the mean residual of bins of the prediction with its interval."""
    pairs = [(one.number("predicted"), one.number("bias")) for one in bins]
    means = [(x, y) for x, y in pairs if x is not None and y is not None]
    heights = [*residuals, *(y for _, y in means), 0.0]
    plot = Plot.over(around([*predicted, *(x for x, _ in means)], 0.03), around(heights, 0.03))
    dots = [
        plot.dot(x, y, f"predicted {number(x)}, residual {signed(y)}", "point", 1.8)
        for x, y in zip(predicted, residuals, strict=True)
    ]
    line = [plot.line([x for x, _ in means], [y for _, y in means], "mean residual", "s0")] if len(means) > 1 else []
    zero = plot.straight((plot.x.low, 0.0), (plot.x.high, 0.0), "chance")
    about = "Residual against predicted value, one dot per held-out row; the line joins the means of bins."
    return svg("Residuals and predictions", about, plot.axes("predicted", "residual"), zero, *dots, *line)


def residuals_against_column(name: str, bins: Sequence[ReportFacts], limits: Scale) -> Html:
    """The mean residual of each bin of a column, with an interval of two standard errors.

    Numbers have an axis of their own, on which bins lie at their mean; missing values are not on it.
    """
    means = [one.number("at") for one in bins]
    positions = [float(i) if at is None else at for i, at in enumerate(means)]
    names: list[str] | None = [one.text("value") for one in bins]
    labels = [one.text("value") for one in bins]
    scale = Scale(-0.5, len(bins) - 0.5)
    if any(at is not None for at in means):
        bins = [one for one, at in zip(bins, means, strict=True) if at is not None]
        positions, names = [at for at in means if at is not None], None
        labels, scale = [one.text("value") for one in bins], around(positions, 0.06)
    plot = Plot.over(scale, limits)
    marks = [plot.straight((scale.low, 0.0), (scale.high, 0.0), "chance")]
    for i, one, label in zip(positions, bins, labels, strict=True):
        bias, ends = one.number("bias"), interval_of(one)
        if bias is None:
            continue
        words = f"{label}: mean residual {signed(bias)} ({counted(one.number('n') or 0, 'row', 'rows')})"
        if ends:
            marks.append(plot.straight((i, ends[0]), (i, ends[1]), "error s0", words))
        marks.append(plot.dot(i, bias, words, "f0"))
    about = f"Mean residual by {name}, with intervals of two standard errors."
    return svg(f"Residuals by {name}", about, plot.axes(name, "mean residual", names=names), *marks)


def interval_of(one: ReportFacts) -> list[float]:
    """Two standard errors around the mean residual; empty if there is none."""
    bias, error = one.number("bias"), one.number("error")
    if bias is None or error is None:
        return []
    return [bias - TWO_ERRORS * error, bias + TWO_ERRORS * error]
