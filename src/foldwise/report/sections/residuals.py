"""Out-of-fold predictions of a quantity: observed against predicted values, and where the errors are."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted, number, short, signed
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures import residuals as draw
from foldwise.report.pictures.scales import around
from foldwise.report.sections.elements import Section, details, figure, paragraph, table

SHOWN_COLUMNS = 6  # with the clearest pattern; the others are behind a click
FOLDED_COLUMNS = 24
SIGN = "A residual is the observed value minus the predicted one: positive where the prediction is too low."
COLUMN_WORDS = (
    "Mean residual by the values of each column, with intervals of two standard errors. The columns with the clearest "
    "pattern come first. If the means of a column are far from 0, the model has not fully used the column."
)


def errors(facts: ReportFacts) -> Section | None:
    """Observed against predicted values, residuals, and the size of errors by the size of the target."""
    predictions = facts.part("predictions")
    sizes, n_rows = predictions.records("by_size"), predictions.number("n")
    if not sizes or not n_rows:
        return None
    words = (
        f"These are {counted(n_rows, 'held-out row', 'held-out rows')}. Each was predicted by models that were "
        f"selected and trained without it. {SIGN} {facts.part('task').text('scored_folds')}"
    )
    pictures = el("div", *scatter(predictions), class_="grid")
    body = [paragraph(words.strip()), paragraph(spread_words(predictions)), pictures, error_sizes(facts, sizes)]
    return Section("errors", "Observed and predicted values", join([*body, largest(facts)]))


def spread_words(predictions: ReportFacts) -> str:
    """Between which residuals most rows lie."""
    quantiles = predictions.part("quantiles")
    low, first, third, high = (quantiles.number(name) for name in ("0.05", "0.25", "0.75", "0.95"))
    if low is None or first is None or third is None or high is None:
        return ""
    return (
        f"Half of the residuals lie between {signed(first)} and {signed(third)}, and 90% between {signed(low)} and "
        f"{signed(high)}."
    )


def scatter(predictions: ReportFacts) -> list[Html]:
    """The pictures of single rows, if rows may be shown, and of bins."""
    points = predictions.part("points")
    predicted, observed = points.numbers("predicted"), points.numbers("observed")
    if len(predicted) != len(observed):
        return []
    every = predictions.number("n") or 0
    note = f"A random sample of {len(predicted):,} of {every:,.0f} held-out rows." if len(predicted) < every else ""
    bins = predictions.records("by_prediction")
    found = []
    if predicted:
        picture = draw.observed_against_predicted(predicted, observed)
        found.append(figure("Observed against predicted", picture, paragraph(note, "note")))
    residuals = [y - x for x, y in zip(predicted, observed, strict=True)]
    picture = draw.residuals_against_predictions(predicted, residuals, bins)
    found.append(figure("Residuals against predictions", picture, paragraph("The line joins means of bins.", "note")))
    return found


def error_sizes(facts: ReportFacts, sizes: list[ReportFacts]) -> Html:
    """The errors by the size of the observed value."""
    rows = [
        [
            " to ".join(dict.fromkeys(short(one.number(end)) for end in ("low", "high"))),
            number(one.number("mean_absolute_error")),
            number(one.number("root_mean_squared_error")),
            signed(one.number("bias") or 0.0),
            number(int(one.number("n") or 0)),
        ]
        for one in sizes
    ]
    target = facts.part("task").text("target") or "observed value"
    heads = [target, "mean absolute error", "RMSE", "mean residual", "rows"]
    note = "Small values are usually predicted too high and large ones too low: predictions are pulled toward the mean."
    return figure("Errors by size of the target", table(heads, rows, class_="small"), paragraph(note, "note"))


def largest(facts: ReportFacts) -> Html | None:
    """The rows with the largest errors."""
    rows = []
    for one in facts.part("predictions").records("largest"):
        observed, predicted = one.number("observed"), one.number("predicted")
        if observed is not None and predicted is not None:
            row = [one.text("row"), number(observed), number(predicted), signed(observed - predicted)]
            rows.append(row)
    if not rows:
        return None
    heads = ["row", "observed", "predicted", "residual"]
    note = facts.part("task").text("row_numbers")
    if any(one.records("cells") for one in facts.records("examples")):
        note += " The example predictions below explain some of these rows column by column."
    return details("Rows with the largest errors", table(heads, rows, class_="small"), paragraph(note, "note"))


def missing_words(column: ReportFacts) -> Html | None:
    """The mean residual of rows without a number, which are not on the axis."""
    bins = column.records("bins")
    gaps = [one for one in bins if one.text("value") == "missing" and any(b.number("at") is not None for b in bins)]
    if not gaps:
        return None
    bias, n_rows = gaps[0].number("bias") or 0.0, gaps[0].number("n") or 0
    return paragraph(f"Missing in {counted(n_rows, 'row', 'rows')}, with a mean residual of {signed(bias)}.", "note")


def residuals_by_column(facts: ReportFacts) -> Section | None:
    """The mean residual by the values of each column."""
    columns = facts.part("predictions").records("by_column")
    if not columns:
        return None
    ends = [end for column in columns for one in column.records("bins") for end in draw.interval_of(one)]
    limits = around([*ends, 0.0], 0.05)
    drawn = [
        figure(name, draw.residuals_against_column(name, column.records("bins"), limits), missing_words(column))
        for column in columns[: SHOWN_COLUMNS + FOLDED_COLUMNS]
        if (name := column.text("column"))
    ]
    more = drawn[SHOWN_COLUMNS:]
    body = [
        paragraph(COLUMN_WORDS),
        el("div", *drawn[:SHOWN_COLUMNS], class_="grid"),
        details(f"{counted(len(more), 'more column', 'more columns')}", el("div", *more, class_="grid"))
        if more
        else None,
    ]
    return Section("residuals", "Residuals by column", join(body))
