"""Which steps of a pipeline are repeatable: a seed, the solver and the number of rows decide."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFECV, SelectFromModel, SelectKBest, mutual_info_classif
from sklearn.impute import IterativeImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC

from foldwise.folds.randomness import TableSize, is_repeatable

SMALL = TableSize(1000, 20)


@pytest.mark.parametrize(
    ("estimator", "size", "steady"),
    [
        (StandardScaler(), SMALL, True),
        (PCA(3), SMALL, True),
        (PCA(3), TableSize(1000, 51), False),
        (PCA(3), TableSize(500, 500), True),
        (PCA(3), TableSize(10, 501), False),
        (PCA(3), TableSize(10, None), False),
        (PCA(), TableSize(10_000, 5000), True),
        (PCA(0.9), TableSize(10_000, 5000), True),
        (PCA(3, svd_solver="full"), TableSize(10_000, None), True),
        (PCA(3, svd_solver="arpack"), SMALL, False),
        (PCA(3, svd_solver="randomized", random_state=np.int64(4)), SMALL, True),
        (PCA(3, svd_solver="full", random_state=np.random.RandomState(0)), SMALL, False),
        (TruncatedSVD(random_state=np.random.RandomState(0)), SMALL, False),
        (QuantileTransformer(), SMALL, True),
        (QuantileTransformer(), TableSize(10_001, 3), False),
        (QuantileTransformer(subsample=None), TableSize(10_001, 3), True),
        (KBinsDiscretizer(quantile_method="averaged_inverted_cdf"), SMALL, True),
        (KBinsDiscretizer(strategy="kmeans"), SMALL, False),
        (TargetEncoder(), SMALL, False),
        (TargetEncoder(cv=StratifiedKFold(3)), SMALL, True),
        (TargetEncoder(cv=StratifiedKFold(3, shuffle=True)), SMALL, False),
        (IterativeImputer(), SMALL, True),
        (IterativeImputer(sample_posterior=True), SMALL, False),
        (IterativeImputer(imputation_order="random"), SMALL, False),
        (SelectFromModel(Lasso()), SMALL, True),
        (SelectFromModel(Lasso(selection="random")), SMALL, False),
        (SelectFromModel(ExtraTreesClassifier()), SMALL, False),
        (SelectFromModel(ExtraTreesClassifier(random_state=1)), SMALL, True),
        (RFECV(Ridge(), cv=KFold(3)), SMALL, True),
        (RFECV(Ridge(), cv=KFold(3, shuffle=True)), SMALL, False),
        (SelectKBest(mutual_info_classif), SMALL, False),
        (SelectKBest(partial(mutual_info_classif, random_state=0)), SMALL, True),
        (FunctionTransformer(np.log1p), SMALL, True),
        (FunctionTransformer(len), SMALL, True),
        (ColumnTransformer([("a", PCA(2), [0, 1])]), SMALL, False),
        (ColumnTransformer([("a", StandardScaler(), [0, 1])]), SMALL, True),
        (FeatureUnion([("a", TruncatedSVD())]), SMALL, False),
        (LogisticRegression(), SMALL, True),
        (LogisticRegression(solver="saga"), SMALL, False),
        (SVC(), SMALL, True),
        (HistGradientBoostingClassifier(), SMALL, True),
        (HistGradientBoostingClassifier(), TableSize(10_001, 3), False),
        (HistGradientBoostingClassifier(early_stopping=True), SMALL, False),
    ],
)
def test_what_counts_as_repeatable(estimator, size, steady):
    assert is_repeatable(estimator, size) is steady


@pytest.mark.parametrize(
    ("step", "rows"),
    [(PCA(3), 501), (PCA(3), 130), (QuantileTransformer(n_quantiles=10), 130)],
)
def test_what_counts_as_repeatable_is(rng, step, rows):
    X = rng.normal(size=(rows, 50))
    np.testing.assert_allclose(clone(step).fit_transform(X), clone(step).fit_transform(X), rtol=1e-10, atol=1e-10)
    X = np.where(rng.random((40, 3)) < 0.2, np.nan, rng.normal(size=(40, 3)))
    np.testing.assert_allclose(IterativeImputer().fit_transform(X), IterativeImputer().fit_transform(X), rtol=1e-10)
