"""The ways people leak, each planted in a table of noise: done wrong by hand, and done through Foldwise.

Labels have nothing to do with rows, so an honest area under the ROC curve is 0.5 on the average; what lies above is the
leak. Every case has so many independent rows that the standard error of its mean over 20 seeds is about 0.005: 0.02 is
four of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from sklearn.feature_selection import SelectKBest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score, roc_curve
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from foldwise import (
    CostMatrix,
    GridSearchCV,
    NaiveBayes,
    bias_corrected,
    cross_predict,
    duplicate_groups,
    estimate,
    find_leaks,
    nested_cv,
)

SEEDS = range(20)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
NEAREST = KNeighborsClassifier(3)
Way = Callable[[int], float]


@dataclass(frozen=True)
class Case:
    """One way to leak: `wrong` and `right` give a score for a seed, 0.5 where nothing leaks."""

    name: str
    wrong: Way
    right: Way
    how: str  # in words, what is done right
    leaks: bool = True  # False: done wrong it shows nothing on noise
    looked: Callable[[int], Any] | None = None  # what `find_leaks` says of the table and splits done wrong

    def means(self, seeds: Any = SEEDS) -> tuple[np.ndarray, np.ndarray]:
        """The scores of both ways, one a seed."""
        return np.array([self.wrong(seed) for seed in seeds]), np.array([self.right(seed) for seed in seeds])


def by_hand(model: Any, X: Any, y: Any, cv: Any = FOLDS) -> float:
    """scikit-learn's cross-validation of a table that was prepared before."""
    return float(cross_val_score(model, X, y, cv=cv, scoring="roc_auc").mean())


