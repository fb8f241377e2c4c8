"""The joint log-probabilities of naive Bayes as expressions of an engine, so that rows are scored where they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood, LevelTable
from foldwise.bayes.families.gaussian import GaussianLikelihood
from foldwise.bayes.finished import FinishedModel
from foldwise.bayes.weighting import WeightedLikelihood, scale_tables
from foldwise.engines.asking import Asker
from foldwise.engines.statements import level, literal, number
from foldwise.errors import InputError
from foldwise.summaries.number_kernels import Floats


def joint_expressions(finished: FinishedModel, asker: Asker) -> list[Any]:  # (K,)
    """Return log P(class, row) divided by the temperature, one expression per class."""
    terms = [[literal(asker, value)] for value in finite(finished.log_prior).tolist()]
    for likelihood in finished.likelihoods:
        for column in column_terms(likelihood, asker):
            for own, term in zip(terms, column, strict=True):
                own.append(term)
    joint = [reduce(add, own) for own in terms]
    temperature = finished.setting.temperature
    return joint if temperature == 1 else [one / literal(asker, temperature) for one in joint]


def column_terms(likelihood: Any, asker: Asker) -> list[list[Any]]:  # (d, K)
    """Return the log-likelihoods of each column, one expression per class."""
    if isinstance(likelihood, WeightedLikelihood):
        likelihood = scale_tables(likelihood.inner, likelihood.weights)
    if isinstance(likelihood, CategoricalLikelihood):
        return [level_terms(table, asker) for table in likelihood.tables]
    if isinstance(likelihood, GaussianLikelihood):
        return [gaussian_terms(likelihood, j, asker) for j in range(len(likelihood.names))]
    if isinstance(likelihood, BinnedLikelihood):
        pairs = zip(likelihood.tables, likelihood.cuts, strict=True)
        return [bin_terms(table, cuts, asker) for table, cuts in pairs]
    raise InputError(
        "an engine scores rows only with the distribution families 'gaussian', 'categorical' and 'binned', and "
        "with missing='ignore' for numbers.",
        "use these families, or predict rows on this machine.",
    )


def level_terms(table: LevelTable, asker: Asker) -> list[Any]:
    """Look the value of a categorical column up; the last two slots are those of missing and unseen values."""
    column = asker.table[table.name]
    cell: Any
    levels: list[Any]
    if column.type().is_boolean():
        cell, levels = level(asker, table.name, "flag"), [int(one) for one in table.levels]
    elif column.type().is_numeric():
        cell, levels = number(asker, column), [float(one) for one in table.levels]
    else:
        cell, levels = level(asker, table.name, "text"), list(table.levels)
    return [look_up(asker, cell, levels, logs) for logs in finite(table.log).T]


def look_up(asker: Asker, cell: Any, levels: Sequence[Any], logs: Floats) -> Any:
    """Return the logarithm of the level of a cell."""
    cases = [(cell == one, literal(asker, log)) for one, log in zip(levels, logs[:-2].tolist(), strict=True)]
    cases.append((cell.isnull(), literal(asker, logs[-2])))
    return asker.ibis.cases(*cases, else_=literal(asker, logs[-1]))


def gaussian_terms(likelihood: GaussianLikelihood, j: int, asker: Asker) -> list[Any]:
    """Compute log N(x), which is 0 for a missing cell."""
    x = number(asker, asker.table[likelihood.names[j]])
    found = []
    for mean, scale, norm in zip(likelihood.mean[:, j], likelihood.scale[:, j], likelihood.log_norm[:, j], strict=True):
        apart = x - literal(asker, mean)
        found.append((literal(asker, norm) - literal(asker, scale) * apart * apart).fill_null(0.0))
    return found


def bin_terms(table: LevelTable, cuts: Floats, asker: Asker) -> list[Any]:
    """Look the bin of a number up; a value equal to a cut point is below it."""
    x = number(asker, asker.table[table.name])
    found = []
    for logs in finite(table.log).T:
        cases = [(x.isnull(), literal(asker, logs[-2]))]
        cases += [(x <= literal(asker, cut), literal(asker, log)) for cut, log in zip(cuts, logs, strict=False)]
        found.append(asker.ibis.cases(*cases, else_=literal(asker, logs[len(cuts)])))
    return found


def finite(logs: Floats) -> Floats:
    """Refuse probabilities of 0, whose logarithms engines treat differently."""
    if not np.isfinite(logs).all():
        raise InputError(
            "an engine cannot score rows with a model in which a probability is 0.",
            "use alpha above 0, and leave classes without rows out of the table expression.",
        )
    return logs
