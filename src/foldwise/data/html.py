"""HTML tables for notebooks. Everything shown comes from data and is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

SIDES = {"l": "left", "r": "right"}


def html_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = (), align: str = ""
) -> str:
    """Return an HTML table with a title above and notes below it.

    Parameters
    ----------
    title : str
        Text above the table.
    header : sequence of str
        Names of the columns.
    rows : iterable of sequences
        The cells of each row.
    notes : sequence of str
        Lines below the table.
    align : str
        "l" or "r" for each column. By default all columns but the first are aligned right.

    Returns
    -------
    str
        HTML in which all texts are escaped.

    Examples
    --------
    >>> html_table("T", ["a"], [["<b>"]]).partition("<tbody>")[2]
    '<tr><td style="text-align:left;padding:2px 10px">&lt;b&gt;</td></tr></tbody></table><p><small></small></p>'
    """
    sides = [SIDES[side] for side in align or "l" + "r" * (len(header) - 1)]

    def row(cells: Sequence[object], tag: str) -> str:
        inner = (
            f'<{tag} style="text-align:{side};padding:2px 10px">{escape(str(cell))}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    under = "<br>".join(map(escape, notes))
    style = "border-collapse:collapse;font-variant-numeric:tabular-nums"
    table = f'<table style="{style}"><thead>{row(header, "th")}</thead><tbody>{body}</tbody></table>'
    return f"<p>{escape(title)}</p>{table}<p><small>{under}</small></p>"
