"""Read files of many formats into a `Table`, and detect how they are written.

Every decision is noted in `table.notes` and can be overruled by a keyword. Reading a file never runs code from it.
"""
