"""Why a row is an outlier: its unusual cells, or the cells in which it differs most from the nearest rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats
from foldwise.neighbors.encoding import EncodedRows
from foldwise.unsupervised.encoded_rows import RowEncoder, cell_text
from foldwise.unsupervised.outliers.cells import CellModel, deviations
from foldwise.unsupervised.outliers.models import OutlierModel, RowEvidence
from foldwise.unsupervised.outliers.result import OutlierCell

MOST_CELLS = 3
UNUSUAL = 0.01  # p-value of a cell that is named


@dataclass(frozen=True, eq=False)
class ReasonFinder:
    """What is needed to explain rows of a table: how they were encoded, the model, and the rows it was fitted to."""

    frame: pl.DataFrame
    encoder: RowEncoder
    rows: EncodedRows
    training: EncodedRows
    model: OutlierModel
    evidence: RowEvidence

    def cells_of(self, row: int) -> tuple[OutlierCell, ...]:
        """Name the cells that make a row an outlier, the most unusual one first."""
        p = self.evidence.cells[row]
        order = np.argsort(p, kind="stable")
        # a cell that is far off makes others of its row look unexpected, so less unusual ones are not named
        named = [j for j in order[:MOST_CELLS] if p[j] <= UNUSUAL and p[j] <= np.sqrt(p[order[0]])]
        if named and self.model.cells is not None:
            return tuple(self._cell(row, int(j), self._surprise(self.model.cells, row, int(j))) for j in named)
        if self.evidence.nearest is not None:
            return self._differences(row)
        return ()

    def _cell(self, row: int, j: int, reason: str) -> OutlierCell:
        name = self.encoder.names[j]
        return OutlierCell(name, self.encoder.cell(self.frame, row, name), reason, float(self.evidence.cells[row, j]))

    def _surprise(self, model: CellModel, row: int, j: int) -> str:
        """Say whether a cell is far from its column, or not what the other cells of its row suggest."""
        n_numbers = self.rows.numbers.shape[1]
        if j >= n_numbers:
            return "unexpected given the other columns"
        one = self.rows.take(np.array([row], dtype=np.intp))
        found = deviations(model.scales, one, model.predictor)
        high, low = (tail.p_values(s * found.own[:, j])[0] for tail, s in zip(model.tails[j][:2], (1, -1), strict=True))
        if found.residuals is not None:
            above, below = (
                tail.p_values(s * found.residuals[:, j])[0] for tail, s in zip(model.tails[j][2:], (1, -1), strict=True)
            )
            if min(high, low) > UNUSUAL and min(above, below) < min(high, low):
                expected = float((found.own - found.residuals)[0, j] * model.scales.scales[j] + model.scales.centers[j])
                return f"about {self._written(j, expected)} expected given the other columns"
        ends = np.nanquantile(self.training.numbers[:, j], (0.01, 0.99))
        first, last = (self._written(j, float(end)) for end in ends)
        return f"98% of the column lies between {first} and {last}"

    def _differences(self, row: int) -> tuple[OutlierCell, ...]:
        """Name the cells that differ most from the nearest rows, in units of what is usual in their columns."""
        assert self.evidence.nearest is not None
        near = self.training.take(self.evidence.nearest[row])
        n_numbers = self.rows.numbers.shape[1]
        gaps: Floats = np.zeros(len(self.encoder.names))
        middles: list[Any] = []
        for j in range(n_numbers):
            present = near.numbers[:, j][~np.isnan(near.numbers[:, j])]
            middles.append(float(np.median(present)) if present.size else None)
            spread = np.nanstd(self.training.numbers[:, j]) if present.size else 0.0
            if present.size and spread > 0 and not np.isnan(self.rows.numbers[row, j]):
                gaps[j] = abs(self.rows.numbers[row, j] - middles[j]) / spread
        for j, levels in enumerate(self.encoder.levels):
            codes = near.codes[:, j][near.codes[:, j] >= 0]
            common = int(np.bincount(codes).argmax()) if codes.size else None
            middles.append(None if common is None else levels[common])
            share = float(np.mean(near.codes[:, j] == self.rows.codes[row, j]))
            gaps[n_numbers + j] = 1.0 - share if common is not None else 0.0
        order = np.argsort(-gaps, kind="stable")[:MOST_CELLS]
        return tuple(
            self._cell(row, int(j), f"{self._written(int(j), middles[j])} in the nearest rows")
            for j in order
            if gaps[j] > 0.5 * gaps[order[0]] and middles[j] is not None
        )

    def _written(self, j: int, value: Any) -> str:
        """Write a value of a column; dates as dates."""
        name = self.encoder.names[j]
        if isinstance(value, float) and self.frame[name].dtype.is_temporal():
            return str(pl.Series([round(value)]).cast(self.frame[name].dtype)[0])
        return f"{value:.4g}" if isinstance(value, float) else cell_text(value)
