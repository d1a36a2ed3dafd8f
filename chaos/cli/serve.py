"""``chaos serve``: a web server for a store."""

from pathlib import Path

import click

from chaos.basics.amounts import Amount
from chaos.cli.completion.values import offer
from chaos.cli.examples import examples
from chaos.cli.options.amount_type import AmountType
from chaos.cli.output import tell
from chaos.core.errors import UsageError
from chaos.options.experiment import DEFAULTS

PORT = 8010


@click.command("serve", epilog=examples("chaos serve", "chaos serve store/matrix-rocketmq-raft --port 9000"))
@click.argument("store", default=DEFAULTS["store"], metavar="[STORE]", shell_complete=offer("folders"))
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Listen on this address; whoever can reach it can read the store.",
)
@click.option(
    "--port",
    default=PORT,
    show_default=True,
    type=AmountType(Amount("count", 0, 65535)),
    metavar="PORT",
    help="Listen on this port; 0 takes a free one.",
)
def serve_command(store: str, bind: str, port: int) -> int:
    """Show the runs of STORE in a browser: pages, files, zip files, and the run that goes on.

    Only reads, and only in STORE. Ctrl-C ends it.
    """
    from chaos.cli.live.json_lines import object_of
    from chaos.cli.live.news import Board
    from chaos.serve.server import Server

    if not Path(store).is_dir():
        raise UsageError(f"{store}: no such folder; make a run with chaos run, or name another")
    board = Board()  # who asks for an event's object gives one; only beats need it
    server = Server(Path(store), bind, port, lambda event: object_of("event", event, board))
    tell(f"{server.url}  {store}; Ctrl-C ends")
    if not server.is_local:
        tell(f"Whoever can reach {bind} can read everything in {store}.")
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        return 0
    finally:
        server.close()
    return 0
