"""A few predictions explained: what was predicted, what is true, and the contribution of each column."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts, is_number
from foldwise.report.formatting import number, percent, signed
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.canvas import share_bar
from foldwise.report.sections.elements import Section, paragraph, signed_bars, strip_row, strips

CELLS = 8  # per example
CLASSES = 5
WORDS = "These are held-out rows{of}, predicted by models that had not seen them."
BARS = (
    "The bars explain the models that made these predictions, not the final model, which was also trained on these "
    "rows. They show what each column contributes to the log-odds of the class named above them. Bars to the right "
    "support it, bars to the left oppose it. Together with the starting point they sum to the log-odds of the "
    "probability shown."
)


VALUE_BARS = (
    "These rows have the largest errors of their fold. The bars explain the models that made these predictions, not "
    "the final model, which was also trained on these rows. They show how much each column raises or lowers the "
    "prediction. Together with the starting point, the mean prediction of other rows, they sum to the predicted value."
)


def examples(facts: ReportFacts) -> Section | None:
    """Right and wrong predictions, column by column."""
    rows = facts.records("examples")
    if not rows:
        return None
    cards = el("div", *map(example, rows), class_="grid cards")
    fold = rows[0].text("fold")
    words = [WORDS.format(of=f" of fold {fold}" if fold else ""), facts.part("task").text("row_numbers")]
    bars = BARS if rows[0].part("proba") else VALUE_BARS
    explained = any(row.records("cells") for row in rows)
    words += [bars] if explained else []
    reasons = dict.fromkeys(filter(None, (row.text("unexplained") for row in rows)))
    which = "Some" if explained else "These"
    words += [f"{which} predictions are not explained column by column, because {reason}." for reason in reasons]
    return Section("examples", "Example predictions", join([paragraph(" ".join(words)), cards]))


def example(row: ReportFacts) -> Html:
    """One row as a card."""
    observed, predicted = row.number("truth"), row.number("predicted")
    if not row.part("proba") and observed is not None and predicted is not None:
        error = el("span", f"residual {signed(observed - predicted)}", class_="tag bad")
        words = paragraph(f"predicted {number(predicted)}, observed {number(observed)}")
        return el("article", el("h3", f"Row {row.text('row')}", " ", error), words, contributions(row), class_="card")
    right = row.flag("right")
    verdict = el("span", "right" if right else "wrong", class_="tag good" if right else "tag bad")
    head = el("h3", f"Row {row.text('row')}", " ", verdict)
    outcome = paragraph(f"predicted {row.text('predicted')}, true class {row.text('truth')}")
    return el("article", head, outcome, probabilities(row), contributions(row), class_="card")


def probabilities(row: ReportFacts) -> Html | None:
    """The most probable classes, one bar each."""
    proba = {name: p for name, p in row.part("proba").values.items() if is_number(p)}
    rows = []
    for name, p in sorted(proba.items(), key=lambda pair: -pair[1])[:CLASSES]:
        mark = share_bar(p, f"{name}: {percent(p, 1)}", "bar" if name == row.text("predicted") else "bar faint")
        rows.append(strip_row(name, mark, percent(p)))
    return strips(rows, class_="narrow") if rows else None


def contributions(row: ReportFacts) -> Html | None:
    """The largest contributions, and the others as one."""
    found = [
        (f"{cell.text('column')} = {cell.text('cell')}", value)
        for cell in row.records("cells")
        if (value := cell.number("contribution")) is not None
    ]
    if not found:
        return None
    ranked = sorted(found, key=lambda pair: -abs(pair[1]))
    lines = ranked[:CELLS]
    if len(ranked) > CELLS:
        lines.append((f"{len(ranked) - CELLS} other columns", sum(value for _, value in ranked[CELLS:])))
    if (base := row.number("base")) is not None:
        lines.insert(0, ("starting point", base))
    rows = signed_bars(lines)
    if (total := row.number("total")) is not None:
        rows.append(strip_row(el("span", el("b", "sum"), class_="name"), None, el("b", signed(total))))
    title = f"For and against {row.text('about')}".strip() if row.text("about") else "Contributions to the prediction"
    return join([el("h4", title), strips(rows, class_="narrow")])
