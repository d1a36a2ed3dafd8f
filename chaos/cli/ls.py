"""``chaos ls``: the runs of a store, a line each."""

from pathlib import Path
from typing import Final

import click
import msgspec

from chaos.cli.options.run_options import STORE_OPTION
from chaos.cli.output import text_style
from chaos.cli.stored_runs import read_listed

_HEAD: Final = ("", "ID", "BEGAN (UTC)", "SYSTEM", "WORKLOAD", "NEMESIS", "VERDICT", "")
_VERDICT: Final = _HEAD.index("VERDICT")


@click.command("ls")
@STORE_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per run, a line each.")
def ls_command(store: str, as_json: bool) -> int:
    """List the stored runs, the newest first, with their verdicts.

    Where a command takes a RUN, give an id from here, its beginning, `latest`, or the number in the first column.
    """
    from chaos.run.store import runs_in

    folders = runs_in(Path(store))
    rows = [read_listed(folder, -place) for place, folder in enumerate(reversed(folders), 1)]
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode(row).decode())
        return 0
    if not rows:
        click.echo(f"no runs in {store}; make one with chaos run, or look elsewhere with --store")
        return 0
    cells = [
        (
            str(row.back),
            row.id,
            row.began.replace("T", " "),
            row.system,
            row.workload,
            row.nemesis,
            row.word,
            row.sentence,
        )
        for row in rows
    ]
    shown = text_style()
    table = shown.table(
        _HEAD,
        cells,
        elastic=(7, 5),
        spare=(7, 2, 3, 4, 5),
        tone=lambda row, column: rows[row].tone if column == _VERDICT else "",
    )
    for line in table:
        print(line)
    return 0
