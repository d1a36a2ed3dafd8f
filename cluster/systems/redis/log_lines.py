"""Lines of a server's or a sentinel's log: ``13:M 22 Nov 2026 08:00:00.250 * Ready to accept connections``."""

import re
from typing import Final

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BEGIN: Final = re.compile(rf"\d{{1,10}}:[A-Z] (\d\d) ({'|'.join(_MONTHS)}) (\d{{4}}) (?=\d\d:\d\d:\d\d)")


def dated(line: str) -> str:
    """The line without process and role, its date with the year first. Pure."""
    match = _BEGIN.match(line)
    if match is None:
        return line
    day, month, year = match.groups()
    return f"{year}-{_MONTHS.index(month) + 1:02d}-{day} {line[match.end() :]}"
