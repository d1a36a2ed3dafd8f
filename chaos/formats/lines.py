"""Text files of which each line is a record, read line by line in bounded memory.

A last line without its line end that is no record was cut off, and so was one that may be the beginning of a longer
record; any other that is no record is an error that names it.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from chaos.core.errors import HistoryError
from chaos.formats.text import BOM
from chaos.storage.storage_path import Place

T = TypeVar("T")


class Lines(Generic[T]):
    """What ``parse`` makes of each line that is not blank: it is given the line and its number from 1.

    ``parse`` raises ValueError with what is wrong. ``is_closed`` tells whether a line that is a record shows by itself
    that nothing is missing, as a closed bracket does; a number may go on. ``cut_off``: once all were given, None or
    where the file ends.
    """

    def __init__(self, path: Place, parse: Callable[[str, int], T], is_closed: Callable[[bytes], bool]) -> None:
        self.path = path
        self.parse = parse
        self.is_closed = is_closed
        self.cut_off: str | None = None

    def __iter__(self) -> Iterator[T]:
        """What the lines gave.

        Raises:
            HistoryError: naming file, line and fault.
        """
        try:
            with self.path.open("rb") as file:
                for number, read in enumerate(file, start=1):
                    line = read.removeprefix(BOM) if number == 1 else read
                    if not line.strip():
                        continue
                    ended = line.endswith(b"\n")
                    try:
                        if not ended and not self.is_closed(line):
                            raise ValueError("it may go on")  # noqa: TRY301 - as a line that cannot be read
                        found = self.parse(line.decode().rstrip("\r\n"), number)
                    except ValueError as error:  # UnicodeDecodeError is one
                        if not ended:
                            self.cut_off = f"the file ends within line {number}; what precedes it was read"
                            return
                        raise HistoryError(f"{self.path}:{number}: {_fault(error)}") from error
                    yield found
        except OSError as error:
            raise HistoryError(f"{self.path}: {error.strerror or error}") from error


def _fault(error: ValueError) -> str:
    """What is wrong with a line, in words."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} of the line is not UTF-8"
    return str(error)
