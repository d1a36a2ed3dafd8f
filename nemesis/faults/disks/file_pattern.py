"""Which files a fault of disks hits: those whose path in the data folder is like a pattern, all as a rule."""

from typing import Annotated, Final

from msgspec import Meta

EVERY: Final = "*"
"""The pattern of all files."""

FilePattern = Annotated[
    str,
    Meta(
        pattern=r"[\w.*?/\[\]!-]{1,200}",
        description="only files whose path in the data folder is like this; * and ? stand for slashes, too",
        extra={"example": "*.wal"},
    ),
]


def of_files(pattern: str) -> str:
    """Pure: a phrase that names the files, if these are not all."""
    return "" if pattern == EVERY else f" of files like {pattern}"
