"""``chaos compare``: some runs beside each other."""

import os
from pathlib import Path

import click
import msgspec

from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.run_options import STORE_OPTION
from chaos.cli.options.sections import RunCommand
from chaos.cli.output import text_style
from chaos.core.errors import UsageError


@click.command(
    "compare",
    cls=RunCommand,
    epilog=examples("chaos compare -2 -1", "chaos compare -3 -2 -1 --html compared.html"),
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=offer("runs"))
@click.option(
    "--html",
    "page",
    default=None,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    shell_complete=offer("files"),
    help="Also write a page with the distributions side by side.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all figures.")
@STORE_OPTION
def compare_command(runs: tuple[str, ...], page: Path | None, *, as_json: bool, store: str) -> int:
    """Show what differs between stored runs: settings, verdicts, recovery, service.

    Every run is held against the first. A difference that the runs' own spread explains is not called one.

    RUN is a folder, the beginning of an id, `latest`, or -1, -2, … from the newest.
    """
    from chaos.run.store import find_run
    from reports.across.compare import MOST, compare
    from reports.across.compare_page import page as page_of
    from reports.across.compare_text import lines
    from reports.across.figures import read_figures

    folders = [find_run(text, Path(store)) for text in runs]
    if not 1 < len(folders) <= MOST:
        raise UsageError(f"RUN: {len(folders)} given; give 2 to {MOST} runs")
    twice = next((text for text, folder in zip(runs, folders, strict=True) if folders.count(folder) > 1), None)
    if twice is not None:
        raise UsageError(f"RUN {twice}: it is given twice; name another run")
    made = compare([read_figures(folder) for folder in folders], [str(folder) for folder in folders])
    if page is not None:
        _write(page, page_of(made, [_link(folder, page) for folder in folders]))
    if as_json:
        click.echo(msgspec.json.encode(made).decode())
        return 0
    for line in lines(made, text_style()):
        print(line)
    if page is not None:
        print(f"\npage  {page}")
    return 0


def _write(page: Path, text: str) -> None:
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {page}: {error.strerror}; name a file that can be written") from None


def _link(folder: Path, page: Path) -> str:
    """Where a run's page is from another file; empty if there is none."""
    report = folder / "report.html"
    return os.path.relpath(report, page.absolute().parent) if report.is_file() else ""
