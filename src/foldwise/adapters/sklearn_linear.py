"""The session of scikit-learn's `LinearRegression`, `Ridge` and `RidgeClassifier`.

One eigendecomposition of the Gram matrix of the training rows serves all penalties. The condition number of XᵀX
is the square of that of X. So a setting is solved this way only if XᵀX + αI is well conditioned. All other settings are
refitted, as are models with positive coefficients, several targets, sparse tables or iterative solvers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.adapters.linear_facts import TrainingFacts
from foldwise.adapters.linear_leave_one_out import leave_one_out_blocks
from foldwise.adapters.linear_session import GramSession, Solution, opened, with_predictions
from foldwise.adapters.support import SKLEARN, Support, is_number, is_whole
from foldwise.folds.protocol import Answer, Labels, LeaveOneOutBlock, Need, Params, Rows

WORST_RIDGE = 1e5  # condition number of XᵀX + αI
WORST_LINEAR = 300.0**2  # of XᵀX: that of X is its root
LARGEST_TOL = 1e-3  # singular values below tol times the largest are dropped, which must not happen up to 1/300
SOLVERS = ("auto", "cholesky", "svd")


@dataclass(frozen=True)
class LeastSquaresSetting:
    """A penalty, and the largest condition number for which it is solved from the Gram matrix."""

    alpha: float
    fit_intercept: bool
    worst: float
    class_weight: Any = None


class LeastSquaresSession(GramSession[LeastSquaresSetting]):
    """A session of linear and ridge regression, and of the ridge classifier."""

    LAZY: ClassVar[frozenset[str]] = frozenset(
        {"alpha", "fit_intercept", "copy_X", "max_iter", "tol", "solver", "random_state", "n_jobs"}
    )

    def plain(self, params: dict[str, Any]) -> LeastSquaresSetting | None:
        if not usual(params):
            return None
        intercept = bool(params["fit_intercept"])
        if "alpha" not in params:
            fine = params["tol"] <= LARGEST_TOL and (params["n_jobs"] is None or is_whole(params["n_jobs"]))
            return LeastSquaresSetting(0.0, intercept, WORST_LINEAR) if fine else None
        solver, max_iter, weighting = params["solver"], params["max_iter"], params.get("class_weight")
        fine = (
            is_number(params["alpha"])
            and isinstance(solver, str)
            and solver in SOLVERS
            and (max_iter is None or (is_whole(max_iter) and max_iter >= 1))
            and (params["random_state"] is None or is_seed(params["random_state"]))
            and (weighting is None or isinstance(weighting, dict) or is_balanced(weighting))
        )
        return LeastSquaresSetting(float(params["alpha"]), intercept, WORST_RIDGE, weighting) if fine else None

    def solve(self, settings: Sequence[LeastSquaresSetting], facts: TrainingFacts) -> Solution:
        alphas, worst, intercepts = (
            np.array([getattr(one, name) for one in settings]) for name in ("alpha", "worst", "fit_intercept")
        )
        coef = np.zeros((len(settings), len(facts.y_mean), facts.n_columns))
        usable = np.zeros(len(settings), dtype=bool)
        for intercept in set(intercepts.tolist()):
            some = np.flatnonzero(intercepts == intercept)
            some = some[facts.conditions(intercept, alphas[some]) <= worst[some]]
            if some.size:
                coef[some], usable[some] = facts.spectrum(intercept).coefficients(alphas[some]), True
        return Solution.of(coef, intercepts, facts, usable)

    def solve_subsets(self, setting: LeastSquaresSetting, facts: TrainingFacts, columns: NDArray[np.intp]) -> Solution:
        whole = facts.conditions(setting.fit_intercept, np.array([setting.alpha]))[0]
        if whole > setting.worst:  # some subsets may still be well conditioned
            return super().solve_subsets(setting, facts, columns)
        # eigenvalues of a part of a matrix lie between those of the whole, so no subset is conditioned worse
        given, diagonal = facts.equations(setting.fit_intercept), np.arange(columns.shape[1])
        gram = given.gram[columns[:, :, None], columns[:, None]]
        gram[:, diagonal, diagonal] += setting.alpha
        coef: Any = np.linalg.solve(gram, given.moment[columns]).transpose(0, 2, 1)  # (subsets, m, size)
        wide = np.zeros((len(columns), coef.shape[1], facts.n_columns))
        np.put_along_axis(wide, np.repeat(columns[:, None], coef.shape[1], axis=1), coef, axis=2)
        intercepts = np.full(len(columns), setting.fit_intercept)
        found = Solution.of(wide, intercepts, facts, np.ones(len(columns), dtype=bool))
        return Solution(coef, found.intercept, found.usable)

    def answers_leave_one_out(self, setting: Params) -> bool:
        plain = self._read.of(setting)
        if plain is None or plain.class_weight:  # balanced weights change with the row that is left out
            return False
        # without a class, a model of several classes has fewer decision values
        return not isinstance(self.target, Labels) or bool(np.bincount(self.target.codes).min() > 1)

    def answer_leave_one_out(
        self, settings: Sequence[Params], rows: Rows, left_out: Rows, need: Need
    ) -> Iterator[LeaveOneOutBlock]:
        need, facts = with_predictions(need), self.facts(rows)
        known = [plain for one in settings if (plain := self._read.of(one)) is not None]
        assert self.table is not None
        size = self.block_size(len(left_out))
        for start in range(0, len(settings), size):
            some = known[start : start + size]
            if facts is None or facts.rows is not None or len(rows) < 4:
                blank = blank_answer(self.target, len(some), len(left_out), need)
                yield LeaveOneOutBlock(start, start + len(some), blank, np.arange(len(left_out)))
                continue
            solution = self.solve(some, facts)
            for block in leave_one_out_blocks(some, solution, self.table, facts, rows, left_out, need):
                yield replace(block, start=start + block.start, stop=start + block.stop)


def blank_answer(target: Any, n_settings: int, n_rows: int, need: Need) -> Answer:
    """An answer whose rows are filled in by refits; decision values of several classes have one column per class."""
    shape = (n_settings, n_rows)
    if not isinstance(target, Labels):
        return Answer(values=np.zeros(shape) if need & Need.VALUES else None)
    wide = shape if len(target.classes) == 2 else (*shape, len(target.classes))
    return Answer(
        labels=np.zeros(shape, dtype=np.intp) if need & Need.LABELS else None,
        decision=np.zeros(wide) if need & Need.DECISION else None,
    )


def usual(params: dict[str, Any]) -> bool:
    """Whether the parameters that all these models share are valid and supported."""
    flags = (params["fit_intercept"], params["copy_X"], params["positive"])
    return (
        all(isinstance(flag, bool | np.bool_) for flag in flags) and not params["positive"] and is_number(params["tol"])
    )


def is_seed(value: Any) -> bool:
    return is_whole(value) and 0 <= value < 2**32


def is_balanced(value: Any) -> bool:
    return isinstance(value, str) and value == "balanced"


SUPPORT = Support(SKLEARN)


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> GramSession[Any] | None:
    """A session for a dense table of finite numbers in double precision and one target; None otherwise."""
    return opened(LeastSquaresSession(estimator, X, y, fit_params))
