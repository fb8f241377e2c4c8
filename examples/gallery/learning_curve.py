"""Would more rows help?

The score on test rows is still rising at the right end, so more rows would help.
"""

from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from foldwise import learning_curve

X, y = load_digits(return_X_y=True)
tree = DecisionTreeClassifier(random_state=0)
curve = learning_curve(tree, X, y, train_sizes=[50, 100, 200, 400, 800, 1400], shuffle=True, random_state=0)
curve.plot()
