"""The glossary at the end of the page: what its words mean, in one or two sentences each."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.markup import el
from foldwise.report.sections.elements import Section

TERMS = {
    "setting": "One combination of hyperparameters, which are the options of a model.",
    "fold": (
        "One of the equal parts into which the rows are divided. Each part is predicted by models that were trained on "
        "the other parts."
    ),
    "held-out rows": "Rows that were not used to train the model that predicts them.",
    "honest estimate": (
        "The expected score on new data. For each fold, models, settings and weights are selected again from the "
        "other folds (with a time column, from earlier folds), and the result is scored on that fold. Scores of "
        "that fold are not used for its selection."
    ),
    "search score": (
        "The cross-validated score of the selected models, on the same rows that were used to select them. It is "
        "usually too good, especially for the metric that was used for the selection."
    ),
    "baseline": (
        "A model that ignores all columns and predicts the same for every row: the class frequencies of the training "
        "rows or, for a quantity, the mean of the target. A useful model must be better."
    ),
    "clearly better, p": (
        "Two models are compared fold by fold with a corrected resampled t-test. A difference is clear if equally good "
        "models would differ this much in at most 5% of cases (p at most 0.05)."
    ),
    "statistically tied": (
        "The difference from the model with the best estimate is not clear: p is above 0.05 after adjusting for the "
        "number of models. If the scores of a model vary much between folds, it can be tied although its estimate is "
        "far from the best."
    ),
}
CLASS_TERMS = {
    "log loss": (
        "The mean of −log p, where p is the probability predicted for the true class. It is 0 for perfect predictions. "
        "Confident mistakes cost most."
    ),
    "balanced accuracy": "The mean of the recall of each class: the share of its rows that are predicted correctly.",
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
}
VALUE_TERMS = {
    "RMSE": (
        "The root mean squared error: the square root of the mean of squared errors, in the unit of the target. Large "
        "errors count most."
    ),
    "mean absolute error": "The mean size of errors, in the unit of the target.",
    "R²": (
        "The share of the variance of the target that predictions explain: 1 for perfect predictions, 0 for predicting "
        "the mean."
    ),
    "residual": "The observed value minus the predicted one.",
}


def glossary(facts: ReportFacts) -> Section | None:
    """The terms of the page, unless it shows no model."""
    if not facts.records("leaderboard"):
        return None
    quantity = facts.part("task").text("task") == "regression"
    predicted = "values" if quantity else "probabilities"
    weight = f"The share of a model in the final model, which is a weighted mean of predicted {predicted}."
    terms = {**TERMS, **(VALUE_TERMS if quantity else CLASS_TERMS), "weight": weight}
    entries = [el("div", el("dt", term), el("dd", meaning)) for term, meaning in terms.items()]
    return Section("glossary", "Glossary", el("dl", *entries, class_="glossary"))
