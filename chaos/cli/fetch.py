"""``chaos fetch``: what runs of a system need, before any of them does."""

import click

from chaos import plugins
from chaos.cli.examples import examples
from chaos.cli.options.run_options import SETTINGS_OPTION, system_option
from chaos.cli.run import progress
from chaos.options.resolve import parse_settings


@click.command(
    "fetch",
    epilog=examples(
        "chaos fetch --system rocketmq",
        "chaos fetch --system etcd --system-version 3.5.4",
    ),
)
@system_option("Get this system (chaos list systems).")
@click.option("--system-version", "version", metavar="VERSION", help="In this version.  [default: the system's]")
@SETTINGS_OPTION
def fetch_command(system: str, version: str | None, pairs: tuple[str, ...]) -> int:
    """Get what runs of a system need, so that none has to; print its folder in the last line.

    A run gets it itself if it is missing. Settings matter where they decide how a program is built.
    """
    from cluster.versions import choose_version, variant_of

    own = choose_version(plugins.load("systems", system)(), version, None)
    click.echo(variant_of(own, own.resolve(parse_settings(pairs))).fetch(progress()))
    return 0
