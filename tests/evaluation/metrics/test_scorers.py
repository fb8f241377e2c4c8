"""Scorers as metrics: with models, with stand-ins, and with the weights that scikit-learn's searches would pass."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import model_selection as peer
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer, make_scorer, max_error
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.metrics import METRICS, SESSION_METRICS, CostMetric, ScorerMetric, metrics_of
from foldwise.evaluation.metrics.scorers import AnsweredClassifier, takes_weight
from foldwise.folds import Answer, Need, RefitSession, Split
from tests.evaluation.problems import Deciding, Problem, Told, classification, regression

COSTS = CostMatrix.zero_one([0, 1])


def single(scoring, estimator):
    return metrics_of(scoring, estimator)[0]["score"]


def test_what_a_name_becomes():
    assert single(None, GaussianNB()).metric is METRICS["accuracy"]
    assert single(None, LinearRegression()).metric is METRICS["r2"]
    for name in SESSION_METRICS:
        kind = LinearRegression() if name == "r2" or "error" in name or "deviance" in name else GaussianNB()
        assert not isinstance(single(name, kind), ScorerMetric), name
    assert isinstance(single("r2", GaussianNB()), ScorerMetric)  # another kind of target
    assert isinstance(single("accuracy", LinearRegression()), ScorerMetric)
    assert single("jaccard_macro", GaussianNB()).wants_model is False
    assert single(lambda model, X, y: 0.0, GaussianNB()).wants_model is True
    metrics, scorers, several = metrics_of(["accuracy", "r2"], GaussianNB())
    assert (list(metrics), list(scorers), several) == (["accuracy", "r2"], ["accuracy", "r2"], True)
    assert isinstance(single(COSTS, GaussianNB()), CostMetric)
    assert isinstance(single(COSTS.scorer(), GaussianNB()), CostMetric)
    metrics, scorers, several = metrics_of({"cost": COSTS, "right": "accuracy"}, GaussianNB())
    assert isinstance(metrics["cost"], CostMetric)
    assert several
    assert scorers["cost"].matrix is COSTS
    with pytest.raises(ValueError, match="got 'acuracy'"):
        metrics_of("acuracy", GaussianNB())


def test_an_estimator_with_a_score_of_its_own():
    class Own(GaussianNB):
        def score(self, X, y, sample_weight=None):
            return 0.5

    assert single(None, Own()).wants_model is True


def test_the_need_of_roc_auc():
    for model in (LogisticRegression(), GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())):
        assert single("roc_auc", model).need == Need.DECISION


def test_which_scorers_take_weights():
    assert takes_weight(get_scorer("accuracy"))
    assert not takes_weight(get_scorer("neg_max_error"))
    assert not takes_weight(make_scorer(max_error))
    assert takes_weight(lambda model, X, y, sample_weight=None: 0.0)
    assert not takes_weight(lambda model, X, y, **more: 0.0)


@pytest.mark.parametrize("scoring", ["accuracy", None, "f1_macro", "neg_log_loss", "jaccard_macro"])
def test_weights_of_fit_weigh_the_test_rows_as_in_scikit_learn(rng, scoring):
    X, y = make_classification(120, n_informative=6, n_classes=3, random_state=1)
    weights = rng.exponential(size=120)
    grid = {"var_smoothing": [1e-9, 0.1, 1.0]}
    search = peer.GridSearchCV(GaussianNB(), grid, scoring=scoring, cv=peer.KFold(3)).fit(X, y, sample_weight=weights)
    session = RefitSession(GaussianNB(), X, y, {"sample_weight": weights})
    splits = [Split(*pair) for pair in peer.KFold(3).split(X)]
    settings = [{"var_smoothing": value} for value in grid["var_smoothing"]]
    metric = single(scoring, GaussianNB())
    problems = [Problem(session, split, settings) for split in splits]
    found = np.stack(
        [metric(session, settings, one.split, one.answer(settings, Need.LABELS | Need.PROBA)) for one in problems],
        axis=1,
    )
    theirs = np.stack([search.cv_results_[f"split{i}_test_score"] for i in range(3)], axis=1)
    np.testing.assert_allclose(found, theirs, rtol=1e-12)
    assert not np.allclose(found, np.average(found))


def test_a_scorer_without_weights_is_not_given_any(rng):
    problem = regression(rng, weights="random")
    metric = problem.metric("neg_max_error")
    answer = problem.answer(problem.settings)
    found = metric(problem.session, problem.settings, problem.split, answer)
    truth = problem.session.y[problem.split.test]
    np.testing.assert_allclose(found, [-max_error(truth, row) for row in answer.values])


@pytest.mark.parametrize("model", [Told, Deciding])
@pytest.mark.parametrize("name", ["jaccard_macro", "d2_log_loss_score", "average_precision", "roc_auc_ovo"])
def test_stand_ins_answer_as_models(rng, model, name):
    problem = classification(rng, 2, model=model)
    metric = ScorerMetric(get_scorer(name))
    found = metric(problem.session, problem.settings, problem.split, problem.answer(problem.settings))
    theirs = [problem.theirs(name, setting) for setting in problem.settings]
    np.testing.assert_allclose(found, theirs, rtol=1e-12)


def test_a_stand_in_has_what_the_answer_has(rng):
    problem = classification(rng, 3)
    labels = np.zeros((1, len(problem.split.test)), dtype=int)
    bare = AnsweredClassifier(problem.session, Answer(labels), 0, problem.split)
    assert hasattr(bare, "predict")
    assert not any(hasattr(bare, name) for name in ("predict_proba", "predict_log_proba", "decision_function"))
    deciding = AnsweredClassifier(problem.session, Answer(labels, decision=np.zeros((1, 3))), 0, problem.split)
    assert hasattr(deciding, "decision_function")
    with pytest.raises(InputError, match="needs another kind of prediction, which Told does not provide"):
        ScorerMetric(get_scorer("neg_log_loss"))(problem.session, [{}], problem.split, Answer(labels))


def test_several_targets_are_scored_by_models():
    X, y = make_multilabel_classification(60, random_state=0)
    session = RefitSession(OneVsRestClassifier(GaussianNB()), X, y)
    assert session.target is None
    split = Split(np.arange(40), np.arange(40, 60))
    for name in ("accuracy", "f1_macro", "jaccard_macro"):
        metric = single(name, session.estimator)
        answer = next(iter(session.answer([{}], split.train, split.test, metric.need))).answer
        expected = get_scorer(name)(session.refit({}, split.train), X[40:], y[40:])
        assert metric(session, [{}], split, answer).tolist() == [expected]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_pipeline_is_scored_as_its_last_step(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    pipeline = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    metric = single(None, pipeline)
    assert metric.need == Need.LABELS
    assert hasattr(metric, "losses")

    class Half(RandomForestClassifier):
        def score(self, X, y, sample_weight=None):
            return 0.5

    settings = [{"linearsvc__C": 0.1}, {"linearsvc": Half(2, random_state=0)}]
    session = RefitSession(pipeline, X, y)
    split = Split(np.arange(40), np.arange(40, 60))
    for setting in settings:
        answer = next(iter(session.answer([setting], split.train, split.test, metric.need))).answer
        expected = session.refit(setting, split.train).score(X[40:], y[40:])
        assert metric(session, [setting], split, answer).tolist() == [expected]
    own = make_pipeline(StandardScaler(), Half())
    assert single(None, own).wants_model


def test_a_scorer_that_gives_several_numbers(rng):
    problem = classification(rng, 2)
    metric = single(lambda model, X, y: {"seed": model.seed, "rows": len(X)}, problem.session.estimator)
    found = metric(problem.session, problem.settings[:2], problem.split, Answer())
    rows = len(problem.split.test)
    assert found.tolist() == [{"seed": 0, "rows": rows}, {"seed": 1, "rows": rows}]
