"""How an option of a run is declared: once, for commands that start runs and for those that repeat one."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import click

from chaos.basics.amounts import ASKED, duration
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.sections import SectionOption
from chaos.options.experiment import DEFAULTS
from chaos.options.option_names import long_option

Command = Callable[..., int]
Decorator = Callable[[Command], Command]


class Declared(NamedTuple):
    """The option of one field. ``also``: its other names; ``more``: what else click is told of it.

    ``replayed``: its help where a stored run says what holds unless it is given; empty: as ever, but no default.
    """

    section: str
    field: str
    help: str
    also: tuple[str, ...]
    more: dict[str, Any]
    replayed: str

    def made(self) -> Decorator:
        """The option; it is None unless it is given."""
        default = DEFAULTS.get(self.field)
        shown = "" if default in (None, ()) else f"  [default: {shown_default(self.field, default)}]"
        return self._option(self.help + shown)

    def made_for_replay(self) -> Decorator:
        """The option of a command that has all defaults from a stored run; out of sight if its plan decides it."""
        hidden = self.field in DECIDES_PLAN
        return self._option(self.replayed or self.help.partition("  [")[0], hidden=hidden)

    def _option(self, help_text: str, *, hidden: bool = False) -> Decorator:
        more = {"type": AmountType(ASKED[self.field]), **self.more} if self.field in ASKED else self.more
        names = (f"--{long_option(self.field)}", *self.also, self.field)
        return click.option(
            *names, cls=SectionOption, section=self.section, default=None, help=help_text, hidden=hidden, **more
        )


def option(section: str, field: str, help_text: str, *also: str, replayed: str = "", **more: Any) -> Declared:
    """The option of one field; see ``Declared``."""
    return Declared(section, field, help_text, also, more, replayed)


DECIDES_PLAN: Final = (
    "nemesis",
    "fault_nodes",
    "plan",
    "fault_interval_s",
    "fault_duration_s",
    "fault_when",
    "fault_within_s",
    "never_heal",
    "rhythm",
)
"""The fields that a plan has decided: who repeats it cannot ask for others."""


def shown_default(field: str, value: Any) -> str:
    """A value as somebody would type it."""
    if field in ASKED:
        return duration(value) if ASKED[field].kind == "duration" else f"{value:g}"
    return ",".join(value) if isinstance(value, tuple) else str(value)
