"""How different are the members of an ensemble?

Each point is a pair of members: their agreement (κ) against their mean error.
"""

from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from foldwise.ensembles import bagging, diagnose

X, y = load_wine(return_X_y=True)
model = bagging(DecisionTreeClassifier(random_state=0), 15, random_state=0).fit(X[::2], y[::2])
diagnose(model, X[1::2], y[1::2]).plot()
