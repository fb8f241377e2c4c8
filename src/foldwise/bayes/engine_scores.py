"""The joint log-probabilities of naive Bayes as a query of an engine, so that rows are scored where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood, LevelTable
from foldwise.bayes.families.gaussian import GaussianLikelihood
from foldwise.bayes.finished import FinishedModel
from foldwise.bayes.weighting import WeightedLikelihood, scale_tables
from foldwise.engines.asking import Asker
from foldwise.engines.score_query import IMPOSSIBLE, ScoreQuery
from foldwise.engines.small_tables import values_query
from foldwise.engines.statements import level, level_type, number
from foldwise.errors import InputError

LEVEL_TYPES: dict[Any, Any] = {pl.String: str, pl.Int64: int, pl.Float64: float}
MOST_SHIFT = 100.0  # squared distance of two means, in variances, up to which a polynomial loses two digits at most


def joint_by_fold(models: Sequence[FinishedModel], asker: Asker, fold: str, label: str) -> str:
    """Return a query of class, fold and scores of classes, each row by the model of its fold: columns j0, j1, …

    A score is log P(class, row), minus that of the first class with training rows. Differences decide the
    probabilities, and for two classes they take half as many logarithms. The column `label` has the index of the class.
    """
    return JointQuery(models, asker, fold, label).text()


class JointQuery(ScoreQuery):
    """The parts of the query: the cells of all rows, one small table per categorical column, and the terms.

    Attributes
    ----------
    kinds : dict of str to str
        Whether these cells are "number", "text" or "flag".
    levels : dict of str to list of DataFrame
        The logarithms of the levels of each categorical column, one frame per fold, by internal name.
    """

    def __init__(self, models: Sequence[FinishedModel], asker: Asker, fold: str, label: str) -> None:
        super().__init__(asker, fold, label, models[0].classes)
        self.models = models
        self.levels: dict[str, list[pl.DataFrame]] = {}
        self.kinds: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}

    def text(self) -> str:
        """Write the query."""
        by_model = [self.scores(o, model) for o, model in enumerate(self.models)]
        return self.written(by_model, self.joins())

    def joins(self) -> str:
        """Write the joins with the logarithms of all categories, by level and fold."""
        found = []
        for name, parts in self.levels.items():
            query = values_query(self.asker, pl.concat(parts))
            found.append(f"LEFT JOIN ({query}) AS t{name} ON {name} = t{name}.level AND base.fold = t{name}.fold")
        return " ".join(found)

    def cell(self, kind: str, name: str) -> str:
        """Return the internal name of the cells of a column, as a number or as a level."""
        if (kind, name) not in self._names:
            own = f"x{len(self._names)}"
            column = self.asker.table[name]
            is_number = kind == "number" or (column.type().is_numeric() and not column.type().is_boolean())
            wanted = "number" if is_number else level_type(column.type())
            self._names[kind, name], self.kinds[own] = own, wanted
            self.cells[own] = number(self.asker, column) if is_number else level(self.asker, name, wanted)
        return self._names[kind, name]

    def scores(self, o: int, finished: FinishedModel) -> list[str]:  # (K,)
        """Write log P(class, row) minus that of the first class, divided by the temperature, for each class.

        A class without training rows has a constant far below every logarithm that can occur, not minus infinity.
        """
        present = np.isfinite(finished.log_prior)
        priors = np.full(len(present), IMPOSSIBLE)
        priors[present] = minus_first(finished.log_prior[present])
        terms = [[self.literal(value)] for value in priors.tolist()]
        for likelihood in finished.likelihoods:
            for column in self.column_terms(o, likelihood, present):
                for c, term in zip(np.flatnonzero(present)[1:].tolist(), column, strict=True):
                    terms[c].append(term)
        temperature = finished.setting.temperature
        joint = [" + ".join(own) for own in terms]
        return joint if temperature == 1 else [f"({one}) / {self.literal(temperature)}" for one in joint]

    def column_terms(self, o: int, likelihood: Any, present: NDArray[np.bool_]) -> list[list[str]]:  # (d, classes)
        """Write the log-likelihoods of each column minus that of the first class, for the other classes with rows."""
        likelihood = unweighted(likelihood)
        if isinstance(likelihood, CategoricalLikelihood):
            return [self.level_terms(o, table, present) for table in likelihood.tables]
        if isinstance(likelihood, GaussianLikelihood):
            return [self.gaussian_terms(likelihood, j, present) for j in range(len(likelihood.names))]
        if isinstance(likelihood, BinnedLikelihood):
            pairs = zip(likelihood.tables, likelihood.cuts, strict=True)
            return [self.bin_terms(table, cuts, present) for table, cuts in pairs]
        raise InputError(
            "an engine scores rows only with the distribution families 'gaussian', 'categorical' and 'binned', and "
            "with missing='ignore' for numbers.",
            "use these families, or predict rows on this machine.",
        )

    def level_terms(self, o: int, table: LevelTable, present: NDArray[np.bool_]) -> list[str]:
        """Write the joined logarithm of a cell, or that of a missing or unseen value."""
        own, logs = self.cell("level", table.name), np.zeros(table.log.shape)
        logs[:, present] = minus_first(finite(table.log[:, present]))
        columns = {f"l{c}": logs[:-2, c] for c in range(len(present))}
        kind = {"text": pl.String, "flag": pl.Int64, "number": pl.Float64}[self.kinds[own]]
        levels = pl.Series([LEVEL_TYPES[kind](one) for one in table.levels], dtype=kind)
        rows = pl.DataFrame({"level": levels, "fold": pl.repeat(o, len(levels), dtype=pl.Int64, eager=True), **columns})
        self.levels.setdefault(own, []).append(rows)
        found = []
        for c in np.flatnonzero(present)[1:].tolist():
            missing, unseen = self.literal(logs[-2, c]), self.literal(logs[-1, c])
            other = unseen if missing == unseen else f"CASE WHEN {own} IS NULL THEN {missing} ELSE {unseen} END"
            found.append(f"COALESCE(t{own}.l{c}, {other})")
        return found

    def gaussian_terms(self, likelihood: GaussianLikelihood, j: int, present: NDArray[np.bool_]) -> list[str]:
        """Write log N(x) minus that of the first class, which is 0 for a missing cell."""
        x = self.cell("number", likelihood.names[j])
        mean, scale, norm = (array[present, j] for array in (likelihood.mean, likelihood.scale, likelihood.log_norm))
        apart = f"({x} - {self.literal(mean[0])})"
        found = []
        for c in range(1, len(mean)):
            shift = mean[c] - mean[0]
            if max(scale[0], scale[c]) * shift * shift < MOST_SHIFT:  # a polynomial in x - mean[0]
                constant = self.literal(norm[c] - norm[0] - scale[c] * shift * shift)
                factor = f"{self.literal(2 * scale[c] * shift)} + {self.literal(scale[0] - scale[c])} * {apart}"
                term = f"{constant} + {apart} * ({factor})"
            else:  # where means are far apart, the polynomial would lose digits
                other, weights = f"({x} - {self.literal(mean[c])})", (self.literal(scale[c]), self.literal(scale[0]))
                term = f"{self.literal(norm[c] - norm[0])} - {weights[0]} * {other} * {other}"
                term = f"{term} + {weights[1]} * {apart} * {apart}"
            found.append(f"COALESCE({term}, {self.literal(0.0)})")
        return found

    def bin_terms(self, table: LevelTable, cuts: Floats, present: NDArray[np.bool_]) -> list[str]:
        """Write the logarithm of the bin of a number; a value equal to a cut point is below it."""
        x, found = self.cell("number", table.name), []
        for logs in minus_first(finite(table.log[:, present])).T[1:]:
            cases = [f"WHEN {x} IS NULL THEN {self.literal(logs[-2])}"]
            pairs = zip(cuts.tolist(), logs.tolist(), strict=False)
            cases += [f"WHEN {x} <= {self.literal(cut)} THEN {self.literal(log)}" for cut, log in pairs]
            found.append(f"CASE {' '.join(cases)} ELSE {self.literal(logs[len(cuts)])} END")
        return found


def unweighted(likelihood: Any) -> Any:
    """Multiply the logarithms by the weights of the columns, if there are some."""
    if isinstance(likelihood, WeightedLikelihood):
        return scale_tables(likelihood.inner, likelihood.weights)
    return likelihood


def minus_first(logs: Floats) -> Floats:  # (…, K)
    """Return the logarithms of classes minus that of the first one."""
    found: Floats = logs - logs[..., :1]
    return found


def finite(logs: Floats) -> Floats:
    """Refuse probabilities of 0, whose logarithms engines treat differently."""
    if not np.isfinite(logs).all():
        raise InputError(
            "an engine cannot score rows with a model in which a probability is 0.",
            "use alpha above 0.",
        )
    return logs
