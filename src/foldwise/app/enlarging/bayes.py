"""Naive Bayes on all rows of an engine: the facts of all rows, minus those of the rows that are kept out."""

from __future__ import annotations

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from foldwise.app.enlarging.training_rows import CannotLearnError, TrainingRows
from foldwise.bayes import NaiveBayes
from foldwise.bayes.families import FAMILIES
from foldwise.models.column_transformers import KeepColumns
from foldwise.models.feature_selection import SelectInformative
from foldwise.summaries.values import Values


def valued_columns(model: NaiveBayes) -> list[str]:
    """Return the columns whose distribution families need distinct values."""
    return [name for name, family in model.families_.items() if FAMILIES[family].summary_type is Values]


def bayes_from_facts(pipeline: Pipeline, rows: TrainingRows) -> tuple[Pipeline, int]:
    """Return the pipeline with naive Bayes fitted to the facts of all rows, and the number of rows."""
    steps = dict(pipeline.steps)
    model, prepare, select = steps["model"], steps["prepare"], steps.get("select", "passthrough")
    chosen = isinstance(select, SelectInformative)
    if not isinstance(prepare, KeepColumns) or prepare.dates or "filter" in steps:
        raise CannotLearnError("it uses columns that the engine does not have")
    if not chosen and select != "passthrough" and select is not None:
        raise CannotLearnError("it uses columns that the engine does not have")
    blank, families = select.blank_ if chosen else [], model.families_
    facts = rows.facts(model.schema_.names, valued_columns(model), blank)
    fitted = clone(model).set_params(families=families).fit_facts(facts)
    if rows.kept_out.height:
        fitted.forget(pipeline[:-1].transform(rows.kept_out), rows.y_of(rows.kept_out))
    return Pipeline([*pipeline.steps[:-1], ("model", fitted)]), int(fitted.class_count_.sum())
