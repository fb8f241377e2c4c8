"""The torture suite: the tables that break naive Bayes classes. Each case is a table, new rows and what must come out.

Run as a program (`make torture`) it writes the scoreboard of this class and its peers into `docs/torture.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from foldwise import NaiveBayes
from tests.bayes.torture_peers import PEERS, installed

RNG = np.random.default_rng(0)
TWO = np.arange(40) % 2
CODED = make_pipeline(
    make_column_transformer((OrdinalEncoder(), make_column_selector()), remainder="passthrough"), CategoricalNB()
)


@dataclass(frozen=True)
class Case:
    """A table, rows to predict, what must hold of the probabilities, and scikit-learn's nearest class."""

    name: str
    X: Any
    y: Any
    new: Any
    peer: Any
    must: Callable[[np.ndarray], bool] = lambda proba: True
    params: dict[str, Any] = field(default_factory=dict)
    weights: Any = None
    warns: bool = False


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def numbers(n: int = 40, d: int = 3, center: float = 0.0) -> np.ndarray:
    return center + TWO[:n, None] * 2.0 + np.random.default_rng(1).normal(size=(n, d))


def holed(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[::5, 0] = np.nan
    return X


def lively(proba: np.ndarray) -> bool:
    """The answer is not merely the prior."""
    return bool(np.abs(proba - proba.mean(axis=0)).max() > 0.1)


COLOURS = frame(c=["red", "green"] * 20, d=["x", "y", "z", "x"] * 10)

CASES = [
    Case("missing cells in training", holed(numbers()), TWO, numbers()[:5], GaussianNB(), lively),
    Case("missing cells in prediction", numbers(), TWO, holed(numbers())[:5], GaussianNB(), lively),
    Case(
        "missing categories",
        frame(c=["red", None, "green", "red"] * 10),
        TWO,
        frame(c=["red", None]),
        CODED,
        lambda p: bool(np.allclose(p[1], 0.5)),
    ),
    Case(
        "unknown category",
        COLOURS,
        TWO,
        frame(c=["violet", "red"], d=["x", "x"]),
        CODED,
        lambda p: p[1, 0] > 0.9,
    ),
    Case(
        "unknown category, smoothed",
        COLOURS,
        TWO,
        frame(c=["violet", "red"], d=["x", "x"]),
        CODED,
        lambda p: p[1, 0] > 0.9,
        {"unseen": "smooth"},
    ),
    Case(
        "category that occurs in one class only",
        frame(c=["a"] * 30 + ["b"] * 10),
        [0, 1] * 15 + [1] * 10,
        frame(c=["b", "a"]),
        CODED,
        lambda p: p[0, 1] > 0.9,
    ),
    Case(
        "numbers and text together",
        frame(v=numbers()[:, 0], c=["u", "v"] * 20),
        TWO,
        frame(v=[0.0], c=["u"]),
        None,
        must=lambda p: p[0, 0] > 0.9,
    ),
    Case(
        "a constant column",
        np.c_[numbers(), np.full(40, 7.0)],
        TWO,
        np.array([[0, 0, 0, 7.0], [2, 2, 2, 9]]),
        GaussianNB(),
        lively,
    ),
    Case(
        "constant columns only",
        np.full((40, 2), 0.1),
        TWO,
        np.array([[0.1, 0.1], [5, 5]]),
        GaussianNB(),
        lambda p: bool(np.allclose(p, 0.5)),
    ),
    Case(
        "constant within a class",
        np.c_[np.where(TWO, 3.0, 1.0 + RNG.random(40))],
        TWO,
        np.array([[3.0], [1.5]]),
        GaussianNB(),
        lambda p: p[0, 1] > 0.9 and p[1, 0] > 0.9,
    ),
    Case(
        "column without any value",
        np.c_[numbers(), np.full(40, np.nan)],
        TWO,
        np.c_[numbers()[:4], np.arange(4.0)],
        GaussianNB(),
        lively,
    ),
    Case(
        "a column missing in one class",
        np.c_[numbers(), np.where(TWO, np.nan, 1.0 + TWO + RNG.random(40))],
        TWO,
        np.c_[numbers()[:4], np.ones(4)],
        GaussianNB(),
        lively,
    ),
    Case("a class with one row", numbers(), np.r_[TWO[:39], 2], numbers()[:5], GaussianNB(), lively),
    Case("1e8 + noise", numbers(center=1e8), TWO, numbers(center=1e8)[:6], GaussianNB(), lively),
    Case("1e-8 scale", numbers() * 1e-8, TWO, numbers()[:6] * 1e-8, GaussianNB(), lively),
    Case(
        "5,000 columns",
        np.random.default_rng(2).normal(TWO[:, None], 1, (40, 5000)),
        TWO,
        np.random.default_rng(3).normal(size=(6, 5000)),
        GaussianNB(),
        lambda p: bool((p[:, 0] > 0.99).all()),
    ),
    Case("booleans", numbers() > 1, TWO, numbers()[:6] > 1, BernoulliNB(), lively),
    Case("booleans in a frame", frame(b=numbers()[:, 0] > 1), TWO, frame(b=[True, False]), BernoulliNB(), lively),
    Case("float32", numbers().astype(np.float32), TWO, numbers()[:6].astype(np.float32), GaussianNB(), lively),
    Case(
        "int8 and uint16 columns",
        frame(a=(numbers()[:, 0] * 9).astype(np.int8), b=np.arange(40, dtype=np.uint16)),
        TWO,
        frame(a=np.array([0, 20], np.int8), b=np.array([1, 2], np.uint16)),
        GaussianNB(),
        must=lambda p: p[0, 0] > 0.5 > p[1, 0],
    ),
    Case("weights", numbers(), TWO, numbers()[:6], GaussianNB(), lively, weights=np.arange(40) / 7),
    Case(
        "weights that sum to 1",
        numbers(),
        TWO,
        numbers()[:6],
        GaussianNB(),
        weights=np.full(40, 1 / 40),
        warns=True,
        must=lively,
    ),
    Case(
        "a class of weight 0",
        numbers(),
        TWO,
        numbers()[:6],
        GaussianNB(),
        lambda p: bool(np.allclose(p[:, 1], 1)),
        weights=TWO.astype(float),
    ),
    Case(
        "likelihoods below 1e-300",
        np.random.default_rng(4).normal(TWO[:, None] * 0.5, 1, (40, 900)),
        TWO,
        np.random.default_rng(5).normal(size=(6, 900)),
        GaussianNB(),
        must=lambda p: bool((p[:, 0] > 0.99).all()),
    ),
    Case("a number 1e6 sd away", numbers(), TWO, np.full((2, 3), 1e6), GaussianNB()),
    Case(
        "a number whose square overflows",
        numbers(),
        TWO,
        np.full((1, 3), 1e200),
        GaussianNB(),
        lambda p: bool(np.allclose(p, 0.5)),
        warns=True,
    ),
    Case(
        "contradictory evidence, alpha 0",
        frame(a=["x", "y"] * 20, b=["x", "y"] * 20),
        TWO,
        frame(a=["x"], b=["y"]),
        make_pipeline(OrdinalEncoder(), CategoricalNB(alpha=0, force_alpha=True)),
        lambda p: bool(np.allclose(p, 0.5)),
        {"alpha": 0},
        warns=True,
    ),
    Case(
        "no variance floor, one value per class",
        np.where(TWO, 3.0, 1.0)[:, None],
        TWO,
        np.array([[3.0], [1.0]]),
        GaussianNB(var_smoothing=0),
        lambda p: p[0, 1] > 0.99 and p[1, 0] > 0.99,
        {"var_floor": 0},
    ),
    Case(
        "26 classes, one row each",
        np.arange(26.0)[:, None],
        np.arange(26),
        np.array([[3.0]]),
        GaussianNB(),
        lambda p: int(p[0].argmax()) == 3,
    ),
    Case(
        "word counts, one unknown word",
        np.random.default_rng(6).poisson(1, (40, 5)) * [1, 1, 1, 1, 0],
        TWO,
        np.array([[0, 0, 0, 0, 3.0]]),
        MultinomialNB(),
        params={"families": "multinomial"},
    ),
    Case(
        "counts, an empty row",
        np.random.default_rng(6).poisson(1, (40, 5)),
        TWO,
        np.zeros((1, 5)),
        MultinomialNB(),
        lambda p: bool(np.allclose(p, 0.5)),
        {"families": "multinomial"},
    ),
    Case(
        "negative codes as categories",
        np.random.default_rng(7).integers(-1, 2, (40, 3)),
        TWO,
        np.array([[-1, 0, 1]]),
        CategoricalNB(),
        params={"families": "categorical"},
    ),
    Case(
        "text categories",
        COLOURS.astype("category"),
        TWO,
        COLOURS[:2].astype("category"),
        CODED,
        lambda p: p[0, 0] > 0.9,
    ),
    Case("text labels", numbers(), np.array(["no", "yes"])[TWO], numbers()[:4], GaussianNB(), lively),
]


KINDS = ("pass", "wrong", "raises", "no class")


def verdict(model: Any, case: Case) -> str:
    """pass, wrong (not finite, not normalized, not what must come out), raises, or no class for None."""
    if model is None:
        return "no class"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_params = {}
            if case.weights is not None:
                fit_params["sample_weight"] = case.weights
            proba = model.fit(case.X, case.y, **fit_params).predict_proba(case.new)
    except Exception as error:  # whatever a peer raises is the finding
        return f"raises {type(error).__name__}"
    shape = (len(case.new), len(np.unique(case.y)))
    to = 1e-6 if proba.dtype == np.float32 else 1e-9
    sound = proba.shape == shape and bool(np.isfinite(proba).all()) and bool((abs(proba.sum(axis=1) - 1) < to).all())
    return "pass" if sound and case.must(proba) else "wrong"


def verdicts(package: str) -> list[str]:
    """Those of one library on every case."""
    if package == "foldwise":
        return [verdict(NaiveBayes(**case.params), case) for case in CASES]
    if not installed(package):
        return ["not installed"] * len(CASES)
    return [verdict(PEERS[package](case), case) for case in CASES]


def scoreboard() -> str:
    """Every library on every case, and their sums, as Markdown."""
    boards = {package: verdicts(package) for package in ("foldwise", *PEERS)}
    titles = [f"{package} {installed(package) or ''}".strip() if package in PEERS else package for package in boards]
    lines = [f"| of {len(CASES)} cases | {' | '.join(titles)} |", "|---" * (len(boards) + 1) + "|"]
    for kind in KINDS:
        sums = [sum(v.startswith(kind) for v in board) for board in boards.values()]
        lines.append(f"| {kind} | {' | '.join(map(str, sums))} |")
    lines += ["", f"| case | {' | '.join(boards)} |", "|---" * (len(boards) + 1) + "|"]
    for case, *row in zip(CASES, *boards.values(), strict=True):
        lines.append(f"| {case.name} | {' | '.join(row)} |")
    return "\n".join(lines)


PAGE = """# The torture suite

34 difficult inputs for naive Bayes, each with its known correct result. `NaiveBayes` and four other libraries are
tested on them. Made by `make torture` from `tests/bayes/torture.py`.

- *pass*: the result is right.
- *wrong*: the result is not finite, its probabilities do not sum to 1 (to 1e-9, in single precision 1e-6), or it
  differs from the correct result.
- *raises*: an error is raised.
- *no class*: the library has no class for such columns, or none that takes weights.

Each library is tested with its most suitable class and the encoding of text that it needs
(`tests/bayes/torture_peers.py`). scikit-learn uses GaussianNB for numbers, and OrdinalEncoder with CategoricalNB for
text. mixed-naive-bayes and wnb have one class for both. river uses GaussianNB, or OneHotEncoder with MultinomialNB,
and dictionaries without the missing cells.

Two choices affect the result. In *a constant column*, scikit-learn is right except for the sum of its probabilities,
and would pass at 1e-6. With BernoulliNB for text, river would fail *missing categories* and pass *contradictory
evidence*, so its total would be the same.

"""


if __name__ == "__main__":
    board = scoreboard()
    print(board)
    page = Path(__file__).parents[2] / "docs" / "torture.md"
    page.write_text(f"{PAGE}{board}\n")
