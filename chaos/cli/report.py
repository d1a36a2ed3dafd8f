"""``chaos report``: writes what is told of stored runs again from what is stored; judges nothing."""

from pathlib import Path

import click

from chaos.cli.completion.values import offer
from chaos.cli.options.run_options import STORE_OPTION
from chaos.cli.options.sections import RunCommand


@click.command("report", cls=RunCommand)
@click.argument("paths", nargs=-1, required=True, metavar="RUN...", shell_complete=offer("runs"))
@click.option(
    "--as",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=offer("reporters"),
    help="Write this report (chaos list reporters); repeatable.  [default: the page, and what is there already]",
)
@STORE_OPTION
def report_command(paths: tuple[str, ...], names: tuple[str, ...], store: str) -> int:
    """Write the reports of stored runs again and print their paths.

    RUN is a folder, the beginning of an id, `latest`, or -1, -2, … from the newest.
    """
    from chaos.run.store import find_run
    from reports.reporter import write

    for folder in [find_run(text, Path(store)) for text in paths]:
        for path in write(folder, names):
            click.echo(str(path))
    return 0
