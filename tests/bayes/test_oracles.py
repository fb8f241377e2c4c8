"""The numbers of R's e1071 and of Weka, from fixtures made by running them (`make oracles`).

Where their definitions are ours the answers are equal to rounding. Where they are not, the test says in what, and shows
that this alone is the difference: with it, the peer's number comes out.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr, softmax

from foldwise import NaiveBayes

ORACLES = Path(__file__).parent / "oracles"
E1071 = json.loads((ORACLES / "e1071.json").read_text())["tables"]
WEKA = json.loads((ORACLES / "weka.json").read_text())["tables"]
NOMINAL = ["two classes", "four classes"]
NUMERIC = ["iris", "wine", "coarse", "fine", "whole"]

DTYPES: dict[str, Any] = {"numeric": pl.Float64, "logical": pl.Boolean}


def frame(columns: dict[str, Any], like: dict[str, Any] | None = None) -> pl.DataFrame:
    """The cells of a fixture; declared levels become an Enum, unless the cells hold others."""
    made = {}
    for name, column in columns.items():
        declared = (like or columns)[name].get("levels")
        known = declared is None or {*column["cells"]} <= {*declared, None}
        dtype = DTYPES.get(column["kind"], pl.Enum(declared) if declared and known else pl.String)
        made[name] = pl.Series(column["cells"], dtype=dtype)
    return pl.DataFrame(made)


def answer(table: dict[str, Any], laplace: int, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    found = next(a for a in table["answers"] if (a["laplace"], a["threshold"]) == (laplace, threshold))
    return np.array(found["label"]), np.array(found["proba"], dtype=float)


def fitted(table: dict[str, Any], **params: Any) -> NaiveBayes:
    return NaiveBayes(**params).fit(frame(table["X"]), table["y"])


# e1071


@pytest.mark.parametrize("name", ["iris", "infert", "made"])
@pytest.mark.parametrize("laplace", [0, 1])
def test_mixed_columns_with_missing_cells_are_those_of_e1071(name, laplace):
    table = E1071[name]
    # e1071 replaces the probability 0 by `threshold`; at 1e-300 it is as good as the 0 that alpha=0 gives here
    labels, proba = answer(table, laplace, threshold=1e-300)
    model = fitted(table, alpha=laplace)
    new = frame(table["new"], like=table["X"])
    assert model.classes_.tolist() == table["classes"]
    np.testing.assert_allclose(model.predict_proba(new), proba, rtol=1e-9, atol=1e-12)
    assert model.predict(new).tolist() == labels.tolist()


def test_the_threshold_of_e1071_is_the_only_difference_where_counts_are_0():
    table = E1071["made"]
    _, proba = answer(table, laplace=0, threshold=0.001)
    model = fitted(table, alpha=0)
    new = frame(table["new"], like=table["X"])
    # by default e1071 takes 0.001 for a share of 0, so that the shares of a column sum to more than 1; here 0 is 0
    ruled_out = model.predict_proba(new) == 0
    assert ruled_out.any()
    assert (proba[ruled_out] > 0).all()
    np.testing.assert_allclose(with_threshold(model, new), proba, rtol=1e-9, atol=1e-12)


def with_threshold(model: NaiveBayes, new: pl.DataFrame) -> np.ndarray:
    """The worked calculation of each row, with 0.001 for every factor that is 0 or underflows as a double."""
    joints = []
    for row in model.explain(new):
        terms = np.array([row.prior.log, *(factor.log for factor in row.factors)])
        joints.append(np.where(np.exp(terms) == 0, math.log(0.001), terms).sum(axis=0))
    return softmax(joints, axis=1)


def test_a_density_that_underflows_in_e1071_becomes_likely():
    table = E1071["far"]
    _, proba = answer(table, laplace=0, threshold=0.001)
    model = fitted(table)
    new = frame(table["new"])
    # 60 and 200 are nearer to class b, but the density of a, or of both, underflows to 0 and e1071 takes 0.001 for it;
    # here logarithms are added and nothing underflows
    np.testing.assert_allclose(with_threshold(model, new), proba, rtol=1e-9)
    ours = model.predict_proba(new)
    np.testing.assert_allclose(ours[0], proba[0], rtol=1e-9)
    assert ours.argmax(axis=1).tolist() == [0, 1, 1]
    assert proba.argmax(axis=1).tolist() == [0, 0, 0]


def test_a_class_with_one_value():
    table = E1071["flat"]
    labels, proba = answer(table, laplace=0, threshold=0.001)
    new = frame(table["new"])
    column = np.array(table["X"]["v"]["cells"])
    # e1071 takes the standard deviation 0.001 for 0, whatever the scale; here the floor is a share of the variance
    model = fitted(table, var_floor=0.001**2 / column.var())
    np.testing.assert_allclose(model.predict_proba(new), proba, rtol=1e-9)
    assert model.predict(new).tolist() == labels.tolist()


def test_a_class_with_one_cell():
    table = E1071["lonely"]
    _, proba = answer(table, laplace=0, threshold=0.001)
    ours = fitted(table).predict_proba(frame(table["new"]))
    # R's sd of one number is NA, and so is every probability that uses it; here the variance falls to the floor
    assert np.isnan(proba[0]).all()
    assert np.isfinite(ours[0]).all()
    np.testing.assert_allclose(ours[1], proba[1], rtol=1e-9)


# Weka


def weka_priors(table: dict[str, Any]) -> dict[str, float]:
    """Weka smooths the classes too: (n_c + 1) / (n + K)."""
    counts = {label: table["y"].count(label) for label in table["classes"]}
    return {label: (n + 1) / (len(table["y"]) + len(counts)) for label, n in counts.items()}


@pytest.mark.parametrize("name", NOMINAL)
def test_nominal_columns_are_those_of_weka(name):
    table = WEKA[name]
    model = fitted(table, alpha=1, priors=weka_priors(table))
    assert model.classes_.tolist() == table["classes"]
    np.testing.assert_allclose(model.predict_proba(frame(table["new"])), table["proba"], rtol=1e-9)


@pytest.mark.parametrize("name", NUMERIC)
def test_supervised_cuts_are_those_of_weka(name):
    table = WEKA[name]
    model = fitted(table, families="binned", cuts="entropy", priors=weka_priors(table))
    cuts = model._finished.likelihoods[0].cuts
    assert [len(points) for points in cuts] == [len(points) for points in table["cuts"]]
    for ours, theirs in zip(cuts, table["cuts"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba(frame(table["new"])), table["discretized"], rtol=1e-9)


def as_weka(table: dict[str, Any]) -> np.ndarray:
    """Weka's normal columns: cells are moved to a grid, and a cell has the probability of its step, not a density."""
    X, new = frame(table["X"]), frame(table["new"])
    y, classes = np.array(table["y"]), table["classes"]
    scores = np.log([[weka_priors(table)[label] for label in classes]] * len(new))
    for name in X.columns:
        x, at = X[name].to_numpy(), new[name].to_numpy()
        step = np.diff(np.unique(x[~np.isnan(x)])).mean()  # its "precision": the mean gap between neighboring values
        x, at = np.rint(x / step) * step, np.rint(at / step) * step
        for c, label in enumerate(classes):
            here = x[(y == label) & ~np.isnan(x)]
            sd = max(here.std(), step / 6)  # divided by n, and never below a sixth of a step
            share = ndtr((at + step / 2 - here.mean()) / sd) - ndtr((at - step / 2 - here.mean()) / sd)
            scores[:, c] += np.where(np.isnan(at), 0.0, np.log(np.maximum(share, 1e-75)))
    return softmax(scores, axis=1)


@pytest.mark.parametrize("name", NUMERIC)
def test_normal_columns_differ_from_weka_by_its_steps(name):
    table = WEKA[name]
    proba = np.array(table["proba"])
    np.testing.assert_allclose(as_weka(table), proba, atol=1e-9)
    # here a density, and no grid: with ddof=0 the same in the limit of small steps, which "whole" comes near
    ours = fitted(table, ddof=0, priors=weka_priors(table)).predict_proba(frame(table["new"]))
    assert np.abs(ours - proba).max() < (2e-4 if name == "whole" else 0.25)
