"""Choose the number of neighbors.

One neighbor search answers every k on 50 resamples. The band is the 95% interval of the mean accuracy.
"""

from sklearn.datasets import load_breast_cancer

from foldwise import KNNClassifier, choose_k

X, y = load_breast_cancer(return_X_y=True)
curve = choose_k(X, y, ks=range(1, 31), estimator=KNNClassifier(scale="standard"))
curve.plot()
