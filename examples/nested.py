"""Change one import: a nested search with scikit-learn's classifiers, what it chose, and decisions by cost."""

from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

from foldwise import Confusion, CostMatrix, GridSearchCV, cross_predict, nested_cv

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]

# missing a malignant tumor costs 20 times as much as an alarm for nothing; a second look costs little
costs = CostMatrix.from_dict(
    {
        "benign": {"benign": 0, "malignant": 20},
        "malignant": {"benign": 1, "malignant": 0},
        "look again": {"benign": 0.2, "malignant": 0.2},
    }
)
print(costs, end="\n\n")

model = make_pipeline(PowerTransformer(), GaussianNB())
grid = {"gaussiannb__var_smoothing": [10.0**k for k in range(-12, 1)]}
search = GridSearchCV(model, grid, scoring=costs, cv=5)
print("minus the mean cost:", nested_cv(search, X, y, cv=5))

search.fit(X, y)
print(f"shared: {search.session_}, {search.models_scored_} models from {search.fits_done_} pieces of work")
print(f"chosen: {search.best_params_}\n")

setting = search.best_params_
print(Confusion.of(y, cross_predict(model, X, y, cv=5, setting=setting)), end="\n\n")
proba = cross_predict(model, X, y, cv=5, setting=setting, method="predict_proba")
decision = costs.decide(proba, classes=search.classes_)
print("decisions by cost:", {str(action): int((decision.action == action).sum()) for action in costs.actions})
