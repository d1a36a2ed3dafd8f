"""Help whose options stand in groups with a heading each, in one order for all commands."""

import re
from typing import Any, Final

import click

COMMON: Final = "Common options"
FAULTS: Final = "Faults"
LOAD: Final = "Load"
CHECKS: Final = "Checks and reports"
CLUSTER: Final = "Cluster"
DOCKER: Final = "Nodes in Docker containers (--backend docker)"
SSH: Final = "Nodes on machines (--backend ssh)"
REPEAT: Final = "Many runs in simulated time (--backend sim)"
HUNT: Final = "Which runs, and for how long"
SHRINK: Final = "What counts as the same failure"
OTHER: Final = "Options"
FROM_NEWEST: Final = re.compile(r"-\d+")
"""How a run is named by its place from the newest: -1, -2, …"""
ORDER: Final = (COMMON, HUNT, SHRINK, FAULTS, LOAD, CHECKS, CLUSTER, DOCKER, SSH, REPEAT, OTHER)
"""The headings as help shows them."""


class SectionOption(click.Option):
    """An option that stands below a heading of its command's help, there with its letter and its first long name."""

    def __init__(self, *args: Any, section: str = OTHER, **more: Any) -> None:
        super().__init__(*args, **more)
        self.section = section

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The names that help shows, and the help; other names are for who knows them from elsewhere."""
        names = self.opts
        letters, long = [name for name in names if name[1] != "-"], [name for name in names if name[1] == "-"]
        self.opts = [*letters[:1], *long[:1]]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


class SectionCommand(click.Command):
    """A command whose help shows options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(param, "section", OTHER), []).append(record)
        for name in sorted(sections, key=ORDER.index):
            with formatter.section(name):
                formatter.write_dl(sections[name])


class RunCommand(SectionCommand):
    """A command that takes a RUN: -1, -2, … are runs and no options; all else that looks like an option must be one."""

    ignore_unknown_options = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line.

        Raises:
            click.NoSuchOption: a word that begins with a dash and is neither an option nor a number.
        """
        options = {name: param for param in self.get_params(ctx) for name in param.opts}
        value_of = None
        for word in args if not ctx.resilient_parsing else ():
            if word == "--":
                break
            if value_of is None and word.startswith("-") and not FROM_NEWEST.fullmatch(word):
                name = word.partition("=")[0] if word.startswith("--") else word[:2]
                if name not in options:
                    raise click.NoSuchOption(name, ctx=ctx)
                param = options[name]
                takes_value = isinstance(param, click.Option) and not param.is_flag
                value_of = name if takes_value and word == name else None
            else:
                value_of = None
        return super().parse_args(ctx, args)
