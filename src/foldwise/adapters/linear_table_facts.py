"""Linear models of scikit-learn, solved from the sums that a database or Spark returned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from foldwise.adapters.linear_facts import NormalEquations, TrainingFacts
from foldwise.arrays import Floats
from foldwise.engines.asking import Asker
from foldwise.engines.score_query import IMPOSSIBLE, ScoreQuery
from foldwise.engines.statements import number
from foldwise.engines.table_facts import CellFacts, TableFacts
from foldwise.errors import InputError
from foldwise.summaries.gram import Gram

WORST = 1e12  # condition number of the scaled equations, above which fewer than four digits would be right


def fit_linear(estimator: Any, facts: TableFacts) -> Any:
    """Return a fitted clone of a `LinearRegression`, `Ridge` or `RidgeClassifier`."""
    is_classifier = type(estimator) is RidgeClassifier
    if is_classifier == (facts.classes is None):
        what, came = ("classes", "a quantity") if is_classifier else ("a quantity", "classes")
        raise InputError(
            f"{type(estimator).__name__} predicts {what}, but the target {facts.target!r} contains {came}."
        )
    training = training_facts(facts)
    params = estimator.get_params()
    if params["positive"] or params.get("class_weight") is not None:
        raise InputError(
            f"{type(estimator).__name__} can be fitted to facts only with positive=False and class_weight=None."
        )
    intercept, alpha = bool(params["fit_intercept"]), float(params.get("alpha", 0.0))
    coef = solve(training.equations(intercept), alpha, facts.numeric)  # (m, d)
    offset = training.y_mean - coef @ training.x_mean if intercept else np.zeros(len(coef))
    fitted = clone(estimator)
    fitted.n_features_in_ = len(facts.numeric)
    if is_classifier:
        fitted = with_classes(fitted, np.asarray(facts.classes)[training.present], len(facts.numeric))
        fitted.coef_, fitted.intercept_ = coef, offset if intercept else 0.0
    else:
        fitted.coef_, fitted.intercept_ = coef[0], float(offset[0]) if intercept else 0.0
    fitted.feature_names_in_ = np.array(facts.numeric, dtype=object)
    return fitted


def with_classes(classifier: Any, classes: NDArray[Any], n_columns: int) -> Any:
    """Fit a classifier to rows of zeros: what it keeps of its classes is private, and differs between versions."""
    labels = np.repeat(classes, 3)
    own = {name: getattr(classifier, name) for name in ("alpha", "solver")}
    classifier.set_params(alpha=1.0, solver="cholesky").fit(np.zeros((len(labels), n_columns)), labels)
    return classifier.set_params(**own)


LINEAR = (LinearRegression, Ridge, RidgeClassifier)


def training_facts(facts: TableFacts) -> TrainingFacts:
    """Return the Gram matrix of the numeric columns, then of a quantity or of one indicator per class."""
    total = facts.total
    if total.grams is None:
        raise InputError("linear models need sums of products.", "pass gram=True to facts_of.")
    if facts.categorical:
        raise InputError(
            f"linear models need numeric columns, but {facts.categorical[0]!r} is categorical.",
            "pass the numeric columns as columns= to facts_of, or encode the others in the table expression.",
        )
    d = len(facts.numeric)
    if facts.classes is None:
        return TrainingFacts.of_gram(total.grams[0], d, None)
    present = np.flatnonzero(total.class_rows)
    if len(present) < 2:
        raise InputError("a classifier needs at least two classes, but the rows have one.")
    return TrainingFacts.of_gram(with_indicators(total, d), d, present)


def with_indicators(total: CellFacts, d: int) -> Gram:
    """Add one indicator per class to the Gram matrix: their products follow from the means of the classes."""
    assert total.grams is not None
    whole = reduce(add, total.grams)
    share = total.class_rows / whole.weight
    products = np.zeros((d + len(share), d + len(share)))
    products[:d, :d] = whole.products
    for c, part in enumerate(total.grams):
        apart = part.weight * ((part.high - whole.high) + (part.low - whole.low))
        products[:d, d + c] = products[d + c, :d] = apart if part.weight else 0.0
    products[d:, d:] = np.diag(total.class_rows) - np.multiply.outer(total.class_rows, share)
    zero = np.zeros_like(share)
    return Gram(whole.weight, whole.rows, np.append(whole.high, share), np.append(whole.low, zero), products)


def solve(equations: NormalEquations, alpha: float, names: tuple[str, ...]) -> Floats:  # (m, d)
    """Solve (XᵀX + αI)β = XᵀY, after scaling the columns, so that their units do not matter."""
    matrix = equations.gram + alpha * np.eye(len(equations.gram))
    scale = np.sqrt(np.diag(matrix))
    if not (scale > 0).all():
        name = names[int(np.argmin(scale))]
        raise InputError(f"column {name!r} is constant.", "leave it out, or use Ridge.")
    scaled = matrix / scale / scale[:, None]
    values = scipy.linalg.eigvalsh(scaled)
    if values[0] * WORST < values[-1]:
        raise InputError(
            "the columns are collinear, so coefficients cannot be computed from sums of products.",
            "leave one of them out, or use Ridge with a larger alpha.",
        )
    found: Floats = scipy.linalg.solve(scaled, equations.moment / scale[:, None], assume_a="pos").T / scale
    return found


def squared_error(model: Any, facts: TableFacts) -> float:
    """Return the sum of squared errors of a linear model on the rows of these facts, without reading them."""
    total = facts.total
    assert total.grams is not None
    gram = total.grams[0]
    direction = np.append(-np.asarray(model.coef_, dtype=np.float64), 1.0)
    bias = float(direction @ gram.mean) - float(model.intercept_)
    return float(direction @ gram.products @ direction) + gram.weight * bias**2


def scores_by_fold(models: Sequence[Any], asker: Asker, fold: str, label: str, classes: NDArray[Any]) -> str:
    """Return a query of class, fold and scores of classes, each row by the classifier of its fold: columns j0, j1, …

    The class with the largest score is predicted, and the first of them if scores are equal.
    """
    query = ScoreQuery(asker, fold, label, classes)
    names = models[0].feature_names_in_.tolist()
    query.cells |= {f"x{j}": number(asker, asker.table[name]) for j, name in enumerate(names)}
    return query.written([linear_scores(model, query) for model in models])


def linear_scores(model: Any, query: ScoreQuery) -> list[str]:  # (K,)
    """Write the score of each class; of two, the first one has the score 0. Classes without training rows have none."""
    coef = np.atleast_2d(model.coef_)
    intercept = np.broadcast_to(np.ravel(model.intercept_), len(coef))
    sums = [
        " + ".join([query.literal(constant), *(f"{query.literal(b)} * x{j}" for j, b in enumerate(own))])
        for own, constant in zip(coef.tolist(), intercept.tolist(), strict=True)
    ]
    present = sums if len(sums) > 1 else [query.literal(0.0), *sums]
    known = dict(zip(model.classes_.tolist(), present, strict=True))
    return [known.get(one, query.literal(IMPOSSIBLE)) for one in query.classes.tolist()]
