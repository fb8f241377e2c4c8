"""k-means and the study of k against the loop that a scikit-learn user writes, on two cores in one run.

The peer clusters the table for every k. Its silhouettes and resamples are timed for three k and two resamples, and
scaled. `make bench` writes benchmarks/clusters.md. Run it on a quiet machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.datasets import make_blobs

from foldwise import KMeans, choose_clusters
from nested import seconds

HERE = Path(__file__).parent
KS = range(2, 21)
RESTARTS, RESAMPLES = 10, 20
TIMED = (4, 11, 18)  # k whose silhouettes and resamples are timed


def blobs(n: int) -> NDArray[np.float64]:
    """Ten overlapping groups in 20 columns."""
    return np.asarray(make_blobs(n, 20, centers=10, cluster_std=5.0, random_state=0)[0])


def timed(call: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def study() -> list[str]:
    """The whole study on 20,000 × 20."""
    X = blobs(20_000)
    choose_clusters(X[:500], [2, 3], 1, 1, 0, references=1)  # compiled
    ours, found = timed(lambda: choose_clusters(X, KS, RESTARTS, RESAMPLES, 0))
    rng = np.random.default_rng(0)
    fitting, ratios, scoring, drawing = 0.0, [], [], []
    for k in KS:
        spent, model = timed(lambda k=k: PeerKMeans(k, n_init=RESTARTS, random_state=0).fit(X))
        fitting += spent
        ratios.append(found.inertia[found.ks.index(k)] / model.inertia_)
        if k not in TIMED:
            continue
        scoring.append(timed(lambda labels=model.labels_: metrics.silhouette_score(X, labels))[0])
        for _ in range(2):
            rows = rng.integers(0, len(X), len(X))

            def resample(k: int = k, rows: Any = rows, labels: Any = model.labels_) -> float:
                again = PeerKMeans(k, n_init=RESTARTS, random_state=0).fit(X[rows])
                return float(metrics.adjusted_rand_score(labels[rows], again.labels_))

            drawing.append(timed(resample)[0])
    theirs = fitting + len(KS) * float(np.mean(scoring)) + len(KS) * RESAMPLES * float(np.mean(drawing))
    labels = found.labels[found.ks.index(10)]
    differences = [
        abs(found.silhouette[8] - metrics.silhouette_score(X, labels)),
        abs(found.calinski_harabasz[8] / metrics.calinski_harabasz_score(X, labels) - 1),
        abs(found.davies_bouldin[8] - metrics.davies_bouldin_score(X, labels)),
    ]
    return [
        f"| whole study | {seconds(ours)} | {seconds(theirs)} | {theirs / ours:.1f} × | ≥ 5 × (goal 10 ×) |",
        "",
        f"scikit-learn needs {seconds(fitting)} for all 19 fits of the table (measured), "
        f"{seconds(float(np.mean(scoring)))} for one silhouette and {seconds(float(np.mean(drawing)))} for one",
        f"resample of one k. The last two are means over k = {', '.join(map(str, TIMED))} with two resamples each, "
        "scaled to 19 silhouettes and 380",
        "resamples. Foldwise's time includes the gap statistic, structureless tables and tests of splits, which the "
        "loop lacks.",
        "",
        f"Median ratio of the inertias (Foldwise / scikit-learn) over all k: {np.median(ratios):.7f}, from "
        f"{min(ratios):.6f} to {max(ratios):.6f} (goal: no worse; both stop at `tol=1e-4`).",
        f"Greatest difference of the three indices for equal labels: {max(differences):.0e} (goal: 1e-9). Suggested k: "
        f"{found.best_k}; the table has 10 groups.",
    ]


def one_fit(name: str, X: NDArray[np.float64], asked: str) -> str:
    """One fit from the same centers until no label changes."""
    start = X[np.random.default_rng(0).choice(len(X), 20, replace=False)]
    options: dict[str, Any] = {"init": start, "n_init": 1, "tol": 0.0, "max_iter": 1000}
    KMeans(20, **options).fit(X)
    pairs = []
    for _ in range(5):  # in turns: both meet the same noise of the machine
        ours, own = timed(lambda: KMeans(20, **options).fit(X))
        theirs, peer = timed(lambda: PeerKMeans(20, **options).fit(X))
        pairs.append((ours, theirs))
    ours, theirs = np.min(pairs, axis=0)
    same = "equal" if np.array_equal(own.labels_, peer.labels_) else "**differ**"
    line = (
        f"| {name}, {own.n_iter_} iterations | {seconds(ours)} | {seconds(theirs)} | {theirs / ours:.1f} × | {asked} |"
    )
    return f"{line} {same} |"


def memory() -> None:
    """Print the peak memory of a study of 100,000 rows in MiB and its time."""
    X = np.random.default_rng(0).uniform(size=(100_000, 20)) if sys.argv[2] == "noise" else blobs(100_000)
    spent, _ = timed(lambda: choose_clusters(X, KS, 2, 4, 0, references=2))
    # the peak in `resource` would include that of the parent process
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    print(int(peak[1]) >> 10, spent)


def peak(kind: str) -> str:
    out = subprocess.run([sys.executable, __file__, "memory", kind], capture_output=True, text=True, check=True)
    mebibytes, spent = out.stdout.split()
    return f"{int(mebibytes):,} MiB ({seconds(float(spent))})"


def main() -> None:
    lines = [
        "# Benchmarks: clusters",
        "",
        "Made by `make bench` (`benchmarks/clusters.py`). Both libraries use two cores in one run.",
        "",
        "## The study of k",
        "",
        "`choose_clusters` for k = 2 … 20 with 10 restarts, 20 resamples and all silhouettes on 20,000 × 20 (ten",
        "overlapping groups), against a loop of `KMeans(n_init=10)`, `silhouette_score` and `adjusted_rand_score`.",
        "",
        "| comparison | foldwise | scikit-learn | ratio | goal |",
        "|---|---|---|---|---|",
        *study(),
        "",
        "Peak memory of a study of 100,000 × 20 (2 restarts, 4 resamples, all silhouettes): "
        f"{peak('groups')} with groups,",
        f"{peak('noise')} on uniform noise (goal: < 1,024 MiB).",
        "",
        "## One fit",
        "",
        "100,000 × 20, k = 20, the same first centers, `tol=0`. Best of five runs, which alternate between the "
        "libraries.",
        "",
        "| table | foldwise | scikit-learn | ratio | goal | labels |",
        "|---|---|---|---|---|---|",
        one_fit("20 groups", make_blobs(100_000, 20, centers=20, cluster_std=3.0, random_state=0)[0], "≥ 1.5 ×"),
        one_fit("20 overlapping groups", make_blobs(100_000, 20, centers=20, cluster_std=6.0, random_state=0)[0], "—"),
        one_fit("uniform noise", np.random.default_rng(0).uniform(size=(100_000, 20)), "—"),
    ]
    (HERE / "clusters.md").write_text("\n".join([*lines, ""]))
    print("\n".join(lines))


if __name__ == "__main__":
    memory() if sys.argv[1:2] == ["memory"] else main()
