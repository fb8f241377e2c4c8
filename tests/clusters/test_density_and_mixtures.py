"""HDBSCAN with new rows, and mixtures. The oracle is scikit-learn."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise.clusters import DensityClusters, choose_mixture
from foldwise.errors import InputError

mpl.use("Agg")


@parametrize_with_checks([DensityClusters()])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


class TestDensity:
    X, y = make_moons(400, noise=0.05, random_state=0)

    def test_labels_are_those_of_hdbscan(self):
        found = DensityClusters(15, min_samples=5).fit(self.X)
        peer = HDBSCAN(min_cluster_size=15, min_samples=5, copy=True).fit(self.X)
        assert (found.labels_ == peer.labels_).all()
        assert found.n_clusters_ == 2
        assert adjusted_rand_score(self.y, found.labels_) > 0.95

    def test_new_rows_near_a_cluster_join_it_and_others_do_not(self):
        found = DensityClusters().fit(self.X)
        near = self.X[found.labels_ >= 0][:50] + 1e-6
        assert (found.predict(near) == found.labels_[found.labels_ >= 0][:50]).all()
        assert found.predict([[10.0, 10.0]]).tolist() == [-1]

    def test_noise_may_have_no_cluster(self):
        X = np.random.default_rng(0).uniform(size=(60, 5))
        found = DensityClusters(30).fit(X)
        assert found.n_clusters_ == 0
        assert (found.predict(X) == -1).all()


class TestMixtures:
    X, y = make_blobs(400, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)

    def test_the_number_of_blobs_is_found_and_bic_is_scikit_learns(self):
        study = choose_mixture(self.X, range(1, 6), random_state=0)
        assert study.best.k == 3
        peer = GaussianMixture(3, covariance_type=study.best.shape, random_state=0).fit(self.X)
        assert study.best.bic == pytest.approx(peer.bic(self.X), rel=1e-2)
        assert adjusted_rand_score(self.y, study.model.predict(self.X)) > 0.95
        assert study.to_frame().shape == (15, 5)
        assert study.reason.startswith("BIC is lowest with 3 components")

    def test_noise_is_one_component(self):
        assert choose_mixture(np.random.default_rng(1).normal(size=(300, 3)), range(1, 4), random_state=0).best.k == 1

    def test_the_picture_has_a_line_for_each_shape(self):
        axis = choose_mixture(self.X, range(1, 4), random_state=0).plot()
        assert [line.get_label() for line in axis.get_lines()] == ["spherical", "diag", "full"]
        mpl.pyplot.close("all")

    def test_too_many_components(self):
        with pytest.raises(InputError, match="below the number of rows, 4"):
            choose_mixture(self.X[:4], [9])
