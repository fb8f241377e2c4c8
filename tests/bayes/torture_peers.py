"""The naive Bayes classes of other libraries, each set up for a case of the torture suite as its documentation has it.

A peer gives None where it has no class for the columns of a case. Text is coded, and labels are numbered, where a
library asks for that; missing cells are left out of river's dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import LabelEncoder, OrdinalEncoder

if TYPE_CHECKING:
    from tests.bayes.torture import Case


def kinds(case: Case) -> list[str]:
    """What each column of a case is: numeric, categorical or a count of words."""
    X = pd.DataFrame(case.X)
    wanted = {"categorical": "categorical", "multinomial": "count"}.get(case.params.get("families", ""))
    return [wanted or ("numeric" if dtype.kind in "iuf" else "categorical") for dtype in X.dtypes]


class Mixed:
    """mixed-naive-bayes: codes for categories, numbers for labels, no weights, no counts."""

    def __init__(self, case: Case) -> None:
        from mixed_naive_bayes import MixedNB

        X = pd.DataFrame(case.X)
        self.text = [j for j, dtype in enumerate(X.dtypes) if dtype.kind not in "iufb"]
        self.coder, self.labels = OrdinalEncoder(), LabelEncoder()
        params = {"alpha": case.params["alpha"]} if "alpha" in case.params else {}
        if "var_floor" in case.params:
            params["var_smoothing"] = case.params["var_floor"]
        categories = [j for j, kind in enumerate(kinds(case)) if kind == "categorical"]
        self.model = MixedNB(categorical_features=categories, **params)

    def coded(self, X: Any, learn: bool = False) -> np.ndarray:
        X = pd.DataFrame(X)
        cells = X.astype(object).to_numpy(copy=True)
        if self.text:
            part = X.iloc[:, self.text]
            cells[:, self.text] = self.coder.fit_transform(part) if learn else self.coder.transform(part)
        return cells.astype(float)

    def fit(self, X: Any, y: Any) -> Mixed:
        self.model.fit(self.coded(X, learn=True), self.labels.fit_transform(y))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(self.coded(X))


def mixed_naive_bayes(case: Case) -> Any:
    return None if case.weights is not None or "count" in kinds(case) else Mixed(case)


def wnb(case: Case) -> Any:
    """Its GeneralNB takes text and numbers side by side, but no weights."""
    from wnb import Distribution, GeneralNB

    if case.weights is not None or "count" in kinds(case):
        return None
    of_kind = {"numeric": Distribution.NORMAL, "categorical": Distribution.CATEGORICAL}
    params = {"alpha": case.params["alpha"]} if "alpha" in case.params else {}
    if "var_floor" in case.params:
        params["var_smoothing"] = case.params["var_floor"]
    return GeneralNB([of_kind[kind] for kind in kinds(case)], **params)


class Stream:
    """A model of river, taught row by row."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def rows(self, X: Any) -> list[dict[str, Any]]:
        X = pd.DataFrame(X).rename(columns=str)
        records = X.astype(object).where(X.notna(), None).to_dict("records")
        return [{name: cell for name, cell in row.items() if cell is not None} for row in records]

    def fit(self, X: Any, y: Any) -> Stream:
        labels = np.asarray(y).tolist()
        self.classes = sorted(set(labels))
        for row, label in zip(self.rows(X), labels, strict=True):
            self.model.learn_one(row, label)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        answers = [self.model.predict_proba_one(row) for row in self.rows(X)]
        return np.array([[answer.get(label, 0.0) for label in self.classes] for answer in answers])


def river(case: Case) -> Any:
    """GaussianNB for numbers, BernoulliNB for truth values, MultinomialNB for counts and one-hot text; no weights."""
    from river import naive_bayes, preprocessing

    found = set(kinds(case))
    if case.weights is not None or len(found) > 1:
        return None
    if found == {"numeric"}:
        return Stream(naive_bayes.GaussianNB())
    alpha = {"alpha": case.params["alpha"]} if "alpha" in case.params else {}
    if all(dtype.kind == "b" for dtype in pd.DataFrame(case.X).dtypes):
        return Stream(naive_bayes.BernoulliNB(**alpha))
    model = naive_bayes.MultinomialNB(**alpha)
    return Stream(model if found == {"count"} else preprocessing.OneHotEncoder() | model)


# by the names of their packages
PEERS: dict[str, Callable[[Case], Any]] = {
    "scikit-learn": lambda case: case.peer,
    "mixed-naive-bayes": mixed_naive_bayes,
    "wnb": wnb,
    "river": river,
}


def installed(package: str) -> str | None:
    """Its version, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
