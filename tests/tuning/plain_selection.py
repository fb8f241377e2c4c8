"""Selection of columns written down plainly: the twin of the paths, by scikit-learn's cross-validation."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import cross_val_score


def floating(estimator, X, y, n_features, forward, like_mlxtend=False, **options):
    """SFFS or SBFS to a number of columns; mlxtend steps back only if that beats the current score besides."""
    d = X.shape[1]

    def score(subset):
        return np.mean(cross_val_score(estimator, X[:, sorted(subset)], y, **options))

    def best_of(current, add, but=None):
        found = None
        for j in range(d):
            if (j in current) != add and j != but:
                new = current ^ {j}
                value = score(new)
                if found is None or value > found[0]:
                    found = (value, new, j)
        return found

    current = set() if forward else set(range(d))
    best = {} if forward else {d: (score(current), current)}
    while len(current) != n_features:
        value, current, moved = best_of(current, forward)
        if len(current) not in best or value > best[len(current)][0]:
            best[len(current)] = (value, current)
        while (len(current) if forward else d - len(current)) > 2:
            back, new, _ = best_of(current, not forward, moved)
            if back <= best[len(new)][0] or (like_mlxtend and back <= value):
                break
            value, current = back, new
            best[len(current)] = (value, current)
    return sorted(best[n_features][1])
