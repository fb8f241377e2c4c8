"""`Confusion`: the confusion matrix of any number of classes, with precision, recall and F1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foldwise.data.cells import read_only
from foldwise.data.schema import listing
from foldwise.data.target import check_weights, encode_labels, label_array, object_array
from foldwise.errors import InputError
from foldwise.evaluation.tables import TextTable, unmixed


@dataclass(frozen=True, eq=False)
class Confusion:
    """A confusion matrix: counts (or weights) by true and predicted class.

    Attributes
    ----------
    classes : tuple
        The classes, in the order of rows and columns.
    counts : ndarray of shape (n_classes, n_classes)
        Rows are true classes, columns predicted ones. Integers unless weighted or normalized; read-only.

    Examples
    --------
    >>> from foldwise.evaluation import Confusion
    >>> print(Confusion.of(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "dog"]))
    truth \\ predicted  cat  dog
    cat                  1    1
    dog                  0    2
    <BLANKLINE>
    class  precision  recall     f1  support
    cat        1.000   0.500  0.667        2
    dog        0.667   1.000  0.800        2
    accuracy 0.750 of 4 rows
    """

    classes: tuple[Any, ...]
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        counts = np.array(self.counts)
        size = len(self.classes)
        if counts.shape != (size, size) or not size:
            raise InputError(
                f"counts must have one row and one column for each of {size} classes, got shape {counts.shape}."
            )
        if counts.dtype.kind not in "iuf":
            raise InputError(f"counts must be numbers, got an array of type {counts.dtype}.")
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "counts", read_only(counts))

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, classes: Sequence[Any] | None = None, sample_weight: Any = None) -> Confusion:
        """Count true and predicted labels.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            The true classes.
        y_pred : array-like of shape (n_rows,)
            The predicted classes.
        classes : sequence, default None
            The classes in the order wanted; some may be missing from the labels. None means all labels, sorted.
        sample_weight : array-like of shape (n_rows,), default None
            Weight of each row; None counts rows.

        Returns
        -------
        Confusion
            The confusion matrix.
        """
        truth, predicted = (label_array(y).tolist() for y in (y_true, y_pred))
        if len(truth) != len(predicted):
            raise InputError(
                f"y_true has {len(truth)} labels but y_pred has {len(predicted)}.", "pass one of each per row."
            )
        if classes is None:
            if not truth:
                raise InputError("y_true and y_pred are empty.", "pass at least one label, or classes=.")
            names = encode_labels(object_array([*truth, *predicted])).classes.tolist()
        else:
            names = [name.item() if isinstance(name, np.generic) else name for name in classes]
        index = {name: i for i, name in enumerate(names)}
        if len(index) < len(names):
            raise InputError(f"classes must be different, but one occurs twice: {listing(names)}.")
        unknown = sorted({str(label) for label in (*truth, *predicted) if label not in index})
        if unknown:
            raise InputError(f"the labels {listing(unknown)} are not among the classes {listing(names)}.")
        weights = check_weights(sample_weight, len(truth))
        counts = np.zeros((len(names), len(names)), dtype=np.int64 if weights is None else np.float64)
        cells = [index[label] for label in truth], [index[label] for label in predicted]
        np.add.at(counts, cells, 1 if weights is None else weights)
        return cls(tuple(names), counts)

    @property
    def accuracy(self) -> float:
        """The fraction of rows on the diagonal."""
        return float(ratio(np.trace(self.counts), self.counts.sum()))

    def normalized(self, over: Literal["truth", "predicted", "all"] = "truth") -> Confusion:
        """Divide counts by their totals.

        Parameters
        ----------
        over : {"truth", "predicted", "all"}, default "truth"
            Divide by the total of each true class, of each predicted class, or of the whole matrix.

        Returns
        -------
        Confusion
            The fractions; 0 where a total is 0.
        """
        totals = {
            "truth": self.counts.sum(axis=1, keepdims=True),
            "predicted": self.counts.sum(axis=0, keepdims=True),
            "all": self.counts.sum(),
        }
        if over not in totals:
            raise InputError(f"over must be 'truth', 'predicted' or 'all', got {over!r}.")
        return Confusion(self.classes, ratio(self.counts, totals[over]))

    def rates(self) -> dict[str, NDArray[Any]]:
        """Compute precision, recall, F1 and support of each class.

        Returns
        -------
        dict of ndarray
            One array per rate, in the order of `classes`. Undefined rates are 0, as in scikit-learn.
        """
        right, given, true = np.diagonal(self.counts), self.counts.sum(axis=0), self.counts.sum(axis=1)
        return {
            "precision": ratio(right, given),
            "recall": ratio(right, true),
            "f1": ratio(2 * right, given + true),
            "support": true,
        }

    def per_class(self) -> Any:
        """Return precision, recall, F1 and support as a frame.

        Returns
        -------
        polars.DataFrame
            One row per class.
        """
        import polars as pl

        return pl.DataFrame({"class": unmixed(self.classes), **self.rates()})

    def to_frame(self) -> Any:
        """Return the matrix as a frame.

        Returns
        -------
        polars.DataFrame
            A column `truth`, then one column per predicted class.
        """
        import polars as pl

        columns = {f"predicted {name}": self.counts[:, j] for j, name in enumerate(self.classes)}
        return pl.DataFrame({"truth": unmixed(self.classes), **columns})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Confusion):
            return NotImplemented
        return self.classes == other.classes and bool(np.array_equal(self.counts, other.counts))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Confusion, (self.classes, self.counts)  # a copy is read-only too

    def _shown(self) -> tuple[list[TextTable], str]:
        """Return the printed tables and a note: counts, then rates and the accuracy unless counts are fractions."""
        names = [str(name) for name in self.classes]
        rows = [[name, *map(count_text, row)] for name, row in zip(names, self.counts.tolist(), strict=True)]
        counts = TextTable(["truth \\ predicted", *names], rows)
        if self.counts.dtype.kind == "f" and self.counts.max(initial=0) <= 1:
            return [counts], ""
        rates = {name: values.tolist() for name, values in self.rates().items()}
        support = [count_text(n) for n in rates.pop("support")]
        figures = [[f"{value:.3f}" for value in values] for values in rates.values()]
        table = TextTable(["class", *rates, "support"], list(zip(names, *figures, support, strict=True)))
        total = self.counts.sum().item()
        of = f"{total} rows" if isinstance(total, int) else f"a total weight of {count_text(total)}"
        return [counts, table], f"accuracy {self.accuracy:.3f} of {of}"

    def __str__(self) -> str:
        tables, note = self._shown()
        return "\n\n".join(map(str, tables)) + f"\n{note}".rstrip()

    def _repr_html_(self) -> str:
        (counts, *rates), note = self._shown()
        return counts.html("Confusion matrix") + "".join(table.html("", [note]) for table in rates)


def ratio(above: Any, below: Any) -> NDArray[np.float64]:
    """Divide, with 0 where the denominator is 0."""
    return np.asarray(np.divide(above, np.where(below == 0, 1, below)) * (below != 0), dtype=np.float64)


def count_text(count: float) -> str:
    return f"{count}" if isinstance(count, int) else f"{count:.4g}"
