"""Are the probabilities of naive Bayes right?

Naive Bayes is overconfident. `Calibrated` learns a map from out-of-fold predictions that corrects it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from foldwise import Calibrated, NaiveBayes, cross_predict, reliability

X, y = load_breast_cancer(return_X_y=True)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (title, model) in zip(
    axes, {"as it is": NaiveBayes(), "calibrated": Calibrated(NaiveBayes())}.items(), strict=True
):
    proba = cross_predict(model, X, y, method="predict_proba")
    reliability(y, proba).plot(ax=ax)
    ax.set_title(title)
