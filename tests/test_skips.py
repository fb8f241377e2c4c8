"""What may be skipped where CI is set is said file by file."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import ALLOWED_SKIPS

ROOT = Path(__file__).parents[1]
ANY_FILE = {"SCIPY_ARRAY_API is not set"}  # checks of scikit-learn, which run for every estimator


def test_a_skip_is_allowed_in_a_file_that_exists():
    assert [reason for where, reason in ALLOWED_SKIPS if not where and reason not in ANY_FILE] == []
    assert [where for where, _ in ALLOWED_SKIPS if not (ROOT / where).exists()] == []


def test_real_tables_may_be_missing_only_where_tests_need_them():
    needing = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__)
        and any(words in path.read_text() for words in ("needs_real_tables", "the real tables are not there"))
    }
    assert {where for where, reason in ALLOWED_SKIPS if reason == "real tables"} == needing
