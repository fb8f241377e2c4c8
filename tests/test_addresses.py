"""Passwords of addresses are replaced in any text, however they are written."""

from __future__ import annotations

import pytest

from foldwise.addresses import check_address, is_like_address, masked
from foldwise.errors import InputError


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:geheim@host/db",
        "postgresql:/ann:geheim@host/db",  # as a path writes it
        "run 'postgresql:/ann:geheim@host/db' does not exist. Hint: pass a folder.",
        "Postgresql://ann:geheim@host/db",
        "mysql+driver://ann:geheim@host/db",
        "postgresql://:geheim@host",
        "postgresql://ann@corp:geheim@host",
        "postgresql://ann:ge@heim@host",
        "postgresql://ann:@@geheim@host",
        "cannot connect to postgresql://ann:ge heim@host: geheim@host is unknown",
        "postgresql://ann:12 geheim@host/db",
        "postgresql://ann:1/geheim@host/db",
        "postgresql://ann:12.geheim@host/db",
        "'postgresql:/ann:12.5 geheim@host/db' is not a folder",
        "one of postgresql://host:5432/db, postgresql://ann:geheim@host/db",
        "postgresql://host/db?password=geheim&sslmode=require",
        "postgresql://ann:geheim@host/db?password=geheim@host",
        "host=db password = geheim dbname=shop",
        "host=db password='a geheim' dbname=shop",
        'host=db password="a geheim" dbname=shop',
        r"host=db password='it\'s geheim' dbname=shop",
        repr("host=db password='a \"geheim' dbname=shop"),
        "run 'host=db password=geheim' does not exist.",
        "password=it'sgeheim",
        "PASSWORD=geheim",
        "PGPASSWORD=geheim foldwise fit",
        "sslpassword=geheim",
        "Traceback\n  File x\npsycopg.Error: postgresql://ann:geheim@host\npassword=geheim",
    ],
)
def test_a_password_is_replaced(text: str) -> None:
    found = masked(text)
    assert "geheim" not in found
    assert "***" in found
    assert masked(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://host:5432/db",
        "postgresql://user@host:5432/db",
        "listening on http://127.0.0.1:8000/?token=abc, see ann@corp.com",
        "'postgresql:/host:5432/db' does not exist. Hint: pass postgresql://user@host/database.",
        'cannot connect to postgresql://ann:***@host/db: role "ann@corp" does not exist',
        "column 'a:b@c' of C:/data/x@y.csv",
        "a password is needed, or PGPASSWORD",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert masked(text) == text


def test_what_follows_a_password_is_kept() -> None:
    given = "run 'postgresql:/ann:a b@c@host/db' does not exist. Hint: pass postgresql://user@host/database."
    kept = "run 'postgresql:/ann:***@host/db' does not exist. Hint: pass postgresql://user@host/database."
    assert masked(given) == kept
    assert masked("run 'host=db password=geheim' does not exist.") == "run 'host=db password=***' does not exist."


def test_addresses_that_drivers_would_read_otherwise_are_refused() -> None:
    for address in ("postgresql://ann:p@ss@host/db", "postgresql://ann:a/b@host", "postgresql://ann:p@s?s@host/db"):
        with pytest.raises(InputError, match="write %40 for @") as raised:
            check_address(address)
        assert "ann" not in str(raised.value)
    for address in (
        "host/db",
        "ann@host",
        "ann:p@host/db?user=a@b",
        "/db?host=/tmp&user=a@b",
        "host:5432",
        "ann:%40@h",
    ):
        check_address(f"postgresql://{address}")


def test_addresses_are_recognized() -> None:
    assert is_like_address("s3://bucket/key")
    assert is_like_address("postgresql:/host")
    assert not is_like_address("C:/data")
    assert not is_like_address("folder/file.csv")
