"""``chaos image``: the images of hosts in Docker containers."""

import click

from chaos import plugins
from chaos.cli.options.run_options import SETTINGS_OPTION, system_option
from chaos.cli.run import progress
from chaos.options.resolve import parse_settings


@click.group("image", no_args_is_help=False)
def image_command() -> None:
    """Make the image for hosts in Docker containers; a run makes it itself if it is missing."""


@image_command.command("build")
@system_option("Add what this system needs on a host.")
@SETTINGS_OPTION
@click.option(
    "--from",
    "source",
    type=click.Choice(["auto", "registry", "packages"]),
    default="auto",
    show_default=True,
    help="Build on Debian's own image (registry), or by debootstrap as root (packages); auto tries both.",
)
def build_command(system: str, pairs: tuple[str, ...], source: str) -> int:
    """Make the image unless the engine has it; print its name in the last line."""
    from cluster.hosts.docker.engine import connect
    from cluster.hosts.docker.image import build, packages_for

    plugin = plugins.load("systems", system)()
    specs = plugin.topology(plugin.resolve(parse_settings(pairs)))
    click.echo(build(connect(), packages_for(specs), progress(), source))
    return 0
