"""The Gaussian process against scikit-learn's, its gradients against finite differences, and the warpings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import yeojohnson
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from foldwise.tuning import Choice, Float, Int
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.gaussian_process import (
    JITTER,
    Hyperparameters,
    NegativeLogPosterior,
    ProcessPosterior,
    fit_process,
    subset,
)
from foldwise.tuning.strategies.unit_encoding import UnitEncoding
from foldwise.tuning.strategies.warping import (
    ScoreWarping,
    best_power,
    kumaraswamy,
    kumaraswamy_slopes,
    yeo_johnson,
    yeo_johnson_back,
)

CUBE = UnitEncoding(SearchSpace.of({name: Float(0, 1) for name in "abc"}))
MIXED = UnitEncoding(
    SearchSpace.of(
        [
            {"kernel": ["rbf", "poly"], "C": Float(0, 1), "gamma": Float(0, 1, when={"kernel": "rbf"}), "n": Int(1, 6)},
            {"C": Float(0, 1), "shape": Choice(["a", "b", "c"])},
        ]
    )
)


def data(encoding, n=25, seed=0):
    rng = np.random.default_rng(seed)
    rows = encoding.snapped(rng.random((n, len(encoding.columns))))
    scores = np.sin(5 * rows).sum(axis=1) + 0.1 * rng.normal(size=n)
    return rows, encoding.active(rows), (scores - scores.mean()) / scores.std()


def some_hyperparameters(encoding, seed=1, warped=True):
    rng = np.random.default_rng(seed)
    n, n_ordered = len(encoding.columns), len(encoding.ordered)
    warps = rng.normal(0, 0.4, (2, n_ordered)) * warped
    return Hyperparameters(rng.normal(-0.5, 0.4, n), 0.3, -3.0, 0.2, *warps)


class TestAgainstScikitLearn:
    found = some_hyperparameters(CUBE, warped=False)
    rows, active, scores = data(CUBE)
    kernel = ConstantKernel(np.exp(found.signal)) * Matern(np.exp(found.lengths), nu=2.5)
    noise = np.exp(found.noise) + JITTER * np.exp(found.signal)

    def test_posterior(self):
        peer = GaussianProcessRegressor(self.kernel, alpha=self.noise, optimizer=None)
        peer.fit(self.rows, self.scores - self.found.mean)
        new = np.random.default_rng(2).random((40, 3))
        mean, covariance = peer.predict(new, return_cov=True)
        ours = ProcessPosterior(CUBE, self.found, self.rows, self.active, self.scores)
        our_mean, deviation = ours.predict(new, np.ones(new.shape, dtype=bool))
        np.testing.assert_allclose(our_mean, mean + self.found.mean, atol=1e-10)
        np.testing.assert_allclose(deviation**2, covariance.diagonal(), atol=1e-9)
        joint_mean, joint = ours.covariance(new, np.ones(new.shape, dtype=bool))
        np.testing.assert_allclose(joint_mean, our_mean)
        np.testing.assert_allclose(joint, covariance, atol=1e-9)

    def test_marginal_likelihood_and_its_gradient(self):
        kernel = self.kernel + WhiteKernel(np.exp(self.found.noise))
        peer = GaussianProcessRegressor(kernel, alpha=JITTER * np.exp(self.found.signal), optimizer=None)
        peer.fit(self.rows, self.scores - self.found.mean)
        value, slopes = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
        objective = NegativeLogPosterior(CUBE, self.rows, self.active, self.scores, with_priors=False)
        ours, gradient = objective(self.found.to_vector())
        assert ours == pytest.approx(-value, rel=1e-10)
        # theirs: signal, lengths, noise; the jitter grows with the signal in ours
        np.testing.assert_allclose(gradient[:3], -slopes[1:4], rtol=1e-6)
        np.testing.assert_allclose(gradient[3:5], -slopes[[0, 4]], rtol=1e-4)


@pytest.mark.parametrize("encoding", [CUBE, MIXED], ids=["cube", "conditional"])
@pytest.mark.parametrize("with_priors", [False, True])
def test_gradient_of_the_hyperparameters(encoding, with_priors):
    objective = NegativeLogPosterior(encoding, *data(encoding), with_priors=with_priors)
    vector = some_hyperparameters(encoding).to_vector()
    numeric = central(lambda v: objective(v)[0], vector)
    np.testing.assert_allclose(objective(vector)[1], numeric, rtol=1e-5, atol=1e-5)


def test_slopes_of_the_posterior():
    rows, active, scores = data(MIXED, 30)
    posterior = ProcessPosterior(MIXED, some_hyperparameters(MIXED), rows, active, scores)
    for row in np.random.default_rng(3).random((6, len(MIXED.columns))):
        snapped = MIXED.snapped(row[None, :])[0]
        on = MIXED.active(snapped[None, :])[0]
        mean, deviation, by_mean, by_deviation = posterior.predict_with_slopes(snapped, on)
        assert (mean, deviation) == pytest.approx([float(one[0]) for one in posterior.predict(snapped[None], on[None])])
        for slopes, which in ((by_mean, 0), (by_deviation, 1)):
            numeric = central(
                lambda v, on=on, which=which: float(posterior.predict(v[None], on[None])[which][0]), snapped
            )
            np.testing.assert_allclose(slopes[MIXED.ordered], numeric[MIXED.ordered], rtol=1e-5, atol=1e-6)


def test_fit_finds_what_matters_and_the_noise():
    rng = np.random.default_rng(0)
    rows = rng.random((60, 3))
    scores = np.sin(6 * rows[:, 0]) + 0.3 * rng.normal(size=60)  # the other columns do nothing
    found = fit_process(CUBE, rows, np.ones(rows.shape, dtype=bool), scores / scores.std())
    assert found.lengths[0] < found.lengths[1:].min() - 1
    assert np.exp(found.noise) * scores.var() == pytest.approx(0.09, rel=0.5)


def test_more_likely_than_the_start():
    objective = NegativeLogPosterior(MIXED, *data(MIXED))
    found = fit_process(MIXED, *data(MIXED))
    assert objective(found.to_vector())[0] < objective(Hyperparameters.start(MIXED).to_vector())[0] - 1


def test_inactive_values_do_not_matter():
    rows, active, scores = data(MIXED, 30)
    posterior = ProcessPosterior(MIXED, some_hyperparameters(MIXED), rows, active, scores)
    new = MIXED.snapped(np.random.default_rng(5).random((50, len(MIXED.columns))))
    on = MIXED.active(new)
    other = np.where(on, new, 0.123)
    np.testing.assert_allclose(posterior.predict(new, on), posterior.predict(other, on), atol=1e-12)
    # all values of a conditional parameter are equally far from settings without it
    features = MIXED.features(new, on)
    gamma = 1 + [one.name for one in MIXED.space.columns].index("gamma")
    at = MIXED.groups == gamma
    np.testing.assert_allclose((features[:, at] ** 2).sum(axis=1), np.where(on[:, gamma], (2 / np.pi) ** 2, 0))


def test_rows_and_settings():
    rows, _, _ = data(MIXED, 40)
    settings = [MIXED.to_setting(one) for one in rows]
    assert all(MIXED.space.contains(one) for one in settings)
    again, inside = MIXED.to_rows(settings)
    assert inside.all()
    on = MIXED.active(rows)
    np.testing.assert_array_equal(MIXED.active(again), on)
    np.testing.assert_allclose(again[on], rows[on], atol=1e-12)
    for row, setting in zip(on, settings, strict=True):  # a column is active where its parameter is in the setting
        names = [one.name for one, is_on in zip(MIXED.space.columns, row[1:], strict=True) if is_on]
        assert set(names) == set(setting)


def test_believed_scores_change_no_mean():
    rows, active, scores = data(CUBE)
    posterior = ProcessPosterior(CUBE, some_hyperparameters(CUBE), rows, active, scores)
    new = np.random.default_rng(4).random((3, 3))
    on = np.ones(new.shape, dtype=bool)
    believing = posterior.with_believed(new, on)
    np.testing.assert_allclose(believing.predict(new, on)[0], posterior.predict(new, on)[0], atol=1e-8)
    assert (believing.predict(new, on)[1] < posterior.predict(new, on)[1]).all()


def test_repeated_rows_are_no_problem():
    rows, active, scores = data(CUBE, 12)
    twice = [np.concatenate([one, one]) for one in (rows, active, scores)]
    found = fit_process(CUBE, *twice)
    assert np.isfinite(ProcessPosterior(CUBE, found, *twice).predict(rows, active)[0]).all()


def test_hyperparameters_of_many_rows_come_from_some_of_them():
    scores = np.arange(1000.0)
    some = subset(1000, scores, 250, np.random.default_rng(0))
    assert len(set(some)) == 250
    assert set(range(875, 1000)) <= set(some)


class TestWarping:
    def test_slopes_of_kumaraswamy(self):
        units, a, b = np.array([[0.2, 0.7], [0.9, 0.01]]), np.array([0.6, 2.5]), np.array([1.7, 0.8])
        by_unit, by_a, by_b = kumaraswamy_slopes(units, a, b)
        h = 1e-6
        expected = (kumaraswamy(units + h, a, b) - kumaraswamy(units - h, a, b)) / (2 * h)
        np.testing.assert_allclose(by_unit, expected, rtol=1e-6)
        expected = (kumaraswamy(units, a * np.exp(h), b) - kumaraswamy(units, a * np.exp(-h), b)) / (2 * h)
        np.testing.assert_allclose(by_a, expected, rtol=1e-5, atol=1e-9)
        expected = (kumaraswamy(units, a, b * np.exp(h)) - kumaraswamy(units, a, b * np.exp(-h))) / (2 * h)
        np.testing.assert_allclose(by_b, expected, rtol=1e-5, atol=1e-9)

    @pytest.mark.parametrize("power", [-1.5, 0, 0.7, 1, 2, 3.2])
    def test_power_transformation_as_scipy(self, power):
        values = np.random.default_rng(0).normal(size=50)
        warped = yeo_johnson(values, power)
        np.testing.assert_allclose(warped, yeojohnson(values, power), rtol=1e-12)
        np.testing.assert_allclose(yeo_johnson_back(warped, power), values, rtol=1e-9)

    def test_best_power_is_close_to_that_of_scipy(self):
        values = -np.random.default_rng(0).lognormal(size=200)
        values = (values - values.mean()) / values.std()
        assert best_power(values) == pytest.approx(yeojohnson(values)[1], abs=0.35)

    @pytest.mark.parametrize("kind", ["power", "copula", "none"])
    def test_there_and_back(self, kind):
        scores = -np.random.default_rng(0).lognormal(2, 1, size=40)
        scores[5] = scores[7]
        warping = ScoreWarping.of(scores, kind)
        warped = warping.forward(scores)
        assert abs(warped.mean()) < 1e-9
        assert warped.std() == pytest.approx(1)
        assert (np.diff(warped[np.argsort(scores)]) >= 0).all()
        np.testing.assert_allclose(warping.back(warped), scores, rtol=1e-8)

    @pytest.mark.parametrize("kind", ["power", "copula", "none"])
    def test_equal_scores(self, kind):
        assert ScoreWarping.of(np.full(5, 0.7), kind).forward(np.full(5, 0.7)) == pytest.approx(0)


def central(function, x, h=1e-6):
    """Central differences; those of scipy are one-sided."""
    forward = approx_fprime(x, function, h)
    return (forward + approx_fprime(x, function, -h)) / 2
