"""The score of a search is optimistic.

The labels are noise, so no model can be right more than half of the time. The best of 80 settings looks better, the
corrected estimates do not. Means over 20 tables.
"""

import matplotlib.pyplot as plt
import numpy as np

from foldwise import GridSearchCV, KNNClassifier, bias_corrected, nested_cv

grid = {"n_neighbors": range(1, 41), "weights": ["uniform", "distance"]}
found = []
for seed in range(20):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(150, 5)), rng.integers(0, 2, 150)
    search = GridSearchCV(KNNClassifier(), grid, cv=5).fit(X, y)
    corrected, nested = bias_corrected(search, random_state=0), nested_cv(search, X, y, cv=5)
    found.append([search.best_score_, corrected.value, nested.estimate.value])

names = ["search score (optimistic)", "bias_corrected", "nested_cv"]
figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
ax.errorbar(means, names, xerr=1.96 * errors, fmt="o", capsize=4)
ax.axvline(0.5, color="black", linestyle="--", linewidth=1)
ax.set(xlabel="mean accuracy with its 95% interval (the truth is 0.5)", xlim=(0.46, 0.6))
ax.margins(y=0.3)
ax.invert_yaxis()
