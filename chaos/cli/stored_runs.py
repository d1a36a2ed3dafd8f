"""What a list says of a stored run: when it began, what it tested, and its verdict."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.verdict import Valid

if TYPE_CHECKING:
    from reports.summary.text_style import Tone


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


def read_listed(folder: Path, back: int) -> Listed:
    """One run; if it cannot be read, its line says why."""
    from chaos.storage.manifest import read_checked
    from chaos.storage.runinfo import read_run

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
