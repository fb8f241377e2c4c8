"""Which model is better, and is the difference real?

All models are scored on the same splits. Intervals and tests allow for overlapping training sets.
"""

from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from foldwise import KNNClassifier, NaiveBayes, compare

X, y = load_wine(return_X_y=True)
models = {
    "naive Bayes": NaiveBayes(),
    "kNN": KNNClassifier(scale="standard"),
    "decision tree": DecisionTreeClassifier(random_state=0),
}
comparison = compare(models, X, y, random_state=0)
print(comparison)
comparison.plot()
