"""Models over several tables.

The critical-difference diagram shows mean ranks. A bar joins models that are statistically tied.
"""

from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

from foldwise import KNNClassifier, NaiveBayes, compare_tables

loaders = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
tables = {name: load(return_X_y=True) for name, load in loaders.items()}
models = {
    "gaussian": NaiveBayes(),
    "binned": NaiveBayes(families="binned"),
    "kNN": KNNClassifier(scale="standard"),
    "tree": DecisionTreeClassifier(random_state=0),
}
compare_tables(tables, models, cv=5).plot()
