"""Selection of columns: as scikit-learn's and mlxtend's, by the stopping test, as a transformer, inside folds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from mlxtend.feature_selection import SequentialFeatureSelector as Peer
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import NaiveBayes, SelectFeatures
from foldwise.errors import InputError
from tests.slow import slow
from tests.tuning.plain_selection import floating

TABLES = {
    "iris": load_iris(return_X_y=True),
    "wine": (load_wine().data[:, -9:], load_wine().target),
    "cancer": tuple(part[::3] for part in load_breast_cancer(return_X_y=True)),
}
MODELS = {
    "NaiveBayes": NaiveBayes(),
    "GaussianNB": GaussianNB(),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.5)),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
}
FOLDS = StratifiedKFold(4, shuffle=True, random_state=3)


@pytest.mark.filterwarnings("ignore:The least populated class")  # some checks have tiny classes
@parametrize_with_checks([SelectFeatures(NaiveBayes(), cv=3, direction="backward", floating=True)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The least populated class")  # some checks have tiny classes
@parametrize_with_checks([SelectFeatures(GaussianNB(), cv=3), SelectFeatures(LogisticRegression(), cv=3, n_features=1)])
def test_scikit_learn_agrees_on_other_settings(estimator, check):
    check(estimator)


# as scikit-learn selects


@pytest.mark.parametrize("direction", ["forward", *slow("backward")])
@pytest.mark.parametrize(
    ("table", "model"),
    [
        *(("wine", model) for model in ("NaiveBayes", "GaussianNB")),
        *(("iris", model) for model in ("logistic", "tree")),
        *slow(*(("iris", model) for model in ("NaiveBayes", "GaussianNB"))),
        *slow(*(("wine", model) for model in ("logistic", "tree"))),
    ],
)
def test_a_number_of_columns_is_chosen_as_scikit_learn_does(table, model, direction):
    X, y = TABLES[table]
    X = X[:, :8]
    n = X.shape[1] // 2
    for scoring in ("accuracy", "neg_log_loss"):
        options = {"direction": direction, "scoring": scoring, "cv": FOLDS}
        ours = SelectFeatures(MODELS[model], n_features=n, **options).fit(X, y)
        theirs = SequentialFeatureSelector(MODELS[model], n_features_to_select=n, **options).fit(X, y)
        np.testing.assert_array_equal(ours.get_support(), theirs.get_support())
        kept = ours.history_.row(-1, named=True)
        expected = cross_val_score(MODELS[model], X[:, theirs.get_support()], y, cv=FOLDS, scoring=scoring)
        assert kept["score"] == pytest.approx(expected.mean(), rel=1e-12)
        assert ours.session_ == ("terms" if model == "NaiveBayes" else "refit")


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_regressions_and_shares_of_the_columns(direction):
    X, y = load_diabetes(return_X_y=True)
    for share in (0.25, 0.99) if direction == "forward" else (0.5,):
        options = {"direction": direction, "cv": KFold(5)}
        ours = SelectFeatures(LinearRegression(), n_features=share, **options).fit(X, y)
        theirs = SequentialFeatureSelector(LinearRegression(), n_features_to_select=share, **options).fit(X, y)
        np.testing.assert_array_equal(ours.get_support(), theirs.get_support())


def test_equal_columns_are_taken_from_the_left():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X[:, [3]], X, X])
    for model in (NaiveBayes(), GaussianNB()):
        assert SelectFeatures(model, n_features=1, cv=4).fit(X, y).get_support(indices=True).tolist() == [0]
        back = SelectFeatures(model, n_features=8, direction="backward", cv=4, scoring="neg_log_loss")
        assert back.fit(X, y).history_["column"][1] in ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("table", ["wine", *slow("cancer")])
def test_floating_is_the_textbooks(table, forward):
    X, y = TABLES[table]
    n, direction = (5, "forward") if forward else (3, "backward")
    for model in (NaiveBayes(), GaussianNB()):
        ours = SelectFeatures(model, n_features=n, floating=True, direction=direction, cv=FOLDS).fit(X[:, -7:], y)
        assert ours.get_support(indices=True).tolist() == floating(model, X[:, -7:], y, n, forward, cv=FOLDS)


@pytest.mark.parametrize("forward", [True, False])
def test_floating_is_mlxtends_where_that_goes_by_the_book(forward):
    X, y = TABLES["cancer"]
    X, n = X[:, ::4], 4
    options = {"cv": FOLDS, "scoring": "neg_log_loss"}  # mlxtend breaks ties otherwise
    theirs = Peer(GaussianNB(), k_features=n, floating=True, forward=forward, **options).fit(X, y)
    # it steps back only where that also beats the current score, which the book does not ask
    assert list(theirs.k_feature_idx_) == floating(GaussianNB(), X, y, n, forward, like_mlxtend=True, **options)
    ours = SelectFeatures(
        GaussianNB(), n_features=n, floating=True, direction="forward" if forward else "backward", **options
    ).fit(X, y)
    assert ours.get_support(indices=True).tolist() == list(theirs.k_feature_idx_)


def test_steps_back_beat_the_best_of_their_size():
    X, y = load_breast_cancer(return_X_y=True)
    select = SelectFeatures(NaiveBayes(), n_features=10, floating=True, cv=FOLDS).fit(X[::2, :20], y[::2])
    assert "drop" in select.history_["action"].to_list()
    best = {}
    for _, action, _, size, score, *_ in select.history_.iter_rows():
        if action == "drop":
            assert score > best[size]
        best[size] = max(score, best.get(size, -1))


def test_no_subset_is_scored_twice(monkeypatch):
    asked = []
    from foldwise.tuning.select_features import SubsetEvaluation

    scores = SubsetEvaluation.scores
    monkeypatch.setattr(
        SubsetEvaluation, "scores", lambda self, subsets: asked.extend(subsets) or scores(self, subsets)
    )
    X, y = TABLES["cancer"]
    select = SelectFeatures(NaiveBayes(), n_features=8, floating=True, cv=FOLDS).fit(X, y)
    assert len(asked) == len(set(asked)) == select.models_scored_ / 4


# until a test says stop


def is_better(a, b, share, level):
    """The corrected resampled t-test of Nadeau and Bengio, one-sided, by its formula."""
    gain = np.asarray(a) - np.asarray(b)
    t = gain.mean() / np.sqrt(gain.var(ddof=1) * (1 / len(gain) + share))
    return stats.t.sf(t, len(gain) - 1) < 1 - level


def path_by_hand(X, y, level, forward, cv=10):
    """Forward, or backward, by cross_val_score and the test alone."""
    d = X.shape[1]

    def score(subset):
        return cross_val_score(GaussianNB(), X[:, sorted(subset)], y, cv=cv)

    current = set() if forward else set(range(d))
    known = score(current) if current else None
    top = known
    while len(current) != (d if forward else 1):
        options = [current ^ {j} for j in range(d) if (j in current) != forward]
        found = [score(one) for one in options]
        best = int(np.argmax([one.mean() for one in found]))
        if forward and known is not None and not is_better(found[best], known, 1 / 9, level):
            break
        if not forward and is_better(top, found[best], 1 / 9, level):
            break
        current, known = options[best], found[best]
        if top is None or known.mean() >= top.mean():
            top = known
    return sorted(current)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # no spread at all: t is infinite
@pytest.mark.parametrize("level", [0.7, *slow(0.95)])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_auto_stops_where_the_corrected_test_says_so(direction, level):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::2, ::4], y[::2]
    select = SelectFeatures(GaussianNB(), direction=direction, level=level, cv=10).fit(X, y)
    assert select.get_support(indices=True).tolist() == path_by_hand(X, y, level, direction == "forward")
    last = select.history_.row(-1, named=True)
    assert select.history_["taken"][:-1].all()
    refused = 0 if last["taken"] else -1 if direction == "forward" else 1
    assert select.n_features_ == last["n_features"] + refused


def test_a_gain_without_spread_is_a_gain_and_none_is_none():
    X = np.zeros((40, 3))
    X[:, 0] = X[:, 2] = np.tile([0, 1], 20)
    y = X[:, 0].astype(int)
    select = SelectFeatures(DecisionTreeClassifier(random_state=0), cv=4).fit(X, y)
    assert select.get_support().tolist() == [True, False, False]
    back = SelectFeatures(DecisionTreeClassifier(random_state=0), cv=4, direction="backward").fit(X, y)
    assert back.get_support().tolist() == [False, False, True]


def test_all_columns_where_each_helps(rng):
    y = rng.integers(0, 2, 4000)
    X = rng.normal(size=(4000, 3)) + y[:, None]
    for direction in ("forward", "backward"):
        select = SelectFeatures(NaiveBayes(), cv=10, direction=direction).fit(X, y)
        assert select.get_support().all()
    assert select.history_["taken"].to_list() == [True, False]


def test_the_history_and_its_intervals():
    X, y = load_wine(return_X_y=True, as_frame=True)
    select = SelectFeatures(GaussianNB(), n_features=3, cv=5).fit(X, y)
    frame = select.history_
    assert frame.columns == ["step", "action", "column", "n_features", "score", "low", "high", "taken"]
    assert frame["step"].to_list() == frame["n_features"].to_list() == [1, 2, 3]
    assert set(frame["column"]) == set(select.get_feature_names_out())
    scores = cross_val_score(GaussianNB(), X[select.get_feature_names_out()], y, cv=5)
    splits = list(StratifiedKFold(5).split(X, y))
    share = sum(len(b) for _, b in splits) / sum(len(a) for a, _ in splits)
    half = stats.t.ppf(0.975, 4) * np.sqrt(scores.var(ddof=1) * (1 / 5 + share))
    np.testing.assert_allclose(
        frame.row(-1)[4:7], [scores.mean(), scores.mean() - half, min(1.0, scores.mean() + half)]
    )
    assert select.by_size_["columns"].to_list()[-1] == select.get_feature_names_out().tolist()
    assert select.models_scored_ == (13 + 12 + 11) * 5


# refused


@pytest.mark.parametrize(("params", "message"), [
    ({"n_features": 5}, "n_features=5 is out of range: X has 4 columns"),
    ({"n_features": 0}, "n_features=0 is out of range"),
    ({"n_features": -1}, "out of range"),
    ({"n_features": 0.2}, "n_features=0.2 is out of range.*a fraction from 0.25 to 1.0"),
    ({"n_features": 1.5}, "n_features=1.5 is out of range"),
    ({"n_features": float("nan")}, "out of range"),
    ({"n_features": None}, "must be 'auto', a whole number or a fraction of the columns, got None"),
    ({"n_features": True}, "must be 'auto', a whole number"),
    ({"n_features": "all"}, "must be 'auto', a whole number"),
    ({"direction": "sideways"}, "direction must be 'forward' or 'backward', got 'sideways'"),
    ({"level": 0.3}, "level must be above 0.5, got 0.3"),
    ({"level": 95}, "level must be between 0 and 1"),
    ({"scoring": ["accuracy", "f1_macro"]}, "a single metric, got .'accuracy'"),
    ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
    ({"cv": ShuffleSplit(1)}, "needs at least two splits, but there is one"),
])  # fmt: skip
def test_parameters_that_cannot_be_followed(params, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=message):
        SelectFeatures(GaussianNB(), **params).fit(X, y)


def test_tables_and_scores_that_cannot_be_followed(rng):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=r"1 feature\(s\)"):
        SelectFeatures(NaiveBayes()).fit(X[:, :1], y)
    with pytest.raises(InputError, match=r"1 feature\(s\)"):
        SelectFeatures(NaiveBayes()).fit(pl.DataFrame({"a": X[:, 0]}), y)
    with pytest.raises(TypeError, match="floating must be True or False"):
        SelectFeatures(NaiveBayes(), floating="yes").fit(X, y)
    with pytest.raises(TypeError, match="must be an estimator, got str"):
        SelectFeatures("NaiveBayes").fit(X, y)
    with pytest.raises(InputError, match="sample_weight must have one value per row"):
        SelectFeatures(NaiveBayes()).fit(X, y, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="at least one of the four") as caught:
        SelectFeatures(FailsOn(2), n_features=1, cv=3).fit(X, y)
    assert "raised by the columns 'x2' on split 1" in str(caught.value.__notes__)
    with pytest.raises(InputError, match="the score of the columns 'x0' on split 0 is nan"):
        SelectFeatures(NaiveBayes(), n_features=1, cv=3, scoring=lambda model, X, y: float("nan")).fit(X, y)


class FailsOn(GaussianNB):
    """Refuses the column that holds the third column of iris."""

    def __init__(self, column=2):
        self.column = column
        super().__init__()

    def fit(self, X, y):
        if (X[:, 0] == load_iris().data[: len(X), self.column]).mean() > 0.2:
            raise ValueError("at least one of the four must go")
        return super().fit(X, y)


# pictures


def test_the_picture(no_matplotlib):
    import matplotlib as mpl

    mpl.use("agg")
    X, y = load_wine(return_X_y=True)
    select = SelectFeatures(NaiveBayes(), n_features=4, cv=3).fit(X, y)
    ax = select.plot()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), select.by_size_["score"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Number of columns", "Accuracy (higher is better)")
    assert "Selected (4 columns)" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert select.plot(ax) is ax
    mpl.pyplot.close(ax.figure)
    no_matplotlib()
    with pytest.raises(ImportError, match=r"foldwise\[plots\]"):
        select.plot()
