"""`--config`: options from a TOML file. They become the defaults of the command, before anything is loaded."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from foldwise.app.cli.exit_codes import BAD_INPUT, say
from foldwise.errors import FoldwiseError, InputError

REPEATED = ("missing", "kind", "drop")  # what the command line adds to the file
NOT_OPTIONS = ("config", "help", "write-config", "version")
META = "foldwise.config"


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Read a configuration file into the defaults of a command; called by typer before other options are read."""
    if path is None:
        return None
    own = {option: one for one in context.command.params for option in names_of(one)}
    try:
        given = options_of(path, str(context.info_name).split()[-1])
        many = {*REPEATED, *(name for name, one in own.items() if getattr(one, "multiple", False))}
        typed = {name: as_typed(value, repeated=name in many) for name, value in given.items()}
    except FoldwiseError as error:
        say(str(error))
        raise typer.Exit(BAD_INPUT) from None
    defaults: dict[str, Any] = {str(own[name].name): value for name, value in typed.items() if name in own}
    context.default_map = {**(context.default_map or {}), **defaults}
    context.meta[META] = {name: defaults[name] for name in REPEATED if name in defaults}
    return path


def merged(context: typer.Context, name: str, value: Any) -> tuple[str, ...]:
    """Return the values of a repeated option: those of the configuration file, then those of the command line."""
    inside, given = context.meta.get(META, {}).get(name, []), list(value or ())
    return tuple(given if given[: len(inside)] == inside else [*inside, *given])


def names_of(parameter: Any) -> list[str]:
    """Return the long names of an option without dashes; none if it is an argument."""
    return [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]


def options_of(path: Path, command: str) -> dict[str, Any]:
    """Read the options of a command from a file: those at the top, then those in a table named after the command."""
    import tomllib

    if not path.is_file():
        raise InputError(
            f"file {str(path)!r} does not exist.", f"check the path. The current folder is {str(Path.cwd())!r}."
        )
    try:
        given = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path.name} is not a TOML file: {error}.", "write options as name = value, and put text into quotes."
        ) from error
    known = known_options()
    common = {name.replace("_", "-"): value for name, value in given.items() if name not in known}
    check_known(path.name, common, {name for names in known.values() for name in names}, [*known])
    for other in known:
        own = given.get(other, {})
        if not isinstance(own, dict):
            raise InputError(
                f"{path.name}: {other!r} is a command, so its options must be in a section of their own.",
                f"write the line [{other}], and the options below it.",
            )
        own = {name.replace("_", "-"): value for name, value in own.items()}
        check_known(path.name, own, known[other], [])
        if other == command:
            common |= own
    return common


def known_options() -> dict[str, set[str]]:
    """Return the options of each command."""
    from typer.main import get_command

    from foldwise.app.cli.commands import app

    commands = getattr(get_command(app), "commands", {})
    return {
        name: {option for one in command.params for option in names_of(one)} - {*NOT_OPTIONS}
        for name, command in commands.items()
    }


def check_known(file: str, given: dict[str, Any], known: set[str], commands: list[str]) -> None:
    """Refuse an option that no command has, and name the nearest."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, [*known, *commands], 1)
            hint = f"did you mean {near[0]!r}?" if near else "see foldwise COMMAND --help for the options."
            raise InputError(f"{file} sets {name!r}, which is not an option.", hint)


def as_typed(value: Any, *, repeated: bool) -> Any:
    """Return a TOML value as it would be typed on the command line.

    >>> as_typed(["knn", "naive_bayes"], repeated=False)
    'knn,naive_bayes'
    >>> as_typed({"age": [0, 99]}, repeated=True)
    ['age=0,99']
    """
    if isinstance(value, dict):
        if not repeated:
            raise InputError(f"only [kind] and [missing] may be sections with values, got {value!r}.")
        typed = [(name, as_typed(one, repeated=False)) for name, one in value.items()]
        return [str(one) if name == "*" else f"{name}={one}" for name, one in typed]
    if isinstance(value, list):
        texts = [quoted(as_typed(one, repeated=False)) for one in value]
        return texts if repeated else ",".join(texts)
    if repeated:
        return [str(value)]
    return value if isinstance(value, bool) else str(value)


def quoted(text: Any) -> str:
    """Put a name with a comma in double quotes."""
    text = str(text)
    return '"{}"'.format(text.replace('"', '""')) if "," in text else text
