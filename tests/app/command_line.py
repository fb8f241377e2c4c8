"""Runs commands of the command line inside the test's own process."""

from __future__ import annotations

from typer.testing import CliRunner

from foldwise.app import cli
from foldwise.app.cli.commands import app

WEATHER = "examples/weather.csv"


def ask(*arguments):
    """Run a command in this process: exit code, stdout, stderr."""
    cli.run_folder = None  # as in a process of its own, which has begun no run yet
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def refused(*arguments):
    """The one sentence about what was given."""
    code, out, error = ask(*arguments)
    assert code == 2, error
    assert out == ""
    assert error.startswith("foldwise: ")
    assert error.count("\n") == 1
    return error.removeprefix("foldwise: ").strip()
