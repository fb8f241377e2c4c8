"""Advice of messages, as a shell user types it."""

from __future__ import annotations

import pytest

from foldwise.app.option_words import with_options


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("pass task='classification'.", "pass --task classification."),
        ("pass target='two words', one of them.", "pass --target 'two words', one of them."),
        ("""pass target="it's".""", """pass --target 'it'"'"'s'."""),
        ("continue it with resume='runs/a b', or not.", "continue it with --resume 'runs/a b', or not."),
        (
            "close it, or pass quote='' if quotes are not special.",
            "close it, or pass --quote '' if quotes are not special.",
        ),
        ("Pass drop='id', or kinds={'id': 'text'}.", "Pass --drop id, or --kind id=text."),
        ("leave about= out.", "leave --class out."),
        ("the table has no column 'task', passed as groups=.", "the table has no column 'task', passed as --groups."),
    ],
)
def test_values_are_quoted_only_where_a_shell_needs_it(python, shell):
    assert with_options(python) == shell
