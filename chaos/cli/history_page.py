"""The page that ``chaos check FILE --report`` writes: what was found, and the timelines of the file's objects."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chaos.cli.output import complain
from chaos.core.errors import ChaosError
from chaos.core.verdict import Results
from chaos.storage.storage_path import Place
from reports import words

if TYPE_CHECKING:
    from checkers.imported.options import Question
    from reports.imported.objects import Objects

DRAWN_BYTES: Final = 8 << 20
"""Of a longer file the objects are not drawn: it would be read into memory once more."""


def write_page(report: Path, text: str, file: Place, question: "Question", results: Results) -> None:
    """Write the page of a history; a page that cannot be written does not change the verdict."""
    from reports.imported.html import write

    given = [word for word in sys.argv[1:] if word != "--report" and not word.startswith("--report=")]
    command = shlex.join(["chaos", *(word for word in given if word != str(report))])
    try:
        write(report, text, results, command, _objects(file, question, results))
    except OSError as error:
        complain(f"{report}: no page: {error.strerror}")


def _objects(file: Place, question: "Question", results: Results) -> "Objects":
    """The timelines, of a file that is not too long and can be read as operations."""
    from chaos.formats.registry import read
    from chaos.run.history_size import bytes_of_history
    from reports.imported.objects import Objects, objects_of

    try:
        size = bytes_of_history(file)
        if size > DRAWN_BYTES:
            return Objects(
                said=f"The file has {words.file_size(size)}; objects are drawn up to {words.file_size(DRAWN_BYTES)}."
            )
        history = read(file, question.format, independent=question.independent)
    except ChaosError as error:
        return Objects(said=f"They are not drawn: {error}")
    return objects_of(history.items, results)
