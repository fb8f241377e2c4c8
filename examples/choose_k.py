"""The exercise of the lectures: k between 1 and 30, 50 resamples of 80/20; the best k, and the picture.

python examples/choose_k.py picture.png
"""

from __future__ import annotations

import sys

from sklearn.datasets import load_breast_cancer

from foldwise import KNNClassifier, choose_k

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
curve = choose_k(X, y, ks=range(1, 31), estimator=KNNClassifier(scale="standard"))
print(curve)
if len(sys.argv) > 1:
    curve.plot().figure.savefig(sys.argv[1], dpi=150)
