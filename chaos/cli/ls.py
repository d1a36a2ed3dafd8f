"""``chaos ls``: the runs of a store, a line each."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from chaos.cli.options import STORE_OPTION
from chaos.cli.output import look
from chaos.core.errors import HistoryError
from chaos.core.verdict import Valid

if TYPE_CHECKING:
    from reports.summary.look import Tone

_HEAD: Final = ("", "ID", "BEGAN (UTC)", "SYSTEM", "WORKLOAD", "NEMESIS", "VERDICT", "")
_VERDICT: Final = _HEAD.index("VERDICT")


class _Verdict(msgspec.Struct, frozen=True):
    """The two lines of ``results.json`` that a list shows; the rest is not even decoded."""

    valid: Valid
    sentence: str


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A run as ``chaos ls`` shows it. ``valid`` is None where nobody judged it; ``back``: -1 is the newest."""

    back: int
    id: str
    path: str
    began: str
    status: str
    system: str = ""
    workload: str = ""
    nemesis: str = ""
    valid: Valid | None = None
    sentence: str = ""

    @property
    def tone(self) -> "Tone":
        """The colour of its word; a run that has no verdict has none."""
        return "" if self.valid is None else "good" if self.valid is True else "bad" if self.valid is False else "warn"

    @property
    def word(self) -> str:
        """The verdict, or how far the run got without one."""
        from reports.words import verdict

        return self.status if self.valid is None else verdict(self.valid)


def listed(folder: Path, back: int) -> Listed:
    """One run; if it cannot be read, its line says why."""
    from chaos.core.manifest import read_checked
    from chaos.core.runinfo import read_run

    try:
        run = read_run(folder)
    except HistoryError as error:
        return Listed(back=back, id=folder.name, path=str(folder), began="", status="unreadable", sentence=str(error))
    valid: Valid | None = None
    sentence = run.error or ""
    try:
        verdict = read_checked(folder / "results.json", _Verdict)
    except HistoryError as error:
        sentence = str(error)
    else:
        valid, sentence = (None, sentence) if verdict is None else (verdict.valid, verdict.sentence)
    return Listed(
        back=back,
        id=run.id,
        path=str(folder),
        began=run.origin_utc[:19],
        status=run.status,
        system=run.system,
        workload=run.workload,
        nemesis=run.nemesis,
        valid=valid,
        sentence=sentence,
    )


@click.command("ls")
@STORE_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per run, a line each.")
def ls_command(store: str, as_json: bool) -> int:
    """List the stored runs, the newest first, with their verdicts.

    Where a command takes a RUN, give an id from here, its beginning, `latest`, or the number in the first column.
    """
    from chaos.run.store import runs_in

    folders = runs_in(Path(store))
    rows = [listed(folder, -place) for place, folder in enumerate(reversed(folders), 1)]
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
    shown = look()
    table = shown.table(
        _HEAD, cells, elastic=(7,), tone=lambda row, column: rows[row].tone if column == _VERDICT else ""
    )
    for line in table:
        print(line)
    return 0
