"""The base of comparisons on one table and over several: models sorted by score, as a frame, as text and as HTML."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

from foldwise.evaluation.comparing.paired import holm
from foldwise.evaluation.metrics.scoring import title_of
from foldwise.evaluation.tables import WIDTH, TextTable, capitalized, cut_apart

NAME_WIDTH = 16  # of names at least; with all columns the table is 80 wide


class ComparedModels:
    """Models, best first, each tested against the best."""

    names: tuple[str, ...]
    metric: str
    rope: float
    level: float
    greater_is_better: bool
    facts: ClassVar[tuple[str, ...]]  # keys of `_against_best`
    test_name: ClassVar[str]
    posterior_name: ClassVar[str]

    @property
    def best(self) -> str:
        """The model with the best mean score on one table, or the best average rank over several."""
        return self.names[0]

    @property
    def tied(self) -> tuple[str, ...]:
        """The best model and all models statistically tied with it."""
        return tuple(row["model"] for row in self._rows if row["tied"])

    @abstractmethod
    def _own(self, name: str) -> dict[str, Any]:
        """Return the columns of the frame about one model."""

    @abstractmethod
    def _pair(self, first: str, second: str) -> dict[str, Any]:
        """Return the columns of `pairs` for two models; "p_holm" is adjusted later."""

    @abstractmethod
    def _cells(self, row: dict[str, Any]) -> dict[str, str]:
        """Return the printed cells of a row by heading, without the three probabilities."""

    @abstractmethod
    def _tested_on(self) -> str:
        """Return the splits or tables, for the title."""

    def to_frame(self) -> Any:
        """Return the comparison as a polars frame.

        Returns
        -------
        polars.DataFrame
            One row per model, best first. `p` is the p-value of the test against the best model and `p_holm` its Holm
            adjustment for all pairs. `better`, `equal` and `worse` are the probabilities that the model is better than
            the best one, practically equal, or worse. `tied` says whether it is statistically tied with the best one.
        """
        import polars as pl

        kinds = dict.fromkeys(self._rows[0], pl.Float64) | {"model": pl.String, "tied": pl.Boolean}
        return pl.DataFrame(self._rows, schema=kinds)

    @property
    def pairs(self) -> Any:
        """A polars frame with one row per pair of models, the better one first.

        It has the difference in score (first minus second), the p-values, and the probabilities that the first model is
        better, practically equal or worse. On one table it also has the interval of the difference; over several, the
        numbers of wins, ties and losses and the difference of average ranks.
        """
        import polars as pl

        return pl.DataFrame([{"first": a, "second": b, **facts} for (a, b), facts in self._pairs.items()])

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], dict[str, Any]]:
        pairs = {pair: self._pair(*pair) for pair in combinations(self.names, 2)}
        adjusted = holm([facts["p"] for facts in pairs.values()]).tolist()
        return {pair: {**facts, "p_holm": p} for (pair, facts), p in zip(pairs.items(), adjusted, strict=True)}

    def _against_best(self, name: str) -> dict[str, Any]:
        """Return the columns of the frame that compare a model with the best one."""
        facts = self._pairs[self.best, name]
        turned = {"difference": 0.0 - facts["difference"], "better": facts["worse"], "worse": facts["better"]}
        return {key: {**facts, **turned}[key] for key in self.facts}

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [{"model": self.best, **self._own(self.best), **dict.fromkeys(self.facts)}]
        rows += [{"model": name, **self._own(name), **self._against_best(name)} for name in self.names[1:]]
        return [row | {"tied": row["p_holm"] is None or not row["p_holm"] < 1 - self.level} for row in rows]

    def _table(self, names: dict[str, str] | None = None) -> TextTable:
        names = names or {}
        shares = {"P(>)": "better", "P(=)": "equal", "P(<)": "worse"}
        lines = [
            {"  model": f"{'*' if row['tied'] else ' '} {names.get(row['model'], row['model'])}"}
            | self._cells(row)
            | {head: "" if row[name] is None else f"{row[name]:.2f}" for head, name in shares.items()}
            for row in self._rows
        ]
        return TextTable(list(lines[0]), [list(line.values()) for line in lines], NAME_WIDTH)

    def _title(self) -> str:
        title = capitalized(title_of(self.metric, self.greater_is_better))
        return f"{title} of {len(self.names)} models on {self._tested_on()}"

    def _notes(self) -> list[str]:
        n_pairs = len(self.names) * (len(self.names) - 1) // 2
        pairs = f", adjusted for all {n_pairs} pairs of models (Holm)" if n_pairs > 1 else ""
        return [
            f"*: the best model, and models statistically tied with it (p of {1 - self.level:.3g} or more).",
            f"p: {self.test_name} against the best{pairs}.",
            f"P: probability of being better than the best model, equal within {self.rope:g}, or worse "
            f"({self.posterior_name}).",
        ]

    def __str__(self) -> str:
        notes = [textwrap.fill(note, WIDTH, subsequent_indent="   ") for note in self._notes()]
        short = cut_apart([row["model"] for row in self._rows], self._table().name_width - 2)
        names = {row["model"]: name for row, name in zip(self._rows, short, strict=True)}
        return "\n".join([self._title(), "", str(self._table(names)), "", *notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._table().html(self._title(), self._notes())
