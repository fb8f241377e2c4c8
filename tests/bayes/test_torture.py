"""Every case of the torture suite passes, and the suite can tell: other libraries do not, though it is fair to them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from foldwise import NaiveBayes
from foldwise.errors import FoldwiseWarning
from tests.bayes import torture
from tests.bayes.torture import CASES, KINDS, verdicts
from tests.bayes.torture_peers import PEERS, installed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_torture(case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = NaiveBayes(**case.params).fit(case.X, case.y, case.weights)
        proba, log_proba = model.predict_proba(case.new), model.predict_log_proba(case.new)
        labels = model.predict(case.new)
    assert bool([w for w in caught if w.category is FoldwiseWarning]) is case.warns
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_proba), proba, atol=1e-12)
    assert not np.isnan(log_proba).any()
    assert case.must(proba)
    assert (labels == model.classes_[proba.argmax(axis=1)]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldwiseWarning)
        again = NaiveBayes.from_json(model.to_json())
        np.testing.assert_allclose(again.predict_proba(case.new), proba, rtol=1e-10)
    for explanation, row in zip(model.explain(case.new), proba, strict=True):
        largest = max((abs(v) for v in explanation.joint if np.isfinite(v)), default=0.0)
        np.testing.assert_allclose(explanation.proba, row, atol=max(1e-12, 1e-14 * largest))
        assert str(explanation)
    assert str(model.table())


@pytest.mark.parametrize("package", PEERS)
def test_the_suite_tells_the_difference(package):
    if not installed(package):
        pytest.skip(f"{package} is in the extra peers")
    found = verdicts(package)
    assert {v.split(" ")[0] for v in found} <= {kind.split(" ")[0] for kind in KINDS}
    assert any(v == "wrong" for v in found)
    assert found.count("pass") >= 8  # and it is not unfair


def test_a_peer_that_is_absent_is_named_so(monkeypatch):
    monkeypatch.setattr(torture, "installed", lambda package: None)
    assert set(verdicts("river")) == {"not installed"}


def test_the_page_shows_every_case():
    lines = (Path(__file__).parents[2] / "docs" / "torture.md").read_text().splitlines()
    shown = [line.split(" | ")[:2] for line in lines if line.startswith("| ")]
    assert shown[-len(CASES) :] == [[f"| {case.name}", "pass"] for case in CASES]
    assert ["| pass", str(len(CASES))] in shown
