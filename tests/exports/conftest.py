"""The PostgreSQL server of the tests of the trial store also runs exported queries."""

from tests.tuning.store.conftest import postgresql_server

__all__ = ["postgresql_server"]
