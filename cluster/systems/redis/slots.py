"""Who serves which key of a Redis Cluster: slots, tags that put a key into a shard, and the file that says it. Pure."""

import hashlib
import re
from binascii import crc_hqx
from collections.abc import Sequence
from typing import Final

from chaos.storage.runinfo import NodeInfo

SLOTS: Final = 16384
SHARDS: Final = 3
PORT: Final = 6379
BUS_PORT: Final = 16379
_LINE: Final = re.compile(
    r"(?P<id>\w+) (?P<host>[^:\s]*):\d+@\S+ (?P<flags>\S+) (?P<master>\S+) \d+ \d+ (?P<epoch>\d+) \S+(?P<slots>.*)"
)


def slot(tag: str) -> int:
    """The slot of a key whose name has this tag, ``{tag}``: CRC-16/XMODEM (Redis Cluster's specification)."""
    return crc_hqx(tag.encode(), 0) % SLOTS


def first_and_last(shard: int) -> tuple[int, int]:
    """The slots of a shard."""
    return shard * SLOTS // SHARDS, (shard + 1) * SLOTS // SHARDS - 1


def _tag(shard: int) -> str:
    first, last = first_and_last(shard)
    return next(str(number) for number in range(SLOTS) if first <= slot(str(number)) <= last)


TAGS: Final = tuple(_tag(shard) for shard in range(SHARDS))
"""By shard, the tag of its keys."""


def node_id(mark: str, name: str) -> str:
    """The number of a node in its cluster: forty hexadecimal digits, different on every cluster."""
    return hashlib.sha1(f"{mark} {name}".encode(), usedforsecurity=False).hexdigest()


def shard_name(shard: int) -> str:
    """What the servers of a shard are called as a subject."""
    return f"shard{shard + 1}"


def nodes_file(mark: str, servers: Sequence[NodeInfo], own: str) -> str:
    """The file of a server (``own``) that has never run: the first servers lead a shard each, the others follow them.

    Servers whose files agree form a cluster as they meet, and nobody has to introduce them.
    """
    lines = []
    for number, server in enumerate(servers):
        shard, leads = number % SHARDS, number < SHARDS
        flags = ("myself," if server.name == own else "") + ("master" if leads else "slave")
        follows = "-" if leads else node_id(mark, servers[shard].name)
        first, last = first_and_last(shard)
        place = f"{server.address}:{PORT}@{BUS_PORT}"
        head = f"{node_id(mark, server.name)} {place} {flags} {follows} 0 0 {shard + 1} connected"
        lines.append(f"{head} {first}-{last}" if leads else head)
    return "\n".join([*lines, f"vars currentEpoch {SHARDS} lastVoteEpoch 0", ""])


class Member:
    """A server as one of the cluster knows it.

    ``host``: its address, ``myself``: whether it is the one that was asked, ``leads``: whether it is a master,
    ``follows``: the number of its master, ``epoch``: of its slots.
    """

    def __init__(self, line: str) -> None:
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"no line of CLUSTER NODES: {line[:60]!r}")
        flags = found["flags"].split(",")
        self.id, self.host, self.epoch = found["id"], found["host"], int(found["epoch"])
        self.myself, self.leads, self.failed = "myself" in flags, "master" in flags, "fail" in flags
        self.follows = None if found["master"] == "-" else found["master"]
        self.first_slot = _first_slot(found["slots"].split())


def _first_slot(slots: Sequence[str]) -> int | None:
    """The least slot that is served; None if there is none."""
    served = [int(one.partition("-")[0]) for one in slots if not one.startswith("[")]
    return min(served, default=None)


def members(text: str) -> list[Member]:
    """What CLUSTER NODES says. Raises ValueError if it is not that."""
    return [Member(line) for line in text.splitlines() if line.strip()]
