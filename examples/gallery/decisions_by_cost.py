"""From probabilities to decisions.

If a missed tumor costs twenty times as much as a false alarm, the threshold moves, and unclear cases get a second look.
"""

import matplotlib.pyplot as plt
import numpy as np

from foldwise import CostMatrix

costs = CostMatrix.from_dict(
    {
        "benign": {"benign": 0, "malignant": 20},  # action: {true class: cost}
        "malignant": {"benign": 1, "malignant": 0},
        "look again": {"benign": 0.2, "malignant": 0.2},
    }
)
p = np.linspace(0, 1, 201)
expected = np.column_stack([1 - p, p]) @ costs.costs.T
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(p, expected, label=[str(action) for action in costs.actions])
ax.plot(p, expected.min(axis=1), color="black", linewidth=3, alpha=0.25, label="cheapest action")
ax.set(xlabel="probability of a malignant tumor", ylabel="expected cost", ylim=(0, 1.2))
ax.legend()
