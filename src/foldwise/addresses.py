"""Addresses of databases in texts: passwords are replaced before a text is shown or stored. Nothing is loaded here."""

from __future__ import annotations

import re

from foldwise.errors import InputError

SCHEME = r"[a-z][a-z0-9+.-]+:/"  # a path merges the two slashes into one
IS_ADDRESS = re.compile(rf"\s*{SCHEME}", re.IGNORECASE)
PORT = r"\*\*\*@|\d{1,5}(?:[/?][^\s@]*|['\".,;:)\]]+)(?:\s|$)|\d{1,5}$"  # or a password that was replaced before
USER = rf"(\b{SCHEME}/*[^\s:/\[]*):"
# up to the last @ of the line, because a password may contain @ and blanks, but not into the next address
ADDRESS_INSIDE = re.compile(rf"{USER}(?!{PORT})(?:(?!\b{SCHEME})[^\n])*@", re.IGNORECASE)
ADDRESS_ALONE = re.compile(rf"{USER}(?!\*\*\*@)[^\n]*@", re.IGNORECASE)
QUOTED = r"\\*(['\"])(?:\\.|(?!\2)[^\n])*\2?"
UNQUOTED = r"[^&\s]*?(?=['\"]?[.,:;)]*(?:[&\s]|$))"
SETTING = re.compile(rf"(\b\w*(?:password|passwd|pwd)[ \t]*=[ \t]*)(?:{QUOTED}|{UNQUOTED})", re.IGNORECASE)


def masked(text: str) -> str:
    """Replace the password of every address, and every value of `password=`, in a text.

    Whatever may belong to a password is replaced, even if the text then says less.

    Examples
    --------
    >>> masked("cannot connect to postgresql://ann:secret@host/db?password=secret")
    'cannot connect to postgresql://ann:***@host/db?password=***'
    >>> masked("run 'mysql:/ann:s@cr et@host/db' does not exist. Hint: pass postgresql://user@host/db.")
    "run 'mysql:/ann:***@host/db' does not exist. Hint: pass postgresql://user@host/db."
    >>> masked("host=db password = 'a b' dbname=shop")
    'host=db password = *** dbname=shop'
    """
    address = ADDRESS_ALONE if IS_ADDRESS.match(text) else ADDRESS_INSIDE
    return SETTING.sub(r"\1***", address.sub(r"\1:***@", text))


def is_like_address(text: str) -> bool:
    """Whether a path or a name looks like an address, such as postgresql://host or s3:/bucket."""
    return IS_ADDRESS.match(text) is not None


def check_address(address: str) -> None:
    """Refuse an address whose password would be taken for a host, and so appear in messages of the driver."""
    after = re.split(r"[@/]", address.partition("://")[2], maxsplit=1)[1:]
    if after and "@" in re.split(r"\?\w+=", after[0])[0]:
        raise InputError(
            "user and password in the address of a database must not contain @ or /, which have a meaning there.",
            "leave the password out and set the environment variable PGPASSWORD, or write %40 for @ and %2F for /.",
        )
