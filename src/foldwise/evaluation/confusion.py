"""The confusion matrix of any number of classes: what each truth was taken for, and the rates that follow from it."""

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
from foldwise.evaluation.tables import cut, panels


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts (or weights) by truth and prediction.

    >>> from foldwise.evaluation import Confusion
    >>> print(Confusion.of(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "dog"]))
    truth \\ predicted  cat  dog
    cat                  1    1
    dog                  0    2
    <BLANKLINE>
    class  precision  recall     f1  support
    cat        1.000   0.500  0.667        2
    dog        0.667   1.000  0.800        2
    accuracy 0.750 of 4
    """

    classes: tuple[Any, ...]
    counts: NDArray[Any]  # (truth, predicted), whole numbers unless weighted or normalized; read-only

    def __post_init__(self) -> None:
        counts = np.array(self.counts)
        size = len(self.classes)
        if counts.shape != (size, size) or not size:
            raise InputError(f"{size} classes need counts of shape {(size, size)}, but theirs is {counts.shape}.")
        if counts.dtype.kind not in "iuf":
            raise InputError(f"counts must be numbers, but they are of type {counts.dtype}.")
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "counts", read_only(counts))

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, classes: Sequence[Any] | None = None, sample_weight: Any = None) -> Confusion:
        """Count labels. `classes` fixes the order, and names those that may be absent; else they are sorted."""
        truth, given = (label_array(y).tolist() for y in (y_true, y_pred))
        if len(truth) != len(given):
            raise InputError(f"{len(truth)} true labels came with {len(given)} predicted ones.", "pass one each a row.")
        if classes is None:
            if not truth:
                raise InputError("there are no labels to count.", "pass some, or name the classes.")
            names = encode_labels(object_array([*truth, *given])).classes.tolist()
        else:
            names = [name.item() if isinstance(name, np.generic) else name for name in classes]
        place = {name: i for i, name in enumerate(names)}
        if len(place) < len(names):
            raise InputError(f"the classes {listing(names)} name one of them twice.", "name each once.")
        unknown = sorted({str(label) for label in (*truth, *given) if label not in place})
        if unknown:
            raise InputError(f"the labels {listing(unknown)} are not among the classes {listing(names)}.")
        weights = check_weights(sample_weight, len(truth))
        counts = np.zeros((len(names), len(names)), dtype=np.int64 if weights is None else np.float64)
        np.add.at(
            counts,
            ([place[label] for label in truth], [place[label] for label in given]),
            1 if weights is None else weights,
        )
        return cls(tuple(names), counts)

    @property
    def accuracy(self) -> float:
        """The share on the diagonal."""
        return float(ratio(np.trace(self.counts), self.counts.sum()))

    def normalized(self, over: Literal["truth", "predicted", "all"] = "truth") -> Confusion:
        """Shares of each truth, of each prediction or of all; 0 where there is nothing to share."""
        totals = {
            "truth": self.counts.sum(axis=1, keepdims=True),
            "predicted": self.counts.sum(axis=0, keepdims=True),
            "all": self.counts.sum(),
        }
        if over not in totals:
            raise InputError(f"normalize over 'truth', 'predicted' or 'all', not over {over!r}.")
        return Confusion(self.classes, ratio(self.counts, totals[over]))

    def rates(self) -> dict[str, NDArray[Any]]:
        """Precision, recall, F1 and support of each class; a rate of nothing is 0, as in scikit-learn."""
        right, given, true = np.diagonal(self.counts), self.counts.sum(axis=0), self.counts.sum(axis=1)
        return {
            "precision": ratio(right, given),
            "recall": ratio(right, true),
            "f1": ratio(2 * right, given + true),
            "support": true,
        }

    def per_class(self) -> Any:
        """A polars frame of precision, recall, F1 and support, one row a class."""
        import polars as pl

        return pl.DataFrame({"class": self._names(), **self.rates()})

    def to_frame(self) -> Any:
        """A polars frame: the truth, then a column for each prediction."""
        import polars as pl

        columns = {f"predicted {name}": self.counts[:, place] for place, name in enumerate(self.classes)}
        return pl.DataFrame({"truth": self._names(), **columns})

    def _names(self) -> list[Any]:
        one_type = len({type(name) for name in self.classes}) == 1
        return list(self.classes) if one_type else [str(name) for name in self.classes]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Confusion):
            return NotImplemented
        return self.classes == other.classes and bool(np.array_equal(self.counts, other.counts))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Confusion, (self.classes, self.counts)  # a copy is read-only too

    def __str__(self) -> str:
        names = [cut(str(name)) for name in self.classes]
        counts = panels("truth \\ predicted", names, names, [[number(n) for n in row] for row in self.counts.tolist()])
        if self.counts.dtype.kind == "f" and self.counts.max(initial=0) <= 1:
            return counts  # shares: rates are those of the counts they came from
        rates = self.rates()
        cells = [
            [*(f"{rates[rate][i]:.3f}" for rate in ("precision", "recall", "f1")), number(rates["support"][i].item())]
            for i in range(len(names))
        ]
        table = panels("class", names, list(rates), cells)
        return f"{counts}\n\n{table}\naccuracy {self.accuracy:.3f} of {number(self.counts.sum().item())}"


def ratio(above: Any, below: Any) -> NDArray[np.float64]:
    """A share, 0 where it would be one of nothing."""
    return np.asarray(np.divide(above, np.where(below == 0, 1, below)) * (below != 0), dtype=np.float64)


def number(count: float) -> str:
    return f"{count}" if isinstance(count, int) else f"{count:.4g}"
