"""Lines that nodes write into their logs from a moment on, read on their hosts."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final

from chaos.core.errors import ChaosError
from cluster.cluster import Node
from cluster.nodes import log_lines

MOST_BYTES: Final = 1 << 20
"""So much of a log is read at a time; what is behind it comes the next time."""
LONGEST: Final = 200
"""So many characters of a line are told."""

_TIMEOUT_S: Final = 5.0


class NodeLogs:
    """What is new in logs since this was made.

    Args:
        nodes: whose.
        pattern: a regular expression that the line holds.
    """

    def __init__(self, nodes: Sequence[Node], pattern: str) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._pattern = re.compile(pattern)
        self._read: dict[str, dict[str, int]] = {name: self._sizes(node) for name, node in self._nodes.items()}

    def found(self) -> tuple[str, str] | None:
        """A node and the first new line of it that holds the pattern; None: there is none yet, or nobody can look."""
        for name, node in self._nodes.items():
            read = self._read[name]
            for path, size in read.items():
                new = self._new(node, path, size)
                for line in new.decode(errors="replace").splitlines():
                    if self._pattern.search(line):
                        return name, line.strip()[:LONGEST]
                # The last line may not be whole yet; one that is longer than all that is read at a time is left behind.
                read[path] += len(new) if len(new) == MOST_BYTES and b"\n" not in new else new.rfind(b"\n") + 1
        return None

    def _new(self, node: Node, path: str, size: int) -> bytes:
        with suppress(ChaosError):
            words = (str(size + 1), path, str(MOST_BYTES))
            return node.host.run("sh", "-c", log_lines.TAIL, "sh", *words, timeout_s=_TIMEOUT_S).stdout
        return b""

    def _sizes(self, node: Node) -> dict[str, int]:
        paths = [str(PurePosixPath(node.host.home, name)) for name in node.launch.logs]
        if not paths:
            return {}
        with suppress(ChaosError):
            done = node.host.run("sh", "-c", log_lines.SIZES, "sh", *paths, timeout_s=_TIMEOUT_S)
            sizes = done.check(f"looking at logs of {node.name}").text.split()
            return dict(zip(paths, map(int, sizes), strict=True))
        return dict.fromkeys(paths, 0)
