"""Facts about rows asked of a database, of files through DuckDB, or of Spark. Only aggregates leave the engine."""

from foldwise.engines.connecting import table_of
from foldwise.engines.key_folds import KeyFolds
from foldwise.engines.scans import facts_of
from foldwise.engines.table_facts import TableFacts

__all__ = ["KeyFolds", "TableFacts", "facts_of", "table_of"]
