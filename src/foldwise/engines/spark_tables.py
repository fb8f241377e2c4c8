"""What Spark itself says about a table, beyond Ibis: its files, and its rows without collecting all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

FileState = tuple[Any, int, int]  # which file, its size, and when it was changed last
PATTERN = re.compile(r"([\\*?\[\]{}])")  # what is special in a path of Hadoop
MOST_TASKS = 16  # that look files up; otherwise there would be one for each large file


def spark_files(connection: Any, table: Any) -> tuple[FileState, ...]:
    """Return the state of each file that a statement would read now; nothing if Spark does not know of files.

    The table is analyzed again, because its list of files may be another one by now. Then all files are looked up,
    because Spark keeps sizes and times that it has read before. Workers do so, without opening a file.
    """
    try:
        frame = connection.raw_sql(connection.compile(table))
        paths = [PATTERN.sub(r"\\\1", unquote(path)) for path in frame.inputFiles()]
        if not paths:
            return ()
        reader = frame.sparkSession.read.format("binaryFile").option("recursiveFileLookup", "true")
        found = reader.load(paths).selectExpr("path", "length", "unix_micros(modificationTime)").coalesce(MOST_TASKS)
        return tuple(sorted((path, size, changed) for path, size, changed in found.collect()))
    except Exception:  # a file or the table is gone, or files may not be listed
        return ()


def spark_batches(connection: Any, table: Any) -> Iterator[Any]:
    """Yield record batches of Arrow, one partition after the other: Ibis would collect all rows first.

    Workers write the rows in Arrow's format, so that rows do not become Python objects.
    """
    import pyarrow as pa
    from ibis.formats.pyarrow import PyArrowData

    def written(batches: Iterable[Any]) -> Iterator[Any]:  # workers need not have Foldwise
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch({"content": [sink.getvalue().to_pybytes()]})

    frame, schema = connection.raw_sql(connection.compile(table)), table.schema()
    for (content,) in frame.mapInArrow(written, "content binary").toLocalIterator():
        found = pa.ipc.open_stream(bytes(content)).read_all()
        yield from PyArrowData.convert_table(found, schema).to_batches()
