"""What comparisons on one table and over several share: models in order, the best first, as a frame, text and HTML."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

from foldwise.evaluation.metrics.scoring import title_of
from foldwise.evaluation.tables import cut, html_table, panels

NAME_WIDTH = 15  # with all columns the table is 80 wide


class ComparedModels:
    """Models, the best first, each tested against the best."""

    names: tuple[str, ...]
    metric: str
    rope: float
    level: float
    greater_is_better: bool
    facts: ClassVar[tuple[str, ...]]  # what `_against_best` gives
    test_name: ClassVar[str]
    posterior_name: ClassVar[str]

    @property
    def best(self) -> str:
        """The best model: of the best mean score on one table, of the best average rank over several."""
        return self.names[0]

    @property
    def tied(self) -> tuple[str, ...]:
        """The best model and those that cannot be told from it."""
        return tuple(row["model"] for row in self._rows if row["tied"])

    @abstractmethod
    def _own(self, name: str) -> dict[str, Any]:
        """What the frame says of a model by itself."""

    @abstractmethod
    def _against_best(self, name: str) -> dict[str, Any]:
        """What the frame says of a model and the best one."""

    @abstractmethod
    def _cells(self, row: dict[str, Any]) -> dict[str, str]:
        """The cells of the printed table by heading, but for the three probabilities at its end."""

    @abstractmethod
    def _tested_on(self) -> str:
        """The splits or tables, for the title."""

    def to_frame(self) -> Any:
        """A polars frame, one row a model, best first: its own figures, and how it stands to the best.

        `p` is of the test against the best, `p_holm` the same by Holm over all pairs; `better`, `equal` and `worse` are
        the probabilities that it is better than the best, practically equal, worse; `tied` says whether the two cannot
        be told apart.
        """
        import polars as pl

        kinds = dict.fromkeys(self._rows[0], pl.Float64) | {"model": pl.String, "tied": pl.Boolean}
        return pl.DataFrame(self._rows, schema=kinds)

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [{"model": self.best, **self._own(self.best), **dict.fromkeys(self.facts)}]
        rows += [{"model": name, **self._own(name), **self._against_best(name)} for name in self.names[1:]]
        return [row | {"tied": row["p_holm"] is None or not row["p_holm"] < 1 - self.level} for row in rows]

    def _printed(self) -> tuple[list[str], list[list[str]]]:
        """Headings and cells of the printed table."""
        shares = {"P(>)": "better", "P(=)": "equal", "P(<)": "worse"}
        lines = [
            self._cells(row) | {head: "" if row[name] is None else f"{row[name]:.2f}" for head, name in shares.items()}
            for row in self._rows
        ]
        return list(lines[0]), [list(line.values()) for line in lines]

    def _title(self) -> str:
        title = title_of(self.metric, self.greater_is_better)
        return f"{title} of {len(self.names)} models on {self._tested_on()}"

    def _notes(self) -> list[str]:
        n_pairs = len(self.names) * (len(self.names) - 1) // 2
        pairs = f", Holm over {n_pairs} pairs" if n_pairs > 1 else ""
        return [
            f"* best, or tied with it: p at least {1 - self.level:.3g}.",
            f"p: {self.test_name} against the best{pairs}.",
            f"P: better than the best, equal within {self.rope:g}, worse; {self.posterior_name}.",
        ]

    def __str__(self) -> str:
        heads, lines = self._printed()
        names = [f"{'*' if name in self.tied else ' '} {cut(name, NAME_WIDTH)}" for name in self.names]
        return "\n".join([self._title(), "", panels("  model", names, heads, lines), "", *self._notes()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        heads, lines = self._printed()
        names = [f"{'* ' if name in self.tied else ''}{name}" for name in self.names]
        rows = [[name, *line] for name, line in zip(names, lines, strict=True)]
        return html_table(self._title(), ["model", *heads], rows, self._notes())
