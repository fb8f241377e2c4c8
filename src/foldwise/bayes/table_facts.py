"""From the facts of an engine to the facts of naive Bayes, so that a model is finished without reading a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families import FAMILIES
from foldwise.bayes.families.base import WHOLE
from foldwise.bayes.families.poisson_binomial import Binomial, Poisson
from foldwise.data.schema import listing
from foldwise.engines.table_facts import CellFacts, TableFacts
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.summaries.counts import CategoryCounts, Counts
from foldwise.summaries.moments import Moments
from foldwise.summaries.sums import Sums
from foldwise.summaries.values import Values, ValueWeights


def check_facts(facts: Any) -> TableFacts:
    """Refuse anything but the facts of a classification."""
    if not isinstance(facts, TableFacts):
        raise FoldwiseTypeError(
            f"facts must come from foldwise.engines.facts_of, got {type(facts).__name__}.",
            "pass rows to fit, and facts to fit_facts.",
        )
    if facts.classes is None:
        raise InputError(
            f"naive Bayes predicts classes, but the target {facts.target!r} is a quantity.",
            "pass task='classification' to facts_of, if its numbers are classes.",
        )
    return facts


def check_known(classes: Any, declared: NDArray[Any]) -> NDArray[Any]:
    """Return the declared classes, and refuse facts about others."""
    unknown = [label for label in classes.tolist() if label not in set(declared.tolist())]
    if unknown:
        raise InputError(
            f"the facts contain the class {unknown[0]!r}, which is not one of the declared classes "
            f"{listing(declared.tolist())}.",
            "name all classes at the first call of partial_fit.",
        )
    return declared


def learned_facts(facts: TableFacts, blocks: tuple[FamilyBlock, ...]) -> NaiveBayesFacts:
    """Return the facts that naive Bayes would learn from the same rows."""
    assert facts.classes is not None
    total = facts.total
    summaries = tuple(summary_of(facts, total, block) for block in blocks)
    return NaiveBayesFacts(facts.classes, total.class_rows, total.class_rows, summaries)


def summary_of(facts: TableFacts, total: CellFacts, block: FamilyBlock) -> Any:
    """Return the summary of the columns of one distribution family."""
    names = [facts.schema.names[j] for j in block.columns]
    kind = FAMILIES[block.family].summary_type
    if kind is Moments:
        return total.moments.select([index_of(facts.numeric, name, block.family) for name in names])
    if kind is Counts:
        return Counts(tuple(counts_of_column(facts, total, name) for name in names))
    if kind is Values or block.family == Poisson.name:
        columns = tuple(values_of_column(facts, total, name, block.family) for name in names)
        check_values(block.family, names, columns)
        found = Values(columns, total.values.n_classes)
        return found if kind is Values else sums_of_values(found)
    raise InputError(
        f"the distribution family {block.family!r} cannot be fitted to the facts of an engine (columns "
        f"{listing(names)}).",
        "use 'gaussian', 'categorical', 'binned', 'kde', 'poisson' or 'binomial'.",
    )


def check_values(family: str, names: Sequence[str], columns: Sequence[ValueWeights]) -> None:
    """Raise for values that a family of counts does not accept."""
    if family in (Poisson.name, Binomial.name):
        for name, column in zip(names, columns, strict=True):
            WHOLE.check_values(column.x, name)


def sums_of_values(values: Values) -> Sums:
    """Return the sums of numeric columns whose distinct values are known."""
    not_zero = Values(tuple(replace(one, rows=one.rows * (one.x != 0)) for one in values.columns), values.n_classes)
    return Sums(values.weight, values.total, values.rows, not_zero.rows)


def index_of(numeric: tuple[str, ...], name: str, family: str) -> int:
    """Return the index of a numeric column."""
    if name not in numeric:
        raise InputError(
            f"the distribution family {family!r} needs numbers, but column {name!r} is categorical in the engine."
        )
    return numeric.index(name)


def values_of_column(facts: TableFacts, total: CellFacts, name: str, family: str) -> ValueWeights:
    """Return the distinct values of a numeric column; for bins, the rows between cut points will do."""
    index_of(facts.numeric, name, family)
    if family == "binned" and name in facts.cuts:
        return total.bins.columns[list(facts.cuts).index(name)]
    if name not in facts.valued:
        why, what = "They were not counted", f"pass values=[{name!r}], or use the family 'gaussian'."
        if name in facts.cuts:
            why, what = "There are more than max_values", "raise max_values, or use the family 'binned' or 'gaussian'."
        raise InputError(
            f"the distribution family {family!r} needs the distinct values of column {name!r}. {why}.", what
        )
    return total.values.columns[facts.valued.index(name)]


def counts_of_column(facts: TableFacts, total: CellFacts, name: str) -> CategoryCounts:
    """Return the counts of a categorical column, or of the distinct values of a numeric one."""
    if name in facts.categorical:
        return total.counts.columns[facts.categorical.index(name)]
    values = values_of_column(facts, total, name, "categorical")
    levels = tuple(int(x) if x.is_integer() else x for x in sorted(set(values.x.tolist())))
    index = {level: i for i, level in enumerate(levels)}
    bins = [index[x] for x in values.x.tolist()]
    weight, rows = values.by_bin(np.array(bins, dtype=np.intp), len(levels), total.values.n_classes)
    return CategoryCounts(levels, weight, rows)
