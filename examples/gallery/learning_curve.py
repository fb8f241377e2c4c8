"""Would more rows help?

The score on training rows falls and the score on test rows rises until they meet.
"""

from sklearn.datasets import load_breast_cancer

from foldwise import NaiveBayes, learning_curve

X, y = load_breast_cancer(return_X_y=True)
curve = learning_curve(NaiveBayes(), X, y, train_sizes=[30, 60, 120, 240, 450], shuffle=True, random_state=0)
curve.plot()