def noise(seed: int, n: int = 1000, columns: int = 5, share: float = 0.5) -> tuple[Any, Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[: round(share * n)] = 1
    return rng.normal(size=(n, columns)), rng.permutation(y), rng


# oversampling: copies, or mixtures, of test rows are learned


def oversampled_before(seed: int) -> float:
    X, y, _ = noise(seed, n=1500, share=0.3)
    return by_hand(NEAREST, *RandomOverSampler(random_state=seed).fit_resample(X, y))


def oversampled_inside(seed: int) -> float:
    X, y, _ = noise(seed, n=1500, share=0.3)
    model = make_sampling_pipeline(RandomOverSampler(random_state=seed), NEAREST)
    return estimate(model, X, y, cv=FOLDS, scoring="roc_auc").value


def look_at_oversampled(seed: int) -> Any:
    X, y, _ = noise(seed, n=1500, share=0.3)
    X, y = RandomOverSampler(random_state=seed).fit_resample(X, y)
    return find_leaks(X, y, cv=FOLDS)


def mixed_before(seed: int) -> float:
    X, y, _ = noise(seed, n=1500, share=0.3)
    return by_hand(NEAREST, *SMOTE(random_state=seed).fit_resample(X, y))


def mixed_inside(seed: int) -> float:
    X, y, _ = noise(seed, n=1500, share=0.3)
    model = make_sampling_pipeline(SMOTE(random_state=seed), NEAREST)
    proba = cross_predict(model, X, y, cv=FOLDS, method="predict_proba")
    return float(np.mean([roc_auc_score(y[test], proba[test, 1]) for _, test in FOLDS.split(X, y)]))


# target encoding: the mean label of a city includes the test rows'


def cities(seed: int) -> tuple[Any, Any]:
    _, y, rng = noise(seed, n=2000)
    return rng.choice([f"city {i}" for i in range(400)], len(y)).astype(object)[:, None], y


def encoded_before(seed: int) -> float:
    X, y = cities(seed)
    return by_hand(LogisticRegression(), TargetEncoder().fit(X, y).transform(X), y)


def encoded_inside(seed: int) -> float:
    X, y = cities(seed)
    model = make_pipeline(TargetEncoder(cv=StratifiedKFold(5)), LogisticRegression())
    return estimate(model, X, y, cv=FOLDS, scoring="roc_auc").value


# selection: columns are chosen for what they say of the test rows


def selected_before(seed: int) -> float:
    X, y, _ = noise(seed, n=2000, columns=300)
    return by_hand(GaussianNB(), SelectKBest(k=10).fit_transform(X, y), y)


def selected_inside(seed: int) -> float:
    X, y, _ = noise(seed, n=2000, columns=300)
    search = GridSearchCV(make_pipeline(SelectKBest(), GaussianNB()), {"selectkbest__k": [5, 10]}, cv=3)
    return estimate(search, X, y, cv=FOLDS, scoring="roc_auc").value


# scaling and imputing: no label is used, so on noise nothing shows; with the target among the columns it does


def scaled_before(seed: int) -> float:
    X, y, _ = noise(seed)
    return by_hand(NEAREST, StandardScaler().fit_transform(X), y)


def scaled_inside(seed: int) -> float:
    X, y, _ = noise(seed)
    return estimate(make_pipeline(StandardScaler(), NEAREST), X, y, cv=FOLDS, scoring="roc_auc").value


def gaps(seed: int) -> tuple[Any, Any]:
    X, y, rng = noise(seed)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, y


def imputed_before(seed: int) -> float:
    X, y = gaps(seed)
    return by_hand(GaussianNB(), SimpleImputer().fit_transform(X), y)


def imputed_inside(seed: int) -> float:
    X, y = gaps(seed)
    model = make_pipeline(SimpleImputer(), GaussianNB())
    return estimate(model, X, y, cv=FOLDS, scoring="roc_auc").value


def imputed_with_target(seed: int) -> float:
    X, y = gaps(seed)
    whole = KNNImputer().fit_transform(np.column_stack([X, 5 * y]))
    return by_hand(NEAREST, whole[:, :-1], y)


def imputed_by_neighbors(seed: int) -> float:
    X, y = gaps(seed)
    return estimate(make_pipeline(KNNImputer(), NEAREST), X, y, cv=FOLDS, scoring="roc_auc").value


# a threshold: chosen on the rows it is scored on. A threshold moves no area, so labels are scored: the area under the
# curve of labels is the balanced accuracy

SMALL_FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def threshold_on_test(seed: int) -> float:
    X, y, _ = noise(seed)
    proba = cross_val_predict(GaussianNB(), X, y, cv=SMALL_FOLDS, method="predict_proba")[:, 1]
    found = []
    for _, test in SMALL_FOLDS.split(X, y):
        false, true, cuts = roc_curve(y[test], proba[test])
        best = cuts[np.argmax(true - false)]
        found.append(balanced_accuracy_score(y[test], proba[test] >= best))
    return float(np.mean(found))


def threshold_inside(seed: int) -> float:
    X, y, _ = noise(seed)
    model = TunedThresholdClassifierCV(GaussianNB(), scoring="balanced_accuracy", cv=0.5, random_state=0, thresholds=20)
    return estimate(model, X, y, cv=SMALL_FOLDS, scoring="balanced_accuracy").value


def threshold_by_costs(seed: int) -> float:
    X, y, _ = noise(seed)
    costs = CostMatrix.from_dict({0: {0: 0, 1: 1}, 1: {0: 1, 1: 0}})
    proba = cross_predict(NaiveBayes(), X, y, cv=SMALL_FOLDS, method="predict_proba")
    return float(balanced_accuracy_score(y, costs.decide(proba, classes=[0, 1]).action))


# a reused study: the best of many settings is reported, or cross-validated on the rows it was chosen on

PAIRS = {"columns": [[f"x{i}", f"x{j}"] for i in range(12) for j in range(i)]}


def many_columns(seed: int) -> tuple[Any, Any]:
    X, y, _ = noise(seed, columns=12)
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])}), y


def study(**options: Any) -> GridSearchCV:
    return GridSearchCV(NaiveBayes(), PAIRS, cv=FOLDS, scoring="roc_auc", audit=False, **options)


def best_of_study(seed: int) -> float:
    return float(study().fit(*many_columns(seed)).best_score_)


def nested_study(seed: int) -> float:
    return nested_cv(study(), *many_columns(seed), cv=FOLDS).estimate.value


def winner_again(seed: int) -> float:
    X, y = many_columns(seed)
    winner = study().fit(X, y).best_estimator_
    other = StratifiedKFold(5, shuffle=True, random_state=99)
    return estimate(winner, X, y, cv=other, scoring="roc_auc").value


def corrected_study(seed: int) -> float:
    return bias_corrected(study(keep="all").fit(*many_columns(seed)), n_bootstraps=50, random_state=0).value


# duplicates, groups, time: rows on both sides of a split that know each other


