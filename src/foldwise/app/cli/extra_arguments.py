"""What to say about an argument too many: several values of an option, or a value with blanks, were probably meant."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from foldwise.addresses import masked

COMMA_LISTS = frozenset({"--models", "--keep", "--slices", "--names"})


@dataclass
class OptionGiven:
    """An option of a command line, its value, and the arguments that follow it."""

    name: str
    value: str
    may_repeat: bool
    following: list[str] = field(default_factory=list)


class Program(typer.Typer):
    """A program whose commands explain an argument too many."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=MaskingGroup, **options)

    def command(self, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        """Register a command."""
        return super().command(*args, **{"cls": ExplainingCommand, **kwargs})


@contextmanager
def masking() -> Iterator[None]:
    """Replace passwords in what typer says about arguments."""
    try:
        yield
    except Exception as error:
        if isinstance(found := getattr(error, "message", None), str):
            setattr(error, "message", masked(found))  # noqa: B010
        raise


class MaskingGroup(TyperGroup):
    """All commands. An address in the place of a command is shown without its password."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command as typer does."""
        with masking():
            return super().resolve_command(ctx, args)


class ExplainingCommand(TyperCommand):
    """A command that explains an argument too many. Its help shows the type of a list as that of its elements."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for one in self.params:
            shown = getattr(one, "display_type_rich", None)
            if shown is not None and one.nargs == -1:  # typer writes <list[Path]>
                setattr(one, "display_type_rich", lambda ctx: "<path>")  # noqa: B010

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments as typer does."""
        given = list(args)
        try:
            with masking():
                return super().parse_args(ctx, args)
        except Exception as error:
            if "unexpected extra argument" not in str(getattr(error, "message", "")):
                raise
        from foldwise.app.cli.exit_codes import BAD_INPUT, say

        say(explained(self.params, given))
        raise typer.Exit(BAD_INPUT)


def explained(params: Sequence[Any], given: Sequence[str]) -> str:
    """Say which argument is too many, and what was probably meant."""
    options, positional = parsed(params, given)
    arguments = [one for one in params if one.param_type_name == "argument"]
    extra = positional[len(arguments)]
    for option in reversed(options):
        more = [one for one in option.following if not Path(one).exists()]  # a file is an argument of the command
        if extra in option.following and more:
            return f"unexpected argument {more[0]!r} after {option.name} {option.value}. Hint: {advice(option, more)}"
    names = " and ".join(str(one.metavar or one.name.upper()).strip("{}[]") for one in arguments)
    takes = f"the command takes {names or 'no arguments'}."
    return f"unexpected argument {extra!r}. Hint: {takes} Everything else is an option; see --help."


def parsed(params: Sequence[Any], given: Sequence[str]) -> tuple[list[OptionGiven], list[str]]:
    """Return the options with what follows each of them, and the positional arguments."""
    by_name = {name: one for one in params if one.param_type_name == "option" for name in one.opts}
    options: list[OptionGiven] = []
    positional: list[str] = []
    current: OptionGiven | None = None
    left = list(given)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word == "-":
            positional.append(word)
            if current is not None:
                current.following.append(word)
            continue
        name, has_value, value = word.partition("=")
        option = by_name.get(name)
        current = None
        if option is not None and not option.is_flag:
            current = OptionGiven(name, value if has_value or not left else left.pop(0), bool(option.multiple))
            options.append(current)
    return options, positional


def advice(option: OptionGiven, more: Sequence[str]) -> str:
    """Write the option as it was probably meant."""
    quoted = f"{option.name} {shlex.quote(' '.join([option.value, *more]))}"
    if option.name in COMMA_LISTS:
        return f"separate several values with commas, {option.name} {shlex.quote(','.join([option.value, *more]))}."
    if option.may_repeat:
        several = " ".join(f"{option.name} {shlex.quote(one)}" for one in [option.value, *more])
        return f"repeat the option for each value, {several}, or quote a value with blanks, {quoted}."
    return f"quote a value with blanks, {quoted}."
