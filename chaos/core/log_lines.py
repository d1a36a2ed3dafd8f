"""How a system's nodes date what they log, for systems that do so in a way of their own."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class DatesLogLines(Protocol):
    """A system whose nodes begin the lines of their logs with something else than a usual date and time."""

    def dated(self, line: str) -> str:
        """Pure: the line with its date and time first, as ``YYYY-MM-DD HH:MM:SS.mmm``; a line without is as it was."""
        ...
