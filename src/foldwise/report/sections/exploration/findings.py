"""Outliers, rules, factors and remarkable rows."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import NOTHING, number, p_text, percent
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.canvas import strip
from foldwise.report.pictures.intervals import across
from foldwise.report.pictures.scales import Scale
from foldwise.report.sections.elements import (
    Section,
    bullets,
    details,
    figure,
    paragraph,
    signed_bars,
    strip_row,
    strips,
    table,
)
from foldwise.report.sections.exploration.answers import answer, row_table

SHOWN_RULES = 8
RULE_WORDS = (
    "The filled dot shows how often the right side of a rule holds in rows where the left side holds. The hollow dot "
    "shows how often it holds in general. Both are measured on rows that were not used to find the rules."
)
CENTRAL_WORDS = "The rows with the smallest mean distance to all others. Row numbers start at 0."
LOOKALIKES_WORDS = 'In Python, foldwise.similar(foldwise.read_table("FILE"), row=17) finds the look-alikes of row 17.'
LEVERAGE_WORDS = "These rows have the highest leverage, so they could change a linear model most."


def outliers(facts: ReportFacts) -> Section | None:
    """Which rows do not look like the others, and why."""
    found = facts.part("outliers")
    lines = [
        [
            one.text("row"),
            p_text(one.number("q")) or NOTHING,
            join(reason(cell) for cell in one.records("cells")) or NOTHING,
        ]
        for one in found.records("rows")
    ]
    n = found.number("n") or 0
    words = "No row is more unusual than chance alone would explain." if not n else ""
    more = f"{n - len(lines):,.0f} more outliers are listed in rows.csv." if lines and n > len(lines) else ""
    body = [
        paragraph(words),
        table(["row", "q-value", "unusual cells"], lines, left=(2,)) if lines else None,
        paragraph(more, "note"),
        bullets(found.texts("notes")),
    ]
    return answer("outliers", "Outliers", found, *body)


def reason(cell: ReportFacts) -> Html:
    """One unusual cell."""
    name = el("b", f"{cell.text('column')} = {cell.text('value')}")
    return el("div", name, " ", el("small", cell.text("reason")))


def rules(facts: ReportFacts) -> Section | None:
    """What occurs together."""
    found = facts.part("associations")
    shown = found.records("rules")
    scale = Scale(0.0, 1.0, 1.0, 99.0)
    rows = [rule_row(one, scale) for one in shown]
    heads = ["rule", "support", "confidence", "base rate", "lift", "q-value"]
    names = ("support", "confidence", "base_rate")
    lines = [
        [
            rule_text(one),
            *(percent(one.number(n)) for n in names),
            number(one.number("lift"), 2),
            number(one.number("q_value")),
        ]
        for one in shown
    ]
    more = (
        f"{int(found.number('n') or 0) - len(shown):,} more rules were confirmed."
        if (found.number("n") or 0) > len(shown)
        else ""
    )
    body = [
        paragraph(found.text("summary")),
        figure("", strips(rows[:SHOWN_RULES], scale), paragraph(RULE_WORDS, "note"), class_="card") if rows else None,
        details("Table of rules with all figures", table(heads, lines)) if rows else None,
        paragraph(more, "note"),
        left_out(found),
    ]
    return answer("rules", "What occurs together", found, *body)


def rule_text(one: ReportFacts) -> str:
    return f"{', '.join(one.texts('if'))} → {one.text('then')}"


def rule_row(one: ReportFacts, scale: Scale) -> Html:
    """A rule with its confidence beside the base rate."""
    base, confidence = one.number("base_rate") or 0.0, one.number("confidence") or 0.0
    ends = {"x1": across(scale(base)), "x2": across(scale(confidence))}
    mark = strip(
        el("line", y1=11, y2=11, class_="span main", **ends),
        el("circle", cx=across(scale(base)), cy=11, r=4.5, class_="hollow"),
        el("circle", cx=across(scale(confidence)), cy=11, r=4.5, class_="dot main"),
    )
    return strip_row(rule_text(one), mark, f"{percent(confidence)} instead of {percent(base)}")


def factors(facts: ReportFacts) -> Section | None:
    """Which columns vary together."""
    found = facts.part("factors")
    cards = []
    for i, one in enumerate(found.records("factors")):
        pairs = [(str(name), float(value)) for name, value in one.items("loadings")]
        of = "of the sum of all factors" if found.flag("share_of_sum") else "of the variance"
        head = el("h3", f"Factor {i + 1} ", el("span", f"{percent(one.number('share'))} {of}", class_="tag"))
        cards.append(el("article", head, strips(signed_bars(pairs), class_="narrow"), class_="card"))
    body = [
        paragraph(found.text("summary")),
        el("div", *cards, class_="grid cards") if cards else None,
        paragraph("Bars are loadings: how strongly a column belongs to the factor, and in which direction.", "note")
        if cards
        else None,
        left_out(found),
    ]
    return answer("factors", "Columns that vary together", found, *body)


def remarkable(facts: ReportFacts) -> Section | None:
    """Which rows matter most, and what a look-alike is."""
    found = facts.part("ranking")
    alike = found.part("lookalikes")
    lines = [
        [
            one.text("row"),
            number(one.number("distance")),
            "; ".join(f"{d[0]}: {d[2]} instead of {d[1]}" for d in one.items("differences") if len(d) == 3)
            or "no difference",
        ]
        for one in alike.records("rows")
    ]
    central, influential = found.records("central"), found.records("influential")
    body = [
        el("h3", "Most central") if central else None,
        paragraph(CENTRAL_WORDS) if central else None,
        row_table(central),
        el("h3", f"Look-alikes of row {alike.text('row')}") if lines else None,
        table(["row", "distance", "what differs"], lines, left=(2,)) if lines else None,
        paragraph(LOOKALIKES_WORDS, "note") if lines else None,
        el("h3", "Most influential") if influential else None,
        paragraph(LEVERAGE_WORDS) if influential else None,
        row_table(influential),
    ]
    if found and not found.text("none") and not central:
        return None  # rows were not to be shown
    return answer("remarkable", "Central and influential rows", found, *body)


def left_out(found: ReportFacts) -> Html | None:
    """Columns that a question does not use."""
    names = found.texts("left_out")
    return paragraph(f"Not used: {'; '.join(names[:8])}{'; …' if len(names) > 8 else ''}.", "note") if names else None
