"""`ClusterStudy`: what each number of clusters achieves, which one is suggested, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.clusters.assignment import ClusterLabels
from foldwise.clusters.references import gap_choice
from foldwise.data.html import html_table
from foldwise.data.notes import hanging
from foldwise.errors import InputError
from foldwise.evaluation.plotting import axes
from foldwise.evaluation.tables import TextTable, number, p_equation, p_text

LEVEL = 0.05  # of the test whether a cluster contains two groups
STABLE = 0.92  # Jaccard index that the least stable cluster needs, for a k that the test does not demand


@dataclass(frozen=True, repr=False)
class ClusterStudy:
    """Indices, stability and tests for each number of clusters, as returned by `choose_clusters`.

    Attributes
    ----------
    ks : tuple of int
        The numbers of clusters, ascending.
    inertia : ndarray of shape (n_ks,)
        Sum of the squared distances to the centers, of the best restart.
    silhouette : ndarray of shape (n_ks,)
        Mean silhouette, between -1 and 1; higher is better.
    calinski_harabasz : ndarray of shape (n_ks,)
        Calinski-Harabasz index; higher is better.
    davies_bouldin : ndarray of shape (n_ks,)
        Davies-Bouldin index; lower is better.
    gap : ndarray of shape (n_ks + 1,)
        Gap statistic, first for k = 1, then for `ks`.
    gap_error : ndarray of shape (n_ks + 1,)
        Standard error of the gap statistic.
    agreement : ndarray of shape (n_ks, n_resamples)
        Adjusted Rand index between the clustering of the table and that of each resample, on their common rows.
    reference_agreement : ndarray of shape (n_ks,)
        Mean adjusted Rand index of structureless tables, which are random and have no clusters.
    least_stable : ndarray of shape (n_ks,)
        Mean Jaccard index of the least stable cluster over the resamples.
    split_p_values : ndarray of shape (n_ks + 1,)
        p-value of "no cluster contains two groups", first for k = 1, then for `ks`. If it is small, more clusters are
        needed.
    labels : ndarray of shape (n_ks, n_rows)
        Cluster of each row for each k.
    centers : tuple of ndarray of shape (k, n_columns)
        The means of the clusters for each k.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from foldwise.clusters import choose_clusters
    >>> X, _ = make_blobs(400, 4, centers=3, random_state=0)
    >>> study = choose_clusters(X, ks=range(2, 7), restarts=4, resamples=10, random_state=0)
    >>> study.best_k, study.to_frame().height
    (3, 5)
    """

    ks: tuple[int, ...]
    inertia: Floats
    silhouette: Floats
    calinski_harabasz: Floats
    davies_bouldin: Floats
    gap: Floats
    gap_error: Floats
    agreement: Floats
    reference_agreement: Floats
    least_stable: Floats
    split_p_values: Floats
    labels: ClusterLabels
    centers: tuple[Floats, ...]

    @property
    def stability(self) -> Floats:  # (n_ks,)
        """Mean adjusted Rand index over the resamples."""
        return np.asarray(self.agreement.mean(axis=1))

    @property
    def stability_interval(self) -> tuple[Floats, Floats]:
        """Limits between which 95% of the resamples lie."""
        low, high = np.quantile(self.agreement, [0.025, 0.975], axis=1)
        return low, high

    @property
    def stability_above_chance(self) -> Floats:  # (n_ks,)
        """Stability minus that of structureless tables."""
        return self.stability - self.reference_agreement

    @property
    def gap_k(self) -> int:
        """The number of clusters that the gap statistic alone suggests."""
        return gap_choice((1, *self.ks), self.gap, self.gap_error)

    @property
    def has_clusters(self) -> bool:
        """Whether k = 1 can be rejected."""
        return bool((self.split_p_values < LEVEL).any())

    @property
    def _needed(self) -> int:
        """The smallest k of at least 2 such that no cluster contains two groups, for k and for the next k."""
        single = np.r_[self.split_p_values[1:] >= LEVEL, True]
        both = np.flatnonzero(single[:-1] & single[1:])
        return self.ks[int(both[0]) if len(both) else -1]

    @property
    def best_k(self) -> int:
        """The suggested number of clusters; 1 if no clusters were found."""
        if not self.has_clusters:
            return 1
        t = self.ks.index(self._needed)
        while t + 1 < len(self.ks) and self.least_stable[t + 1] >= STABLE:
            t += 1
        return self.ks[t]

    @property
    def reason(self) -> str:
        """Why `best_k` is suggested, in words."""
        if not self.has_clusters:
            return (
                "No clusters: the rows form a single group. For each number of clusters k, including k = 1 (all rows), "
                "held-out rows were used to test whether a cluster consists of two separate groups. None does "
                f"(smallest {p_equation(float(self.split_p_values.min()))}). k-means would only cut the group into "
                "pieces."
            )
        best, needed = self.best_k, self._needed
        t = self.ks.index(best)
        words = []
        tested = (1, *self.ks)
        at = tested.index(needed)
        if self.split_p_values[at] < LEVEL:
            words.append(f"Even with {needed} clusters, the largest number tried, one of them contains two groups.")
        else:
            last = int(np.flatnonzero(self.split_p_values < LEVEL)[-1])
            split = at - 1 if self.split_p_values[at - 1] < LEVEL else last
            where = "The table" if tested[split] == 1 else f"With {tested[split]} clusters, one of them"
            p = p_equation(float(self.split_p_values[split]))
            words.append(f"{where} contains two groups, according to a test on held-out rows ({p}).")
            words.append(f"With {needed} clusters, the test does not find two groups in any of them.")
        if best > needed:
            words.append(f"With up to {best} clusters, every cluster reappears in resampled rows.")
        words.append(
            f"The stability of {best} clusters (adjusted Rand index) is {self.stability[t]:.2f}, compared with "
            f"{self.reference_agreement[t]:.2f} in random tables without clusters. The least stable cluster has a "
            f"Jaccard index of {self.least_stable[t]:.2f}."
        )
        return " ".join(words)

    def labels_of(self, k: int | None = None) -> ClusterLabels:
        """Return the cluster of each row.

        Parameters
        ----------
        k : int, optional
            Number of clusters. Default: `best_k`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Index of the cluster of each row; all 0 for k = 1.
        """
        k = self.best_k if k is None else k
        if k == 1:
            return np.zeros(self.labels.shape[1], dtype=np.int32)
        if k not in self.ks:
            raise InputError(f"k must be one of {', '.join(map(str, self.ks))}, got {k!r}.", "add it to ks.")
        return np.asarray(self.labels[self.ks.index(k)])

    def to_frame(self) -> Any:
        """Return the figures of each k as a polars data frame.

        Returns
        -------
        polars.DataFrame
            One row per number of clusters.
        """
        import polars as pl

        low, high = self.stability_interval
        return pl.DataFrame(
            {
                "k": self.ks,
                "inertia": self.inertia,
                "silhouette": self.silhouette,
                "calinski_harabasz": self.calinski_harabasz,
                "davies_bouldin": self.davies_bouldin,
                "gap": self.gap[1:],
                "gap_error": self.gap_error[1:],
                "stability": self.stability,
                "stability_low": low,
                "stability_high": high,
                "stability_structureless": self.reference_agreement,
                "least_stable_cluster": self.least_stable,
                "split_p_value": self.split_p_values[1:],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot the stability of each k with its interval, that of structureless tables, and the mean silhouette.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        ax = axes(ax)
        low, high = self.stability_interval
        ax.fill_between(self.ks, low, high, alpha=0.2, linewidth=0, label="95% of the resamples")
        ax.plot(self.ks, self.stability, marker="o", markersize=3, label="Stability (adjusted Rand index)")
        ax.plot(self.ks, self.reference_agreement, "--", color="gray", linewidth=1, label="Stability without clusters")
        ax.plot(self.ks, self.silhouette, marker="s", markersize=3, label="Mean silhouette")
        if self.has_clusters:
            ax.axvline(self.best_k, color="black", linewidth=1, linestyle=":", label=f"Suggested k = {self.best_k}")
        else:
            ax.set_title("No clusters: k = 1 cannot be rejected")
        ax.set_xlabel("Number of clusters k")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(loc="best", edgecolor="none")
        return ax

    def _table(self) -> TextTable:
        low, high = self.stability_interval
        heads = ["k", "inertia", "silhouette", "gap", "stability", "interval", "no clusters", "split p"]
        rows = [
            [
                str(k),
                number(self.inertia[t]),
                f"{self.silhouette[t]:.3f}",
                f"{self.gap[t + 1]:.3f}",
                f"{self.stability[t]:.2f}",
                f"{low[t]:.2f} to {high[t]:.2f}",
                f"{self.reference_agreement[t]:.2f}",
                p_text(float(self.split_p_values[t + 1])),
            ]
            for t, k in enumerate(self.ks)
        ]
        return TextTable(heads, rows)

    def _title(self) -> str:
        return f"Suggested number of clusters: {self.best_k}" if self.has_clusters else "No clusters"

    def __str__(self) -> str:
        return f"{self._title()}\n{hanging('', self.reason)}\n\n{self._table()}"

    def _repr_html_(self) -> str:
        table = self._table()
        return html_table(self._title(), table.heads, table.rows, [self.reason])

    __repr__ = __str__
