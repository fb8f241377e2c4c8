"""The joint log-probabilities of naive Bayes as expressions of an engine, so that rows are scored where they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood, LevelTable
from foldwise.bayes.families.gaussian import GaussianLikelihood
from foldwise.bayes.finished import FinishedModel
from foldwise.bayes.weighting import WeightedLikelihood, scale_tables
from foldwise.engines.asking import Asker
from foldwise.engines.small_tables import small_table
from foldwise.engines.statements import level, literal, number
from foldwise.errors import InputError
from foldwise.summaries.number_kernels import Floats

IMPOSSIBLE = -1e300
MOST_SHIFT = 100.0  # squared distance of two means, in variances, up to which a polynomial loses two digits at most


def joint_by_fold(models: Sequence[FinishedModel], asker: Asker, fold: str, label: str) -> Any:
    """Return a table of label, fold and scores of classes, each row by the model of its fold: columns j0, j1, …

    A score is log P(class, row), minus that of the first class with training rows. Differences decide the
    probabilities, and for two classes they take half as many logarithms.
    """
    n_tables = len(level_tables(models[0]))
    if n_tables <= asker.kind.most_joins:  # faster and shorter than a case with one branch per category
        asker = with_lookups(models, asker, fold)
    by_model = [joint_expressions(model, asker) for model in models]
    table = asker.table
    # a row is scored only by the model of its own fold: engines evaluate the branch of a case that applies
    joint = {
        f"j{c}": asker.ibis.cases(*[(table[fold] == o, one[c]) for o, one in enumerate(by_model)])
        for c in range(len(models[0].classes))
    }
    return table.select(label=table[label], fold=table[fold], **joint)


def with_lookups(models: Sequence[FinishedModel], asker: Asker, fold: str) -> Asker:
    """Join the logarithms of all categories, by column and fold. They are small tables of this machine.

    Numbers are converted before, once instead of once in each branch of a case.
    """
    numbers = {number_name(name): number(asker, asker.table[name]) for name in numeric_names(models[0])}
    asker = Asker(asker.table.mutate(**numbers))
    folded, n_classes = asker.table, len(models[0].classes)
    always_first = set.intersection(*[{first_present(model)} for model in models])  # its logarithms are all 0
    joined = folded
    cells: dict[str, Any] = {}
    tables: dict[str, list[pl.DataFrame]] = {}
    for o, model in enumerate(models):
        present = np.isfinite(model.log_prior)
        for table in level_tables(model):
            logs = np.zeros((len(table.levels), n_classes))
            logs[:, present] = minus_first(finite(table.log[:-2, present]))
            columns = {log_name(table.name, c): logs[:, c] for c in range(n_classes) if c not in always_first}
            cells[table.name], levels = levels_of(table, asker)
            rows = {"level": levels, "fold": [o] * len(logs), **columns}
            if table.levels:
                tables.setdefault(table.name, []).append(pl.DataFrame(rows, schema_overrides={"fold": pl.Int64}))
    for j, (name, parts) in enumerate(tables.items()):
        names = {"level": f"(level {j})", "fold": f"(fold {j})"}
        lookup = small_table(asker, pl.concat(parts).rename(names))
        joined = joined.left_join(
            lookup, [cells[name] == lookup[names["level"]], folded[fold] == lookup[names["fold"]]]
        )
    return Asker(joined)


def log_name(column: str, c: int) -> str:
    """Name the joined column of the logarithms of one class."""
    return f"(log {c} of {column})"


def number_name(column: str) -> str:
    """Name the converted numbers of a column."""
    return f"(number of {column})"


def numeric_names(model: FinishedModel) -> list[str]:
    """Return the columns whose numbers are compared or subtracted."""
    plain = [unweighted(likelihood) for likelihood in model.likelihoods]
    bins = [table.name for one in plain if isinstance(one, BinnedLikelihood) for table in one.tables]
    return [*bins, *[name for one in plain if isinstance(one, GaussianLikelihood) for name in one.names]]


def converted(asker: Asker, name: str) -> Any:
    """Return the numbers of a column, which may have been converted already."""
    table = asker.table
    return table[number_name(name)] if number_name(name) in table.columns else number(asker, table[name])


def level_tables(model: FinishedModel) -> list[LevelTable]:
    """Return the tables of all categorical columns."""
    plain = [unweighted(likelihood) for likelihood in model.likelihoods]
    return [table for one in plain if isinstance(one, CategoricalLikelihood) for table in one.tables]


def unweighted(likelihood: Any) -> Any:
    """Multiply the logarithms by the weights of the columns, if there are some."""
    if isinstance(likelihood, WeightedLikelihood):
        return scale_tables(likelihood.inner, likelihood.weights)
    return likelihood


def first_present(model: FinishedModel) -> int:
    """Return the index of the first class with training rows."""
    return int(np.flatnonzero(np.isfinite(model.log_prior))[0])


def minus_first(logs: Floats) -> Floats:  # (…, K)
    """Return the logarithms of classes minus that of the first one."""
    found: Floats = logs - logs[..., :1]
    return found


def joint_expressions(finished: FinishedModel, asker: Asker) -> list[Any]:  # (K,)
    """Return log P(class, row) minus that of the first class, divided by the temperature, one expression per class.

    A class without training rows has a constant far below every logarithm that can occur, instead of minus infinity.
    """
    present = np.isfinite(finished.log_prior)
    priors = np.full(len(present), IMPOSSIBLE)
    priors[present] = minus_first(finished.log_prior[present])
    terms = [[literal(asker, value)] for value in priors.tolist()]
    for likelihood in finished.likelihoods:
        for column in column_terms(likelihood, asker, present):
            for c, term in zip(np.flatnonzero(present)[1:].tolist(), column, strict=True):
                terms[c].append(term)
    joint = [reduce(add, own) for own in terms]
    temperature = finished.setting.temperature
    return joint if temperature == 1 else [one / literal(asker, temperature) for one in joint]


def column_terms(likelihood: Any, asker: Asker, present: NDArray[np.bool_]) -> list[list[Any]]:  # (d, classes)
    """Return the log-likelihoods of each column minus that of the first class, for the other classes with rows."""
    likelihood = unweighted(likelihood)
    if isinstance(likelihood, CategoricalLikelihood):
        return [level_terms(table, asker, present) for table in likelihood.tables]
    if isinstance(likelihood, GaussianLikelihood):
        return [gaussian_terms(likelihood, j, asker, present) for j in range(len(likelihood.names))]
    if isinstance(likelihood, BinnedLikelihood):
        pairs = zip(likelihood.tables, likelihood.cuts, strict=True)
        return [bin_terms(table, cuts, asker, present) for table, cuts in pairs]
    raise InputError(
        "an engine scores rows only with the distribution families 'gaussian', 'categorical' and 'binned', and "
        "with missing='ignore' for numbers.",
        "use these families, or predict rows on this machine.",
    )


def level_terms(table: LevelTable, asker: Asker, present: NDArray[np.bool_]) -> list[Any]:
    """Look the value of a categorical column up; the last two slots are those of missing and unseen values."""
    cell, levels = levels_of(table, asker)
    logs = minus_first(finite(table.log[:, present])).T[1:]
    classes = np.flatnonzero(present)[1:].tolist()
    names = [log_name(table.name, c) for c in classes]
    if names and names[0] in asker.table.columns:
        return [joined_log(asker, cell, own, name) for own, name in zip(logs, names, strict=True)]
    return [look_up(asker, cell, levels, own) for own in logs]


def levels_of(table: LevelTable, asker: Asker) -> tuple[Any, list[Any]]:
    """Return the cell of a categorical column, and the levels it is compared with."""
    column = asker.table[table.name]
    if column.type().is_boolean():
        return level(asker, table.name, "flag"), [int(one) for one in table.levels]
    if column.type().is_numeric():
        return number(asker, column), [float(one) for one in table.levels]
    return level(asker, table.name, "text"), list(table.levels)


def look_up(asker: Asker, cell: Any, levels: Sequence[Any], logs: Floats) -> Any:
    """Return the logarithm of the level of a cell."""
    cases = [(cell == one, literal(asker, log)) for one, log in zip(levels, logs[:-2].tolist(), strict=True)]
    cases.append((cell.isnull(), literal(asker, logs[-2])))
    return asker.ibis.cases(*cases, else_=literal(asker, logs[-1]))


def joined_log(asker: Asker, cell: Any, logs: Floats, name: str) -> Any:
    """Return the joined logarithm, or that of a missing or unseen value."""
    missing, unseen = literal(asker, logs[-2]), literal(asker, logs[-1])
    other = unseen if logs[-2] == logs[-1] else asker.ibis.ifelse(cell.isnull(), missing, unseen)
    return asker.ibis.coalesce(asker.table[name], other)


def gaussian_terms(likelihood: GaussianLikelihood, j: int, asker: Asker, present: NDArray[np.bool_]) -> list[Any]:
    """Compute log N(x) minus that of the first class, which is 0 for a missing cell."""
    x = converted(asker, likelihood.names[j])
    mean, scale, norm = (array[present, j] for array in (likelihood.mean, likelihood.scale, likelihood.log_norm))
    apart = x - literal(asker, mean[0])
    found = []
    for c in range(1, len(mean)):
        shift = mean[c] - mean[0]
        if max(scale[0], scale[c]) * shift * shift < MOST_SHIFT:  # a polynomial in x - mean[0]
            constant = norm[c] - norm[0] - scale[c] * shift * shift
            factor = literal(asker, 2 * scale[c] * shift) + literal(asker, scale[0] - scale[c]) * apart
            term = literal(asker, constant) + apart * factor
        else:  # where means are far apart, the polynomial would lose digits
            other = x - literal(asker, mean[c])
            term = literal(asker, norm[c] - norm[0]) - literal(asker, scale[c]) * other * other
            term = term + literal(asker, scale[0]) * apart * apart
        found.append(term.fill_null(0.0))
    return found


def bin_terms(table: LevelTable, cuts: Floats, asker: Asker, present: NDArray[np.bool_]) -> list[Any]:
    """Look the bin of a number up; a value equal to a cut point is below it."""
    x = converted(asker, table.name)
    found = []
    for logs in minus_first(finite(table.log[:, present])).T[1:]:
        cases = [(x.isnull(), literal(asker, logs[-2]))]
        cases += [(x <= literal(asker, cut), literal(asker, log)) for cut, log in zip(cuts, logs, strict=False)]
        found.append(asker.ibis.cases(*cases, else_=literal(asker, logs[len(cuts)])))
    return found


def finite(logs: Floats) -> Floats:
    """Refuse probabilities of 0, whose logarithms engines treat differently."""
    if not np.isfinite(logs).all():
        raise InputError(
            "an engine cannot score rows with a model in which a probability is 0.",
            "use alpha above 0.",
        )
    return logs
