"""From a file as it came to a `Table`: one file here for each format, and one for each thing that is found out.

Whatever is decided is said in `table.notes` and can be decided otherwise by a keyword. Opening a file never runs
anything that it holds.
"""

from foldwise.data.reading.tables import read_table

__all__ = ["read_table"]
