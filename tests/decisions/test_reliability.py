"""`reliability`: scikit-learn's curve, the expected calibration error by hand, frames and pictures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from foldwise import reliability
from foldwise.errors import InputError, PlotError


@pytest.mark.parametrize("bins", [1, 5, 10, 33])
def test_the_curve_of_scikit_learn(bins, rng):
    p = np.round(rng.random(500), 2)  # on borders, and equal to each other
    y = (rng.random(500) < p**2).astype(int)
    found = reliability(y, p, bins)
    for ours, strategy in ((found.width, "uniform"), (found.frequency, "quantile")):
        observed, predicted = calibration_curve(y, p, n_bins=bins, strategy=strategy)
        np.testing.assert_allclose(ours.observed, observed, atol=1e-12)
        np.testing.assert_allclose(ours.predicted, predicted, atol=1e-12)
        assert ours.rows.sum() == 500


def test_the_error_by_hand():
    # predicted 0.95 four times and right three times; predicted 0.55 and 0.65 twice, right once each
    proba = np.array(
        [[0.95, 0.03, 0.02]] * 4 + [[0.55, 0.25, 0.2], [0.2, 0.65, 0.15], [0.55, 0.25, 0.2], [0.2, 0.65, 0.15]]
    )
    y = ["a", "a", "a", "b", "a", "b", "c", "c"]
    found = reliability(y, proba)
    assert found.ece == pytest.approx(0.5 * 0.2 + 0.25 * 0.05 + 0.25 * 0.15)
    assert found.to_frame().columns == ["low", "high", "rows", "predicted", "observed"]
    assert found.to_frame()["rows"].to_list() == [2, 2, 4]
    assert found.to_frame("frequency")["rows"].sum() == 8
    assert reliability(y, proba, of="c").ece == pytest.approx((4 * 0.02 + 4 * 0.325) / 8, abs=1e-9)
    assert "predicted probability of the predicted class" in str(found)


def test_true_probabilities_have_a_small_error_and_bent_ones_a_large_one(rng):
    p = rng.random(20_000)
    y = rng.random(20_000) < p
    assert reliability(y, p).ece < 0.02
    bent = p**3 / (p**3 + (1 - p) ** 3)
    assert reliability(y, bent).ece > 0.08
    assert reliability(y, bent).ece_frequency > 0.08


def test_the_picture(rng, no_matplotlib):
    import matplotlib as mpl

    mpl.use("agg")
    p = rng.random(200)
    found = reliability((rng.random(200) < p).astype(int), p)
    axes = found.plot()
    assert "probability of class 1" in axes.get_xlabel()
    assert found.plot(axes, bins="frequency") is axes
    mpl.pyplot.close("all")
    no_matplotlib()
    with pytest.raises(PlotError, match=r"foldwise\[plots\]"):
        found.plot()


def test_bad_input():
    with pytest.raises(InputError, match="at least 1"):
        reliability([0, 1], [0.5, 0.5], 0)
    with pytest.raises(InputError, match="sums to"):
        reliability([0, 1], [[0.5, 0.1], [0.5, 0.5]])
    with pytest.raises(InputError, match="proba has 3 columns, but there are 2 classes"):
        reliability([0, 1], np.full((2, 3), 1 / 3))
    with pytest.raises(InputError, match="but the classes are"):
        reliability([0, 5], np.full((2, 3), 1 / 3), classes=[0, 1, 2])
    with pytest.raises(InputError, match="of must be one of the classes, got 9"):
        reliability([0, 1], [0.5, 0.5], of=9)
    with pytest.raises(InputError, match="bins must be 'width' or 'frequency'"):
        reliability([0, 1], [0.5, 0.5]).to_frame("depth")


def test_a_notebook_shows_a_table():
    html = reliability([0, 1, 1], [0.2, 0.7, 0.9], bins=2)._repr_html_()
    assert "Predicted probability of class 1" in html
    assert "expected calibration error 0.2000" in html
    assert html.count("<tr>") == 3
