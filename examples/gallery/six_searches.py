"""Six ways to search the same surface

The score of two parameters between 0 and 1 is highest at (0.8, 0.7), where it is 0.89. A grid and random draws spread
their trials evenly. A person, Bayesian search, evolution and gradient descent go where the score is high.
"""

import matplotlib.pyplot as plt
import numpy as np

from foldwise.tuning import AskTell, Bayesian, Evolutionary, Float, Grid, Manual, Random
from foldwise.tuning.descent import Box, descend


def score(x, y):
    return 0.89 - 0.6 * (x - 0.8) ** 2 - 0.5 * (y - 0.7) ** 2 - 0.2 * (x - 0.8) * (y - 0.7)


def loss_and_gradient(point):
    x, y = point[0] - 0.8, point[1] - 0.7
    return 1 - score(*point), np.array([1.2 * x + 0.2 * y, 1.0 * y + 0.2 * x])


space = {"x": Float(0, 1), "y": Float(0, 1)}
by_hand = [{"x": x, "y": y} for x, y in [(0.5, 0.5), (0.9, 0.5), (0.9, 0.9), (0.75, 0.75), (0.8, 0.7)]]
strategies = {
    "grid": (Grid(n_points=11), 121),
    "random": (Random(), 36),
    "manual": (Manual(by_hand), 5),
    "Bayesian": (Bayesian(), 15),
    "evolutionary": (Evolutionary(population=9), 36),
}
tried = {}
for title, (strategy, n_trials) in strategies.items():
    search = AskTell(space, strategy, random_state=0)
    for _ in range(n_trials):
        setting = search.ask()
        search.tell(setting, score(**setting))
    tried[title] = np.array([[one.setting["x"], one.setting["y"]] for one in search.trials])
box = Box(np.zeros(2), np.ones(2))
path = descend(loss_and_gradient, np.array([0.1, 0.2]), box, max_steps=12, tol=1e-5)
tried["gradient"] = np.array([point for point, _ in path])

figure, axes = plt.subplots(2, 3, figsize=(10, 6.4), layout="constrained", sharex=True, sharey=True)
side = np.linspace(0, 1, 101)
for ax, (title, points) in zip(axes.flat, tried.items(), strict=True):
    ax.contourf(side, side, score(*np.meshgrid(side, side)), levels=20)
    ax.plot(*points.T, "-o" if title in ("manual", "gradient") else "o", color="black", markersize=3, linewidth=1)
    best = points[score(*points.T).argmax()]
    ax.plot(*best, marker="*", markersize=14, color="red", markeredgecolor="white")
    ax.set_title(f"{title}: {score(*best):.3f} after {len(points)} trials", fontsize=10)
