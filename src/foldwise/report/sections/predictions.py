"""Out-of-fold predictions: the confusion matrix, and ROC, precision-recall, calibration, lift and cost curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted, number, percent
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures import curves as draw
from foldwise.report.sections.elements import Section, details, figure, legend, paragraph, table

DENSE = 8  # a matrix with more columns is folded away behind its most frequent mistakes
PAIRS = 10  # most frequent mistakes
OTHERS = "(others)"  # the classes that a matrix of very many does not list
LIFT_SHARE = 0.1  # the share of rows whose lift the text reports
COSTS = {
    "chosen": "by lowest expected cost",
    "most_probable": "by the most probable class",
    "best_constant": "the same action for all rows",
}
ROC_NOTE = "AUC is the probability that a row of the class ranks above a row of another class."
FOLDS_NOTE = "Curve and area are means over folds, because models of different folds rank rows on different scales."
ACTIONS = "The columns are actions. Each row gets the action with the lowest expected cost."
COST_NOTE = (
    "These are means over the held-out rows. The estimate at the top also corrects for the small bias that remains "
    "from the selection, so it can be slightly higher."
)
PR_NOTE = (
    "Precision: of the rows predicted as the class, the share that belongs to it. Recall: of the rows of the class, "
    "the share predicted correctly. The number is average precision."
)

NumberRows = Sequence[Sequence[float]]
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
    words = [paragraph(held_out_words(facts, predictions))]
    by_cost = bool(facts.part("task", "costs"))
    rates = class_rates(confusion.records("rates"))
    matrix = confusion_matrix(classes, predicted, counts, by_cost)
    if len(predicted) <= DENSE:
        return Section("mistakes", "Confusion matrix", join([*words, el("div", matrix, rates, class_="beside")]))
    body = [
        *words,
        most_frequent_mistakes(classes, predicted, counts, by_cost),
        details("Recall and precision of each class", rates) if rates else None,
        details(f"Confusion matrix of {len(classes)} classes", matrix),
    ]
    return Section("mistakes", "Confusion matrix", join(body))


def held_out_words(facts: ReportFacts, predictions: ReportFacts) -> str:
    """Which rows are counted, and which models predicted them."""
    n_rows, task = predictions.number("n"), facts.part("task")
    if not n_rows:
        return ""
    sentences = [
        f"The matrix counts {counted(n_rows, 'held-out row', 'held-out rows')}. Each was predicted by models that were "
        "selected and trained without it.",
        ACTIONS if task.part("costs") else "",
        task.text("scored_folds"),
    ]
    return " ".join(filter(None, sentences))


def most_frequent_mistakes(classes: Sequence[str], predicted: Sequence[str], counts: NumberRows, by_cost: bool) -> Html:
    """The pairs of true class and predicted class, or action, with the most rows."""
    pairs = [
        (count, name, column, count / (sum(row) or 1))
        for name, row in zip(classes, counts, strict=True)
        for column, count in zip(predicted, row, strict=True)
        if count and column != name and column in classes and OTHERS not in (name, column)
    ]
    if not pairs:
        return el("p", "No row was predicted as another class.")
    ranked = sorted(pairs, key=lambda pair: (-pair[0], -pair[3]))[:PAIRS]
    rows = [[name, column, amount(count), percent(share)] for count, name, column, share in ranked]
    note = f"The {len(rows)} most frequent of {len(pairs)} kinds of mistakes." if len(pairs) > len(rows) else ""
    heads = ["true class", "action" if by_cost else "predicted as", "rows", "share of the true class"]
    return figure("Most frequent mistakes", table(heads, rows, left=(0, 1)), paragraph(note, "note"))


def confusion_matrix(classes: Sequence[str], predicted: Sequence[str], counts: NumberRows, by_cost: bool) -> Html:
    """True class against predicted class, or action. The larger its share of the true class, the darker is a cell."""
    corner = "true class ↓  action →" if by_cost else "true ↓  predicted →"
    head = el("tr", el("td", corner, class_="corner"), *(el("th", n, scope="col") for n in predicted))
    dense = len(predicted) > DENSE
    rows = []
    for name, row in zip(classes, counts, strict=True):
        total = sum(row) or 1
        cells = []
        for column, count in zip(predicted, row, strict=True):
            share = count / total
            kind = "right" if column == name else "wrong" if column in classes else "taken"
            of = f"{amount(count)} of {amount(total)} rows of {name}"
            words = f"{of}: action {column}" if by_cost else f"{of} were predicted as {column}"
            value = join([amount(count) if count or not dense else "", None if dense else el("small", percent(share))])
            style = f"--share:{share:.3f}" if count else None
            cells.append(el("td", value, class_=kind if count else "none", style=style, title=words))
        rows.append(el("tr", el("th", name, scope="row"), *cells))
    grid = el("table", el("thead", head), el("tbody", *rows), class_="confusion dense" if dense else "confusion")
    return el("div", grid, class_="wide")


def amount(count: float | None) -> str:
    """A number of rows, which is whole unless rows have weights."""
    return number(int(count) if count is not None and count == int(count) else count)


def class_rates(rates: Sequence[ReportFacts]) -> Html | None:
    """Recall and precision of each class."""
    rows = [
        [one.text("class"), percent(one.number("recall")), percent(one.number("precision")), amount(one.number("rows"))]
        for one in rates
    ]
    return table(["class", "recall", "precision", "rows"], rows, class_="small") if rows else None


def curves(facts: ReportFacts) -> Section | None:
    """ROC, precision-recall, calibration, lift and cost."""
    predictions = facts.part("predictions")
    gap, lifts = predictions.number("calibration_error"), predictions.records("lift")
    note = f"{ROC_NOTE} {FOLDS_NOTE}" if predictions.text("area_of") == "folds" else ROC_NOTE
    off = (
        ""
        if gap is None
        else f"Predicted probabilities and observed shares differ by {100 * gap:.1f} percentage points on average, "
        "measured in ten bins of equal width. The dots are bins of equally many rows."
    )
    found = [
        curve("ROC (AUC)", draw.roc, predictions.records("roc"), note, "area"),
        curve("Precision and recall", draw.precision_recall, predictions.records("precision_recall"), PR_NOTE, "area"),
        curve("Calibration", draw.calibration, predictions.records("calibration"), off),
        curve("Lift", draw.lift, lifts, lift_words(lifts)),
        cost(predictions),
    ]
    drawn = [picture for picture in found if picture is not None]
    title = "Ranking and probabilities"
    words = paragraph(classes_drawn(facts.part("task"), predictions.records("roc")))
    return Section("curves", title, join([words, el("div", *drawn, class_="grid")])) if drawn else None


def classes_drawn(task: ReportFacts, drawn: list[ReportFacts]) -> str:
    """Which classes have curves, and why."""
    n_classes = len(task.items("classes"))
    if n_classes == 2 and len(drawn) == 1:
        reason = "the positive class" if task.text("positive") else "the second of the two classes"
        return f"The curves describe the class {drawn[0].text('class')}, {reason}."
    if 0 < len(drawn) < n_classes:
        return f"The curves show {len(drawn)} of {n_classes} classes, those with the most held-out rows."
    return ""


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
        f"The {percent(share[at])} of rows with the highest probability contain {percent(captured[at])} of the rows of "
        f"class {records[0].text('class')}, {number(lift[at], 2)} times as many as a random choice would."
    )


def cost(predictions: ReportFacts) -> Html | None:
    """The cost curve, if there is one, and the mean cost of decisions."""
    picture, means = draw.cost(predictions.part("cost")), predictions.part("expected_cost")
    rows = [[words, number(mean)] for name, words in COSTS.items() if (mean := means.number(name)) is not None]
    if picture is None and not rows:
        return None
    means_table = table(["decision", "mean cost per row"], rows, class_="small") if rows else None
    return figure("Cost", picture, means_table, paragraph(COST_NOTE if rows else None, "note"))
