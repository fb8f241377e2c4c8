"""How much does one parameter matter?

A decision tree is grown once per fold. Every pruning strength prunes a copy of it.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from foldwise import validation_curve

X, y = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(random_state=0)
curve = validation_curve(tree, X, y, "ccp_alpha", np.geomspace(1e-4, 0.1, 12), cv=10)
curve.plot()
