"""Lines that nodes write into their logs from a moment on, read on their hosts."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final

from chaos.core.errors import ChaosError
from cluster.cluster import Node
from cluster.nodes import log_lines

MOST_BYTES: Final = 1 << 20
"""So much of each log is searched at most."""
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
        self._from: dict[str, Mapping[str, int]] = {name: self._sizes(node) for name, node in self._nodes.items()}

    def found(self) -> tuple[str, str] | None:
        """A node and the first new line of it that holds the pattern; None: there is none yet, or nobody can look."""
        for name, node in self._nodes.items():
            for path, size in self._from[name].items():
                for line in self._new(node, path, size).splitlines():
                    if self._pattern.search(line):
                        return name, line.strip()[:LONGEST]
        return None

    def _new(self, node: Node, path: str, size: int) -> str:
        with suppress(ChaosError):
            words = (str(size + 1), path, str(MOST_BYTES))
            return node.host.run("sh", "-c", log_lines.TAIL, "sh", *words, timeout_s=_TIMEOUT_S).text
        return ""

    def _sizes(self, node: Node) -> dict[str, int]:
        paths = [str(PurePosixPath(node.host.home, name)) for name in node.launch.logs]
        if not paths:
            return {}
        with suppress(ChaosError):
            done = node.host.run("sh", "-c", log_lines.SIZES, "sh", *paths, timeout_s=_TIMEOUT_S)
            sizes = done.check(f"looking at logs of {node.name}").text.split()
            return dict(zip(paths, map(int, sizes), strict=True))
        return dict.fromkeys(paths, 0)
