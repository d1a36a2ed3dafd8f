"""Lines of a server's log: ``[13] 2026/11/22 08:00:00.250001 [INF] Server is ready``."""

import re
from typing import Final

_PROCESS: Final = re.compile(r"\[\d{1,10}\] (?=\d{4}/)")


def dated(line: str) -> str:
    """The line without the number of its process, which stands before its date. Pure."""
    return _PROCESS.sub("", line, count=1) if line.startswith("[") else line
