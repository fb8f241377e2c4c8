"""How often the planted number of factors is found, beside Minka's choice in scikit-learn and Kaiser's rule.

Rows are Gaussian factors times Gaussian loadings plus noise of the same size, or heavy-tailed noise (t with three
degrees of freedom). Seeds are those of no test and of no choice in the code. `make bench` writes
benchmarks/factors.md.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from foldwise import find_factors

HERE = Path(__file__).parent
TABLES = 100
FIRST_SEED = 90_000
# rows, columns, factors, noise
CASES = [
    (300, 20, 0, "normal"), (300, 20, 0, "heavy tails"), (100, 12, 0, "normal"), (100, 300, 0, "normal"),
    (300, 20, 1, "normal"), (300, 20, 3, "normal"), (300, 20, 3, "heavy tails"), (300, 20, 5, "normal"),
    (100, 12, 2, "normal"), (500, 40, 5, "normal"), (100, 300, 3, "normal"), (1000, 8, 2, "normal"),
    (1000, 12, 3, "normal"),
]  # fmt: skip


def planted(seed: int, n: int, p: int, k: int, noise: str) -> np.ndarray:
    """A table of k factors and noise."""
    rng = np.random.default_rng(seed)
    extra = rng.normal(size=(n, p)) if noise == "normal" else rng.standard_t(3, size=(n, p)) / np.sqrt(3)
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, p)) + extra


def by_minka(X: np.ndarray) -> float:
    """The number of components of scikit-learn's PCA(n_components="mle"), which needs more rows than columns."""
    return PCA("mle", svd_solver="full").fit(X).n_components_ if len(X) > X.shape[1] else np.nan


def by_kaiser(Z: np.ndarray) -> int:
    """The number of eigenvalues of the correlation matrix above 1."""
    return int((np.linalg.svd(Z, compute_uv=False) ** 2 / len(Z) > 1).sum())


def share(found: list[float], k: int) -> str:
    """How often the number is right, and its mean."""
    if np.isnan(found).any():
        return "not defined"
    return f"{np.mean(np.array(found) == k):.0%} (mean {np.mean(found):.1f})"


def main() -> None:
    lines = ["| rows × columns | noise | factors | foldwise | Minka (PCA 'mle') | Kaiser |", "|---" * 6 + "|"]
    for n, p, k, noise in CASES:
        ours, minka, kaiser = [], [], []
        for seed in range(FIRST_SEED, FIRST_SEED + TABLES):
            X = planted(seed, n, p, k, noise)
            Z = StandardScaler().fit_transform(X)
            ours.append(float(find_factors(X, random_state=seed).n_factors))
            minka.append(float(by_minka(X)))
            kaiser.append(float(by_kaiser(Z)))
        cells = [f"{n:,} × {p}", noise, str(k), *(share(one, k) for one in (ours, minka, kaiser))]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    about = (
        f"How often the planted number of factors is found in {TABLES} tables of each kind, and the mean of the "
        "numbers found. Bi-cross-validation (foldwise) is compared with two usual rules. Minka's rule assumes that the "
        "noise of all columns is equal, so it gets the columns before they are standardized. Made by `make bench` "
        "(`benchmarks/factors.py`)."
    )
    page = f"# Benchmarks: number of factors\n\n{about}\n\n" + "\n".join(lines) + "\n"
    (HERE / "factors.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
