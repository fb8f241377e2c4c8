"""SQL of naive Bayes: the log prior plus one log-likelihood per column, which is 0 where a cell is ignored.

Factors that are the same for all classes, such as log x! of a Poisson distribution, cancel and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foldwise.bayes.families.bernoulli_multinomial import BernoulliLikelihood, MultinomialLikelihood
from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood, LevelTable
from foldwise.bayes.families.gamma import GammaLikelihood
from foldwise.bayes.families.gaussian import GaussianLikelihood
from foldwise.bayes.families.poisson_binomial import BinomialLikelihood, PoissonLikelihood
from foldwise.bayes.presence import WithPresence
from foldwise.bayes.weighting import WeightedLikelihood
from foldwise.exports.family_writers import FamilyWriters
from foldwise.exports.sql.category_columns import is_missing
from foldwise.exports.sql.outputs import ClassOutput, softmax
from foldwise.exports.sql.program import Input, SqlProgram, equals

IMPOSSIBLE = -1e300  # instead of minus infinity, which SQLite and PostgreSQL do not compute with alike
Terms = list[list[str]]  # for each class, expressions to add


def naive_bayes(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    finished = model._finished
    n_classes = len(model.classes_)
    prior = [log_number(value, program) for value in finished.log_prior.tolist()]
    terms: Terms = [[one] for one in prior]
    for block, likelihood in zip(finished.blocks, finished.likelihoods, strict=True):
        own = block_terms(likelihood, [inputs[j] for j in block.columns], n_classes, program)
        for k in range(n_classes):
            terms[k] += own[k]
    scores = [program.add_up(one) for one in terms]
    (top,) = program.compute([program.dialect.extreme(program.dialect.largest, scores)])
    impossible = program.number(IMPOSSIBLE / 10)
    heat = program.number(finished.setting.temperature)
    scores = program.compute(
        f"CASE WHEN {top} < {impossible} THEN {p} ELSE {one} - {top} END / {heat}"
        for one, p in zip(scores, prior, strict=True)
    )
    columns, logs = softmax(scores, program)
    return ClassOutput(model.classes_, columns, logs=logs)


def log_number(value: float, program: SqlProgram) -> str:
    return program.number(IMPOSSIBLE if np.isneginf(value) else value)


def block_terms(likelihood: Any, inputs: Sequence[Input], n_classes: int, program: SqlProgram) -> Terms:
    """Return the terms of a block of columns for each class."""
    if isinstance(likelihood, WeightedLikelihood):
        return weighted(likelihood, inputs, n_classes, program)
    if isinstance(likelihood, WithPresence):
        return with_presence(likelihood, inputs, n_classes, program)
    if isinstance(likelihood, CategoricalLikelihood):
        tables = [level_cases(one, table, program) for one, table in zip(inputs, likelihood.tables, strict=True)]
        return [[table[k] for table in tables] for k in range(n_classes)]
    writer = NUMERIC.of(likelihood)
    cells = [one.expression for one in program.numbers(inputs)]
    found = [writer(likelihood, k, cells, program) for k in range(n_classes)]
    if isinstance(likelihood, BinnedLikelihood):  # a missing cell has a share of its own, or adds 0
        return found
    return [[present(term, cell, program) for cell, term in zip(cells, own, strict=True) if term] for own in found]


def present(term: str, cell: str, program: SqlProgram) -> str:
    """Add a term only if the cell is present."""
    return f"CASE WHEN {cell} IS NULL THEN {program.number(0.0)} ELSE {term} END"


def weighted(likelihood: Any, inputs: Sequence[Input], n_classes: int, program: SqlProgram) -> Terms:
    scaled = likelihood._scaled
    if scaled is not None:
        return block_terms(scaled, inputs, n_classes, program)
    weight = program.number(float(likelihood.weights[0]))  # all are equal
    inner = block_terms(likelihood.inner, inputs, n_classes, program)
    return [[f"{weight} * ({term})" for term in own] for own in inner]


def with_presence(likelihood: Any, inputs: Sequence[Input], n_classes: int, program: SqlProgram) -> Terms:
    found = block_terms(likelihood.inner, inputs, n_classes, program)
    log = likelihood.shares.log  # (2, columns, classes)
    for j, one in enumerate(inputs):
        if log[:, j].any():
            for k in range(n_classes):
                there, gone = (log_number(float(log[i, j, k]), program) for i in (0, 1))
                found[k].append(f"CASE WHEN {is_missing(one, program)} THEN {gone} ELSE {there} END")
    return found


def level_cases(column: Input, table: LevelTable, program: SqlProgram) -> list[str]:
    """Return the log-shares of a category for each class."""
    log, cell = table.log, column.expression
    missing = is_missing(column, program)
    found = []
    for k in range(log.shape[1]):
        whens = " ".join(
            f"WHEN {equals(cell, level, program.dialect)} THEN {log_number(float(log[i, k]), program)}"
            for i, level in enumerate(table.levels)
        )
        gone, unseen = (log_number(float(log[i, k]), program) for i in (-2, -1))
        found.append(f"CASE WHEN {missing} THEN {gone} {whens} ELSE {unseen} END")
    return found


def gaussian(likelihood: GaussianLikelihood, k: int, cells: Sequence[str], program: SqlProgram) -> list[str]:
    number = program.number
    triples = zip(
        cells, likelihood.mean[k].tolist(), likelihood.scale[k].tolist(), likelihood.log_norm[k].tolist(), strict=True
    )
    return [
        f"{number(norm)} - {number(scale)} * (({x} - {number(mean)}) * ({x} - {number(mean)}))" if scale else ""
        for x, mean, scale, norm in triples
    ]


def gamma(likelihood: GammaLikelihood, k: int, cells: Sequence[str], program: SqlProgram) -> list[str]:
    number, one = program.number, program.number(1.0)
    rows = zip(
        cells,
        likelihood.mean[k].tolist(),
        likelihood.shape[k].tolist(),
        likelihood.log_norm[k].tolist(),
        likelihood.informative.tolist(),
        strict=True,
    )
    return [
        f"{number(norm)} - {number(shape)} * ({x} / {number(mean)} - {one} - LN({x} / {number(mean)}))" if used else ""
        for x, mean, shape, norm, used in rows
    ]


def poisson(likelihood: PoissonLikelihood, k: int, cells: Sequence[str], program: SqlProgram) -> list[str]:
    rows = zip(
        cells, likelihood.log[k].tolist(), likelihood.rate[k].tolist(), likelihood.informative.tolist(), strict=True
    )
    return [f"{times_log(x, log, program)} - {program.number(rate)}" if used else "" for x, log, rate, used in rows]


def binomial(likelihood: BinomialLikelihood, k: int, cells: Sequence[str], program: SqlProgram) -> list[str]:
    found = []
    for j, x in enumerate(cells):
        if not likelihood.informative[j]:
            found.append("")
            continue
        trials = program.number(float(likelihood.trials[j]))
        failure, success = (float(likelihood.log[i, k, j]) for i in (0, 1))
        both = f"{times_log(x, success, program)} + {times_log(f'({trials} - {x})', failure, program)}"
        found.append(f"CASE WHEN {x} <= {trials} THEN {both} ELSE {program.number(0.0)} END")
    return found


def bernoulli(likelihood: BernoulliLikelihood, k: int, cells: Sequence[str], program: SqlProgram) -> list[str]:
    log, one = likelihood.shares.log, program.number(1.0)
    pairs = [[log_number(float(log[i, j, k]), program) for i in (1, 0)] for j in range(len(cells))]
    return [f"CASE WHEN {x} = {one} THEN {on} ELSE {off} END" for x, (on, off) in zip(cells, pairs, strict=True)]


def multinomial(likelihood: MultinomialLikelihood, k: int, cells: Sequence[str], program: SqlProgram) -> list[str]:
    return [times_log(x, float(likelihood.shares.log[j, k]), program) for j, x in enumerate(cells)]


def binned(likelihood: BinnedLikelihood, k: int, cells: Sequence[str], program: SqlProgram) -> list[str]:
    found = []
    for x, cuts, table in zip(cells, likelihood.cuts, likelihood.tables, strict=True):
        log = [log_number(float(value), program) for value in table.log[:, k]]
        whens = " ".join(f"WHEN {x} <= {program.number(cut)} THEN {log[i]}" for i, cut in enumerate(cuts.tolist()))
        last = log[len(cuts)]
        found.append(f"CASE WHEN {x} IS NULL THEN {log[-2]} {whens} ELSE {last} END")
    return found


def times_log(x: str, log: float, program: SqlProgram) -> str:
    """Multiply a count by a logarithm, where 0 times minus infinity is 0."""
    if np.isneginf(log):
        return f"CASE WHEN {x} = {program.number(0.0)} THEN {program.number(0.0)} ELSE {program.number(IMPOSSIBLE)} END"
    return f"{x} * {program.number(log)}"


NUMERIC: FamilyWriters[Callable[[Any, int, Sequence[str], SqlProgram], list[str]]] = FamilyWriters(
    "SQL", gaussian, gamma, poisson, binomial, bernoulli, multinomial, binned
)
