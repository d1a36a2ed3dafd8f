"""Every refusal of the command line in one line: what was typed, what is wrong with it, what to do. Pure."""

import difflib
import re
from collections.abc import Iterable

import click

from chaos.cli.options.amount_type import AmountType


def line_of(error: click.ClickException) -> str:
    """The line that says a refusal of click's, without ``chaos:`` before it."""
    ctx = getattr(error, "ctx", None)
    see = f"see {ctx.command_path} --help" if ctx is not None else ""
    if isinstance(error, click.NoSuchOption):
        return _joined(f"{error.option_name}: no such option", _guess(error.option_name, _options(ctx)) or see)
    if isinstance(error, click.MissingParameter):
        return _joined(f"{_name(error)} is missing", see)
    if isinstance(error, click.BadParameter):
        return f"{_name(error)}{_wrong_value(error)}"
    if isinstance(error, click.BadOptionUsage):
        return _joined(f"{error.option_name}: {_requirement(error.message)}", see)
    if isinstance(error, click.UsageError):
        return _joined(_usage(error, ctx), see)
    return _plain(error.format_message())


def option_name(param: click.Parameter) -> str:
    """An option as a person knows it, ``-c/--clients``: its letter and its first long name; an argument as in help."""
    if not isinstance(param, click.Option):
        return param.make_metavar(click.Context(click.Command(None))).strip("[].") or str(param.name)
    letters = [name for name in param.opts if not name.startswith("--")]
    return "/".join([*letters[:1], *[name for name in param.opts if name.startswith("--")][:1]])


def _wrong_value(error: click.BadParameter) -> str:
    """What was given and what may be."""
    kind = error.param.type if error.param is not None else None
    if isinstance(kind, AmountType):
        return f" {_plain(error.message)}"
    if path := re.match(r"(File|Directory|Path) '(.*)' (.*?)\.?$", error.message, re.DOTALL):
        return f" {path[2]}: {_wrong_path(path[3], folder=path[1] == 'Directory')}"
    found = re.match(r"'(.*)' is not one of ", error.message)
    if not isinstance(kind, click.Choice) or found is None:
        return f": {_plain(error.message)}"
    choices = [str(choice) for choice in kind.choices]
    return f" {found[1]}: {_guess(found[1], choices) or 'give one of ' + ', '.join(choices)}"


def _wrong_path(said: str, *, folder: bool) -> str:
    """What click says of a path, and what to do."""
    if said == "does not exist":
        return "no such folder; make it first" if folder else "no such file; name one that there is"
    return {"is a directory": "a folder; name a file", "is a file": "a file; name a folder"}.get(said, said)


def _usage(error: click.UsageError, ctx: click.Context | None) -> str:
    """What is wrong where no parameter is to blame: an unknown command, too many words."""
    said = _plain(error.message)
    if isinstance(ctx, click.Context) and isinstance(ctx.command, click.Group) and said.startswith("No such command"):
        name = said.removeprefix("No such command ").strip("'\"")
        return f"{name}: no such command{_meant(name, ctx.command.list_commands(ctx))}"
    return said[:1].lower() + said[1:]


def _requirement(text: str) -> str:
    """``takes no value`` or ``needs a value``, of what click says of an option that was typed wrongly."""
    return "takes no value" if "does not take a value" in text else "needs a value"


def _name(error: click.BadParameter) -> str:
    if error.param is not None:
        return option_name(error.param)
    return str(error.param_hint or "a value").replace("'", "")


def _options(ctx: click.Context | None) -> list[str]:
    """Every option of a command that help shows."""
    params = ctx.command.params if ctx is not None else []
    return [name for param in params if isinstance(param, click.Option) and not param.hidden for name in param.opts]


def _guess(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""


def _meant(word: str, known: Iterable[str]) -> str:
    guess = _guess(word, known)
    return f"; {guess}" if guess else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _plain(text: str) -> str:
    """A sentence of click's without its full stop, on one line."""
    return " ".join(text.split()).removesuffix(".")
