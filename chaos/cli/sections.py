"""Help whose options stand in groups with a heading each, in one order for all commands."""

from typing import Any, Final

import click

COMMON: Final = "Common options"
FAULTS: Final = "Faults"
LOAD: Final = "Load"
CHECKS: Final = "Checks and reports"
CLUSTER: Final = "Cluster"
DOCKER: Final = "Nodes in Docker containers (--backend docker)"
SSH: Final = "Nodes on machines (--backend ssh)"
OTHER: Final = "Options"
_ORDER: Final = (COMMON, FAULTS, LOAD, CHECKS, CLUSTER, DOCKER, SSH, OTHER)


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
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", OTHER), []).append(record)
        for name in sorted(sections, key=_ORDER.index):
            with formatter.section(name):
                formatter.write_dl(sections[name])
