"""Out-of-fold predictions: the confusion matrix, and ROC, precision-recall, calibration, lift and cost curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import class_label, counted, number, percent
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures import curves as draw
from foldwise.report.sections.elements import Section, figure, legend, paragraph, table

DENSE = 8  # more columns show their counts only
LIFT_SHARE = 0.1  # the share of rows whose lift the text reports
COSTS = {
    "chosen": "by least expected cost",
    "most_probable": "by the most probable class",
    "best_constant": "the same action for all rows",
}
ROC_NOTE = "The area is the probability that a row of the class ranks above a row of another class."
PR_NOTE = "Precision is the share of rows predicted as the class that belong to it. The number is average precision."

Matrix = Sequence[Sequence[float]]
Picture = Callable[[Sequence[ReportFacts]], Html]


def mistakes(facts: ReportFacts) -> Section | None:
    """The confusion matrix with recall and precision."""
    predictions = facts.part("predictions")
    confusion = predictions.part("confusion")
    classes = confusion.texts("classes")
    predicted = confusion.texts("predicted") or classes
    counts = confusion.matrix("counts", len(classes), len(predicted))
    if not counts:
        return None
    n_rows = predictions.number("n")
    words = f"Each row was predicted by models that had not seen it: {predictions.text('of')}" if n_rows else ""
    words += f" ({counted(n_rows, 'row', 'rows')})." if words else ""
    has_rates = bool(set(classes) & set(predicted))  # actions need not be classes
    rates = class_rates(classes, predicted, counts) if has_rates else None
    tables = el("div", confusion_matrix(classes, predicted, counts), rates, class_="beside")
    return Section("mistakes", "Confusion matrix", join([paragraph(words), tables]))


def confusion_matrix(classes: Sequence[str], predicted: Sequence[str], counts: Matrix) -> Html:
    """True against predicted class; a cell is the darker the greater its share of the true class."""
    head = el("tr", el("td", "true ↓  predicted →", class_="corner"), *(el("th", n, scope="col") for n in predicted))
    dense = len(predicted) > DENSE
    rows = []
    for name, row in zip(classes, counts, strict=True):
        total = sum(row) or 1
        cells = []
        for column, count in zip(predicted, row, strict=True):
            share = count / total
            kind = "right" if column == name else "wrong" if column in classes else "taken"
            verb = "predicted as" if column in classes else "assigned to"
            words = f"{amount(count)} of {amount(total)} rows of {name} were {verb} {column}"
            value = join([amount(count) if count or not dense else "", None if dense else el("small", percent(share))])
            style = f"--share:{share:.3f}" if count else None
            cells.append(el("td", value, class_=kind if count else "none", style=style, title=words))
        rows.append(el("tr", el("th", name, scope="row"), *cells))
    grid = el("table", el("thead", head), el("tbody", *rows), class_="confusion dense" if dense else "confusion")
    return el("div", grid, class_="wide")


def amount(count: float) -> str:
    """A number of rows, which is whole unless rows have weights."""
    return number(int(count) if count == int(count) else count)


def class_rates(classes: Sequence[str], predicted: Sequence[str], counts: Matrix) -> Html:
    """Recall and precision of each class."""
    rows = []
    for name, row in zip(classes, counts, strict=True):
        column = [one[predicted.index(name)] for one in counts] if name in predicted else [0.0] * len(counts)
        hits, n_true, n_predicted = column[classes.index(name)], sum(row), sum(column)
        recall, precision = hits / n_true if n_true else None, hits / n_predicted if n_predicted else None
        rows.append([name, percent(recall), percent(precision), amount(n_true)])
    return table(["class", "recall", "precision", "rows"], rows, class_="small")


def curves(facts: ReportFacts) -> Section | None:
    """ROC, precision-recall, calibration, lift and cost."""
    predictions = facts.part("predictions")
    gap, lifts = predictions.number("calibration_error"), predictions.records("lift")
    off = "" if gap is None else f"Predicted probabilities and observed shares differ by {percent(gap, 1)} on average."
    found = [
        curve("ROC", draw.roc, predictions.records("roc"), ROC_NOTE, "area"),
        curve("Precision and recall", draw.precision_recall, predictions.records("precision_recall"), PR_NOTE, "area"),
        curve("Calibration", draw.calibration, predictions.records("calibration"), off),
        curve("Lift", draw.lift, lifts, lift_words(lifts)),
        cost(predictions),
    ]
    drawn = [picture for picture in found if picture is not None]
    title = "Ranking and probabilities"
    return Section("curves", title, el("div", *drawn, class_="grid")) if drawn else None


def curve(title: str, picture: Picture, records: list[ReportFacts], note: str, value: str | None = None) -> Html | None:
    """One picture with a curve per class."""
    if not records:
        return None
    values = [number(record.number(value)) for record in records] if value else []
    return figure(title, picture(records), legend(records, values), paragraph(note, "note"))


def lift_words(records: list[ReportFacts]) -> str:
    """How much of the class the highest-scored tenth of the rows contains."""
    if not records:
        return ""
    share, captured, lift = (records[0].numbers(name) for name in ("share", "captured", "lift"))
    if not share or not len(share) == len(captured) == len(lift):
        return ""
    at = min(range(len(share)), key=lambda i: abs(share[i] - LIFT_SHARE))
    return (
        f"The {percent(share[at])} of rows with the highest probability contain {percent(captured[at])} of "
        f"{class_label(records[0])}, {number(lift[at], 1)} times as many as a random choice."
    )


def cost(predictions: ReportFacts) -> Html | None:
    """The cost curve, if there is one, and the mean cost of decisions."""
    picture, means = draw.cost(predictions.part("cost")), predictions.part("expected_cost")
    rows = [[words, number(mean)] for name, words in COSTS.items() if (mean := means.number(name)) is not None]
    if picture is None and not rows:
        return None
    return figure("Cost", picture, table(["decision", "mean cost per row"], rows, class_="small") if rows else None)
