"""HTML tables for notebooks. Everything shown comes from data and is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = "text-align: left; vertical-align: top"


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Return a small HTML table with a title above and a note below it.

    Examples
    --------
    >>> html_table("T", ["a"], [["<b>"]]).partition("<tbody>")[2]
    '<tr><td style="text-align: left; vertical-align: top">&lt;b&gt;</td></tr></tbody></table></div>'
    """
    head = html_row("th", header)
    body = "".join(html_row("td", row) for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<div><p>{escape(title)}</p><table><thead>{head}</thead><tbody>{body}</tbody></table>{below}</div>"


def html_row(tag: str, cells: Sequence[object]) -> str:
    shown = "".join(f'<{tag} style="{STYLE}">{escape(str(cell))}</{tag}>' for cell in cells)
    return f"<tr>{shown}</tr>"
