"""What the predictions are worth: confusion, and curves for whoever draws a line between rows."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures import curves as draw
from foldwise.report.reading import (
    Facts,
    class_of,
    counted,
    defined,
    items,
    number,
    numbers,
    part,
    percent,
    records,
    text,
)
from foldwise.report.sections.blocks import Section, figure, legend, paragraph, table

DENSE = 8  # more columns than that show their counts only
FIRST = 0.1  # the share of rows whose lift is told


def mistakes(facts: Facts) -> Section | None:
    """The confusion matrix with what each row of it says."""
    predictions = part(facts, "predictions")
    confusion = part(predictions, "confusion")
    classes = [str(name) for name in items(confusion, "classes")]
    said = [str(name) for name in items(confusion, "said")] or classes
    counts = [list(row or ()) for row in items(confusion, "counts")]
    whole = [len(row) for row in counts] == [len(said)] * len(classes)
    if not classes or not whole or not all(defined(count) for row in counts for count in row):
        return None
    rows = predictions.get("n")
    words = f"Each row was predicted by models that had not seen it: {text(predictions, 'of')}" if rows else ""
    words += f" ({counted(rows, 'row', 'rows')})." if words else ""
    found = rates(classes, said, counts) if set(classes) & set(said) else None  # actions need not be classes
    tables = el("div", matrix(classes, said, counts), found, class_="beside")
    body = [paragraph(words), tables]
    return Section("mistakes", "Which mistakes", join(body))


def matrix(classes: Sequence[str], said: Sequence[str], counts: Sequence[Sequence[float]]) -> Html:
    """Truth by what was said; a cell is the darker the greater its share of the truth."""
    head = el("tr", el("td", "truth ↓  said →", class_="corner"), *(el("th", name, scope="col") for name in said))
    dense = len(said) > DENSE
    lines = []
    for name, row in zip(classes, counts, strict=False):
        total = sum(row) or 1
        cells = []
        for column, count in zip(said, row, strict=False):
            share = count / total
            kind = "right" if column == name else "wrong" if column in classes else "taken"
            did = "said to be" if column in classes else "met with"
            words = f"{number(count)} of {number(total)} rows of {name} were {did} {column}"
            value = join([number(count) if count or not dense else "", None if dense else el("small", percent(share))])
            style = f"--share:{share:.3f}" if count else None
            cells.append(el("td", value, class_=kind if count else "none", style=style, title=words))
        lines.append(el("tr", el("th", name, scope="row"), *cells))
    grid = el("table", el("thead", head), el("tbody", *lines), class_="confusion dense" if dense else "confusion")
    return el("div", grid, class_="wide")


def rates(classes: Sequence[str], said: Sequence[str], counts: Sequence[Sequence[float]]) -> Html:
    """How often a class is found, and how often it is right when it is said."""
    rows = []
    for i, name in enumerate(classes[: len(counts)]):
        place = said.index(name) if name in said else None
        right = counts[i][place] if place is not None else 0
        of_truth, of_said = sum(counts[i]), sum(row[place] for row in counts) if place is not None else 0
        found, sure = right / of_truth if of_truth else None, right / of_said if of_said else None
        rows.append([name, percent(found), percent(sure), number(of_truth)])
    return table(["class", "found (recall)", "right when said (precision)", "rows"], rows, class_="small")


def curves(facts: Facts) -> Section | None:
    """ROC, precision-recall, calibration, lift and cost."""
    predictions = part(facts, "predictions")
    found = [make(predictions) for make in (roc, precision_recall, calibration, lift, cost)]
    drawn = [picture for picture in found if picture is not None]
    if not drawn:
        return None
    return Section("curves", "How well it ranks, and whether its probabilities hold", el("div", *drawn, class_="grid"))


def areas(drawn: Sequence[Facts]) -> list[str]:
    return [number(curve.get("area")) for curve in drawn]


def roc(predictions: Facts) -> Html | None:
    drawn = records(predictions, "roc")
    if not drawn:
        return None
    note = "The area is the chance that a row of the class ranks above one that is not."
    return figure("ROC", draw.roc(drawn), legend(drawn, "area", areas(drawn)), paragraph(note, "note"))


def precision_recall(predictions: Facts) -> Html | None:
    drawn = records(predictions, "precision_recall")
    if not drawn:
        return None
    note = "Of those said to be of the class, how many are; the figure is the average precision."
    picture = draw.precision_recall(drawn)
    return figure("Precision and recall", picture, legend(drawn, "area", areas(drawn)), paragraph(note, "note"))


def calibration(predictions: Facts) -> Html | None:
    drawn = records(predictions, "calibration")
    if not drawn:
        return None
    gap = predictions.get("calibration_error")
    note = f"What was said and what came differ by {percent(gap, 1)} on average." if defined(gap) else ""
    return figure("Calibration", draw.calibration(drawn), legend(drawn), paragraph(note, "note"))


def lift(predictions: Facts) -> Html | None:
    drawn = records(predictions, "lift")
    if not drawn:
        return None
    return figure("Lift", draw.lift(drawn), legend(drawn), paragraph(lift_words(drawn[0]), "note"))


def lift_words(curve: Facts) -> str:
    """What the likeliest tenth of the rows holds."""
    share, captured, times = (numbers(curve, name) for name in ("share", "captured", "lift"))
    if not share or not len(share) == len(captured) == len(times):
        return ""
    place = min(range(len(share)), key=lambda i: abs(share[i] - FIRST))
    return (
        f"The likeliest {percent(share[place])} of rows hold {percent(captured[place])} of {class_of(curve)}: "
        f"{number(times[place], 1)} times as many as by chance."
    )


def cost(predictions: Facts) -> Html | None:
    """The curve where there is one, and what decisions cost."""
    picture = draw.cost(part(predictions, "cost"))
    means = part(predictions, "expected_cost")
    named = {
        "chosen": "by least expected cost",
        "likeliest": "by the likeliest class",
        "best_constant": "the same for all",
    }
    rows = [[words, number(means[name])] for name, words in named.items() if defined(means.get(name))]
    if picture is None and not rows:
        return None
    costs = table(["decided", "mean cost of a row"], rows, class_="small") if rows else None
    return figure("Cost", picture or join([]), costs)
