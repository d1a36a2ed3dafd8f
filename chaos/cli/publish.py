"""``chaos publish``: a copy of pages and results for a web server."""

from pathlib import Path

import click

from chaos.basics.amounts import Amount
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.cli.options.run_options import STORE_OPTION


@click.command(
    "publish",
    epilog=examples("chaos publish public --last 60", "chaos publish pages.zip --store store/matrix-rocketmq-raft"),
)
@click.argument("target", metavar="DIR", type=click.Path(path_type=Path), shell_complete=offer("folders"))
@click.option(
    "--last",
    default=None,
    type=AmountType(Amount("count", 1, 1_000_000)),
    metavar="COUNT",
    help="Publish only so many runs, the newest.  [default: all]",
)
@STORE_OPTION
def publish_command(target: Path, last: int | None, store: str) -> int:
    """Write the pages and results of a store, or of one matrix, for any web server.

    DIR is a folder, or a file that ends in .zip; an older publication there is replaced. Links are relative. Paths,
    addresses, host names and secrets of the environment are taken out; histories and logs are left out.
    """
    from chaos import __version__
    from reports import words
    from reports.across.publish import publish

    made = publish(Path(store), target, last, __version__)
    left_out = f" ({made.left_out} older left out)" if made.left_out else ""
    matrices = f", {made.matrices} {'matrix' if made.matrices == 1 else 'matrices'}" if made.matrices else ""
    click.echo(
        f"{words.plural(made.runs, 'run')}{left_out}{matrices}: {made.files} files, {words.file_size(made.size)}"
    )
    click.echo(str(target if target.suffix == ".zip" else target / "index.html"))
    return 0
