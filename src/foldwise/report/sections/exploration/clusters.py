"""The clusters: a card for each, and how their number was chosen."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import NOTHING, counted, number, p_equation, percent, signed
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import bar
from foldwise.report.pictures.scales import Scale
from foldwise.report.sections.elements import Section, bullets, details, paragraph, strip_row, strips, table
from foldwise.report.sections.exploration.answers import answer, folded_rows

EFFECTS = (
    "Bars are effect sizes: how far the cluster is from all other rows, in standard deviations. About 0.2 is small, "
    "0.5 medium and 0.8 large. To test a column, the clusters are formed again without it. A small p-value means that "
    "the column differs between these clusters too. P-values are corrected for the number of columns."
)
MOST_EFFECT = 3.0  # a longer bar would leave the others too short


def clusters(facts: ReportFacts) -> Section | None:
    """What types of rows there are."""
    found = facts.part("clusters")
    cards = found.records("cards")
    body = [
        paragraph(found.text("reason")),
        paragraph(unstable(found)),
        el("div", *map(card, cards), class_="grid cards") if cards else None,
        paragraph(EFFECTS, "note") if cards else None,
        bullets(found.texts("notes")),
        study(found),
    ]
    return answer("clusters", "Clusters", found, *body)


def unstable(found: ReportFacts) -> str:
    """Warn if the clusters are less stable than those found in tables without clusters."""
    chosen = next((one for one in found.records("study") if one.number("k") == found.number("k")), ReportFacts())
    stability, by_chance = chosen.number("stability"), chosen.number("structureless")
    if not found.records("cards") or stability is None or by_chance is None or stability >= by_chance:
        return ""
    return (
        "These clusters are less stable than those that k-means finds in a table without clusters. The borders between "
        "them are uncertain."
    )


def card(one: ReportFacts) -> Html:
    """One cluster: its size, its rule, and what sets it apart."""
    size = f"{counted(one.number('size'), 'row', 'rows')} ({percent(one.number('share'))})"
    rule = one.text("rule")
    recall, precision = one.number("rule_recall"), one.number("rule_precision")
    held = "" if recall is None else f"holds for {percent(recall)} of the cluster"
    of_those = "" if precision is None else f". Of all rows where it holds, {percent(precision)} are in the cluster"
    named = [el("p", el("b", rule)), paragraph(f"This rule {held}{of_those}.", "note")] if rule else []
    return el(
        "article",
        el("h3", f"Cluster {one.text('cluster')} ", el("span", size, class_="tag")),
        *named,
        strips([contrast(c) for c in one.records("contrasts")], class_="narrow contrasts"),
        folded_rows("Typical rows", one.records("prototypes")),
        class_="card",
    )


def contrast(one: ReportFacts) -> Html:
    """One column that sets a cluster apart."""
    effect, p = one.number("effect") or 0.0, one.number("p")
    tested = "" if p is None else f", {p_equation(p)}"
    words = f"{one.text('column')}: {one.text('words')} (effect {number(effect, 2)}{tested})"
    shown = max(-MOST_EFFECT, min(MOST_EFFECT, effect))
    mark = bar(
        Scale(-MOST_EFFECT, MOST_EFFECT, 1.0, 99.0),
        shown,
        None,
        None,
        words,
        "bar for" if effect >= 0 else "bar against",
    )
    label = el("span", one.text("column"), " ", el("small", f"{one.text('words')}{tested}"), class_="name", title=words)
    return strip_row(label, mark, signed(effect))


def between(one: ReportFacts) -> str:
    """The interval of the stability; a single cluster has none."""
    low, high = one.number("stability_low"), one.number("stability_high")
    return NOTHING if low is None or high is None else f"{number(low, 2)} to {number(high, 2)}"


def study(found: ReportFacts) -> Html | None:
    """The figures of each number of clusters."""
    lines = found.records("study")
    if not lines:
        return None
    rows = [
        [
            number(int(one.number("k") or 0)),
            number(one.number("stability"), 2),
            between(one),
            number(one.number("structureless"), 2),
            number(one.number("least_stable"), 2),
            number(one.number("silhouette")),
            number(one.number("gap")),
            number(one.number("split_p")),
        ]
        for one in lines
    ]
    heads = ["k", "stability", "range", "without clusters", "least stable", "silhouette", "gap", "split p"]
    words = (
        "Stability says how well clusters of resampled rows agree with the clusters of all rows (adjusted Rand index; "
        "1 is perfect). It is the mean over the resamples, and 95% of them lie in the range. “Without clusters” is the "
        "stability in random tables that have no clusters. “Least stable” is the Jaccard index of the least stable "
        "cluster. The silhouette is close to 1 for compact and separate clusters. The gap compares the inertia with "
        "that of uniform tables. “Split p” tests whether a cluster contains two groups: a small p-value means that "
        "more clusters are needed."
    )
    return details("How the number of clusters was chosen", join([paragraph(words), table(heads, rows, left=())]))
