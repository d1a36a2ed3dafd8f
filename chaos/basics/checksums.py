"""CRC-32 of JSON objects, as their last member. Those of stored records are in ``record_checksums``."""

import re
import zlib
from typing import Final

_MEMBER: Final = re.compile(rb',\s*"checksum":\s*"([0-9a-f]{8})"\s*}\s*$')


def with_checksum(document: bytes, previous: int = 0) -> tuple[bytes, int]:
    """A JSON object that is not empty, with a last member ``checksum``: the CRC-32 of all bytes before it.

    Args:
        document: the object.
        previous: the checksum of what comes before it, where several follow each other; they form a chain then.

    Returns:
        The longer object without white space behind it, and its checksum.
    """
    body = document.rstrip()[:-1].rstrip()
    crc = zlib.crc32(body, previous)
    return body + b',"checksum":"%08x"}' % crc, crc


def found_checksum(document: bytes) -> int | None:
    """The checksum that a JSON object carries, None if it carries none."""
    member = _MEMBER.search(document)
    return None if member is None else int(member[1], 16)


def is_unaltered(document: bytes, previous: int = 0) -> bool:
    """Whether a JSON object carries its checksum and that fits."""
    member = _MEMBER.search(document)
    return member is not None and zlib.crc32(document[: member.start()], previous) == int(member[1], 16)
