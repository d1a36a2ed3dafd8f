"""``chaos report``: renders pages again from what is stored; judges nothing."""

from pathlib import Path

import click


@click.command("report")
@click.argument("paths", nargs=-1, required=True)
@click.option("--store", default="store", show_default=True, help="Look for runs in this folder.")
def report_command(paths: tuple[str, ...], store: str) -> int:
    """Render the reports of stored runs again and print their paths."""
    from chaos.run.store import find_run
    from reports.page.html import render

    for folder in [find_run(text, Path(store)) for text in paths]:
        click.echo(str(render(folder)))
    return 0
