"""Are the probabilities of naive Bayes right?

Redundant columns make naive Bayes overconfident. Of the rows with a predicted probability of about 15%, almost half
belong to the class. `Calibrated` corrects that with a map fitted to out-of-fold predictions.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from foldwise import Calibrated, NaiveBayes, cross_predict, reliability

X, y = make_classification(4000, 20, n_informative=4, n_redundant=12, class_sep=0.5, random_state=0)
models = {"naive Bayes": NaiveBayes(), "calibrated": Calibrated(NaiveBayes())}
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (title, model) in zip(axes, models.items(), strict=True):
    proba = cross_predict(model, X, y, method="predict_proba")
    reliability(y, proba).plot(ax=ax)
    ax.set_title(title)
