"""Translate errors: sentences about tables and Python arguments become sentences about a request."""

from __future__ import annotations

import re

from foldwise.errors import FoldwiseError

ARGUMENT = re.compile(r"\b\w+=|missing_values")
FILE = "request"  # the name of a request where it is read as a file


def request_words(error: FoldwiseError) -> str:
    """Return the sentence of an error as an answer to a request.

    The statement is the one of the command line. A hint about options is replaced, because a client has none.

    >>> from foldwise.errors import InputError
    >>> request_words(InputError("the table has no rows.", "pass at least one row."))
    'the request has no rows. Hint: send at least one row.'
    >>> request_words(InputError("column 'a' is declared numeric, but row 0 holds 'x'.", "pass kinds={'a': 'text'}."))
    "column 'a' is declared numeric, but row 0 holds 'x'. Hint: send what the column contained in training, or null."
    """
    hint = error.hint
    if ARGUMENT.search(hint):
        hint = "send what the column contained in training, or null."
    hint = re.sub(r"^pass (a file with )?", "send ", hint)
    words = error.message if not hint else f"{error.message} Hint: {hint}"
    words = re.sub(rf"\b{FILE}\.(csv|json)\b", "the request", words)
    return re.sub(r"\b([Tt])he (table|file)\b", r"\1he request", words)
