"""``chaos image``: the images of hosts in Docker containers."""

import click

from chaos import plugins
from chaos.cli.options import SETTINGS_OPTION
from chaos.cli.run import progress
from chaos.options.experiment import DEFAULTS
from chaos.options.resolve import parse_settings


@click.group("image")
def image_command() -> None:
    """Make the image of hosts in Docker containers; a run that misses it does so by itself."""


@image_command.command("build")
@click.option("--system", default=DEFAULTS["system"], show_default=True, help="For what this system needs on a host.")
@SETTINGS_OPTION
@click.option(
    "--from",
    "source",
    type=click.Choice(["auto", "registry", "packages"]),
    default="auto",
    show_default=True,
    help="Debian's own image with packages on top, or debootstrap (root only); auto tries them in this order.",
)
def build_command(system: str, pairs: tuple[str, ...], source: str) -> int:
    """Make the image unless the engine has it; the last line printed is its name."""
    from cluster.hosts.docker.engine import connect
    from cluster.hosts.docker.image import build, packages_for

    plugin = plugins.load("systems", system)()
    specs = plugin.topology(plugin.resolve(parse_settings(pairs)))
    click.echo(build(connect(), packages_for(specs), progress(), source))
    return 0
