"""``chaos report``: writes what is told of stored runs again from what is stored; judges nothing."""

from pathlib import Path

import click


@click.command("report")
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--as",
    "names",
    multiple=True,
    metavar="NAME",
    help="Write this report (chaos list reporters); repeatable.  [default: the page, and what is there already]",
)
@click.option("--store", default="store", show_default=True, help="Look for runs in this folder.")
def report_command(paths: tuple[str, ...], names: tuple[str, ...], store: str) -> int:
    """Write the reports of stored runs again and print their paths."""
    from chaos.run.store import find_run
    from reports.reporter import write

    for folder in [find_run(text, Path(store)) for text in paths]:
        for path in write(folder, names):
            click.echo(str(path))
    return 0
