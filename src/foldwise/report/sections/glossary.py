"""The glossary at the end of the page: what its words mean, in one or two sentences each."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.markup import el
from foldwise.report.sections.elements import Section

TERMS = {
    "honest estimate": (
        "The expected score on new data. The whole selection of models, settings and weights is repeated without the "
        "rows of each fold and scored on them, so that selection cannot flatter it."
    ),
    "search score": "The score of the selected models on the rows that selected them. It is optimistic.",
    "baseline": "A prediction that uses no column: the class frequencies of the training rows, for every row the same.",
    "clearly better, p": (
        "Two models are compared fold by fold with a corrected paired t-test. A difference is clear if one this large "
        "would occur by chance in at most 5% of cases (p at most 0.05)."
    ),
    "statistically tied": (
        "The difference to the model with the best estimate is within noise: p is above 0.05 after adjusting for the "
        "number of models."
    ),
    "log loss": (
        "The mean of −log p, where p is the probability predicted for the true class. It is 0 for perfect predictions. "
        "Confident mistakes cost most."
    ),
    "AUC": (
        "The area under the ROC curve: the probability that a random row of the class ranks above a random row of "
        "another class. A random ranking has 0.5, a perfect one 1."
    ),
    "calibration": (
        "The agreement of predicted probabilities with observed shares. Of the rows with a predicted probability of "
        "70%, about 70% should have the class."
    ),
    "temperature": (
        "The number by which log-probabilities are divided to calibrate them. Above 1 it makes predictions less "
        "confident, below 1 more confident."
    ),
    "weight": "The share of a model in the final model, which is a weighted mean of predicted probabilities.",
}


def glossary(facts: ReportFacts) -> Section | None:
    """The terms of the page, unless it shows no model."""
    if not facts.records("leaderboard"):
        return None
    entries = [el("div", el("dt", term), el("dd", meaning)) for term, meaning in TERMS.items()]
    return Section("glossary", "Glossary", el("dl", *entries, class_="glossary"))