def doubled(seed: int) -> tuple[Any, Any]:
    X, y, rng = noise(seed)
    rows = rng.permutation(np.repeat(np.arange(len(y)), 2))
    return X[rows], y[rows]


def duplicates_apart(seed: int) -> float:
    return by_hand(NEAREST, *doubled(seed))


def duplicates_together(seed: int) -> float:
    X, y = doubled(seed)
    cv = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    return estimate(NEAREST, X, y, cv=cv, groups=duplicate_groups(X), scoring="roc_auc").value


def look_at_doubled(seed: int) -> Any:
    return find_leaks(*doubled(seed), cv=FOLDS)


def patients(seed: int) -> tuple[Any, Any, Any]:
    """Three visits a patient: alike in each, with one diagnosis."""
    X, y, rng = noise(seed)
    who = rng.permutation(np.repeat(np.arange(len(y)), 3))
    return X[who] + 0.1 * rng.normal(size=(len(who), X.shape[1])), y[who], who


def groups_apart(seed: int) -> float:
    X, y, _ = patients(seed)
    return by_hand(NEAREST, X, y)


def groups_together(seed: int) -> float:
    X, y, who = patients(seed)
    search = GridSearchCV(NEAREST, {"n_neighbors": [1, 3, 9]}, cv=GroupKFold(3), scoring="roc_auc")
    return nested_cv(search, X, y, cv=GroupKFold(5), groups=who).estimate.value


def look_at_patients(seed: int) -> Any:
    X, y, who = patients(seed)
    return find_leaks(X, y, cv=FOLDS, groups=who)


def days(seed: int) -> tuple[Any, Any]:
    """A label that lasts for five days, beside columns that drift by themselves."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.integers(0, 2, 1000), 5)
    return np.cumsum(rng.normal(size=(len(y), 3)), axis=0), y


def time_shuffled(seed: int) -> float:
    return by_hand(NEAREST, *days(seed), cv=KFold(5, shuffle=True, random_state=0))


def time_in_order(seed: int) -> float:
    return estimate(NEAREST, *days(seed), cv=TimeSeriesSplit(5, gap=5), scoring="roc_auc").value


def look_at_days(seed: int) -> Any:
    X, y = days(seed)
    return find_leaks(X, y, cv=KFold(5, shuffle=True, random_state=0), time=np.arange(len(y)))


CASES = (
    Case(
        "oversampling before the split",
        oversampled_before,
        oversampled_inside,
        "imbalanced-learn's pipeline in `estimate`",
        looked=look_at_oversampled,
    ),
    Case("SMOTE before the split", mixed_before, mixed_inside, "imbalanced-learn's pipeline in `cross_predict`"),
    Case("target encoding before the split", encoded_before, encoded_inside, "TargetEncoder in a Pipeline, `estimate`"),
    Case("feature selection before the split", selected_before, selected_inside, "SelectKBest in a search, `estimate`"),
    Case("scaling before the split", scaled_before, scaled_inside, "StandardScaler in a Pipeline", leaks=False),
    Case("imputing means before the split", imputed_before, imputed_inside, "SimpleImputer in a Pipeline", leaks=False),
    Case(
        "imputing with the target in the table",
        imputed_with_target,
        imputed_by_neighbors,
        "KNNImputer in a Pipeline, `estimate`",
    ),
    Case(
        "threshold chosen on the test rows",
        threshold_on_test,
        threshold_inside,
        "TunedThresholdClassifierCV in `estimate`",
    ),
    Case(
        "threshold chosen on the test rows",
        threshold_on_test,
        threshold_by_costs,
        "`CostMatrix.decide`, costs stated",
    ),
    Case("best score of a study", best_of_study, nested_study, "`nested_cv`"),
    Case("winner of a study, cross-validated again", winner_again, corrected_study, "`bias_corrected`"),
    Case(
        "duplicates across folds",
        duplicates_apart,
        duplicates_together,
        "`groups=duplicate_groups(X)`, StratifiedGroupKFold",
        looked=look_at_doubled,
    ),
    Case("groups across folds", groups_apart, groups_together, "`groups=`, GroupKFold", looked=look_at_patients),
    Case("time shuffled", time_shuffled, time_in_order, "`cv=TimeSeriesSplit()`", looked=look_at_days),
)
