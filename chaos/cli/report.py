"""``chaos report``: render pages again from what is stored; nothing is judged anew."""

from pathlib import Path

import click


@click.command("report")
@click.argument("paths", nargs=-1, required=True)
@click.option("--store", default="store", show_default=True, help="Where ids and `latest` are looked up.")
def report_command(paths: tuple[str, ...], store: str) -> int:
    """Render the report of stored runs again and print its path."""
    from chaos.run.store import find_run
    from reports.page.html import render

    for folder in [find_run(text, Path(store)) for text in paths]:
        click.echo(str(render(folder)))
    return 0
